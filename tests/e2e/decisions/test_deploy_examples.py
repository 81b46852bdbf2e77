"""The scheduling examples of deploy/jobs: valid by their own tools, and their commands do the job."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from croniter import croniter
from ruamel.yaml import YAML

from whyspan.ingest.otlp import encode_traces
from whyspan.ingest.store import Store

EXAMPLES = Path(__file__).parents[3] / "deploy/jobs"
BIN = Path(sys.executable).parent
SYSTEMD = shutil.which("systemd-analyze")
SETTINGS = """[jobs.nightly]
select = "list_contains(tool_names, 'issue_refund')"
do = ["odds"]
samples = 5
model_fn = "model.py:model"
"""


@pytest.fixture
def folder(path: Path) -> Path:
    """Gives a folder with a store, a job and a model, as a scheduler finds it."""
    (path.parent / "whyspan.toml").write_text(SETTINGS)
    (path.parent / "keys.env").write_text("OPENAI_API_KEY=none\n")
    return path.parent


def run(command: str, folder: Path, **env: str) -> None:
    given = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "XDG_CONFIG_HOME": str(folder / "config"), **env}
    done = subprocess.run(["/bin/bash", "-e", "-c", command], cwd=folder, env=given, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def explained(folder: Path) -> int:
    with Store.open(folder / ".whyspan") as store, store.connect() as db:
        rows = db.execute("SELECT explained + linked FROM job_runs WHERE status = 'done'").fetchall()
    return sum(row[0] for row in rows)


def test_the_crontab_is_valid_and_its_command_does_the_job(folder: Path) -> None:
    lines = [x for x in (EXAMPLES / "crontab").read_text().splitlines() if x and not x.startswith("#")]
    variables = dict(line.split("=", 1) for line in lines if re.match(r"\w+=", line))
    (entry,) = [line for line in lines if not re.match(r"\w+=", line)]
    schedule, command = " ".join(entry.split()[:5]), entry.split(maxsplit=5)[5]
    assert croniter.is_valid(schedule)
    assert "%" not in command  # cron would take it for a line break
    run(command, folder, **{**variables, "WHYSPAN_DIR": str(folder), "WHYSPAN": str(BIN / "whyspan")})
    assert explained(folder) == 2


@pytest.mark.skipif(SYSTEMD is None, reason="no systemd here")
def test_the_systemd_units_are_valid(tmp_path: Path) -> None:
    for unit in ("whyspan-job@.service", "whyspan-job@.timer"):
        text = (EXAMPLES / unit).read_text().replace("/opt/whyspan/bin/whyspan", "/bin/true")
        (tmp_path / unit.replace("@.", "@nightly.")).write_text(text)
    units = [str(path) for path in sorted(tmp_path.iterdir())]
    done = subprocess.run([str(SYSTEMD), "verify", "--man=no", *units], capture_output=True, text=True)
    assert (done.returncode, _about(done.stderr, "whyspan")) == (0, [])


@pytest.mark.skipif(SYSTEMD is None, reason="no systemd here")
def test_the_systemd_schedule_is_a_calendar(tmp_path: Path) -> None:
    (calendar,) = re.findall(r"^OnCalendar=(.*)$", (EXAMPLES / "whyspan-job@.timer").read_text(), re.MULTILINE)
    assert subprocess.run([str(SYSTEMD), "calendar", calendar], capture_output=True).returncode == 0


def test_the_systemd_service_does_the_job(folder: Path) -> None:
    (command,) = re.findall(r"^ExecStart=(.*)$", (EXAMPLES / "whyspan-job@.service").read_text(), re.MULTILINE)
    run(command.replace("/opt/whyspan/bin/", "").replace("%i", "nightly"), folder)
    assert explained(folder) == 2


def _about(text: str, word: str) -> list[str]:
    return [line for line in text.splitlines() if word in line]


def _documents() -> list[dict[str, Any]]:
    return list(YAML(typ="safe").load_all((EXAMPLES / "cronjob.yaml").read_text()))


def test_the_kubernetes_manifest_is_valid() -> None:
    import kubernetes_validate

    for document in _documents():
        kubernetes_validate.validate(document, "1.30", strict=True)


def test_the_kubernetes_job_does_the_job(folder: Path, tmp_path: Path) -> None:
    settings, cron_job = _documents()
    (container,) = cron_job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    assert croniter.is_valid(cron_job["spec"]["schedule"])
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert container["workingDir"] == mounts["settings"]
    text = settings["data"]["whyspan.toml"].replace("/data/store", str(folder / ".whyspan"))
    (folder / "whyspan.toml").write_text(text.replace('do = ["why"]', 'do = ["odds"]\nmodel_fn = "model.py:model"'))
    run(" ".join(container["command"]), folder)
    assert explained(folder) > 2


def test_the_github_workflow_is_valid() -> None:
    words = [str(BIN / "check-jsonschema"), "--builtin-schema", "vendor.github-workflows"]
    done = subprocess.run([*words, str(EXAMPLES / "github-actions.yml")], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_the_github_workflow_does_the_job(folder: Path, recorded: Path) -> None:
    workflow: Mapping[str, Any] = YAML(typ="safe").load((EXAMPLES / "github-actions.yml").read_text())
    shutil.rmtree(folder / ".whyspan")
    (folder / "spans").mkdir()
    with Store.open(recorded) as store:
        for n, trace_id in enumerate(store.all_trace_ids()):
            (folder / f"spans/{n}.json").write_bytes(encode_traces(store.spans(trace_id)))
    steps = [step["run"] for step in workflow["jobs"]["explain"]["steps"] if "run" in step]
    for command in steps:
        if not command.startswith("pip install"):
            run(command, folder)
    assert explained(folder) == 2
    assert "Job nightly" in (folder / "whyspan.html").read_text()
