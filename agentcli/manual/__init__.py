"""The manual: Markdown pages beside this file, for people (`agentcli help`, `/help`) and for the model, which reads them as files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
        "serve",
        "batch",
        "ci",
        "bench",
        "benchmarks",
        "models",
        "cost",
        "goals",
        "web",
    ),
    *("instructions", "mcp", "skills", "commands", "agents", "hooks", "checks", "plugins", "import-config"),
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
    """Return the sections that contain every word of the text, in any case; their `lines` are the paragraphs, items and rows with any
    of the words, each in one line.
    """  # fmt: skip
    words = text.casefold().split()
    found = []
    for section in (section for topic in TOPICS for section in _sections(topic)):
        whole = "\n".join((section.heading, *section.lines)).casefold()
        if words and all(word in whole for word in words):
            whole_lines = _joined(section.lines)
            lines = tuple(line for line in whole_lines if any(word in line.casefold() for word in words))
            found.append(Section(section.topic, section.heading, lines))
    return found


_APART = ("- ", "* ", "|", "    ", "1. ", ">")
"""Beginnings of lines that continue no paragraph."""


def _joined(lines: Sequence[str]) -> list[str]:
    """Return the lines with each paragraph and item in one; an empty line ends one."""
    joined: list[str] = []
    ended = True
    for line in lines:
        if line and not ended and not line.startswith(_APART):
            joined[-1] = f"{joined[-1]} {line.strip()}"
        elif line:
            joined.append(line)
        ended = not line or line.startswith(("|", "    "))
    return joined


def _sections(topic: str) -> Iterator[Section]:
    heading: str = topic
    lines: list[str] = []
    fenced = False
    for line in page(topic).splitlines():
        fenced ^= line.startswith("```")
        if line.startswith("#") and not fenced:
            if any(lines):
                yield Section(topic, heading, tuple(lines))
            heading, lines = line.lstrip("# "), []
        else:
            lines.append(line.rstrip())
    yield Section(topic, heading, tuple(lines))
