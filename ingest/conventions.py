"""Attribute names of the spans that whyspan itself writes, and how to recognise them.

A trial is a span in a trace of its own, linked to the decision it repeats. A claim is a span in the agent's trace,
child of the decision. The views `trials` and `claims` read exactly these names, so they are public.
"""

SCOPE_NAME = "whyspan"
"""Instrumentation scope of every span that whyspan writes; such spans are stored and never analysed."""

KIND = "whyspan.kind"
"""`trial` or `claim`."""
KIND_TRIAL = "trial"
KIND_CLAIM = "claim"

CASE_ID = "whyspan.case.id"
TARGET = "whyspan.target"
DECISION_TRACE_ID = "whyspan.decision.trace_id"
DECISION_SPAN_ID = "whyspan.decision.span_id"
INTERVENTION_ID = "whyspan.intervention.id"
INTERVENTION_KIND = "whyspan.intervention.kind"
"""`noop`, `drop`, `replace`, `insert`."""
INTERVENTION_SUMMARY = "whyspan.intervention.summary"

TRIAL_SAMPLE = "whyspan.trial.sample"
"""Sample index, from 0; with case and intervention it identifies the trial."""
TRIAL_OUTCOME = "whyspan.trial.outcome"
"""`target`, `other` or `asks`."""

CLAIM_ID = "whyspan.claim.id"
CLAIM_KIND = "whyspan.claim.kind"
"""`cause`, `fix` or `none` (no cause among what was tested)."""
CLAIM_DETAIL = "whyspan.claim.detail"
"""For a cause, how it takes part: `pushes`, `required`, `redundant`, `joint`, `masked`, `diffuse`. For a fix, how far
it goes: `holds`, `reduces`, `fails`."""
CLAIM_VERDICT = "whyspan.claim.verdict"
"""`supported`, `refuted`, `inconclusive` or `harmful`."""
CLAIM_SCOPE = "whyspan.claim.scope"
"""`case` or `population`."""
CLAIM_SUBJECT = "whyspan.claim.subject"
"""What was removed or inserted, quoted; written to the user's own store only, and elsewhere only when asked."""
CLAIM_EFFECT = "whyspan.claim.effect"
"""Rate with the intervention minus the base rate, in [-1, 1]."""
CLAIM_BASE_RATE = "whyspan.claim.base.rate"
CLAIM_BASE_N = "whyspan.claim.base.n"
CLAIM_RATE = "whyspan.claim.rate"
CLAIM_N = "whyspan.claim.n"
CLAIM_INTERVAL_LOW = "whyspan.claim.interval.low"
"""Bounds of the 95 % interval of the effect."""
CLAIM_INTERVAL_HIGH = "whyspan.claim.interval.high"
CLAIM_E_VALUE = "whyspan.claim.e_value"
CLAIM_ALPHA = "whyspan.claim.alpha"
"""The level the e-value was compared with: a claim needs e >= 1/alpha."""
CLAIM_CALLS = "whyspan.claim.calls"
"""Replays used by the experiment up to the claim."""
