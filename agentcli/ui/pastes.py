"""Long pastes and pictures stay out of the edit buffer: a label stands for each."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from agentcli.ui.mention import mention

PASTE_LINES, PASTE_CHARACTERS = 8, 1_000
"""A paste with more of either is folded."""

_LABEL = re.compile(r"\[(?:Pasted text #\d+, [\d,]+ (?:lines|characters)|Image #\d+)\]")


@dataclass(slots=True)
class Pastes:
    """What the labels stand for: a text, or the mention of a picture's file."""

    lines: int = PASTE_LINES
    characters: int = PASTE_CHARACTERS
    texts: dict[str, str] = field(default_factory=dict)
    pictures: dict[str, str] = field(default_factory=dict)

    def fold(self, text: str) -> str:
        """What goes into the buffer for a paste: the text itself, or a label."""
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        count = text.count("\n") + 1
        if count <= self.lines and len(text) <= self.characters:
            return text
        size = f"{count:,} lines" if count > 1 else f"{len(text):,} characters"
        label = f"[Pasted text #{len(self.texts) + 1}, {size}]"
        self.texts[label] = text
        return label

    def picture(self, file: Path) -> str:
        """What goes into the buffer for a picture."""
        label = f"[Image #{len(self.pictures) + 1}]"
        self.pictures[label] = mention(str(file))
        return label

    def unfold(self, text: str) -> str:
        """The text with every known label replaced by what it stands for."""
        known = {**self.texts, **self.pictures}
        return _LABEL.sub(lambda found: known.get(found[0], found[0]), text)
