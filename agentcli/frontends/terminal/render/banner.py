"""Banner of a session: version, model and folder, the most important keys, and the loaded files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentcli import __version__
from agentcli.core.sanitise import display_path, safe_line
from agentcli.frontends.terminal.render.frame import Size
from agentcli.frontends.terminal.render.status_line import short_model
from agentcli.frontends.terminal.style import Theme
from agentcli.system.branch import branch
from agentcli.system.cells import clip

if TYPE_CHECKING:
    from agentcli.agent.session import AgentSession

LEAST = Size(60, 20)
"""Smallest terminal that has room for it."""


def banner(session: AgentSession, size: Size, theme: Theme) -> list[str]:
    """Return three lines for a new user about the open session; none on a small terminal."""
    if size.columns < LEAST.columns or size.rows < LEAST.rows:
        return []
    git_branch = safe_line(branch(session.cwd))
    place = f"{display_path(session.cwd)}{f' ({git_branch})' if git_branch else ''}"
    names = ", ".join(dict.fromkeys(path.name for path, _ in session.parts.instructions.now.files))
    sandbox = session.report.status().sandbox
    facts = (f"{names} loaded" if names else "no AGENTS.md: /init writes one", f"sandbox {'on' if sandbox else 'off'}")
    lines = [
        f" · {short_model(safe_line(session.core.model.name))} · {place}",
        f"? keys · / commands · @ files · Shift-Tab mode: {session.core.approval.mode}",
        " · ".join(facts),
    ]
    name = f"agentcli {__version__}"
    first, *rest = [
        theme.paint("dim", clip(line, size.columns - 1 - (len(name) if n == 0 else 0))) for n, line in enumerate(lines)
    ]
    return [theme.paint("strong", name) + first, *rest]
