"""The program with its slow imports made once: each run is a fork, so that hundreds of runs take minutes.

python -m tests.e2e.preloaded        reads one JSON object a line {argv, env, cwd, out, err}, answers each with its exit code
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any, Self

from tests.e2e.program import ROOT, Program, Ran

MODULES = (
    "agentcli.cli.parser",
    "agentcli.app.program",
    "agentcli.app.print_mode",
    "agentcli.agent.compaction.run",
    "agentcli.agent.loop",
)


class Preloaded:
    """A process that runs the program again and again."""

    def __enter__(self) -> Self:
        env = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "VIRTUAL_ENV") if name in os.environ}
        command = [sys.executable, "-m", "tests.e2e.preloaded"]
        self._process = subprocess.Popen(
            command, cwd=ROOT, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait(10)
        assert self._process.stdout
        self._process.stdout.close()

    def run(self, program: Program, *arguments: str) -> Ran:
        """One run; stdin is empty."""
        assert self._process.stdin
        assert self._process.stdout
        out, err = program.base / "stdout", program.base / "stderr"
        told = {
            "argv": arguments,
            "env": program.env,
            "cwd": str(program.work),
            "out": str(out),
            "err": str(err),
        }
        self._process.stdin.write(json.dumps(told) + "\n")
        self._process.stdin.flush()
        code = int(self._process.stdout.readline())
        return Ran(code, out.read_text(), err.read_text())

    def ask(self, program: Program, *arguments: str) -> Ran:
        """The same with JSON lines."""
        return self.run(program, "-o", "stream-json", *arguments)


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
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _become(told: dict[str, Any]) -> None:
    """Be one run of the program; never returns."""
    code = 1
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for number, name in ((1, "out"), (2, "err")):
            Path(told[name]).unlink(missing_ok=True)
            os.dup2(os.open(told[name], os.O_WRONLY | os.O_CREAT, 0o600), number)
        os.environ.clear()
        os.environ.update(told["env"])
        os.chdir(told["cwd"])
        from agentcli.__main__ import main as program

        code = program(list(told["argv"]))
    except BaseException:  # noqa: BLE001 - what the interpreter would do at its end
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
