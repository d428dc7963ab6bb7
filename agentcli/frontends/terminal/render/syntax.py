"""Source code as coloured runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from agentcli.frontends.terminal.render.spans import Row, Run, lines
from agentcli.frontends.terminal.style import Theme

LONGEST = 50_000
"""Maximum characters of a piece of code to colour: a lexer may be slow on generated text."""

_NAME = re.compile(r"[\w+#.-]+")


def coloured(code: str, info: str, theme: Theme) -> list[Row]:
    """Highlight the lines of a code block with the fence's `info`; plain for an unknown language."""
    name = _NAME.search(info)
    lexer = _lexer(name[0].lower()) if name and theme.tokens and len(code) < LONGEST else None
    if lexer is None:
        return lines([Run(code)])
    # Some lexers, such as the one for diffs, recognise a line only by its newline.
    rows = lines(Run(text, _colour(kind, theme)) for kind, text in lexer.get_tokens(code + "\n") if text)
    return rows[:-1]


def coloured_command(code: str, theme: Theme) -> list[Row]:
    """Highlight a shell command, with the name of each program in it."""
    lexer = _lexer("bash") if theme.tokens and len(code) < LONGEST else None
    return lines([Run(code)]) if lexer is None else lines(_programs(lexer.get_tokens(code + "\n"), theme))[:-1]


def _programs(tokens: Iterable[tuple[Any, str]], theme: Theme) -> Iterator[Run]:
    begins, value = True, False
    for kind, text in tokens:
        name = begins and not value and str(kind) == "Token.Text" and not text.isspace()
        yield Run(text, theme.tokens["Name.Function"] if name else _colour(kind, theme))
        if text.isspace():
            begins, value = begins or "\n" in text, False
        elif text in _SEPARATORS:
            begins = True
        elif text == "=" and begins:
            value = True
        elif not value and not str(kind).startswith("Token.Name.Variable"):
            begins = False


_SEPARATORS = frozenset(("&&", "||", ";", "|", "&", "(", "{", "do", "then", "else"))
"""After these a shell expects the name of a program."""


@cache
def _lexer(name: str) -> Any:
    from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]
    from pygments.util import ClassNotFound  # type: ignore[import-untyped]

    try:
        return get_lexer_by_name(_ALIASES.get(name, name), stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


_ALIASES = {
    "jsonc": "json5", "shell": "bash", "console": "console", "vue": "html", "svelte": "html", "golang": "go", "pyi": "python", "yml": "yaml",
    "h": "c", "hh": "cpp", "hpp": "cpp", "cc": "cpp", "mjs": "js", "cjs": "js", "jsx": "js", "tsx": "ts", "kt": "kotlin", "ex": "elixir",
    "hs": "haskell", "htm": "html",
}  # fmt: skip
"""Languages by the names and suffixes that Pygments does not know."""


def _colour(kind: Any, theme: Theme) -> str:
    while kind is not None:
        if found := theme.tokens.get(str(kind).removeprefix("Token.")):
            return found
        kind = kind.parent
    return ""
