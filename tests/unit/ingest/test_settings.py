"""Settings: precedence, types, unknown keys."""

from pathlib import Path

import pytest

from whyspan.ingest.errors import ConfigError
from whyspan.ingest.settings import TABLE, load_section, load_settings


@pytest.fixture(autouse=True)
def _empty_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def load(arguments: dict[str, object] | None = None, **env: str) -> object:
    return load_settings(arguments or {}, environ={"XDG_CONFIG_HOME": "config", **env})


def test_argument_beats_environment_beats_file_beats_user_file_beats_default(tmp_path: Path) -> None:
    def budget(arguments: dict[str, object] | None = None, **env: str) -> int:
        return load_settings(arguments or {}, environ={"XDG_CONFIG_HOME": "config", **env}).budget

    assert budget() == 200
    (tmp_path / "config/whyspan").mkdir(parents=True)
    (tmp_path / "config/whyspan/config.toml").write_text("budget = 1\n")
    assert budget() == 1
    (tmp_path / "whyspan.toml").write_text("budget = 2\n")
    assert budget() == 2
    assert budget(WHYSPAN_BUDGET="3") == 3
    assert budget({"budget": 4}, WHYSPAN_BUDGET="3") == 4


def test_an_unknown_key_names_the_nearest_one(tmp_path: Path) -> None:
    (tmp_path / "whyspan.toml").write_text("bugdet = 2\n")
    with pytest.raises(ConfigError, match="unknown setting 'bugdet'") as caught:
        load()
    assert caught.value.hint is not None
    assert "'budget'" in caught.value.hint


def test_a_wrong_type_says_where_it_came_from() -> None:
    with pytest.raises(ConfigError, match=r"budget must be a whole number, not 'many' \(WHYSPAN_BUDGET\)"):
        load(WHYSPAN_BUDGET="many")


def test_broken_toml_is_a_config_error(tmp_path: Path) -> None:
    (tmp_path / "whyspan.toml").write_text("budget = \n")
    with pytest.raises(ConfigError, match="not valid TOML"):
        load()


def test_every_setting_has_an_environment_variable_and_help() -> None:
    assert all(row.env.startswith("WHYSPAN_") and row.help for row in TABLE)
    assert len({row.env for row in TABLE}) == len(TABLE)


def test_a_section_of_the_project_wins_over_the_users_key_by_key(tmp_path: Path) -> None:
    (tmp_path / "config/whyspan").mkdir(parents=True)
    (tmp_path / "config/whyspan/config.toml").write_text('[links]\na = "1"\nb = "2"\n')
    (tmp_path / "whyspan.toml").write_text('[links]\nb = "3"\n')
    assert load_section("links", environ={"XDG_CONFIG_HOME": "config"}) == {"a": "1", "b": "3"}
    assert load_section("jobs", environ={"XDG_CONFIG_HOME": "config"}) == {}


def test_a_section_that_is_no_table_is_a_config_error(tmp_path: Path) -> None:
    (tmp_path / "whyspan.toml").write_text("links = 3\n")
    with pytest.raises(ConfigError, match=r"\[links\] must be a table"):
        load_section("links", environ={"XDG_CONFIG_HOME": "config"})
