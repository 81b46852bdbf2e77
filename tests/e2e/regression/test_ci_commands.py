"""The commands of the example workflows, run by a shell as their platforms do, in a project with a stale test."""

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

CI = Path(__file__).parents[3] / "deploy" / "ci"
GH = """#!/bin/sh
# Stands for the GitHub command line: notes what it is asked, and knows of no comment.
echo "$@" >> gh.log
"""


@pytest.fixture
def project(tmp_path: Path, whyspan: Callable[..., Any], inbox: Any) -> Path:
    """A project whose test was never verified, and an environment with `pytest` and `whyspan` on the path."""
    whyspan("--store", inbox.store, "test", "last", inbox.event, "--out", tmp_path / "tests" / "test_inbox.py")
    (tmp_path / "gh").write_text(GH)
    (tmp_path / "gh").chmod(0o755)
    (tmp_path / "model.py").write_text("from whyspan.cli.demo.standin import model\n")
    return tmp_path


def shell(command: str, project: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs a step as the platforms do: it ends with its first failing command."""
    outside = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "WHYSPAN_", "OPENAI_"))}
    path = os.pathsep.join([str(project), str(Path(sys.executable).parent), outside["PATH"]])
    return subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", command],
        cwd=project, env={**outside, "PATH": path, **variables}, capture_output=True, text=True, check=False,
    )  # fmt: skip


def steps(job: str) -> dict[str, str]:
    workflow = YAML(typ="safe").load(CI / "github-actions.yml")
    return {s["name"]: s["run"] for s in workflow["jobs"][job]["steps"] if "run" in s and "name" in s}


def test_the_steps_of_github_actions_run(project: Path) -> None:
    run = steps("recorded")
    checked = shell(run["Check the decisions"], project)
    assert checked.returncode == 1
    assert "nothing is verified yet" in checked.stdout
    shown = shell(run["Show the summary"], project, GITHUB_STEP_SUMMARY="page.md")
    assert shown.returncode == 0, shown.stderr
    assert "1 unverified" in (project / "page.md").read_text()
    variables = {"GITHUB_REPOSITORY": "o/r", "NUMBER": "7", "LINK": "https://ci.example/1"}
    written = shell(run["Write or update the comment"], project, **variables)
    assert written.returncode == 0, written.stderr
    assert "api --method POST repos/o/r/issues/7/comments -F body=@comment.md" in (project / "gh.log").read_text()
    assert "[full report](https://ci.example/1)" in (project / "comment.md").read_text()


def test_the_nightly_step_asks_the_model(project: Path) -> None:
    command = steps("live")["Ask the model"] + " --whyspan-model-fn model.py:model"
    asked = shell(command, project)
    assert asked.returncode == 1
    assert "8 of 8 replays went against it" in asked.stdout


class Notes(ThreadingHTTPServer):
    """Stands for GitLab: keeps what is posted."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Receiver)
        self.posted: list[tuple[str, str | None, Any]] = []


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        assert isinstance(self.server, Notes)
        self.server.posted.append((self.path, self.headers["private-token"], body))
        self.send_response(201)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Keeps quiet."""


@pytest.fixture
def gitlab() -> Iterator[Notes]:
    server = Notes()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_jobs_of_gitlab_run(project: Path, gitlab: Notes) -> None:
    job = YAML(typ="safe").load(CI / "gitlab-ci.yml")["agent-decisions-recorded"]
    assert shell("\n".join(job["script"]), project).returncode == 1
    comment = "\n".join(job["after_script"])
    assert shell(comment, project).returncode == 0
    assert gitlab.posted == []
    variables = {
        "WHYSPAN_COMMENT_TOKEN": "token", "CI_API_V4_URL": f"http://127.0.0.1:{gitlab.server_port}/api/v4",
        "CI_PROJECT_ID": "5", "CI_MERGE_REQUEST_IID": "9", "CI_JOB_URL": "https://ci.example/2",
    }  # fmt: skip
    done = shell(comment, project, **variables)
    assert done.returncode == 0, done.stderr
    ((path, token, body),) = gitlab.posted
    assert (path, token) == ("/api/v4/projects/5/merge_requests/9/notes", "token")
    assert body["body"].startswith("<!-- whyspan -->")


@pytest.mark.parametrize("name", ["github-actions.yml", "gitlab-ci.yml"])
def test_every_file_that_a_workflow_takes_is_an_artefact(name: str) -> None:
    from whyspan.cli.report.ci.artefacts import ARTEFACTS

    taken = set(re.findall(r"whyspan-report/([\w.]+)", (CI / name).read_text()))
    assert taken
    assert taken <= set(ARTEFACTS)
