"""What is known of a background session before, while and after its process runs: one file a session."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal

from agentcli.core.dataclass import dataclass, replace
from agentcli.program.named_worktree import NamedWorktree
from agentcli.program.options import Options
from agentcli.system import probe
from agentcli.system.paths import replace_file
from agentcli.system.worktrees import Worktree

FOLDER = "background"
"""The folder of these files in the state folder."""
End = Literal["", "done", "failed", "stopped"]


@dataclass(frozen=True, slots=True)
class Background:
    """A background session: how it is started, and how it ended."""

    session: str
    options: Options
    started: str
    """When it was started or resumed."""
    place: str = ""
    """The folder from which it was started, to which its options may be relative."""
    worktree: Mapping[str, str] | None = None
    """The fields of its worktree; None without one."""
    again: bool = False
    """True if it continues an interrupted turn instead of beginning one with a prompt."""
    ended: End = ""
    """How its process ended; empty while it runs, and after a kill."""
    error: str = ""
    """Why it failed."""

    @property
    def folder(self) -> str:
        """The folder in which it works."""
        return self.options.cwd

    def named_worktree(self, env: Mapping[str, str], *, gone: bool = False) -> NamedWorktree | None:
        """Return its worktree, if it has one that still exists; with `gone`, also one whose folder is gone."""
        if self.worktree is None or not (gone or probe.is_dir(self.worktree["folder"])):
            return None
        there = self.worktree
        tree = Worktree(Path(there["root"]), Path(there["folder"]), Path(there["cwd"]), there["head"], env)
        return NamedWorktree(there["name"], tree, uncommitted=False)


def in_its_worktree(worktree: NamedWorktree) -> Mapping[str, str]:
    """Return the fields of a worktree to keep."""
    tree = worktree.tree
    return {
        "name": worktree.name,
        "root": str(tree.root),
        "folder": str(tree.folder),
        "cwd": str(tree.cwd),
        "head": tree.head,
    }


class Kept:
    """The files of background sessions in a state folder."""

    def __init__(self, state: Path) -> None:
        self.folder = state / FOLDER

    def __iter__(self) -> Iterator[Background]:
        """Yield the background sessions, the newest first; files that cannot be read are left out."""
        for file in sorted(self.folder.glob("*.json"), reverse=True):
            if (found := self.get(file.stem)) is not None:
                yield found

    def get(self, session: str) -> Background | None:
        """Return a background session by its id; None for any other."""
        try:
            raw = json.loads((self.folder / f"{session}.json").read_bytes())
            options = _options(raw["options"])
            known = {field.name: raw[field.name] for field in fields(Background) if field.name in raw}
            return Background(**{**known, "options": options})
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def save(self, background: Background) -> None:
        """Keep a background session. Raises OSError."""
        raw = {field.name: getattr(background, field.name) for field in fields(Background)}
        text = json.dumps({**raw, "options": _told(background.options)})
        replace_file(self.folder / f"{background.session}.json", text, mode=0o600)

    def change(self, session: str, **changes: Any) -> None:
        """Change fields of a background session, unless it was removed meanwhile."""
        if (found := self.get(session)) is not None:
            self.save(replace(found, **changes))

    def remove(self, session: str) -> None:
        """Forget a background session; the session itself stays stored."""
        for file in (self.folder / f"{session}.json", self.log(session)):
            with contextlib.suppress(OSError):
                file.unlink(missing_ok=True)

    def log(self, session: str) -> Path:
        """Return the file for what a session's process prints: its warnings and errors."""
        return self.folder / f"{session}.log"


def _told(options: Options) -> Mapping[str, Any]:
    """Return the options that are not the default."""
    given = {field.name: getattr(options, field.name) for field in fields(Options)}
    defaults = Options()
    return {name: value for name, value in given.items() if value != getattr(defaults, name)}


def _options(raw: Mapping[str, Any]) -> Options:
    given: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in raw.items()}
    return Options(**given)
