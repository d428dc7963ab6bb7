"""The program with its slow imports made once: each run is a fork, so that hundreds of runs take minutes.

python -m tests.preloaded SOCKET     reads one JSON object a line {module, argv, env, cwd} from this open socket; each comes with
                                     four open files: stdin, stdout and stderr (or one terminal, three times), and a pipe, to which
                                     the process id is written when the run has started and the exit code when it has ended
"""

from __future__ import annotations

import atexit
import fcntl
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any, NoReturn

ROOT = Path(__file__).parents[1]
STARTED = {"agentcli": "agentcli.__main__", "tests.frontends.terminal.preview": "tests.frontends.terminal.preview"}
"""Modules that `python -m` may name, with the module whose `main` each runs."""
PACKAGES = (
    "agent",
    "context",
    "frontends.cli",
    "frontends.commands",
    "frontends.plain",
    "frontends.terminal",
    "permissions",
    "program",
    "providers.anthropic",
    "providers.scripted",
    "sessions",
    "system",
    "tools",
)
"""Packages of the program whose modules many runs import."""
MODULES = (
    *STARTED.values(),
    "anyio._backends._asyncio",
    "concurrent.futures.thread",
    "ctypes",
    "httpcore2",
    "markdown_it",
    "pygments.lexers.python",
    "truststore",
)
AT_START = ("PYTHON", "LC_", "LANG", "TZ", "LD_")
"""Variables that count when the interpreter starts: a run with other values than the preloaded process starts one."""


class Run:
    """A running program: its process, and the pipe that tells its end."""

    def __init__(self, told: int) -> None:
        self._told, self._rest = told, b""
        self._code: int | None = None
        self.pid = self._number(60)

    def ended(self, seconds: float = 0) -> int | None:
        """Return the exit code, or minus the signal, once the program has ended within these seconds."""
        if self._code is None:
            with suppress(TimeoutError):
                self._code = self._number(seconds)
                os.close(self._told)
        return self._code

    def kill(self) -> None:
        """End the program and its process group."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self.ended(10)

    def _number(self, seconds: float) -> int:
        while b"\n" not in self._rest:
            if not select.select([self._told], [], [], seconds)[0]:
                raise TimeoutError
            data = os.read(self._told, 64)
            assert data, "the preloaded process has ended"
            self._rest += data
        number, _, self._rest = self._rest.partition(b"\n")
        return int(number)


class Preloaded:
    """A process that forks the program again and again."""

    def __init__(self) -> None:
        self._sending = threading.Lock()
        self._socket, theirs = socket.socketpair()
        with theirs:
            number = theirs.fileno()
            command = [sys.executable, "-m", "tests.preloaded", str(number)]
            self._process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=_environment(),
                stdin=subprocess.DEVNULL,
                pass_fds=[number],
                start_new_session=True,
            )
        atexit.register(self._end)

    def _end(self) -> None:
        self._socket.close()
        self._process.wait(10)

    def start(self, argv: Sequence[str], env: Mapping[str, str], cwd: str | Path, files: Sequence[int]) -> Run:
        """Start `python -m MODULE ARGUMENT...` with these open files as its stdin, stdout and stderr."""
        run = {"module": argv[0], "argv": list(argv[1:]), "env": dict(env), "cwd": str(cwd)}
        told, telling = os.pipe()
        with self._sending:
            line = json.dumps(run).encode() + b"\n"
            sent = socket.send_fds(self._socket, [line], [*files, telling])
            self._socket.sendall(line[sent:])
        os.close(telling)
        return Run(told)

    def run(
        self, argv: Sequence[str], env: Mapping[str, str], cwd: Path, stdin: str | None, seconds: float
    ) -> tuple[int, str, str]:
        """Exit code, stdout and stderr of one run to its end; TimeoutExpired after these seconds."""
        with ExitStack() as open_:
            given = open_.enter_context(tempfile.TemporaryFile())
            given.write((stdin or "").encode())
            given.seek(0)
            nothing = open_.enter_context(open(os.devnull, "rb"))
            out, err = (open_.enter_context(tempfile.TemporaryFile()) for _ in range(2))
            standard = [(nothing if stdin is None else given).fileno(), out.fileno(), err.fileno()]
            run = self.start(argv, env, cwd, standard)
            code = run.ended(seconds)
            if code is None:
                run.kill()
            texts = []
            for file in (out, err):
                file.seek(0)
                texts.append(file.read().decode(errors="replace").replace("\r\n", "\n"))
            if code is None:
                raise subprocess.TimeoutExpired(list(argv), seconds, *texts)
            return code, texts[0], texts[1]


def forks(module: str, env: Mapping[str, str]) -> bool:
    """Return true if a fork of the preloaded process does what a process of its own does."""
    ours = {**os.environ, **_environment()}
    return module in STARTED and all(
        ours.get(name) == value for name, value in env.items() if name.startswith(AT_START)
    )


def _environment() -> dict[str, str]:
    names = ("PATH", "LANG", "VIRTUAL_ENV")
    return {name: os.environ[name] for name in names if name in os.environ} | {"LC_ALL": "C.UTF-8"}


@cache
def preloaded() -> Preloaded:
    """The one of this test process."""
    return Preloaded()


def main() -> None:
    """Serve until the other end closes."""
    from agentcli.providers.connect import warm

    for name in (*MODULES, *_modules()):
        import_module(name)
    warm("anthropic")
    warm("google")
    requests = socket.socket(fileno=int(sys.argv[1]))
    while True:
        data, files, *_ = socket.recv_fds(requests, 1 << 20, 4)
        if not data:
            return
        while not data.endswith(b"\n"):
            data += requests.recv(1 << 20)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if os.fork() == 0:
            requests.close()
            *standard, telling = files
            program = os.fork()
            if program == 0:
                _become(json.loads(data), standard)
            _tell_of(program, standard, telling)
        for file in files:
            os.close(file)


def _modules() -> Iterator[str]:
    for package in PACKAGES:
        found = import_module(f"agentcli.{package}")
        yield from (each.name for each in walk_packages(found.__path__, f"{found.__name__}."))


def _tell_of(program: int, standard: Sequence[int], telling: int) -> None:
    """Be the parent of a run: tell its process id and, when it has ended, its exit code."""
    for file in standard:
        os.close(file)
    os.write(telling, b"%d\n" % program)
    _, status = os.waitpid(program, 0)
    with suppress(BrokenPipeError):
        os.write(telling, b"%d\n" % os.waitstatus_to_exitcode(status))
    os._exit(0)


def _become(run: dict[str, Any], standard: Sequence[int]) -> NoReturn:
    """Be one run of a program, which ends as a process that was started for it does."""
    from agentcli.__main__ import process

    os.setsid()
    for number, file in enumerate(standard):
        os.dup2(file, number)
    if os.isatty(0):
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.closerange(3, 64)
    # Open for as long as the run takes.
    sys.stdin = sys.__stdin__ = open(0, closefd=False)  # type: ignore[misc]  # noqa: SIM115
    sys.stdout = sys.__stdout__ = open(1, "w", closefd=False)  # type: ignore[misc]  # noqa: SIM115
    sys.stderr = sys.__stderr__ = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # type: ignore[misc]  # noqa: SIM115
    os.environ.clear()
    os.environ.update(run["env"])
    os.chdir(run["cwd"])
    sys.argv[1:] = run["argv"]
    process(import_module(STARTED[run["module"]]).main)


if __name__ == "__main__":
    main()
