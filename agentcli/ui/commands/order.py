"""The order of slash commands: by group in /help, by use in the menu. A command that is not named here comes last."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

GROUPS: Mapping[str, Sequence[str]] = {
    "Sessions": ("resume", "clear", "new", "rename", "sessions", "fork", "handoff", "remote", "quit"),
    "Work": (
        "diff",
        "undo",
        "redo",
        "rewind",
        "review",
        "findings",
        "todo",
        "tasks",
        "queue",
        "goal",
        "loop",
        "every",
        "after",
        "btw",
    ),
    "Context": ("compress", "context", "uncompress", "prune", "pin", "unpin", "memory", "init"),
    "Model and permissions": ("model", "account", "mode", "permissions", "tools"),
    "Cost and state": ("cost", "budget", "status", "stats", "cache", "why", "doctor"),
    "Terminal": ("help", "keys", "config", "copy", "export", "view", "theme", "raw", "vim", "editor"),
    "Extensions": ("mcp", "skills", "agents", "plugins", "hooks", "checks"),
}
OTHERS = "More"
"""The group of the commands that no group names."""
USED = ("model", "resume", "diff", "undo", "compress", "clear", "context", "review", "rewind", "cost", "mode", "help")
"""The commands that people need most, first in the menu."""


def by_use(names: Iterable[str]) -> list[str]:
    """Return the names as the menu lists them: the most used, then the others by group."""
    known = list(names)
    order = [*USED, *(name for group in GROUPS.values() for name in group)]
    return sorted(known, key=lambda name: order.index(name) if name in order else len(order))


def grouped(names: Iterable[str]) -> Mapping[str, Sequence[str]]:
    """Return the names by group, without empty groups."""
    known = list(names)
    named = {name for group in GROUPS.values() for name in group}
    groups = {title: [name for name in group if name in known] for title, group in GROUPS.items()}
    groups[OTHERS] = [name for name in known if name not in named]
    return {title: group for title, group in groups.items() if group}
