"""Files written by hand: YAML that is read with the line of every value, so that an error says where it is.

scenarios/tests/scenario.yaml:7: proposer.provider: unknown provider 'opnai'
hint: did you mean 'openai'?
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from ..ingest.errors import FormatError, WhyspanError
from ..ingest.settings import nearest

T = TypeVar("T")


def yaml_form() -> YAML:
    """Returns the one way YAML is read and written here: comments, order and quotes of the user stay."""
    form = YAML(typ="rt")
    form.width = 400  # a line of evidence stays a line
    form.preserve_quotes = True
    form.indent(mapping=2, sequence=2, offset=0)
    return form


def read_yaml(path: Path) -> Any:
    """Returns a file's content with its lines; FormatError when it cannot be read or is no YAML."""
    try:
        return yaml_form().load(path.read_text("utf-8"))
    except OSError as error:
        raise FormatError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise FormatError(f"{path} is not UTF-8") from error
    except MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise FormatError(f"{path}{line}: {error.problem or 'no valid YAML'}", hint=error.context) from error
    except YAMLError as error:
        raise FormatError(f"{path} is not valid YAML: {error}") from error


def read_table(path: Path) -> "Table":
    """Returns a file that holds one mapping."""
    value = read_yaml(path)
    if not isinstance(value, CommentedMap):
        raise FormatError(f"{path}:1: must be a mapping of fields, not {type(value).__name__}")
    return Table(path=path, values=value)


def plain(value: Any) -> Any:
    """Returns a value without what the reader attached to it."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [plain(v) for v in value]
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool) or value is None:
        return value
    return float(value) if isinstance(value, float) else int(value) if isinstance(value, int) else str(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A mapping in a file. Every method that reads a field raises FormatError with its line, name and what is valid."""

    path: Path
    values: Mapping[str, Any]
    """With lines where they come from YAML; a table of the settings has none."""
    place: str = ""
    """The field that holds it, with dots; empty for the whole file."""
    error: type[WhyspanError] = FormatError

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def only(self, known: Iterable[str]) -> "Table":
        """Refuses fields that are not known."""
        names = list(known)
        for name in self.values:
            if name not in names:
                self.fail(str(name), "there is no such field", hint=nearest(str(name), names))
        return self

    def text(self, name: str, default: str | None = None) -> str:
        """Returns a text; without a default it must be there."""
        return self.read(name, "text", lambda v: str(v) if isinstance(v, str) else None, default)

    def choice(self, name: str, known: Iterable[str], default: str | None = None) -> str:
        """Returns one of the known words."""
        names, value = list(known), self.text(name, default)
        if value not in names:
            self.fail(name, f"{value!r} is not valid", hint=nearest(value, names))
        return value

    def whole(self, name: str, default: int | None = None, *, least: int = 0) -> int:
        """Returns a whole number."""
        return self.read(name, f"a whole number of at least {least}", lambda v: _whole(v, least), default)

    def number(self, name: str, default: float | None = None) -> float:
        """Returns a number that is not negative."""
        return self.read(name, "a number of at least 0", _number, default)

    def texts(self, name: str, default: tuple[str, ...] | None = None) -> tuple[str, ...]:
        """Returns a list of texts."""
        return self.read(name, "a list of texts", texts_or_none, default)

    def flag(self, name: str, default: bool | None = None) -> bool:
        """Returns true or false."""
        return self.read(name, "true or false", lambda v: v if isinstance(v, bool) else None, default)

    def table(self, name: str) -> "Table":
        """Returns a mapping; one that is not there is empty."""
        value: Mapping[str, Any] = self.read(name, "a mapping", _mapping, CommentedMap())
        return replace(self, values=value, place=self.name_of(name))

    def tables(self, name: str) -> list["Table"]:
        """Returns a list of mappings, which must be there."""
        value = self.read(name, "a list of mappings", lambda v: v if isinstance(v, CommentedSeq) else None, None)
        return [self._item(name, item, n) for n, item in enumerate(value)]

    def plain(self) -> dict[str, Any]:
        """Returns the values without lines."""
        return dict(plain(self.values))

    def fail(self, name: str, problem: str, *, hint: str | None = None) -> NoReturn:
        """Raises the error about a field."""
        raise self.error(f"{self.where(name)}: {problem}", hint=hint)

    def where(self, name: str) -> str:
        """Returns where a field stands: file, line, and name with dots."""
        return f"{self.path}{self._line(name)}: {self.name_of(name)}"

    def name_of(self, name: str) -> str:
        """Returns the name of a field with those that hold it."""
        return f"{self.place}.{name}" if self.place else name

    def read(self, name: str, words: str, read: Callable[[Any], T | None], default: T | None = None) -> T:
        """Returns a field as `read` gives it, which returns None for what is not `words`."""
        if name not in self.values:
            if default is None:
                self.fail(name, f"is missing; it must be {words}")
            return default
        value = read(self.values[name])
        if value is None:
            self.fail(name, f"must be {words}, not {plain(self.values[name])!r}")
        return value

    def _item(self, name: str, item: Any, n: int) -> "Table":
        if not isinstance(item, CommentedMap):
            self.fail(name, f"item {n + 1} must be a mapping, not {item!r}")
        return replace(self, values=item, place=f"{self.name_of(name)}[{n}]")

    def _line(self, name: str) -> str:
        if not isinstance(self.values, CommentedMap):
            return ""
        line: int = self.values.lc.key(name)[0] if name in self.values else (self.values.lc.line or 0)
        return f":{line + 1}"


def _mapping(value: Any) -> Mapping[str, Any] | None:
    return value if isinstance(value, Mapping) else None


def _whole(value: Any, least: int) -> int | None:
    return int(value) if isinstance(value, int) and not isinstance(value, bool) and value >= least else None


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else None


def texts_or_none(value: Any) -> tuple[str, ...] | None:
    """Returns a list of texts as a tuple; None for anything else."""
    is_list = isinstance(value, list) and all(isinstance(v, str) for v in value)
    return tuple(str(v) for v in value) if is_list else None
