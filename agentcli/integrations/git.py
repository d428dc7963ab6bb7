"""Git commands run unasked: in the hardened environment, with a time limit, never a program out of the repository itself."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import AgentError
from agentcli.core.hardened import hardened
from agentcli.core.programs import find_program

SECONDS = 600.0
"""Time limit in seconds of one git command: a large repository takes minutes to check out."""
_REASON_CHARACTERS = 500


class GitError(AgentError):
    """A git command failed, or there is no git."""


@dataclass(frozen=True, slots=True)
class Ran:
    """The exit code and output of a git command, to the byte where it is UTF-8 and by surrogates elsewhere."""

    exit_code: int
    out: str
    reason: str


def git(folder: Path | str, *arguments: str, env: Mapping[str, str] | None = None) -> str:
    """Run git in a folder; its output without the last line's end. Raises GitError with the reason where it fails."""
    ran = run_git(folder, *arguments, env=env)
    if ran.exit_code:
        raise GitError(f"git {arguments[0]} failed in {folder}: {ran.reason}")
    return ran.out.removesuffix("\n")


def run_git(folder: Path | str, *arguments: str, env: Mapping[str, str] | None = None) -> Ran:
    """Run git in a folder, whatever its exit code. `env` replaces this process's environment. Raises GitError where it cannot run."""
    program = find_program("git", [Path(folder)])
    if not program:
        raise GitError("git is not installed, or not on PATH outside of this folder.")
    try:
        done = subprocess.run(
            [program, *arguments],
            cwd=folder,
            env=hardened(os.environ if env is None else env, [Path(folder)]),
            capture_output=True,
            timeout=SECONDS,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GitError(f"git {arguments[0]} failed in {folder}: {error}") from error
    reason = done.stderr.decode("utf-8", "replace").strip()[-_REASON_CHARACTERS:]
    return Ran(done.returncode, done.stdout.decode("utf-8", "surrogateescape"), reason)
