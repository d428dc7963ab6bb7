"""Long pastes stay out of the edit buffer: a label stands for each."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

LINES, CHARACTERS = 8, 1_000
"""A paste with more of either is folded."""

_LABEL = re.compile(r"\[Pasted text #(\d+), [\d,]+ (?:lines|characters)\]")


@dataclass(slots=True)
class Pastes:
    """The texts that were folded, by number."""

    lines: int = LINES
    characters: int = CHARACTERS
    texts: dict[int, str] = field(default_factory=dict)

    def fold(self, text: str) -> str:
        """What goes into the buffer for a paste: the text itself, or a label."""
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        count = text.count("\n") + 1
        if count <= self.lines and len(text) <= self.characters:
            return text
        number = len(self.texts) + 1
        self.texts[number] = text
        size = f"{count:,} lines" if count > 1 else f"{len(text):,} characters"
        return f"[Pasted text #{number}, {size}]"

    def unfold(self, text: str) -> str:
        """The text with every known label replaced by what it stands for."""
        return _LABEL.sub(lambda found: self.texts.get(int(found[1]), found[0]), text)
