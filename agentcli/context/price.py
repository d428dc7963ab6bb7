"""What an edit of the history costs on a warm cache, and when it has paid for itself."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Edit:
    """An edit of what was sent before, in tokens.

    `removed` are gone for good; `behind` survive behind the first changed byte and are written to the cache anew; `thoughts` are
    dropped with it because the edit invalidates them, and may have to be thought again.
    """

    removed: int
    behind: int
    thoughts: int = 0


def requests_to_pay(edit: Edit, write: float, read: float, output: float = 5.0) -> float:
    """After how many requests an edit is cheaper than none: R·(w−r) / (S·r), or infinity where it never is.

    `write`, `read` and `output` are prices in units of one fresh token. Dropped thoughts are saved like everything removed,
    and cost once what it takes to write them again.
    """
    saved = (edit.removed + edit.thoughts) * read
    cost = price(edit, write, read, output)
    if cost <= 0:
        return 0.0
    return cost / saved if saved > 0 else math.inf


def price(edit: Edit, write: float, read: float, output: float = 5.0) -> float:
    """What an edit costs once, in fresh tokens."""
    return edit.behind * (write - read) + edit.thoughts * output
