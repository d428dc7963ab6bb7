"""Findings of a review as a numbered list with places, each a link if the terminal supports links."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from urllib.parse import quote

from agentcli.core.sanitise import safe_line
from agentcli.core.text import markdown
from agentcli.core.text.words import plural
from agentcli.frontends.run.findings import Finding, Severity
from agentcli.frontends.terminal.render.spans import Run, written
from agentcli.frontends.terminal.style import Look, Role
from agentcli.system.cells import clip, width

ROOM = 24
"""Minimum cells for the text beside its place; with fewer it gets a separate row."""
_ROLES: Mapping[Severity, Role] = MappingProxyType({"high": "bad", "medium": "warn", "low": "dim"})


def summary(found: Sequence[Finding]) -> str:
    """Return a summary such as `3 findings: 1 high, 2 low`."""
    counts = Counter(one.severity for one in found if one.severity)
    parts = ", ".join(f"{counts[grade]} {grade}" for grade in ("high", "medium", "low") if counts[grade])
    return f"{plural(len(found), 'finding')}{': ' * bool(parts)}{parts}"


def place(one: Finding) -> str:
    """Return `path:line`, safe for a terminal."""
    return f"{safe_line(one.path)}:{one.line}"


def rows(found: Sequence[Finding], columns: int, look: Look) -> list[str]:
    """Return the list of findings as rows, below a line with its summary."""
    theme = look.theme
    lines = ["", theme.paint("strong", clip(summary(found), columns)) + theme.paint("dim", _hint(found, columns))]
    wide = len(str(len(found)))
    grades = max((len(one.severity) for one in found), default=0)
    for n, one in enumerate(found, 1):
        lead = f"{n:>{wide}} {one.severity:<{grades}} " if grades else f"{n:>{wide}} "
        where = clip(place(one), max(columns - len(lead), 8))
        role = _ROLES.get(one.severity)
        marked = [Run(lead, theme.sgr(role) if role else ""), Run(where, theme.sgr("link"), _target(one, look))]
        left = columns - len(lead) - width(where) - 2
        text = safe_line(one.text)
        if left >= ROOM or not text:
            lines.append(written([*marked, Run("  " + clip(text, left) if text else "")]))
        else:
            lines += [written(marked), " " * (wide + 1) + clip(text, columns - wide - 1)]
    return lines


def _hint(found: Sequence[Finding], columns: int) -> str:
    hint = " · /review findings opens one"
    return hint if width(summary(found)) + width(hint) <= columns else ""


def _target(one: Finding, look: Look) -> str:
    path = Path(look.folder, one.path)
    return markdown.target(f"file://{quote(str(path))}#{one.line}") if look.links and path.is_absolute() else ""
