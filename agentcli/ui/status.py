"""What the status line tells of a session."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from agentcli.agent.ports import Desk
from agentcli.core.sanitise import safe_line
from agentcli.ui.view import Status


@dataclass(slots=True)
class Telling:
    """Asks a desk for what changes and remembers what does not."""

    desk: Desk
    branch: str = field(default="", init=False)

    def __call__(self) -> Status:
        """The status now."""
        window, now = self.desk.window(), self.desk.history
        return Status(
            model=self.desk.model.name,
            mode=self.desk.mode,
            used=window.used,
            usable=window.usable,
            soft=window.soft,
            cached=window.cached,
            cost=now.cost,
            session=safe_line(now.name or now.title or self.desk.journal.id)[:40],
            branch=safe_line(_branch(self.desk.cwd)),
        )


def _branch(folder: Path) -> str:
    """The branch that is checked out, read without starting git."""
    for parent in (folder, *folder.parents):
        head = parent / ".git" / "HEAD"
        if head.is_file():
            return head.read_text(errors="replace").strip().removeprefix("ref: refs/heads/")[:30]
    return ""
