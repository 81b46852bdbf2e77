-- Decisions whose content was not recorded whole, by service and instrumentation: `whyspan doctor` says what to switch on.
SELECT d.service, s.scope_name AS instrumentation, count(*) FILTER (d.completeness = 'none') AS without_content,
  count(*) FILTER (d.completeness = 'cut') AS cut, count(*) AS decisions,
  min(d.trace_id) FILTER (d.completeness <> 'content') AS example
FROM decisions AS d JOIN spans AS s ON s.trace_id = d.trace_id AND s.span_id = d.span_id
GROUP BY d.service, s.scope_name HAVING count(*) FILTER (d.completeness <> 'content') > 0
ORDER BY without_content + cut DESC, d.service
