"""`llm_calls` is settled file by file, and must be as if all spans had come at once."""

from collections import Counter
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from whyspan.ingest.conventions import SCOPE_NAME
from whyspan.ingest.spans import Scope, Span, SpanId, TraceId
from whyspan.ingest.store import Store
from whyspan.ingest.store.querying import open_sandbox

T0 = 1_700_000_000_000_000_000
"""A day that is over: compaction merges whatever there is of it."""
CALL = f"operation IN ('chat', 'text_completion') AND scope_name IS DISTINCT FROM '{SCOPE_NAME}'"
DEFINITION = f"""
SELECT trace_id, span_id FROM spans AS call WHERE {CALL}
AND NOT EXISTS (SELECT 1 FROM spans AS i WHERE i.trace_id = call.trace_id AND i.parent_span_id = call.span_id
  AND {CALL.replace("operation", "i.operation").replace("scope_name", "i.scope_name")} AND i.has_content)
AND (has_content OR NOT EXISTS (SELECT 1 FROM spans AS o WHERE o.trace_id = call.trace_id
  AND o.span_id = call.parent_span_id
  AND {CALL.replace("operation", "o.operation").replace("scope_name", "o.scope_name")}))"""


def make_span(trace: int, span: int, parent: int | None, operation: str, has_content: bool, is_own: bool) -> Span:
    attributes = {"gen_ai.operation.name": operation, **({"gen_ai.input.messages": "[]"} if has_content else {})}
    return Span(
        trace_id=TraceId(f"{trace:032x}"),
        span_id=SpanId(f"{span:016x}"),
        parent_span_id=None if parent is None else SpanId(f"{parent:016x}"),
        name="s",
        start_ns=T0 + span,
        end_ns=T0 + span + 1,
        attributes=attributes,
        scope=Scope(name=SCOPE_NAME if is_own else "lib"),
    )


numbers = st.integers(1, 7)
spans = st.builds(
    make_span,
    trace=st.integers(1, 2),
    span=numbers,
    parent=st.none() | numbers,
    operation=st.sampled_from(["chat", "chat", "text_completion", "execute_tool"]),
    has_content=st.booleans(),
    is_own=st.integers(0, 9).map(lambda n: n == 0),
)
batches = st.lists(spans, min_size=1, max_size=6)
steps = st.lists(
    st.tuples(st.sampled_from(["write", "write", "write", "other writer", "replace", "compact"]), batches),
    min_size=2,
    max_size=9,
)


@given(steps)
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_call_inside_another_is_told_whatever_lies_in_which_file(
    tmp_path_factory: Any, taken: list[tuple[str, list[Span]]]
) -> None:
    with Store.create(tmp_path_factory.mktemp("store")) as store, Store.open(store.path) as other:
        for step, batch in taken:
            match step:
                case "compact":
                    store.compact(grace_ns=0)
                case "replace":
                    store.replace({(s.trace_id, s.span_id): s for s in batch}.values())
                case "other writer":
                    other.write(batch)
                case _:
                    store.write(batch)
            with open_sandbox(store) as sandbox:
                expected = sorted(sandbox.select(DEFINITION).rows)
                assert sorted(sandbox.select("SELECT trace_id, span_id FROM llm_calls").rows) == expected
                counted = sandbox.select("SELECT run_id, llm_calls FROM runs WHERE llm_calls > 0").rows
                assert dict(counted) == Counter(trace_id for trace_id, _ in expected)
