"""Highlighted code, as HTML that is safe for any input."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import translate
from functools import cache, lru_cache
from html import escape
from typing import Any

HIGHLIGHT_LIMIT = 20_000
"""Maximum characters of a piece of code that an exported page colours; more would take too long."""

_SHORT, _REMEMBERED = 2_000, 1_000
"""Maximum characters of a piece of code that is cached with its colours, and the number of such pieces."""
_LANGUAGES = {"command": "bash", "sql": "sql"}


def coloured(code: str, language: str, limit: int = HIGHLIGHT_LIMIT) -> str:
    """Return the code as HTML spans; plain if the language is unknown, or the code too long."""
    if not language or len(code) > limit:
        return escape(code)
    # The same commands and edits occur again and again.
    return _remembered(code, language) if len(code) <= _SHORT else _highlighted(code, language)


def language_of(field: str, given: Mapping[str, Any]) -> str:
    """Return the language of a call's input, by the field's name or the path of the target file."""
    if field in _LANGUAGES:
        return _LANGUAGES[field]
    path = given.get("file_path")
    if field not in ("content", "old_string", "new_string") or not isinstance(path, str):
        return ""
    return language_of_file(path.rsplit("/", 1)[-1])


def language_of_file(name: str) -> str:
    """Return the language of a file by its name; empty if it is unknown."""
    return _language_of_ending(_endings(name))


def _highlighted(code: str, language: str) -> str:
    from pygments import highlight  # type: ignore[import-untyped]

    lexer = _lexer(language)
    return str(highlight(code, lexer, _formatter())) if lexer else escape(code)


_remembered = lru_cache(_REMEMBERED)(_highlighted)


# The libraries take a tenth of a second to load, and only this export needs them. Looking up a language or creating a
# formatter takes longer than colouring a short piece of code.
@lru_cache(1_000)
def _lexer(language: str) -> Any:
    from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]
    from pygments.util import ClassNotFound  # type: ignore[import-untyped]

    try:
        return get_lexer_by_name(language, stripnl=False)
    except ClassNotFound:
        return None


@cache
def _formatter() -> Any:
    from pygments.formatters import HtmlFormatter  # type: ignore[import-untyped]

    return HtmlFormatter(nowrap=True)


def _endings(name: str) -> str:
    """Return a name that all files with the same extensions share.

    If more of the name decides the language, return the name itself.
    """
    return name if _told_by_more().match(name) else f"x{''.join(name.partition('.')[1:])}"


@cache
def _told_by_more() -> re.Pattern[str]:
    from pygments.lexers import get_all_lexers

    patterns = (pattern for _, _, patterns, _ in get_all_lexers() for pattern in patterns)
    return re.compile("|".join(translate(pattern) for pattern in patterns if not pattern.startswith("*.")))


@lru_cache(1_000)
def _language_of_ending(name: str) -> str:
    from pygments.lexers import find_lexer_class_for_filename

    lexer = find_lexer_class_for_filename(name)
    return str(lexer.aliases[0]) if lexer and lexer.aliases else ""
