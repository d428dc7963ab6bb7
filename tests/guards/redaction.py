"""Redaction of error texts: keys of public formats do not show, and ordinary texts lose no word.

Stopped: nothing of a key of the format is left but a part that all keys share. Hindered: a text changes.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from re import _constants as kinds  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from agentcli.core.text.secrets import mask
from agentcli.providers.http import scrubbed
from tests.guards import Figures, material

_TEXTS = ("Incorrect API key provided: {}. Check it.", "401 for url: https://example.com/v1?x={}&y=1", "sent: {}")
_LETTERS = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"


def figures() -> Iterator[Figures]:
    """Measure keys by their format alone, the configured key, and ordinary texts beside keys that are words."""
    found = material("redaction")
    chance = random.Random(1)
    keys = {name: example(pattern, chance) for name, pattern in found["bad"].items()}
    shown = [(key, text.format(key)) for key in keys.values() for text in _TEXTS]
    good: list[str] = found["good"]
    yield Figures(
        "keys of known formats in a log", sum(key[-12:] not in mask(text) for key, text in shown), len(shown),
        sum(mask(text) != text for text in good), len(good),
        "formats of gitleaks/gitleaks; error texts in recorded sessions of three public repositories",
    )  # fmt: skip
    beside = [(key, text) for key in found["keys"] for text in good]
    yield Figures(
        "the configured key in an error", sum(key[-12:] not in scrubbed(text, key) for key, text in shown), len(shown),
        sum(scrubbed(text, key) != scrubbed(text, None) for key, text in beside), len(beside),
        "the same; good beside the short keys that documentation of local servers gives as examples",
    )  # fmt: skip


def example(pattern: str, chance: random.Random) -> str:
    """Return a text of a format, made at random."""
    return "".join(_made(part, chance) for part in parser.parse(re.sub(r"(?<!^)\(\?i\)", "", pattern)))


def _made(part: tuple[Any, Any], chance: random.Random) -> str:
    kind, value = part
    match kind:
        case kinds.LITERAL:
            return chr(value)
        case kinds.MAX_REPEAT | kinds.MIN_REPEAT:
            least, most, inner = value
            count = max(least, min(most, 1))
            return "".join(_made(each, chance) for _ in range(count) for each in inner)
        case kinds.SUBPATTERN:
            return "".join(_made(each, chance) for each in value[3])
        case kinds.BRANCH:
            return "".join(_made(each, chance) for each in chance.choice(value[1]))
        case kinds.IN:
            fitting = [letter for letter in _LETTERS + "-_" if _in(value, letter)]
            return chance.choice(fitting or ["0"])
        case _:
            return ""


def _in(items: list[tuple[Any, Any]], letter: str) -> bool:
    for kind, value in items:
        if kind is kinds.LITERAL and chr(value) == letter:
            return True
        if kind is kinds.RANGE and value[0] <= ord(letter) <= value[1]:
            return True
        if kind is kinds.CATEGORY and (
            letter.isdigit() if "DIGIT" in str(value) else letter.isalnum() or letter == "_"
        ):
            return True
    return False
