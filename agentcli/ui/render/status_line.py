"""Status line: facts of a session, output of the user's script, and their rendering."""

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
from agentcli.ui.render.cells import width
from agentcli.ui.render.state import Status
from agentcli.ui.style import Theme

if TYPE_CHECKING:
    from agentcli.agent.session import AgentSession
    from agentcli.ui.render.state import Status


SCRIPT_SECONDS = 2.0
"""Time limit of the status script."""


SCRIPT_EVERY = 5.0
"""Minimal seconds between two runs of it."""


@dataclass(slots=True)
class StatusLine:
    """Reads the facts of the status line from a session. `facts`: their names in order, separated by blanks; empty for all."""

    session: AgentSession
    facts: str = ""
    extra: str = field(default="", init=False)

    def __call__(self) -> Status:
        """Current status."""
        window, now, glance = self.session.report.window(), self.session.history, self.session.report.status()
        status = Status(
            model=self.session.model.name,
            mode=self.session.mode,
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
            session=safe_line(now.name or now.title or self.session.journal.id)[:40],
            branch=safe_line(branch(self.session.cwd)),
            extra=self.extra,
        )
        if not self.facts.split():
            return status
        return Status(
            **{name: getattr(status, name) for name in status.__slots__ if name != "order"},
            order=tuple(self.facts.split()),
        )


def check_facts(names: str) -> None:
    """Raises ConfigError where `ui.status` names a fact that does not exist."""
    facts = Status().order
    unknown = sorted(set(names.split()) - set(facts))
    if unknown:
        raise ConfigError(f"ui.status knows no {unknown[0]!r}. There are: {', '.join(facts)}.")


async def run_script(command: str, status: Status, folder: Path) -> str:
    """First line of the status script's output; it reads the status as JSON on stdin. On failure or timeout, a message."""
    facts = {name: getattr(status, name) for name in status.__slots__ if name not in ("order", "extra")}
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
    """Branch or abbreviated commit that is checked out, read without starting git; empty if unknown."""
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


MARKS_FROM = 100
"""Minimal columns for thresholds of the window in words instead of single letters."""


PROVIDER_FROM = 60
"""Minimal columns for the model's provider."""


def status_line(status: Status, columns: int, theme: Theme) -> str:
    """The facts named in `status.order`, in that order; those that do not fit are left out."""
    line = ""
    for fact in filter(None, (_fact(status, name, columns) for name in status.order)):
        longer = f"{line} · {fact}" if line else fact
        if width(longer) < columns:
            line = longer
    return theme.paint("dim", line)


def _fact(status: Status, name: str, columns: int) -> str:
    match name:
        case "context" if status.usable:
            return f"ctx {100 * status.used / status.usable:.0f}%{_marks(status, columns)}"
        case "cost" if status.cost is not None:
            return f"${status.cost:.2f}"
        case "model" if columns < PROVIDER_FROM:
            return status.model.rpartition("/")[2]
        case "budget" if status.budget is not None:
            return f"budget {100 * status.budget:.0f}%"
        case "cache" if status.hit_rate is not None:
            return f"cache {100 * status.hit_rate:.0f}%"
        case "jobs" if status.jobs:
            return f"{status.jobs} job{'s' if status.jobs > 1 else ''}"
        case "model" | "mode" | "branch" | "session" | "extra" | "sandbox":
            return str(getattr(status, name))
        case _:
            return ""


def _marks(status: Status, columns: int) -> str:
    """Thresholds of pruning and compaction: the latter from where it pays to where it always happens."""
    prunes, early, compacts = (
        f"{100 * size / status.usable:.0f}" if size else "" for size in (status.prunes, status.early, status.soft)
    )
    marks = {"prunes": prunes, "compacts": f"{early}-{compacts}" if early else compacts}
    if columns < PROVIDER_FROM:
        return ""
    if columns < MARKS_FROM:
        text = " ".join(what[0] + share for what, share in marks.items() if share)
    else:
        text = ", ".join(f"{what} {share}%" for what, share in marks.items() if share)
    return f" ({text})" if text else ""
