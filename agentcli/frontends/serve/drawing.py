"""Draw the transcript as the export does, as trees of allowed elements.

A page builds its nodes from these trees and parses no markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html.parser import HTMLParser
from typing import Any

from agentcli.core.message import Message, ToolCall, ToolResult
from agentcli.core.record import Record
from agentcli.sessions.exporting.html import markup, plain
from agentcli.sessions.exporting.rendering import closed_part, diff_rows
from agentcli.sessions.exporting.transcript import Clean, entries

TAGS = frozenset(
    [
        "a",
        "b",
        "blockquote",
        "br",
        "code",
        "del",
        "details",
        "div",
        "em",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "hr",
        "img",
        "li",
        "ol",
        "p",
        "pre",
        "s",
        "section",
        "span",
        "strong",
        "summary",
        "table",
        "tbody",
        "td",
        "th",
        "thead",
        "tr",
        "ul",
    ]
)
"""Elements that the export's drawing has."""
_SIDES: Mapping[str | None, str] = {"text-align:right": "right", "text-align:center": "center"}
"""Classes for the styles of a table's cells: the page allows no style."""
_VOID = frozenset(("br", "hr", "img"))
HIGHLIGHTED = 5_000
"""Maximum characters of a piece of code to colour."""

Tree = list[Any]
"""An element: its name, its attributes, then its children: texts and elements."""


def drawn(records: Sequence[Record], clean: Clean, after: int = 0) -> list[Mapping[str, Any]]:
    """Return the drawn entries of each record that has any.

    `after` leaves out older records, unless one of their calls has been answered since.
    """
    changed = {record.seq for record in records if record.seq > after}
    answered = {record.body.call_id for record in records if record.seq > after and isinstance(record.body, ToolResult)}
    for record in records:
        if isinstance(record.body, Message) and any(
            isinstance(part, ToolCall) and part.call_id in answered for part in record.body.parts
        ):
            changed.add(record.seq)
    groups: dict[int, list[Any]] = {}
    for entry in entries(records, clean):
        if entry.seq in changed:
            groups.setdefault(entry.seq, []).extend(tree_of(markup(entry, HIGHLIGHTED)))
    return [{"seq": seq, "tree": tree} for seq, tree in groups.items()]


def drawn_reply(text: str) -> Mapping[str, Any]:
    """Return the drawing of a growing reply: its finished blocks with the number of their lines, and the open one."""
    closed, growing, lines = closed_part(plain(text), HIGHLIGHTED)
    return {"closed": tree_of([closed]), "lines": lines, "open": tree_of([growing])}


def drawn_diff(diff: str, path: str) -> Mapping[str, Any]:
    """Return the drawing of a unified diff; `path` names its file if the diff does not."""
    return {"open": tree_of([diff_rows(plain(diff), path, HIGHLIGHTED)])}


def tree_of(pieces: Iterable[str]) -> list[Any]:
    """Return the elements of pieces of markup, without disallowed elements and attributes; their texts stay."""
    parser = _Trees()
    for piece in pieces:
        parser.feed(piece)
    parser.close()
    return parser.root[2:]


class _Trees(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root: Tree = ["div", {}]
        self._open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in TAGS:
            return
        element: Tree = [tag, {name: value for name, value in attrs if value and _allowed(tag, name, value)}]
        if tag in ("td", "th") and (side := dict(attrs).get("style")) in _SIDES:
            element[1]["class"] = _SIDES[side]
        self._open[-1].append(element)
        if tag not in _VOID:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        if any(element[0] == tag for element in self._open[1:]):
            while self._open.pop()[0] != tag:
                pass

    def handle_data(self, data: str) -> None:
        self._open[-1].append(data)


def _allowed(tag: str, name: str, value: str) -> bool:
    match tag, name:
        case _, "class" | "alt":
            return True
        case "ol", "start":
            return value.isascii() and value.isdecimal()
        case "a", "href":
            return value.startswith(("https://", "http://"))
        case "img", "src":
            return value.startswith(("data:image/png;", "data:image/jpeg;", "data:image/gif;", "data:image/webp;"))
        case _:
            return False
