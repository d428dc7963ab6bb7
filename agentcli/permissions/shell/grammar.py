"""Parser for bash. Each thread has its own, as sessions of one process may run in several threads."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Parser

_parsers = threading.local()


def parser() -> Parser:
    """Return the parser of this thread, created at its first use."""
    found: Parser | None = getattr(_parsers, "bash", None)
    if found is None:
        import tree_sitter_bash
        from tree_sitter import Language, Parser

        found = _parsers.bash = Parser(Language(tree_sitter_bash.language()))
    return found
