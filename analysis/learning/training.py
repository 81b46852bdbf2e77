"""Rows to train a model on, from plays in the store: good answers, and pairs of a good and a bad one to one prompt."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from ...ingest import conventions as names
from ...ingest.calls import Json
from ...ingest.store import Store
from ...ingest.store.querying import run_query

Row: TypeAlias = dict[str, Json]
_QUERY = f"""
SELECT root.trace_id, attr(root.attributes, '{names.RUN_CASE}') AS case_name,
  try_cast(attr(root.attributes, '{names.RUN_SCORE}') AS DOUBLE) AS score,
  attr(call.attributes, '{names.RECORD_REQUEST}') AS request,
  attr(call.attributes, 'gen_ai.output.messages') AS output
FROM spans AS root JOIN spans AS call ON call.trace_id = root.trace_id AND call.parent_span_id = root.span_id
WHERE root.scope_name = '{names.RUN_SCOPE}' AND root.parent_span_id IS NULL AND call.operation = 'chat'
  AND attr(root.attributes, '{names.SCENARIO}') = ? ORDER BY root.started, root.trace_id"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A prompt, what was answered, and what that is worth."""

    run_id: str
    case: str
    prompt: tuple[Json, ...]
    """Messages."""
    text: str
    score: float

    @property
    def context(self) -> str:
        """The case and the conversation so far, whatever the system prompt was: answers to it can be compared."""
        return json.dumps([self.case, [m for m in self.prompt if m["role"] != "system"]], sort_keys=True)


def read_answers(store: Store, scenario: str) -> list[Answer]:
    """Returns the text answers of a scenario's plays, oldest first; answers that call tools are left out."""
    answers = []
    for run_id, case, score, request, output in run_query(store, _QUERY, [scenario]).rows:
        body, (said,) = json.loads(request), json.loads(output)
        texts = [part["content"] for part in said["parts"] if part["type"] == "text"]
        if score is not None and "messages" in body and len(texts) == len(said["parts"]) == 1:
            answers.append(Answer(run_id=run_id, case=case, prompt=_prompt(body), text=texts[0], score=score))
    return answers


def sft_rows(answers: list[Answer], *, min_score: float) -> Iterator[Row]:
    """Yields each good answer once, in the form of chat fine-tuning."""
    seen = set()
    for answer in answers:
        row = {"messages": [*answer.prompt, {"role": "assistant", "content": answer.text}]}
        key = json.dumps(row, sort_keys=True)
        if answer.score >= min_score and key not in seen:
            seen.add(key)
            yield {**row, "score": answer.score, "run_id": answer.run_id}


def dpo_rows(answers: list[Answer], *, min_score: float) -> Iterator[Row]:
    """Yields, for each bad answer, the prompt that it was given with the best answer in the same conversation."""
    best: dict[str, Answer] = {}
    for answer in answers:
        if answer.score >= min_score and (answer.context not in best or answer.score > best[answer.context].score):
            best[answer.context] = answer
    seen = set()
    for answer in answers:
        good = best.get(answer.context)
        key = (answer.context, answer.text)
        if answer.score < min_score and good is not None and good.text != answer.text and key not in seen:
            seen.add(key)
            yield {
                "prompt": list(answer.prompt),
                "chosen": [{"role": "assistant", "content": good.text}],
                "rejected": [{"role": "assistant", "content": answer.text}],
                "score_chosen": good.score,
                "score_rejected": answer.score,
            }


def _prompt(body: dict[str, Any]) -> tuple[Json, ...]:
    system = [{"role": "system", "content": body["system"]}] if "system" in body else []
    return (*system, *body["messages"])
