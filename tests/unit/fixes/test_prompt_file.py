import subprocess
from pathlib import Path

import pytest

from whyspan.analysis.cases import Case
from whyspan.analysis.fixes.candidates import Candidate
from whyspan.analysis.fixes.prompt_file import diff_prompt
from whyspan.analysis.interventions import InsertRule, Intervention, SwapModel, SystemPrompt
from whyspan.ingest.errors import FormatError, UsageError

RULE = InsertRule("Never pay.\nAsk first.")


def candidate(intervention: Intervention) -> Candidate:
    return Candidate(name="x", title="x", intervention=intervention)


@pytest.mark.parametrize(
    "text", ["You help.\n", "You help.", "Line one.\n\nLine two.\n\n", "Zeile ä\n", "", "a\r\nb\r\n"]
)
@pytest.mark.parametrize("intervention", [RULE, SystemPrompt("All new.\nReally.")])
def test_the_diff_applies_with_patch(tmp_path: Path, case: Case, text: str, intervention: Intervention) -> None:
    path = tmp_path / "prompt.md"
    path.write_bytes(text.encode())
    found = diff_prompt(path, case, candidate(intervention))
    assert path.read_bytes() == text.encode()
    done = subprocess.run(
        ["patch", "-p0", "--binary", str(path)], input=found.diff.encode(), capture_output=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    after = path.read_text("utf-8")
    assert ("Never pay.\nAsk first." in after) if intervention is RULE else after == "All new.\nReally.\n"


def test_a_file_with_the_recorded_prompt_is_recognised(tmp_path: Path, case: Case) -> None:
    path = tmp_path / "prompt.md"
    path.write_text("You are an assistant\nfor payments.\n")
    assert diff_prompt(path, case, candidate(RULE)).is_the_recorded_prompt
    path.write_text("You are a pirate.\n")
    assert not diff_prompt(path, case, candidate(RULE)).is_the_recorded_prompt


def test_a_change_that_is_none_of_the_prompt_is_refused(tmp_path: Path, case: Case) -> None:
    path = tmp_path / "prompt.md"
    path.write_text("x")
    with pytest.raises(UsageError, match="no change of a prompt"):
        diff_prompt(path, case, candidate(SwapModel("m")))


def test_a_missing_file_is_an_error_with_its_name(tmp_path: Path, case: Case) -> None:
    with pytest.raises(FormatError, match=r"nothing\.md cannot be read"):
        diff_prompt(tmp_path / "nothing.md", case, candidate(RULE))
