-- Which tools fail, and how often.
-- $least: executions a tool must have to be listed [5]
SELECT tool_name, service, count(*) AS calls, count(error) AS errors, round(count(error) / count(*), 3) AS error_rate,
  round(median(latency_ms), 1) AS median_ms, mode(error) AS commonest_error
FROM tool_calls
GROUP BY tool_name, service HAVING count(*) >= $least::INTEGER
ORDER BY error_rate DESC, calls DESC, tool_name
