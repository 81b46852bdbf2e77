-- Decisions whose content was not recorded whole, by service and instrumentation: `whyspan doctor` says what to switch on.
SELECT service, scope_name AS instrumentation, count(*) FILTER (completeness = 'none') AS without_content,
  count(*) FILTER (completeness = 'cut') AS cut, count(*) AS decisions,
  min(trace_id) FILTER (completeness <> 'content') AS example
FROM llm_calls GROUP BY service, scope_name HAVING count(*) FILTER (completeness <> 'content') > 0
ORDER BY without_content + cut DESC, service
