"""HTML made plain in one pass: whole tags with the attributes that Markdown can express, no comments, no declarations.

Parsers search all of the rest again for each piece of markup that is never closed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_KEPT = frozenset({"href", "title", "colspan", "start", "alt"})
"""Attributes that Markdown can express."""
_BLANKS = 200
"""Maximum blanks in a row outside of tags: the library's patterns search a run again from each of them."""
_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9:_-]{0,63}")
_STOP = re.compile(r"[>\"']")
_ATTRIBUTE = re.compile(r"""([^\s=>"'/]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s>"'][^\s>]*))?""")
_RUN = re.compile(rf"[ \t]{{{_BLANKS},}}|(?:[ \t]*\n){{{_BLANKS},}}")


def plain_markup(text: str) -> str:
    """Return the page without markup that Markdown cannot express.

    An unclosed tag extends to the end, as in a browser.
    """
    return "".join(_pieces(text))


def _pieces(text: str) -> Iterator[str]:
    position = 0
    while (opened := text.find("<", position)) >= 0:
        yield _few_blanks(text[position:opened])
        after = text[opened + 1 : opened + 2]
        if after.isascii() and (after.isalpha() or after == "/"):
            end = _end_of_tag(text, opened + 1)
            if end < 0:
                return
            yield _tag(text[opened + 1 : end])
        elif after in ("!", "?"):
            comment = text.startswith("<!--", opened)
            end = text.find("-->", opened + 4) + 2 if comment else text.find(">", opened)
            if end < opened:
                return
        else:
            yield "&lt;"
            end = opened
        position = end + 1
    yield _few_blanks(text[position:])


def _few_blanks(text: str) -> str:
    return _RUN.sub(lambda run: run[0][:1] * _BLANKS if "\n" not in run[0] else "\n\n", text)


def _end_of_tag(text: str, start: int) -> int:
    """Return the place of the `>` that ends a tag, ignoring any in quotes after `=`; -1 if there is none."""
    position = start
    while (stop := _STOP.search(text, position)) is not None:
        if stop[0] == ">":
            return stop.start()
        position = stop.end()
        if text[max(start, stop.start() - 50) : stop.start()].rstrip()[-1:] == "=":
            closed = text.find(stop[0], position)
            if closed < 0:
                return -1
            position = closed + 1
    return -1


def _tag(inside: str) -> str:
    """Return a tag from the text between its brackets; empty if that is no tag."""
    import html  # Its table of entities takes milliseconds, and few runs read a page.

    closing = inside.startswith("/")
    name = _NAME.match(inside, 1 if closing else 0)
    if name is None:
        return ""
    if closing:
        return f"</{name[0]}>"
    kept = [
        f' {found[1].lower()}="{html.escape(html.unescape(_unquoted(found[2])))}"'
        for found in _ATTRIBUTE.finditer(inside, name.end())
        if found[2] and found[1].lower() in _KEPT
    ]
    return f"<{name[0]}{''.join(kept)}{' /' if inside.endswith('/') else ''}>"


def _unquoted(value: str) -> str:
    return value[1:-1] if value[0] in "\"'" else value
