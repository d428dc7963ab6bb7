"""Banner of a session: version, model and folder, the keys to begin with, and what was loaded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agentcli.ui.render.cells import clip
from agentcli.ui.render.frame import Size
from agentcli.ui.render.status_line import short_model
from agentcli.ui.style import Theme

LEAST = Size(60, 20)
"""Smallest terminal that has room for it."""


def banner(
    version: str,
    model: str,
    folder: Path,
    branch: str,
    mode: str,
    loaded: Sequence[Path],
    sandbox: str,
    size: Size,
    theme: Theme,
) -> list[str]:
    """Three lines; none on a small terminal. `sandbox` is the name of the one that works, empty if none does."""
    if size.columns < LEAST.columns or size.rows < LEAST.rows:
        return []
    place = f"{near_home(folder)}{f' ({branch})' if branch else ''}"
    names = ", ".join(dict.fromkeys(path.name for path in loaded))
    facts = (f"{names} loaded" if names else "no AGENTS.md: /init writes one", f"sandbox {'on' if sandbox else 'off'}")
    lines = [
        f" · {short_model(model)} · {place}",
        f"? keys · / commands · @ files · Shift-Tab mode: {mode}",
        " · ".join(facts),
    ]
    name = f"agentcli {version}"
    first, *rest = [
        theme.paint("dim", clip(line, size.columns - 1 - (len(name) if n == 0 else 0))) for n, line in enumerate(lines)
    ]
    return [theme.paint("strong", name) + first, *rest]


def near_home(folder: Path) -> str:
    """The folder's path, from the home folder on where it lies in it."""
    try:
        below = folder.relative_to(Path.home())
    except (ValueError, RuntimeError):  # elsewhere; no home
        return str(folder)
    return "~" if below == Path(".") else f"~/{below}"
