"""Regular expressions that are compiled when they are first used: a large one takes milliseconds, and most runs need few."""

from __future__ import annotations

import re
from typing import Any, cast


def late(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """The regular expression, compiled with its first use."""
    return cast("re.Pattern[str]", _Late(pattern, flags))


class _Late:
    """Stands for a compiled pattern, whose methods it takes over one by one."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self.flags = flags

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(self.pattern, self.flags), name)
        setattr(self, name, value)
        return value
