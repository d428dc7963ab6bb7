"""`CLAUDE_ENV_FILE`: shell lines written by SessionStart hooks, as variables for the session's commands."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from agentcli.core.dataclass import dataclass
from agentcli.core.sanitise import safe_line
from agentcli.features.hooks.runner import Beginning
from agentcli.system.process import Command, run_until
from agentcli.system.programs import find_program

VARIABLE = "CLAUDE_ENV_FILE"
SECONDS = 10.0
"""Time that the lines may take."""
BYTES = 1_000_000
"""Size of the environment that is looked at."""
_OF_THE_SHELL = frozenset({"_", "SHLVL", "PWD", "OLDPWD", "SHELLOPTS", "BASHOPTS"})


@dataclass(frozen=True, slots=True)
class EnvironmentFile:
    """A file to which hooks write variables, in a separate folder."""

    path: Path

    async def variables(self, cwd: Path, env: Mapping[str, str]) -> tuple[Mapping[str, str], str]:
        """Return the variables that the lines set or change, and why some may be missing. `env` is the environment of
        commands.
        """
        try:
            if not self.path.stat().st_size:
                return {}, ""
        except OSError:
            return {}, ""
        shell = find_program("bash", (), env.get("PATH")) or "/bin/sh"
        script = 'set -a; . "$1" > /dev/null; set -- $?; env -0; exit $1'
        output, errors = Beginning(BYTES), Beginning(BYTES)
        command = Command([shell, "-c", script, shell, str(self.path)], cwd, env, errors=errors)
        ended = await run_until(asyncio.Event(), command, output, SECONDS)
        pairs = (pair.partition("=") for pair in output.text.split("\0"))
        found = {name: value for name, _, value in pairs if name and name not in _OF_THE_SHELL}
        changed = {name: value for name, value in found.items() if env.get(name) != value}
        first = next((line.strip() for line in errors.text.splitlines() if line.strip()), "")
        failed = not found or (ended.exit_code != 0 and first)
        trouble = (
            f"A line that a hook wrote to {VARIABLE} failed: {safe_line(first)[:200] or ended.why}" if failed else ""
        )
        return changed, trouble


@contextmanager
def environment_file() -> Iterator[EnvironmentFile]:
    """Yield an empty file for hooks; remove it afterwards."""
    with tempfile.TemporaryDirectory(prefix="agentcli-hooks-", ignore_cleanup_errors=True) as folder:
        path = Path(folder, "environment.sh")
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        yield EnvironmentFile(path)
