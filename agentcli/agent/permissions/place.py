"""The facts about where the agent works that a decision may depend on."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from agentcli.agent.permissions.git import GitFacts, git_facts
from agentcli.core.programs import search_path
from agentcli.core.resolve import follow


@dataclass(frozen=True, slots=True)
class CommandLimits:
    """How much shell a decision looks at; a longer command is refused, one of more parts than `parts` always asks.

    `walk` is how many directory entries are looked at for protected files before a search through hidden files; beyond
    that it asks.
    """

    characters: int = 10_000
    commands: int = 200
    parts: int = 50
    walk: int = 5_000


@dataclass(frozen=True, slots=True)
class Place:
    """Where the agent works: `cwd`, the workspace `roots` (cwd alone when empty), and the folders that belong to the user.

    `own` are agentcli's config, data and state folders: nobody but the user and agentcli reads or writes there. `sandboxed`
    says that commands run in a sandbox that is known to work. `git` reads what a repository's config would start. `path` is
    PATH as the user set it.
    """

    cwd: Path
    roots: tuple[Path, ...] = ()
    home: Path = field(default_factory=Path.home)
    own: tuple[Path, ...] = ()
    sandboxed: bool = False
    git: Callable[[Path], GitFacts] = git_facts
    limits: CommandLimits = CommandLimits()
    path: str = field(default_factory=search_path)
    workspace: tuple[Path, ...] = field(init=False, compare=False)
    """The roots, resolved when the place was made."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "workspace", tuple(resolved(root) for root in self.roots or (self.cwd,)))


def impossible(path: str) -> str:
    """Why no system call takes this as a path, or nothing."""
    if "\0" in path:
        return "the path holds a NUL byte"
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return "the path holds half a character"
    return ""


def resolved(path: Path | str) -> Path:
    """The path with every link followed as far as it exists. Raises ValueError for a path that no system call takes."""
    return follow(os.fspath(path))
