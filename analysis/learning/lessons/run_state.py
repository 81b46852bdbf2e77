"""What a run is continued from after it was stopped: a small file beside the playbook."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ....ingest.errors import FormatError
from ...canonical import digest
from .gate import Strategy
from .knowledge import Knowledge
from .shelf import write_whole

RUN_FILE = "run.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    """Which run it is, and what it started from."""

    ordinal: int
    """Which run of the scenario it is, from 1: other runs draw other samples."""
    epoch: str
    kind: str
    """A strategy, or `retest`."""
    served: tuple[str, ...]
    """Ids of the lessons that were served when it began."""
    waiting: tuple[str, ...]
    """Ids of the lessons in the playbook that waited for a test then."""
    branch: str = ""
    """The branch of the knowledge that it works on; empty for the main one."""
    is_done: bool = False

    @property
    def run(self) -> str:
        """Id of the run."""
        parts = [self.ordinal, self.epoch, self.kind, list(self.served), *([self.branch] if self.branch else [])]
        return digest(parts)[:16]


def start_run(knowledge: Knowledge, epoch: str, kind: str) -> RunState:
    """Returns the state of the run that was stopped, when it is of the same kind, else that of a new one.

    The kind is a strategy, or `retest`. A strategy of `none` serves nothing.
    """
    path = knowledge.folder / RUN_FILE
    last = _read_state(path)
    same = last is not None and (last.epoch, last.kind, last.branch) == (epoch, kind, knowledge.branch)
    if last is not None and same and not last.is_done:
        return last
    knowledge.begin_epoch(epoch)
    served = () if kind == Strategy.NONE else tuple(sorted(i.id for i in knowledge.playbook.active()))
    waiting = tuple(sorted(lesson.id for lesson in knowledge.waiting))
    state = RunState(
        ordinal=last.ordinal + 1 if last else 1, epoch=epoch, kind=kind, served=served, waiting=waiting,
        branch=knowledge.branch,
    )  # fmt: skip
    write_whole(path, json.dumps(asdict(state), indent=1))
    return state


def end_run(knowledge: Knowledge, state: RunState) -> None:
    """Notes that a run has ended, so that the next one is another."""
    write_whole(knowledge.folder / RUN_FILE, json.dumps({**asdict(state), "is_done": True}, indent=1))


def _read_state(path: Path) -> RunState | None:
    if not path.exists():
        return None
    try:
        value: dict[str, Any] = json.loads(path.read_text("utf-8"))
        return RunState(**{**value, "served": tuple(value["served"]), "waiting": tuple(value["waiting"])})
    except (ValueError, TypeError, KeyError) as error:
        raise FormatError(f"{path} cannot be read: {error}", hint="delete it: the next run then starts anew") from error
