-- Causes that were found, the commonest text first, with the services and outcomes they caused.
SELECT c.subject, count(DISTINCT c.case_id) AS decisions, list_sort(list(DISTINCT s.service)) AS services,
  list_sort(list(DISTINCT c.target)) AS outcomes, mode(c.detail) AS part, round(avg(c.effect), 2) AS mean_effect
FROM claims AS c LEFT JOIN spans AS s ON s.trace_id = c.decision_trace_id AND s.span_id = c.decision_span_id
WHERE c.kind = 'cause' AND c.verdict = 'supported'
GROUP BY c.subject ORDER BY decisions DESC, mean_effect, c.subject
