"""What the status line tells of a session, and what the person's own script adds."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from agentcli.core.errors import ConfigError
from agentcli.core.sanitise import safe_line
from agentcli.ui.view import Status

if TYPE_CHECKING:
    from agentcli.agent.desk import OpenDesk

SCRIPT_SECONDS = 2.0
"""A status script that takes longer is ended."""
SCRIPT_EVERY = 5.0
"""Seconds between two runs of it at least."""


@dataclass(slots=True)
class Telling:
    """Asks a desk for what the status line needs. `shown` names the facts in their order, separated by blanks; empty for all."""

    desk: OpenDesk
    shown: str = ""
    extra: str = field(default="", init=False)

    def __call__(self) -> Status:
        """The status now."""
        window, now, glance = self.desk.report.window(), self.desk.history, self.desk.report.status()
        status = Status(
            model=self.desk.model.name,
            mode=self.desk.mode,
            used=window.used,
            usable=window.usable,
            soft=glance.compacts,
            early=glance.early,
            prunes=glance.prunes,
            hit_rate=glance.hit_rate,
            cost=now.cost,
            budget=glance.budget,
            jobs=glance.jobs,
            sandbox=safe_line(glance.sandbox),
            session=safe_line(now.name or now.title or self.desk.journal.id)[:40],
            branch=safe_line(branch(self.desk.cwd)),
            extra=self.extra,
        )
        if not self.shown.split():
            return status
        return Status(
            **{name: getattr(status, name) for name in status.__slots__ if name != "shown"},
            shown=tuple(self.shown.split()),
        )


def check_facts(names: str) -> None:
    """Raises ConfigError where `ui.status` names a fact that does not exist."""
    facts = Status().shown
    unknown = sorted(set(names.split()) - set(facts))
    if unknown:
        raise ConfigError(f"ui.status knows no {unknown[0]!r}. There are: {', '.join(facts)}.")


async def run_script(command: str, status: Status, folder: Path) -> str:
    """The first line that a status script prints; it reads the status as JSON. When it fails or takes too long, words that say so."""
    facts = {name: getattr(status, name) for name in status.__slots__ if name not in ("shown", "extra")}
    process = await asyncio.create_subprocess_exec(
        "/bin/sh", "-c", command, cwd=folder, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        async with asyncio.timeout(SCRIPT_SECONDS):
            out, _ = await process.communicate(json.dumps(facts).encode())
    except TimeoutError:
        return f"ui.status_command took more than {SCRIPT_SECONDS:.0f} s"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    if process.returncode:
        return f"ui.status_command: exit {process.returncode}"
    return safe_line(out.decode(errors="replace").split("\n")[0])[:200]


def branch(folder: Path) -> str:
    """The branch that is checked out, or the beginning of the commit, read without starting git; empty where that cannot be."""
    for parent in (folder, *folder.parents):
        git = parent / ".git"
        try:
            if git.is_file():  # of a worktree or a submodule
                git = parent / git.read_text(errors="replace").removeprefix("gitdir:").strip()
            if (git / "HEAD").is_file():
                head = (git / "HEAD").read_text(errors="replace").strip()
                return head.removeprefix("ref: refs/heads/")[:30] if head.startswith("ref:") else head[:7]
        except (OSError, ValueError):
            return ""
    return ""
