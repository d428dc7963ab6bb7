"""Git commands that run without asking.

They run in the hardened environment, with a time limit, and never start a program of the repository.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from pathlib import Path

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import AgentError
from agentcli.system.git_keys import overrides
from agentcli.system.programs import find_program, hardened

SECONDS = 600.0
"""Time limit of one git command, in seconds: a large repository takes minutes to check out."""
_REASON_CHARACTERS = 500


class GitError(AgentError):
    """A git command failed, or git is missing."""


@dataclass(frozen=True, slots=True)
class Ran:
    """Exit code and output of a git command; bytes that are not UTF-8 become surrogates."""

    exit_code: int
    out: str
    reason: str


def git(folder: Path | str, *arguments: str, env: Mapping[str, str] | None = None) -> str:
    """Run git in a folder; return its output without the last newline. Raise GitError with the reason if it fails."""
    ran = run_git(folder, *arguments, env=env)
    if ran.exit_code:
        raise GitError(f"git {arguments[0]} failed in {folder}: {ran.reason}")
    return ran.out.removesuffix("\n")


def run_git(folder: Path | str, *arguments: str, env: Mapping[str, str] | None = None) -> Ran:
    """Run git in a folder and return any exit code. `env` replaces this process's environment. Raise GitError if git cannot run."""
    done = started(folder, arguments, os.environ if env is None else env, SECONDS)
    reason = done.stderr.decode("utf-8", "replace").strip()[-_REASON_CHARACTERS:]
    return Ran(done.returncode, done.stdout.decode("utf-8", "surrogateescape"), reason)


def started(
    folder: Path | str, arguments: Sequence[str], environment: Mapping[str, str], seconds: float
) -> subprocess.CompletedProcess[bytes]:
    """Run git, hardened: the repository and its config choose none of the programs that it starts.

    Drivers in the user's own config, such as LFS, still apply. Raise GitError if git cannot run or takes longer than
    `seconds`.
    """
    program = find_program("git", [Path(folder)])
    if not program:
        raise GitError("git is not installed, or not on PATH outside of this folder.")
    options = list(takewhile(lambda word: word.startswith("-"), arguments))
    command = [*options, *_without_programs(arguments[len(options) :])]

    def run(words: Sequence[str], config: Iterable[tuple[str, str]] = ()) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [program, *words],
            cwd=folder,
            env=hardened(environment, [Path(folder)], config),
            capture_output=True,
            timeout=seconds,
            stdin=subprocess.DEVNULL,
        )

    try:
        # Let git read its config in the same folder: includes and their conditions then resolve as in the command.
        listed = run([*options, "config", "--list", "--show-scope", "--includes", "-z"])
        return listed if listed.returncode else run(command, overrides(*_by_owner(listed.stdout)))
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GitError(f"git {arguments[0]} failed in {folder}: {error}") from error


def _by_owner(listed: bytes) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return the config of the user and the machine, and the repository's config, in git's order."""
    own: list[tuple[str, str]] = []
    repository: list[tuple[str, str]] = []
    fields = listed.decode("utf-8", "surrogateescape").split("\0")
    for scope, entry in zip(fields[::2], fields[1::2], strict=False):
        key, _, value = entry.partition("\n")
        if scope != "command":  # our own
            (own if scope in ("system", "global") else repository).append((key, value))
    return own, repository


def _without_programs(words: Sequence[str]) -> Sequence[str]:
    """Return a command with options that stop diff drivers and git in submodules, which config cannot stop."""
    match words:
        case ["diff", *rest]:
            return ["diff", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty", *rest]
        case ["show" | "log" as name, *rest]:
            return [name, "--no-ext-diff", "--no-textconv", *rest]
        case ["status", *rest]:
            return ["status", "--ignore-submodules=dirty", *rest]
        case _:
            return words
