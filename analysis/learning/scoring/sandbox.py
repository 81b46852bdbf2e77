"""Runs generated code: a process of its own with limits, a scratch folder, no secrets, and a time after which it ends.

The limits keep an accident small. They are no wall against an attacker: for that give a `wrap` that starts a container,
such as `["docker", "run", "--rm", "-i", "--network=none", "-v", "{folder}:{folder}", "-w", "{folder}", "python:3.12"]`,
or a `remote` that reaches a shell elsewhere, such as `["ssh", "-T", "build@sandbox"]`, to which the files are sent.
"""

import io
import json
import os
import shlex
import signal
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from ....ingest.errors import UsageError
from ...policy import LOCAL, NO_POLICY, Policy
from ...yaml_files import Table

NO_NAMESPACE = "whyspan: no namespace without a network"
_LIMITER = """
import ctypes, json, os, resource, sys
limits = json.loads(sys.argv[1])
if not limits.pop("network"):
    unshare = getattr(ctypes.CDLL(None), "unshare", None)
    if unshare is None or unshare(0x10000000 | 0x40000000):
        sys.exit("NO_NAMESPACE")
for name, value in limits.items():
    kind = getattr(resource, name)
    hard = resource.getrlimit(kind)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (value, value))
os.execvp(sys.argv[2], sys.argv[2:])
""".replace("NO_NAMESPACE", NO_NAMESPACE)
"""Sets the limits in the new process; doing that between fork and exec is not safe in a program with threads. Without
a network it moves into namespaces of its own for users and networks, the numbers of Linux for these."""
_STDIN = ".whyspan-stdin"
_WORD = "whyspan"
_REMOTE = 'd=$(mktemp -d) && trap \'rm -rf "$d"\' EXIT && cd "$d" && tar xf - && {command} < ' + _STDIN
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
    """Where generated code runs, with which limits."""

    timeout_s: float = 20.0
    memory_mb: int = 1024
    file_mb: int = 64
    wrap: tuple[str, ...] = ()
    """Words put before every command; `{folder}` stands for the scratch folder."""
    remote: tuple[str, ...] = ()
    """Words that take a line for a shell elsewhere as their last argument; the files come on standard input."""
    policy: Policy = NO_POLICY

    def check(self, argv: Sequence[str]) -> None:
        """Raises UsageError, with the rule, where the policy does not allow a command here."""
        words = (*self.wrap, *self.remote)
        self.policy.executors.check(Path(words[0]).name if words else LOCAL)
        self.policy.commands.check(Path(argv[0]).name)
        if words and not self.policy.network and "--network=none" not in words:
            raise UsageError(
                "the policy says network: false, and nobody can tell whether this executor has one",
                hint="a container with the word --network=none has none",
            )

    def make_ready(self, argv: Sequence[str]) -> None:
        """Raises UsageError where a command may not be started here, or where the executor itself does not work."""
        self.check(argv)
        if self.wrap or self.remote:
            _probe(self.wrap, self.remote)

    def run(self, argv: Sequence[str], files: Mapping[str, str], *, stdin: str = "") -> Ran:
        """Runs a command in a new folder with these files, which is deleted afterwards.

        `python` stands for this interpreter. Raises UsageError when there is no such command.
        """
        self.make_ready(argv)
        return self.start(argv, files, stdin)

    def start(self, argv: Sequence[str], files: Mapping[str, str], stdin: str) -> Ran:
        """Runs a command, whatever the policy says."""
        with tempfile.TemporaryDirectory(prefix="whyspan-") as folder:
            for name, text in files.items():
                path = (Path(folder) / name).resolve()
                if not path.is_relative_to(Path(folder).resolve()):
                    raise UsageError(f"{name!r} lies outside the scratch folder")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, "utf-8")
            if self.remote:
                line = _REMOTE.format(command=shlex.join(argv))
                return self._start([*self.remote, line], folder, _archive({**files, _STDIN: stdin}))
            return started(self._start(self._command(argv, folder), folder, stdin.encode()))

    def _command(self, argv: Sequence[str], folder: str) -> list[str]:
        if self.wrap:
            return [*(word.replace("{folder}", folder) for word in self.wrap), *argv]
        words = [sys.executable if argv[0] == "python" else argv[0], *argv[1:]]
        return [sys.executable, "-I", "-c", _LIMITER, json.dumps(self._limits()), *words]

    def _limits(self) -> dict[str, int | bool]:
        return {
            "network": self.policy.network,
            "RLIMIT_CPU": int(self.timeout_s) + 1,
            "RLIMIT_AS": self.memory_mb * 2**20,
            "RLIMIT_FSIZE": self.file_mb * 2**20,
            "RLIMIT_CORE": 0,
        }

    def _start(self, command: list[str], folder: str, stdin: bytes) -> Ran:
        environment = {"PATH": os.environ.get("PATH", ""), "HOME": folder, "LANG": "C.UTF-8", "PYTHONHASHSEED": "0"}
        try:
            process = subprocess.Popen(
                command, cwd=folder, env=environment, start_new_session=True,
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
            stdout=out.decode(errors="replace")[:LONGEST_OUTPUT],
            stderr=err.decode(errors="replace")[-LONGEST_OUTPUT:],
            timed_out=timed_out,
        )


@lru_cache
def _probe(wrap: tuple[str, ...], remote: tuple[str, ...]) -> None:
    """Runs a word in an executor, once a process: a container that does not start is no code that failed."""
    ran = Sandbox(wrap=wrap, remote=remote).start(["echo", _WORD], {}, "")
    if ran.stdout.strip() != _WORD:
        said = ran.stderr.strip()[-300:] or ran.stdout.strip()[:100] or f"exit code {ran.exit_code}"
        raise UsageError(f"{(wrap or remote)[0]} does not run commands: {said}", hint="see sandbox: wrap, remote")


def started(ran: Ran) -> Ran:
    """Returns what a program did; UsageError when it was never started, which is nothing that it did."""
    if ran.exit_code == 1 and ran.stderr.strip() == NO_NAMESPACE:
        raise UsageError(
            "the policy says network: false, and this kernel gives no network namespace to programs without rights",
            hint="run generated code in a container, by `wrap`, that says --network=none",
        )
    return ran


def read_sandbox(table: Table) -> Sandbox:
    """Reads the field `sandbox`."""
    table.only(("timeout_s", "memory_mb", "file_mb", "wrap", "remote"))
    if "wrap" in table and "remote" in table:
        table.fail("remote", "give either wrap or remote")
    return Sandbox(
        timeout_s=table.number("timeout_s", 20.0),
        memory_mb=table.whole("memory_mb", 1024, least=64),
        file_mb=table.whole("file_mb", 64, least=1),
        wrap=table.texts("wrap", ()),
        remote=table.texts("remote", ()),
    )


def _archive(files: Mapping[str, str]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, text in files.items():
            content = text.encode()
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return out.getvalue()
