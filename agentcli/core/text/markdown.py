"""Markdown as all readers of a reply get it: one parser for the terminal, the page and the exports.

Also web addresses in texts: where they begin and end, and which of them a reader may follow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token

LONGEST = 2_000
"""Characters of a URL; terminals take about so much."""

BARE = re.compile(r"https?://[^\s<>\"'`|\\^{}\x00-\x1f]+")
"""A URL in running text."""
_TARGET = re.compile(r"(?:https?://[^/\s]|file:///)[!-~]*")
_HOST = re.compile(r"(?:https?://)?(?:www\.)?([a-z0-9-]+(?:\.[a-z0-9-]+)+)", re.IGNORECASE)
_TRAILING = ".,;:!?*_~'\""


def target(url: str) -> str:
    """Return the URL if it is safe as a link target: printable ASCII, web or file; else empty."""
    return url if len(url) <= LONGEST and _TARGET.fullmatch(url) else ""


def honest(text: str, url: str) -> bool:
    """Return True if the link's text contains no host, or the same host as its target."""
    named, leads = _HOST.match(text.strip()), _HOST.match(url)
    return named is None or (leads is not None and named[1].lower() == leads[1].lower())


def trimmed(url: str) -> str:
    """Return a URL from running text without trailing punctuation."""
    url = url.rstrip(_TRAILING)
    while _unopened(url):
        url = url[:-1].rstrip(_TRAILING)
    return url


def _unopened(url: str) -> bool:
    """Return whether the URL ends in an unmatched bracket."""
    return (url.endswith(")") and url.count(")") > url.count("(")) or (
        url.endswith("]") and url.count("]") > url.count("[")
    )


DEEPEST = 60
"""Maximal depth of the tree (a list takes two levels)."""
ADDRESS = "address"
"""Markup of a link made from a bare address in the text."""
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_TASK = re.compile(r"\[([ xX])\]\s")


def parser(options: dict[str, Any] | None = None, **more: Any) -> MarkdownIt:
    """Return a parser for CommonMark with tables, strikethrough, tasks and bare addresses.

    Its tokens keep every address: the writer decides which ones a reader may follow. An item of a task list has
    `meta["done"]`, and its text has no box. `options` and `more` are markdown-it's own.
    """
    from markdown_it import MarkdownIt

    made = MarkdownIt("commonmark", {"html": False, "maxNesting": DEEPEST, **(options or {})}, **more)
    made.validateLink = lambda url: True  # type: ignore[method-assign]
    made.core.ruler.push("tasks", _tasks)
    made.core.ruler.push("running_text", _running_text)
    return made.enable(["table", "strikethrough"])


reader = cache(parser)
"""Returns the same parser each time, for writers that read its tokens themselves."""


def words(text: str) -> str:
    """Return the words of a Markdown text on one line, without markup."""
    found = [
        each.content
        for token in reader().parse(text)
        for each in (token.children or [token])
        if each.type in ("text", "code_inline", "fence", "code_block")
    ]
    return " ".join(" ".join(found).split())


def _tasks(state: StateCore) -> None:
    for item, paragraph, inline in zip(state.tokens, state.tokens[1:], state.tokens[2:], strict=False):
        if item.type != "list_item_open" or paragraph.type != "paragraph_open" or not inline.children:
            continue
        first = inline.children[0]
        if first.type == "text" and (box := _TASK.match(first.content)):
            item.meta["done"] = box[1] != " "
            first.content = first.content[box.end() :]


def _running_text(state: StateCore) -> None:
    """Split the texts at line breaks written as tags, and at bare addresses outside of links."""
    for token in state.tokens:
        if token.children and any("http" in each.content or "<" in each.content for each in token.children):
            token.children = list(_split(token.children))


def _split(tokens: Sequence[Token]) -> Iterator[Token]:
    in_link = 0
    for token in tokens:
        in_link += (token.type == "link_open") - (token.type == "link_close")
        if token.type != "text":
            yield token
            continue
        for n, line in enumerate(_BREAK.split(token.content)):
            if n:
                yield _token("hardbreak", "br")
            yield from [_text(line)] if in_link else _with_addresses(line)


def _with_addresses(text: str) -> Iterator[Token]:
    at = 0
    for match in BARE.finditer(text):
        url = trimmed(match[0])
        if match.start() > at:
            yield _text(text[at : match.start()])
        yield from (_token("link_open", "a", 1, url), _text(url), _token("link_close", "a", -1))
        at = match.start() + len(url)
    if at < len(text):
        yield _text(text[at:])


def _text(content: str) -> Token:
    made = _token("text", "")
    made.content = content
    return made


def _token(kind: str, tag: str, nesting: Any = 0, url: str = "") -> Token:
    from markdown_it.token import Token

    return Token(kind, tag, nesting, attrs={"href": url} if url else {}, markup=ADDRESS if tag == "a" else "")
