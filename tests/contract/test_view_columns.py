"""The columns of the views are a public contract: a change here is a change for every user's SQL."""

from pathlib import Path

import pytest

from whyspan.ingest.store import Store
from whyspan.ingest.store.querying import run_query
from whyspan.ingest.store.views import VIEWS, View

CONTRACT = {
    "spans": "trace_id span_id parent_span_id name kind service session_id user_id started ended duration_ms status "
    "status_message error operation provider request_model response_model input_tokens output_tokens cost_usd "
    "finish_reason tool_names tool_calls reply_text tool_name attributes events links resource scope scope_name "
    "has_content start_ns end_ns trace_state flags dropped_attributes_count dropped_events_count dropped_links_count "
    "seq received",
    "log_records": "trace_id span_id time event_name severity_number severity_text body body_kind attributes service "
    "scope_name resource scope seq received",
    "messages": "trace_id hash time body",
    "runs": "run_id started duration_ms service session_id name spans llm_calls tool_calls errors input_tokens "
    "output_tokens cost_usd scenario generation score metrics variables parent_simulation_id",
    "knowledge": "trace_id span_id started scenario lesson_id lesson decision effect interval_low interval_high "
    "e_value alpha number pairs heldout strategy epoch claim_id",
    "scenarios": "scenario runs last_started mean_score lessons_tested lessons_admitted",
    "missions": "trace_id mission status steps passed calls tokens seconds cost_usd note started ended",
    "llm_calls": "trace_id span_id parent_span_id started service session_id user_id provider model response_model "
    "operation tool_names tool_calls reply_text finish_reason error input_tokens output_tokens cost_usd latency_ms "
    "name scope_name completeness",
    "tool_calls": "trace_id span_id parent_span_id started service session_id tool_name error latency_ms",
    "scores": "trace_id span_id started name value label explanation source session_id judge author score_id",
    "job_runs": "trace_id span_id job job_run_id status started latency_ms selected explained linked skipped failed "
    "calls tokens cost_usd note",
    "job_items": "trace_id span_id job job_run_id status started latency_ms decision_trace_id decision_span_id "
    "case_id linked_trace_id linked_span_id rate n effect fix note",
    "jobs": "job runs last_started last_status explained linked calls cost_usd",
    "unscored_decisions": "trace_id span_id started service session_id user_id provider model tool_names tool_calls "
    "reply_text finish_reason error input_tokens output_tokens cost_usd latency_ms completeness claims",
    "decisions": "trace_id span_id started service session_id user_id provider model tool_names tool_calls reply_text "
    "finish_reason error input_tokens output_tokens cost_usd latency_ms completeness scores run_scores claims",
    "trials": "trace_id span_id started decision_trace_id decision_span_id case_id target intervention_id "
    "intervention_kind intervention sample outcome model error input_tokens output_tokens cost_usd latency_ms",
    "claims": "trace_id span_id started claim_id decision_trace_id decision_span_id case_id target kind verdict scope "
    "detail subject intervention_id intervention_kind effect base_rate base_n rate n interval_low interval_high "
    "e_value alpha calls guards parent_claim_id chain_end cases by_logprobs",
}


def test_all_views_are_under_contract() -> None:
    assert {view.name for view in VIEWS} == set(CONTRACT)


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
def test_a_view_has_the_columns_it_promises(view: View, tmp_path: Path) -> None:
    with Store.create(tmp_path) as store:
        described = [(name, type) for name, type, *_ in run_query(store, f"DESCRIBE {view.name}").rows]
    assert [name for name, _ in described] == CONTRACT[view.name].split()
    assert [type.replace('"', "") for _, type in described] == [c.type.replace('"', "") for c in view.columns]
    assert all(column.help for column in view.columns)
