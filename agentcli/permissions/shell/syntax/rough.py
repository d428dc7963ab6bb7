"""Commands of a line that the parser cannot read as a whole: words split at blanks and operators, more rather than fewer."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from agentcli.permissions.shell.programs.known_programs import word_set
from agentcli.permissions.shell.syntax.parse import UNKNOWN

_KEYWORDS = word_set("if then elif else while until do for case in select function { } ! time coproc")
_EXPANSION = re.compile(r"\$\{[^}]*\}|\$\w+|\$|`")


def rough_commands(text: str) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Yield the words of each command that a line may contain, and the targets of its redirections."""
    words: list[str] = []
    writes: list[str] = []
    target = False
    for token in (*_tokens(text), ";"):
        if set(token) <= set("<>&|") and (">" in token or token == "<"):
            target = ">" in token
        elif set(token) <= set(";|&()\n"):
            while words and words[0] in _KEYWORDS:
                words.pop(0)
            if words or writes:
                yield tuple(words), tuple(writes)
            words, writes, target = [], [], False
        else:
            (writes if target else words).append(_EXPANSION.sub(UNKNOWN, token))
            target = False


def _tokens(text: str) -> list[str]:
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";|&()<>\n")
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t\r", True, ""
    try:
        return list(lexer)
    except ValueError:
        # A quote without its end.
        return re.split(r"[\s;|&()<>'\"]+", text)
