"""Views over what whyspan measured: trials and claims."""

from ... import conventions as c
from ..conditions import OWN
from .view import ERROR, IDS, LATENCY, STARTED, USAGE, Column, View, attribute

_DECISION = (
    attribute("decision_trace_id", "VARCHAR", c.DECISION_TRACE_ID, "Trace of the decision."),
    attribute("decision_span_id", "VARCHAR", c.DECISION_SPAN_ID, "Span of the decision."),
    attribute("case_id", "VARCHAR", c.CASE_ID, "Digest of the frozen request and target."),
    attribute("target", "VARCHAR", c.TARGET, "The outcome asked about."),
)

TRIALS = View(
    name="trials",
    help="One row a replay.",
    columns=(
        *IDS,
        STARTED,
        *_DECISION,
        attribute("intervention_id", "VARCHAR", c.INTERVENTION_ID, "Digest of the edit."),
        attribute("intervention_kind", "VARCHAR", c.INTERVENTION_KIND, "noop, drop, replace or insert."),
        attribute("intervention", "VARCHAR", c.INTERVENTION_SUMMARY, "The edit in words."),
        attribute("sample", "INTEGER", c.TRIAL_SAMPLE, "Sample index, from 0."),
        attribute("outcome", "VARCHAR", c.TRIAL_OUTCOME, "target, other or asks."),
        Column("model", "VARCHAR", "coalesce(request_model, response_model)", "Model replayed on."),
        ERROR,
        *USAGE,
        LATENCY,
    ),
    source=f"FROM spans WHERE {OWN} AND attr(attributes, '{c.KIND}') = '{c.KIND_TRIAL}'",
)

CLAIMS = View(
    name="claims",
    help="One row a verdict of an experiment.",
    columns=(
        *IDS,
        STARTED,
        attribute("claim_id", "VARCHAR", c.CLAIM_ID, "Digest of the claim."),
        *_DECISION,
        attribute("kind", "VARCHAR", c.CLAIM_KIND, "cause, fix or none."),
        attribute("verdict", "VARCHAR", c.CLAIM_VERDICT, "supported, refuted, inconclusive or harmful."),
        attribute("scope", "VARCHAR", c.CLAIM_SCOPE, "case or population."),
        attribute("detail", "VARCHAR", c.CLAIM_DETAIL, "More about the kind, as `conventions.py` says."),
        attribute("subject", "VARCHAR", c.CLAIM_SUBJECT, "What was removed or inserted."),
        attribute("intervention_id", "VARCHAR", c.INTERVENTION_ID, "Digest of the edit."),
        attribute("intervention_kind", "VARCHAR", c.INTERVENTION_KIND, "drop, replace or insert."),
        attribute("effect", "DOUBLE", c.CLAIM_EFFECT, "Rate with the edit minus the base rate."),
        attribute("base_rate", "DOUBLE", c.CLAIM_BASE_RATE, "Rate of the outcome without an edit."),
        attribute("base_n", "INTEGER", c.CLAIM_BASE_N, "Replays without an edit."),
        attribute("rate", "DOUBLE", c.CLAIM_RATE, "Rate of the outcome with the edit."),
        attribute("n", "INTEGER", c.CLAIM_N, "Replays with the edit."),
        attribute("interval_low", "DOUBLE", c.CLAIM_INTERVAL_LOW, "95 % interval of the effect."),
        attribute("interval_high", "DOUBLE", c.CLAIM_INTERVAL_HIGH, "95 % interval of the effect."),
        attribute("e_value", "DOUBLE", c.CLAIM_E_VALUE, "Evidence; supported needs at least 1 / alpha."),
        attribute("alpha", "DOUBLE", c.CLAIM_ALPHA, "Level the e-value was compared with."),
        attribute("calls", "INTEGER", c.CLAIM_CALLS, "Replays used up to the claim."),
        attribute("guards", "VARCHAR", c.CLAIM_GUARDS, "What a fix does to decisions that were right, as JSON."),
        attribute("parent_claim_id", "VARCHAR", c.CLAIM_PARENT, "Claim whose cause this one explains, in a chain."),
        attribute(
            "chain_end", "VARCHAR", c.CLAIM_CHAIN_END, "Why a chain ends with this cause; NULL where it goes on."
        ),
        attribute("cases", "VARCHAR", c.CLAIM_CASES, "Of a cause in several decisions: JSON, each with its e-value."),
        attribute("by_logprobs", "BOOLEAN", c.CLAIM_BY_LOGPROBS, "True when drawn from told probabilities, else NULL."),
    ),
    source=f"FROM spans WHERE {OWN} AND attr(attributes, '{c.KIND}') = '{c.KIND_CLAIM}'",
)
