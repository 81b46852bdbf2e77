"""Views over what runs learned: lessons, scenarios, missions."""

from ... import conventions as c
from ..conditions import OWN
from .view import IDS, STARTED, Column, View, attribute

KNOWLEDGE = View(
    name="knowledge",
    help="One row a measurement of a lesson.",
    columns=(
        *IDS,
        STARTED,
        attribute("scenario", "VARCHAR", c.SCENARIO, "Scenario."),
        attribute("lesson_id", "VARCHAR", c.LESSON_ID, "Digest of the lesson."),
        attribute("lesson", "VARCHAR", c.CLAIM_SUBJECT, "The lesson."),
        attribute("decision", "VARCHAR", c.LESSON_DECISION, "admitted, refuted or inconclusive."),
        attribute("effect", "DOUBLE", c.CLAIM_EFFECT, "Mean score with it minus that without."),
        attribute("interval_low", "DOUBLE", c.CLAIM_INTERVAL_LOW, "95 % interval of the effect."),
        attribute("interval_high", "DOUBLE", c.CLAIM_INTERVAL_HIGH, "95 % interval of the effect."),
        attribute("e_value", "DOUBLE", c.CLAIM_E_VALUE, "Evidence; admitted needs at least 1 / alpha."),
        attribute("alpha", "DOUBLE", c.CLAIM_ALPHA, "The level of this lesson."),
        attribute("number", "INTEGER", c.LESSON_NUMBER, "Lessons tested up to it."),
        attribute("pairs", "INTEGER", c.CLAIM_N, "Cases asked with and without it."),
        attribute("heldout", "INTEGER", c.LESSON_HELDOUT, "Held-out cases among those asked last."),
        attribute("strategy", "VARCHAR", c.STRATEGY, "conservative, aggressive or none."),
        attribute("epoch", "VARCHAR", c.EPOCH, "What scores and what is scored."),
        attribute("claim_id", "VARCHAR", c.CLAIM_ID, "The claim."),
    ),
    source=f"""FROM spans WHERE {OWN} AND attr(attributes, '{c.KIND}') = '{c.KIND_CLAIM}'
  AND attr(attributes, '{c.CLAIM_KIND}') = 'lesson'""",
)

SCENARIOS = View(
    name="scenarios",
    help="One row a scenario that was played.",
    columns=(
        Column("scenario", "VARCHAR", "played.scenario", "Name of the scenario."),
        Column("runs", "BIGINT", "played.runs", "Runs of it in the store."),
        Column("last_started", "TIMESTAMP", "played.last_started", "Start of the latest, UTC."),
        Column("mean_score", "DOUBLE", "played.mean_score", "Mean score of all of them."),
        Column("lessons_tested", "BIGINT", "coalesce(learned.tested, 0)", "Lessons that were measured."),
        Column("lessons_admitted", "BIGINT", "coalesce(learned.admitted, 0)", "Lessons that passed the gate."),
    ),
    source="""FROM (
    SELECT scenario, count(*) AS runs, max(started) AS last_started, avg(score) AS mean_score
    FROM runs WHERE scenario IS NOT NULL GROUP BY scenario) AS played
LEFT JOIN (
    SELECT scenario, count(DISTINCT lesson_id) AS tested,
      count(DISTINCT lesson_id) FILTER (decision = 'admitted') AS admitted
    FROM knowledge GROUP BY scenario) AS learned ON learned.scenario = played.scenario""",
)

MISSIONS = View(
    name="missions",
    help="One row a mission, as it stood when it last stopped.",
    columns=(
        Column("trace_id", "VARCHAR", "trace_id", "Trace of the mission: its checkpoint."),
        attribute("mission", "VARCHAR", c.MISSION, "Name of the mission."),
        attribute("status", "VARCHAR", c.MISSION_STATUS, "done, paused or budget."),
        attribute("steps", "INTEGER", c.MISSION_STEPS, "Steps."),
        attribute("passed", "INTEGER", c.MISSION_PASSED, "Steps whose verifier has passed."),
        attribute("calls", "BIGINT", c.MISSION_CALLS, "Model calls, in all the times that it was carried out."),
        attribute("tokens", "BIGINT", c.MISSION_TOKENS, "Tokens read and written by them, as far as they are known."),
        attribute("seconds", "DOUBLE", c.MISSION_SECONDS, "Time that it was worked on."),
        attribute("cost_usd", "DOUBLE", c.MISSION_COST_USD, "Cost of the calls, as far as it is known."),
        attribute("note", "VARCHAR", c.MISSION_NOTE, "Why it stopped."),
        STARTED,
        Column("ended", "TIMESTAMP", "ended", "When it stopped, UTC."),
    ),
    source=f"""FROM (SELECT DISTINCT ON (trace_id) * FROM spans
    WHERE {OWN} AND attr(attributes, '{c.KIND}') = '{c.KIND_MISSION}' ORDER BY trace_id, end_ns DESC)""",
)
