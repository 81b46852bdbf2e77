-- Measured fixes: how far each goes, over all decisions it was measured on.
SELECT detail AS goes, verdict, count(*) AS measured, round(avg(base_rate), 2) AS rate_before,
  round(avg(rate), 2) AS rate_after, sum(n) AS replays, left(subject, 80) AS fix
FROM claims WHERE kind = 'fix'
GROUP BY ALL ORDER BY measured DESC, rate_after, fix
