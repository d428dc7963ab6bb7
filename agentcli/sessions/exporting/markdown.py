"""The Markdown export: to be read, searched and pasted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from agentcli.sessions.exporting.source import Source
from agentcli.sessions.exporting.transcript import (
    Aside,
    Call,
    Clean,
    Entry,
    MessageText,
    Note,
    Picture,
    entries,
    pretty,
)
from agentcli.sessions.storage.records import Through

_SPEAKERS = {"user": "You", "assistant": "Agent"}


def to_markdown(source: Source, clean: Clean = str, through: Through = iter) -> Iterator[str]:
    """Yield the whole session as one Markdown document, in pieces."""
    info = source.info
    title = clean(info.name or info.title or info.id)
    cost = "" if info.cost is None else f" · ${info.cost:.2f}"
    yield f"# {_line(title)}\n\n{info.time.created} · {info.model or 'no model'}{cost} · `{info.directory or '-'}`\n"
    speaker = ""
    for entry in entries([record for record, _ in source.records], clean, through):
        who = _SPEAKERS.get(entry.speaker, "") if isinstance(entry, MessageText) else speaker
        if isinstance(entry, MessageText) and (who != speaker or entry.speaker == "user"):
            yield f"\n## {who}\n\n"
            speaker = who
        yield "\n"
        yield from (f"{line}\n" for line in _entry(entry))


def _entry(entry: Entry) -> Iterable[str]:
    match entry:
        case MessageText(text=text):
            return [text]
        case Aside(_, label, text):
            return _folded(_line(label), [fence(text)])
        case Picture(_, mime, data):
            return [f"*[{mime}, {len(data) * 3 // 4:,} bytes]*"]
        case Note(_, text):
            return [f"*{_line(text)}*"]
        case Call():
            return _folded(_line(f"{entry.call.name} {entry.subject} — {entry.status}"), _call(entry))


def _call(entry: Call) -> Iterator[str]:
    for name, value in entry.call.input.items():
        yield f"`{name}`"
        yield fence(pretty(value))
    if entry.result is None:
        return
    diff = entry.result.metadata.get("diff")
    if isinstance(diff, str) and diff:
        yield fence(diff, "diff")
    yield fence(entry.result.output)


def fence(text: str, language: str = "") -> str:
    """Return a code block that nothing inside it can end."""
    longest = max(map(len, re.findall(r"`{3,}", text))) if "```" in text else 2
    ticks = "`" * (longest + 1)
    return f"{ticks}{language}\n{text.rstrip()}\n{ticks}"


def _folded(summary: str, blocks: Iterable[str]) -> list[str]:
    return [f"<details><summary>{summary}</summary>", "", *(f"{block}\n" for block in blocks), "</details>"]


def _line(text: str) -> str:
    """Return the text on one line, without markup."""
    flat = " ".join(text.split())
    return flat.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("`", "'").replace("*", "\\*")
