"""Errors in files written by hand say the line, the field, and what would be valid."""

from pathlib import Path

import pytest

from whyspan.analysis.learning.lessons.playbook import Playbook
from whyspan.analysis.learning.scenarios.scenario import read_scenario
from whyspan.ingest.errors import FormatError

GOOD = """\
name: tickets
family: agent_task
proposer: {provider: rules, model: model.py:answer}
evaluator: {predicate: "never tool:refund"}
cases: cases/*.json
"""


def write_scenario(folder: Path, text: str, case: str = '{"ticket": "T-1"}') -> Path:
    (folder / "cases").mkdir()
    (folder / "cases" / "a.json").write_text(case)
    (folder / "scenario.yaml").write_text(text)
    return folder


@pytest.mark.parametrize(
    ("old", "new", "said", "hint"),
    [
        ("agent_task", "agent_tsk", "scenario.yaml:2: family: 'agent_tsk' is not valid", "did you mean 'agent_task'?"),
        ("provider: rules", "provider: opnai", "scenario.yaml:3: proposer.provider: 'opnai'", "did you mean 'openai'?"),
        ("predicate", "predicat", "scenario.yaml:4: evaluator.kind: give exactly one of module, command", None),
        ("cases:", "case:", "scenario.yaml:5: case: there is no such field", "did you mean 'cases'?"),
        ("name: tickets", "name: 7", "scenario.yaml:1: name: must be text, not 7", None),
        ("{provider", "[provider", "scenario.yaml:3", None),
    ],
)
def test_a_broken_scenario_names_line_field_and_valid_values(
    tmp_path: Path, old: str, new: str, said: str, hint: str | None
) -> None:
    with pytest.raises(FormatError) as caught:
        read_scenario(write_scenario(tmp_path, GOOD.replace(old, new)))
    assert said in caught.value.message
    assert hint is None or caught.value.hint == hint


def test_a_case_that_breaks_the_schema_names_the_field(tmp_path: Path) -> None:
    schema = "input_schema: {type: object, properties: {ticket: {type: integer}}}\n"
    with pytest.raises(FormatError, match=r"a\.json: a: \$\.ticket: 'T-1' is not of type 'integer'"):
        read_scenario(write_scenario(tmp_path, GOOD + schema))


def test_an_active_lesson_without_evidence_is_refused(tmp_path: Path) -> None:
    (tmp_path / "playbook.yaml").write_text("- action: be brief\n- action: be kind\n  status: active\n")
    with pytest.raises(FormatError) as caught:
        Playbook(tmp_path / "playbook.yaml")
    assert caught.value.message.endswith("playbook.yaml:3: [1].status: active without evidence")
    assert caught.value.hint == "write status: proposed, then it is tested"


def test_a_wrong_status_lists_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "playbook.yaml").write_text("- action: be brief\n  status: activ\n")
    with pytest.raises(FormatError, match=r"playbook\.yaml:2: \[0\]\.status: 'activ' is not valid"):
        Playbook(tmp_path / "playbook.yaml")
