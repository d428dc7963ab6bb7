"""The program with its slow imports made once: each run is a fork, so that hundreds of runs take minutes.

python -m tests.e2e.preloaded        reads one JSON object a line {argv, env, cwd, in, out, err}; answers each with the
                                     process id when it has started and the exit code when it has ended
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
MODULES = (
    "agentcli.cli.parser",
    "agentcli.app.program",
    "agentcli.app.print_mode",
    "agentcli.agent.compaction.run",
    "agentcli.agent.loop",
)
AT_START = ("PYTHON", "LC_", "LANG", "TZ", "LD_")
"""Variables that count when the interpreter starts: a run with its own values starts one."""


class Preloaded:
    """A process that runs the program again and again, one run at a time."""

    def __init__(self) -> None:
        self.free = threading.Lock()
        self._process = self._start()
        self._folder = tempfile.TemporaryDirectory(prefix="agentcli-runs-")
        atexit.register(self._end)

    def _start(self) -> subprocess.Popen[str]:
        env = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "VIRTUAL_ENV") if name in os.environ}
        command = [sys.executable, "-m", "tests.e2e.preloaded"]
        return subprocess.Popen(
            command,
            cwd=ROOT,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            start_new_session=True,
        )

    def _end(self) -> None:
        self._end_process()
        self._folder.cleanup()

    def _end_process(self) -> None:
        assert self._process.stdin
        assert self._process.stdout
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait(10)
        self._process.stdout.close()

    def run(
        self, argv: Sequence[str], env: Mapping[str, str], cwd: Path, stdin: str | None, seconds: float
    ) -> tuple[int, str, str]:
        """Exit code, stdout and stderr of one run; TimeoutExpired after these seconds. The caller holds `free`."""
        assert self._process.stdin
        files = {name: Path(self._folder.name) / name for name in ("in", "out", "err")}
        files["in"].write_text(stdin or "")
        run = {
            "argv": list(argv),
            "env": dict(env),
            "cwd": str(cwd),
            **{name: str(path) for name, path in files.items()},
        }
        if stdin is None:
            run["in"] = os.devnull
        self._process.stdin.write(json.dumps(run) + "\n")
        try:
            self._answer(60)
            code = self._answer(seconds)
        except TimeoutError:
            self._restart()
            raise subprocess.TimeoutExpired(
                list(argv), seconds, files["out"].read_text(), files["err"].read_text()
            ) from None
        return code, files["out"].read_text(), files["err"].read_text()

    def _restart(self) -> None:
        """End the run that takes too long, and the process with it: answers that come late would be taken for the next run's."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._end_process()
        self._process = self._start()

    def _answer(self, seconds: float) -> int:
        assert self._process.stdout
        if not select.select([self._process.stdout], [], [], seconds)[0]:
            raise TimeoutError
        return int(self._process.stdout.readline())


@cache
def preloaded() -> Preloaded:
    """The one of this test process."""
    return Preloaded()


def main() -> None:
    """Serve until the input ends."""
    from importlib import import_module

    from agentcli.providers.connect import warm

    for name in MODULES:
        import_module(name)
    warm("anthropic")
    warm("google")
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            _become(json.loads(line))
            return
        print(pid, flush=True)
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _become(run: dict[str, Any]) -> None:
    """Be one run of the program, which ends as a process that was started for it does."""
    os.dup2(os.open(run["in"], os.O_RDONLY), 0)
    for number, name in ((1, "out"), (2, "err")):
        Path(run[name]).unlink(missing_ok=True)
        os.dup2(os.open(run[name], os.O_WRONLY | os.O_CREAT, 0o600), number)
    os.closerange(3, 64)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - open for as long as the run takes
    os.environ.clear()
    os.environ.update(run["env"])
    os.chdir(run["cwd"])
    from agentcli.__main__ import main as program

    sys.argv[1:] = run["argv"]
    sys.exit(program())


if __name__ == "__main__":
    main()
