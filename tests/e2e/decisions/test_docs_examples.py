"""The SQL and TOML of the documentation work as they stand."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from whyspan.analysis.jobs.definition import Step, load_jobs
from whyspan.analysis.policy import load_policy
from whyspan.cli.shelf import read_query
from whyspan.ingest.store import Store
from whyspan.ingest.store.querying import run_query

DOCS = Path(__file__).parents[3] / "docs"
PAGES = ("queries.md", "jobs.md")
_QUOTED = r'whyspan sql "(SELECT [^"]+)"'
QUOTED = [
    (page.name, sql)
    for page in (*sorted(DOCS.glob("*.md")), DOCS.parent / "README.md")
    for sql in re.findall(_QUOTED, page.read_text())
]
SQL = [
    (page, number, sql)
    for page in PAGES
    for number, sql in enumerate(re.findall(r"```sql\n(.*?)```", (DOCS / page).read_text(), re.DOTALL), 1)
]


@pytest.mark.parametrize(("page", "number", "sql"), SQL, ids=[f"{page}-{number}" for page, number, _ in SQL])
def test_sql_of_the_docs_runs(page: str, number: int, sql: str, recorded: Path, tmp_path: Path) -> None:
    (tmp_path / "example.sql").write_text(sql if sql.startswith("-- ") else f"-- Example.\n{sql}")
    query = read_query(tmp_path / "example.sql", is_own=True)
    given = {p.name: "inbox-agent" for p in query.parameters if p.default is None}
    with Store.open(recorded) as store:
        assert run_query(store, query.sql, query.bind(given)).columns


@pytest.mark.parametrize(("page", "sql"), QUOTED, ids=[f"{page}-{sql[:30]}" for page, sql in QUOTED])
def test_sql_on_a_command_line_of_the_docs_runs(page: str, sql: str, recorded: Path) -> None:
    with Store.open(recorded) as store:
        assert run_query(store, sql).columns


def test_the_selections_of_the_docs_find_the_demos_failures(recorded: Path) -> None:
    with Store.open(recorded) as store:
        found = [len(run_query(store, sql).rows) for _, _, sql in SQL[:2]]
    assert all(found)


def test_settings_of_the_docs_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (toml,) = re.findall(r"```toml\n(.*?)```", (DOCS / "jobs.md").read_text(), re.DOTALL)
    Path("whyspan.toml").write_text(toml)
    jobs = load_jobs()
    assert jobs["nightly"].do == (Step.WHY, Step.FIX, Step.TEST)
    assert jobs["suspects"].triage == 20
    assert len(load_policy().never) == 2


@pytest.mark.parametrize("command", ["run", "list", "status", "history", "cancel"])
def test_every_jobs_command_is_documented(command: str, whyspan: Callable[..., tuple[int, str, str]]) -> None:
    assert command in (DOCS / "jobs.md").read_text()
    code, out, _ = whyspan("jobs", command, "--help")
    assert code == 0
    assert "Usage" in out
