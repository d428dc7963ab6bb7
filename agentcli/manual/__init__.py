"""The manual: Markdown pages beside this file. People read them with `agentcli help` and `/help`, the model as files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from agentcli.core.errors import InputError
from agentcli.core.text.words import instead

FOLDER = Path(__file__).parent
GROUPS: Mapping[str, Sequence[str]] = {
    "Begin": ("start", "permissions", "rules", "secrets", "keys", "sessions", "troubleshooting"),
    "Models and money": ("models", "cost", "context"),
    "Your project": (
        "instructions",
        "checks",
        "hooks",
        "extensions",
        "skills",
        "commands",
        "agents",
        "plugins",
        "mcp",
        "web",
    ),
    "From another agent": ("import-config",),
    "Work alone": ("goals", "scripting", "batch", "cluster", "ci", "python"),
    "Elsewhere": ("editors", "serve"),
    "Measure": ("bench", "benchmarks"),
    "Look up": ("configuration", "otel", "contributing", "shell-analysis"),
}
"""Groups of pages, in the order in which a newcomer may read them."""
TOPICS = tuple(topic for topics in GROUPS.values() for topic in topics)
"""All pages in that order."""
_OTHER_WORDS = re.compile(r"<!-- words: (.*) -->\n+")


def page(topic: str) -> str:
    """Return the Markdown of a page. Raises InputError, which suggests similar topics, for a topic that does not exist."""
    return _OTHER_WORDS.sub("", _source(topic), count=1)


def title(topic: str) -> str:
    """Return the heading of a page."""
    return page(topic).partition("\n")[0].lstrip("# ")


def summary(topic: str) -> str:
    """Return the first paragraph of a page."""
    return " ".join(page(topic).split("\n\n")[1].split())


def other_words(topic: str) -> str:
    """Return words that people use for what a page is about, and that it does not."""
    found = _OTHER_WORDS.match(_source(topic))
    return found[1] if found else ""


def _source(topic: str) -> str:
    if topic not in TOPICS:
        raise InputError(f"The manual has no topic {topic!r}.{instead(topic, TOPICS)}")
    return (FOLDER / f"{topic}.md").read_text(encoding="utf-8")
