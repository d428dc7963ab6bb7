"""The parser for bash. Each thread has its own: sessions of one process may run in several."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Parser

_parsers = threading.local()


def parser() -> Parser:
    """The parser of this thread, made at its first use."""
    found: Parser | None = getattr(_parsers, "bash", None)
    if found is None:
        import tree_sitter_bash
        from tree_sitter import Language, Parser

        found = _parsers.bash = Parser(Language(tree_sitter_bash.language()))
    return found
