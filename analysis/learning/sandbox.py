"""Runs generated code: a process of its own with limits, a scratch folder, no secrets, and a time after which it ends.

The limits keep an accident small. They are no wall against an attacker: for that give a `wrap` that starts a container,
such as `["docker", "run", "--rm", "--network=none", "-v", "{folder}:{folder}", "-w", "{folder}", "python:3.12"]`.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...ingest.errors import UsageError

_LIMITER = """
import json, os, resource, sys
for name, value in json.loads(sys.argv[1]).items():
    kind = getattr(resource, name)
    hard = resource.getrlimit(kind)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (value, value))
os.execvp(sys.argv[2], sys.argv[2:])
"""
"""Sets the limits in the new process; doing that between fork and exec is not safe in a program with threads."""
LONGEST_OUTPUT = 20_000
"""Characters kept of what a program prints."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What a program did."""

    exit_code: int
    """Negative for the signal that ended it."""
    stdout: str
    stderr: str
    timed_out: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """The limits."""

    timeout_s: float = 20.0
    memory_mb: int = 1024
    file_mb: int = 64
    wrap: tuple[str, ...] = ()
    """Words put before every command; `{folder}` stands for the scratch folder."""

    def run(self, argv: Sequence[str], files: Mapping[str, str], *, stdin: str = "") -> Ran:
        """Runs a command in a new folder with these files, which is deleted afterwards.

        `python` stands for this interpreter. Raises UsageError when there is no such command.
        """
        with tempfile.TemporaryDirectory(prefix="whyspan-") as folder:
            for name, text in files.items():
                path = (Path(folder) / name).resolve()
                if not path.is_relative_to(Path(folder).resolve()):
                    raise UsageError(f"{name!r} lies outside the scratch folder")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, "utf-8")
            return self._start(self._command(argv, folder), folder, stdin)

    def _command(self, argv: Sequence[str], folder: str) -> list[str]:
        if self.wrap:
            return [*(word.replace("{folder}", folder) for word in self.wrap), *argv]
        words = [sys.executable if argv[0] == "python" else argv[0], *argv[1:]]
        return [sys.executable, "-I", "-c", _LIMITER, json.dumps(self._limits()), *words]

    def _limits(self) -> dict[str, int]:
        return {
            "RLIMIT_CPU": int(self.timeout_s) + 1,
            "RLIMIT_AS": self.memory_mb * 2**20,
            "RLIMIT_FSIZE": self.file_mb * 2**20,
            "RLIMIT_CORE": 0,
        }

    def _start(self, command: list[str], folder: str, stdin: str) -> Ran:
        environment = {"PATH": os.environ.get("PATH", ""), "HOME": folder, "LANG": "C.UTF-8", "PYTHONHASHSEED": "0"}
        try:
            process = subprocess.Popen(
                command, cwd=folder, env=environment, text=True, errors="replace", start_new_session=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )  # fmt: skip
        except OSError as error:
            raise UsageError(f"{command[0]!r} cannot be started: {error.strerror}") from error
        with process:
            try:
                out, err = process.communicate(stdin, timeout=self.timeout_s)
                timed_out = False
            except subprocess.TimeoutExpired:
                # Its children too: they hold the pipes open.
                os.killpg(process.pid, signal.SIGKILL)
                out, err = process.communicate()
                timed_out = True
        return Ran(
            exit_code=process.returncode,
            stdout=out[:LONGEST_OUTPUT],
            stderr=err[-LONGEST_OUTPUT:],
            timed_out=timed_out,
        )
