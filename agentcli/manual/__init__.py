"""The manual: Markdown pages beside this file, for people (`agentcli help`, `/help`) and for the model, which reads them as files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import InputError
from agentcli.core.text.near import did_you_mean, near_names

FOLDER = Path(__file__).parent
TOPICS = (
    *(
        "start",
        "keys",
        "permissions",
        "context",
        "sessions",
        "configuration",
        "scripting",
        "python",
        "editors",
        "batch",
        "ci",
        "bench",
        "benchmarks",
        "models",
        "goals",
    ),
    *("instructions", "mcp", "skills", "commands", "agents", "hooks", "plugins", "import-config"),
    *("troubleshooting", "contributing"),
)
"""Pages in the order in which a newcomer may read them."""


@dataclass(frozen=True, slots=True)
class Section:
    """A section of a page; `heading` is the page's heading for the text above the first section."""

    topic: str
    heading: str
    lines: tuple[str, ...]


def page(topic: str) -> str:
    """Return the Markdown of a page. Raises InputError, which suggests similar topics, for a topic that does not exist."""
    if topic not in TOPICS:
        near = did_you_mean(near_names(topic, TOPICS)) or f" Topics: {', '.join(TOPICS)}."
        raise InputError(f"The manual has no topic {topic!r}.{near}")
    return (FOLDER / f"{topic}.md").read_text(encoding="utf-8")


def summary(topic: str) -> str:
    """Return the first paragraph of a page."""
    return " ".join(page(topic).split("\n\n")[1].split())


def search(text: str) -> list[Section]:
    """Return the sections that contain every word of the text, in any case; their `lines` are the lines with any of the words."""
    words = text.casefold().split()
    found = []
    for section in (section for topic in TOPICS for section in _sections(topic)):
        whole = "\n".join((section.heading, *section.lines)).casefold()
        if words and all(word in whole for word in words):
            lines = tuple(line for line in section.lines if any(word in line.casefold() for word in words))
            found.append(Section(section.topic, section.heading, lines))
    return found


def _sections(topic: str) -> Iterator[Section]:
    heading: str = topic
    lines: list[str] = []
    fenced = False
    for line in page(topic).splitlines():
        fenced ^= line.startswith("```")
        if line.startswith("#") and not fenced:
            if lines:
                yield Section(topic, heading, tuple(lines))
            heading, lines = line.lstrip("# "), []
        elif line.strip():
            lines.append(line)
    yield Section(topic, heading, tuple(lines))
