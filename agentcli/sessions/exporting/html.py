"""HTML export: one file without network access or scripts, for small and large screens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from html import escape
from pathlib import Path

from agentcli.core.sanitise import safe
from agentcli.sessions.exporting.rendering import HIGHLIGHT_LIMIT, coloured, diff_rows, language_of, rendered
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

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_SPEAKERS = {"user": "You", "assistant": "Agent"}
_STATUSES = {"success": "✓", "error": "failed", "unanswered": "no result"}
_ASIDES = {"thinking": "Thinking", "summary": "Summary"}
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|.)")
_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_SHORT, _REMEMBERED = 500, 2_000
"""Maximum characters of a text whose HTML is cached, because names, paths and commands recur; the number of such texts."""


def to_html(source: Source, clean: Clean = str, through: Through = iter) -> Iterator[str]:
    """Yield the whole session as one page, in pieces. Code longer than HIGHLIGHT_LIMIT characters stays plain.

    All external text is escaped, and a policy in the page also forbids scripts and network access.
    """
    info = source.info
    title = _text(clean(info.name or info.title or info.id))
    content = entries([record for record, _ in source.records], clean, through)
    yield f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>
{Path(__file__).with_name("style.css").read_text(encoding="utf-8")}</style>
</head>
<body>
<header>
<h1>{title}</h1>
<p>{" · ".join(_text(fact) for fact in _facts(source, clean))}</p>
</header>
<main>
"""
    between = ""
    for entry in content:
        for block in markup(entry):
            yield f"{between}{block}"
            between = "\n"
    yield "\n</main>\n</body>\n</html>\n"


def _facts(source: Source, clean: Clean) -> Iterator[str]:
    info = source.info
    yield from filter(None, (info.time.created[:16].replace("T", " "), info.model, clean(info.directory)))
    if info.usage.total:
        yield f"{info.usage.prompt:,} tokens in, {info.usage.output:,} out"
    if info.cost is not None:
        yield f"${info.cost:.2f}"


def markup(entry: Entry, limit: int = HIGHLIGHT_LIMIT) -> Iterator[str]:
    """Yield the HTML elements of an entry.

    All external text is escaped. Code longer than `limit` characters stays plain.
    """
    match entry:
        case MessageText(seq, time, speaker, text):
            body = rendered(plain(text), limit) if speaker == "assistant" else _text(text)
            who = f'<a class="who" href="#r{seq}">{_text(_SPEAKERS.get(speaker, speaker))} · {_text(time[11:16])}</a>'
            yield f'<section class="{_text(speaker)}" id="r{seq}">{who}<div class="words">{body}</div></section>'
        case Aside(_, label, text):
            yield f"<details><summary>{_text(_ASIDES.get(label, label))}</summary>{_pre(text)}</details>"
        case Picture(_, mime, data) if mime in _PICTURES:
            yield f'<p><img alt="image" src="data:{mime};base64,{escape(data)}"></p>'
        case Picture(_, mime, _):
            yield f'<p class="note">{_text(mime)}</p>'
        case Note(_, text):
            yield f'<p class="note">{_text(text)}</p>'
        case Call():
            yield _call(entry, limit)


_UNSAFE = re.compile(r"[^\w-]", re.ASCII)
"""Characters of a call's id that the name of a class can't have."""


def _call(entry: Call, limit: int) -> str:
    name, subject, status = map(_text, (entry.call.name, entry.subject, entry.status))
    # The page finds a call that waits by its id.
    place = f" call-{_UNSAFE.sub('-', entry.call.call_id)}" if entry.result is None else ""
    head = f'<b>{name}</b> <code>{subject}</code> <span class="{status}{place}">{_STATUSES.get(status, status)}</span>'
    path = entry.call.input.get("file_path")
    path = path if isinstance(path, str) else ""
    blocks = [_given(name, pretty(value), path, limit) for name, value in entry.call.input.items()]
    if entry.result is not None:
        diff = entry.result.metadata.get("diff")
        if isinstance(diff, str) and diff:
            blocks.append(diff_rows(plain(diff), str(entry.call.input.get("file_path", "")), limit))
        blocks.append(f'<div class="label">result</div>{_pre(entry.result.output)}')
    return f'<details id="c{entry.seq}"><summary>{head}</summary>{"".join(blocks)}</details>'


def _given(name: str, value: str, path: str, limit: int) -> str:
    return (_known_given if len(value) <= _SHORT else _new_given)(name, value, path, limit)


def _new_given(name: str, value: str, path: str, limit: int) -> str:
    text = plain(value)
    if "\n" not in text and len(text) < 80 and name != "command":
        return f'<div><span class="label">{_text(name)}</span> <code>{escape(text)}</code></div>'
    language = language_of(name, path)
    return f'<div class="label">{_text(name)}</div><pre>{coloured(text, language, limit)}</pre>'


_known_given = lru_cache(_REMEMBERED)(_new_given)


def _pre(text: str) -> str:
    return f"<pre>{_text(text)}</pre>"


def _text(text: str) -> str:
    return (_known_text if len(text) <= _SHORT else _new_text)(text)


def _new_text(text: str) -> str:
    return escape(plain(text))


_known_text = lru_cache(_REMEMBERED)(_new_text)


def plain(text: str) -> str:
    """Return the text without terminal escape sequences; characters that could deceive a reader are spelled out."""
    return safe(_ESCAPES.sub("", text) if "\x1b" in text else text)
