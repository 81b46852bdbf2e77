-- What jobs paid, by job and month.
SELECT job, date_trunc('month', started)::DATE AS month, count(DISTINCT job_run_id) AS runs, sum(explained) AS explained,
  sum(linked) AS linked, sum(calls) AS calls, round(sum(cost_usd), 2) AS cost_usd
FROM (SELECT DISTINCT ON (job_run_id) * FROM job_runs ORDER BY job_run_id, latency_ms DESC)
GROUP BY ALL ORDER BY month DESC, job
