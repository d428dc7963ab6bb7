"""Status line: facts of a session and their rendering."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from agentcli.core.costs import dollars
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ConfigError
from agentcli.core.sanitise import safe_line
from agentcli.core.text.words import one_of
from agentcli.frontends.terminal.render.facts import Status
from agentcli.frontends.terminal.style import PLAIN, Role, Theme, count
from agentcli.providers.catalog import short_name
from agentcli.system.branch import branch
from agentcli.system.cells import ESCAPE, clip, width

if TYPE_CHECKING:
    from agentcli.agent.session import AgentSession
    from agentcli.frontends.terminal.render.facts import Status


@dataclass(slots=True)
class StatusLine:
    """Reads the facts of the status line from a session. `facts`: their names in order, separated by blanks; empty for all."""

    session: AgentSession
    facts: str = ""

    def __call__(self) -> Status:
        """Return the current status."""
        window, now, glance = self.session.report.window(), self.session.history, self.session.report.status()
        status = Status(
            model=self.session.core.model.name,
            effort=self.session.core.builder.effort,
            mode=self.session.core.approval.mode,
            used=window.used,
            usable=window.usable,
            soft=glance.compacts,
            hard=glance.compacts_in_turn,
            early=glance.early,
            prunes=glance.prunes,
            hit_rate=glance.hit_rate,
            cost=now.cost,
            budget=glance.budget,
            jobs=glance.jobs,
            sandbox=safe_line(glance.sandbox),
            session=safe_line(now.name or now.title or self.session.journal.id)[:40],
            branch=safe_line(branch(self.session.core.folder.now)),
            extra=" · ".join(filter(None, (part.status for part in self.session.parts.all))),
            folder=safe_line(glance.folder),
        )
        if not self.facts.split():
            return status
        return Status(
            **{name: getattr(status, name) for name in status.__slots__ if name != "order"},
            order=tuple(self.facts.split()),
        )


def check_facts(names: str) -> None:
    """Raise ConfigError if `ui.status` names a fact that does not exist."""
    unknown = sorted(set(names.split()) - set(FACTS))
    if unknown:
        raise ConfigError(f"ui.status has no item {unknown[0]!r}.{one_of(unknown[0], FACTS)}")


FACTS = (
    "model", "mode", "jobs", "context", "cost", "budget", "cache", "extra", "folder", "branch", "sandbox", "session",
)  # fmt: skip
"""Names of the facts that `ui.status` may choose from."""
_LEFT = ("mode", "model", "context")
_RIGHT = ("extra", "cost", "budget", "cache", "jobs", "folder", "branch")
_DROPPED = ("cache", "branch", "budget", "folder", "cost", "jobs")
"""Facts on the right side, in the order in which they are dropped if there is no room.

The person's own command's output is cut instead.
"""
_MODES: Mapping[str, Role] = MappingProxyType({"plan": "accent", "auto-edit": "warn", "auto": "good", "yolo": "bad"})
_BAR, _PARTS = 8, " ▏▎▍▌▋▊▉"
"""Cells of the context window's bar, and its parts of a cell."""
BAR_FROM = 60
"""Minimal columns for the bar."""
FILLED = 0.1
"""Used share of the window from which the bar is shown: below it, the number is clearer."""
NEAR = 0.8
"""Share of the way to compaction from which the context is an alarm."""

Fact = tuple[str, Role]
"""Text of a fact, and its role."""


def status_line(status: Status, columns: int, theme: Theme) -> str:
    """Return important, changing facts on the left and the others on the right, as many as fit.

    With `status.order`, return its facts in a row instead.
    """
    if status.order:
        return _row([fact for name in status.order for fact in _fact(status, name, columns)], columns, theme)
    left = [fact for name in _LEFT for fact in _fact(status, name, columns)]
    names = [name for name in _RIGHT if _fact(status, name, columns)]
    for dropped in _DROPPED:
        if _free(left, _facts(status, names, columns), columns) >= GAP:
            break
        names = [name for name in names if name != dropped]
    right = _facts(status, names, columns)
    room = columns - 1 - GAP - _width(left)
    if names == ["extra"] and _width(right) > room:
        right = [(clip(right[0][0], room), right[0][1])] if room > GAP else []
    if not right:
        return _row(left, columns, theme)
    return _row(left, columns, theme) + " " * _free(left, right, columns) + _row(right, columns, theme)


GAP = 2
"""Minimal cells between the two sides."""


def _facts(status: Status, names: Sequence[str], columns: int) -> list[Fact]:
    return [fact for name in names for fact in _fact(status, name, columns)]


def _free(left: Sequence[Fact], right: Sequence[Fact], columns: int) -> int:
    return columns - 1 - _width(left) - _width(right)


def _row(facts: Sequence[Fact], columns: int, theme: Theme) -> str:
    """Return the facts that fit, separated by dots."""
    while facts and _width(facts) >= columns:
        facts = facts[:-1]
    return theme.paint("dim", " · ").join(_painted(text, role, theme) for text, role in facts)


def _painted(text: str, role: Role, theme: Theme) -> str:
    """Return the text in its own colours if it has any and the theme has some.

    Otherwise return it in its role's colours.
    """
    if "\x1b" in text and theme.name != PLAIN.name:
        return text
    return theme.paint(role, ESCAPE.sub("", text))


def _width(facts: Sequence[Fact]) -> int:
    return width(" · ".join(text for text, _ in facts))


def _fact(status: Status, name: str, columns: int) -> Sequence[Fact]:
    match name:
        case "mode":
            return [(status.mode, _MODES.get(status.mode, "dim"))] if status.mode else []
        case "context" if status.usable:
            return [_context(status, columns)]
        case _:
            text = _text(status, name)
            return [(text, "dim")] if text else []


def _text(status: Status, name: str) -> str:
    match name:
        case "model":
            return ":".join(filter(None, [short_model(status.model), status.effort]))
        case "cost" if status.cost:
            return dollars(status.cost)
        case "budget" if status.budget is not None:
            return f"budget {100 * status.budget:.0f}%"
        case "cache" if status.hit_rate is not None:
            return f"cache {100 * status.hit_rate:.0f}%"
        case "jobs" if status.jobs:
            return f"{status.jobs} job{'s' if status.jobs > 1 else ''}"
        case "folder" if status.folder:
            return f"in {status.folder}"
        case "branch" | "session" | "extra" | "sandbox":
            return str(getattr(status, name))
        case _:
            return ""


def _context(status: Status, columns: int) -> Fact:
    """Return the used and usable tokens, with a bar; if compaction is near, also its next threshold."""
    text = f"{count(status.used)}/{count(status.usable)}"
    if columns >= BAR_FROM and status.used >= FILLED * status.usable:
        eighths = min(round(8 * _BAR * status.used / status.usable), 8 * _BAR)
        bar = "█" * (eighths // 8) + _PARTS[eighths % 8].strip()
        text += f" ▕{bar.ljust(_BAR)}▏"
    if not status.soft or status.used < NEAR * status.soft:
        return text, "dim"
    mark = status.soft if status.used < status.soft else max(status.soft, status.hard)
    return f"{text} compacts at {100 * mark / status.usable:.0f}%", "warn"


def short_model(name: str) -> str:
    """Return the model's name in the shortest form that `-m` and `/model` accept."""
    return short_name(name)
