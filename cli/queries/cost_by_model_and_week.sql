-- What each model cost, week by week.
-- $weeks: weeks to look back [8]
SELECT date_trunc('week', started)::DATE AS week, model, count(*) AS calls, sum(input_tokens) AS input_tokens,
  sum(output_tokens) AS output_tokens, round(sum(cost_usd), 4) AS cost_usd
FROM llm_calls
WHERE started >= (SELECT max(started) FROM llm_calls) - to_days(7 * $weeks::INTEGER)
GROUP BY ALL ORDER BY week DESC, cost_usd DESC NULLS LAST, calls DESC, model
