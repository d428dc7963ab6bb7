"""Texts of here-documents as values: a `$(cat <<'EOF' …)` that every shell reads in the same way."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

HERE_TEXT = r"""(?x: \$\(cat[ \t]*<<[ \t]*(?P<quote>['"])(?P<mark>[A-Za-z_]\w*)(?P=quote)[ \t]*\n
    (?P<body>(?:(?!(?P=mark)).*\n)*) (?P=mark)\n[ \t\n]*\) )"""
"""A `$(cat <<'EOF' …)`. No line of its text begins with the mark: in a substitution bash may end the text there."""
_HERE_TEXT = re.compile(HERE_TEXT)


def here_text(text: str, start: int, end: int) -> str | None:
    """Return the value of the `$(cat <<'EOF' …)` between two indices of a line; None for anything else.

    Older shells ignore the here-document when they search for the end of a substitution. An unmatched parenthesis or an
    open quote must therefore not change how they read the line.
    """
    match = _HERE_TEXT.fullmatch(text, start, end)
    if match is None:
        return None
    body, after = match["body"], text[end:].removeprefix('"')
    depth = 0
    for letter in body:
        depth += (letter == "(") - (letter == ")")
        if depth < 0:
            return None
    if depth or any(body.count(quote) % 2 for quote in "'\"`"):
        return None if any(sign in after for sign in "'\"`()") else body.rstrip("\n")
    return body.rstrip("\n")


def prints_text(node: Node) -> str | None:
    """Return the value of a syntax tree node that is a `$(cat <<'EOF' …)` in double quotes.

    Return None for any other node.
    """
    if node.type != "command_substitution" or node.parent is None or node.parent.type != "string":
        return None
    top = node
    while top.parent is not None:
        top = top.parent
    whole, start = top.text or b"", top.start_byte
    line = whole.decode("utf-8", "surrogatepass")
    first, last = (len(whole[: index - start].decode("utf-8", "ignore")) for index in (node.start_byte, node.end_byte))
    return here_text(line, first, last)
