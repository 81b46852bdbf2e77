-- Decisions that called a tool, latest first, with the arguments.
-- $tool: the tool
-- $limit: decisions to list [20]
SELECT trace_id, span_id, started, service, model,
  list_filter(tool_calls, lambda call: call.name = $tool)[1].arguments AS arguments, claims
FROM unscored_decisions WHERE list_contains(tool_names, $tool) ORDER BY started DESC, span_id LIMIT $limit::INTEGER
