"""Source code as coloured runs."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from agentcli.ui.render.spans import Row, Run, lines
from agentcli.ui.style import Theme

LONGEST = 50_000
"""Characters of a piece of code that are still coloured: a lexer may be slow on what no person wrote."""

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
