-- The slowest runs, and what they spent their time on.
-- $limit: runs to list [20]
SELECT run_id, service, started, round(duration_ms / 1000, 2) AS seconds, llm_calls, tool_calls,
  round((SELECT sum(latency_ms) FROM llm_calls AS l WHERE l.trace_id = run_id) / 1000, 2) AS model_seconds,
  round((SELECT sum(latency_ms) FROM tool_calls AS t WHERE t.trace_id = run_id) / 1000, 2) AS tool_seconds
FROM (FROM runs ORDER BY duration_ms DESC, run_id LIMIT $limit::INTEGER) ORDER BY duration_ms DESC, run_id
