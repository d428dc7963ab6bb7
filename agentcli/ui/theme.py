"""Colours by what they mean; without colours only weight is left, and nothing is said by colour alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from agentcli.ui.cells import RESET

Role = Literal[
    "dim", "strong", "accent", "good", "bad", "warn", "added", "removed", "thought", "said", "chosen", "heading"
]


@dataclass(frozen=True, slots=True)
class Theme:
    """Select Graphic Rendition parameters for each role, and the names of the code colours. An absent role is plain."""

    name: str
    roles: Mapping[Role, str]
    code: str = ""

    def paint(self, role: Role, text: str) -> str:
        """The text in the colours of its role."""
        parameters = self.roles.get(role, "")
        return f"\x1b[{parameters}m{text}{RESET}" if parameters and text else text


_WEIGHTS: dict[Role, str] = {"dim": "2", "strong": "1", "thought": "2;3", "chosen": "1;7", "heading": "1", "said": "1"}

DARK = Theme(
    "dark",
    {
        **_WEIGHTS, "accent": "36", "good": "32", "bad": "31", "warn": "33", "added": "32", "removed": "31",
        "said": "1;36", "heading": "1;36",
    },
    "ansi_dark",
)  # fmt: skip
LIGHT = Theme(
    "light",
    {
        **_WEIGHTS, "accent": "34", "good": "32", "bad": "31", "warn": "35", "added": "32", "removed": "31",
        "said": "1;34", "heading": "1;34",
    },
    "ansi_light",
)  # fmt: skip
PLAIN = Theme("none", _WEIGHTS)
MUTE = Theme("mute", {})
"""Not even weight: for terminals that know no escape sequence."""
NAMES = ("auto", "dark", "light", "none")


def choose(name: str, environment: Mapping[str, str]) -> Theme:
    """The theme of that name; `auto` follows NO_COLOR and the background that the terminal tells in COLORFGBG."""
    if environment.get("NO_COLOR"):
        return PLAIN
    match name:
        case "light":
            return LIGHT
        case "none":
            return PLAIN
        case "dark":
            return DARK
        case _:
            background = environment.get("COLORFGBG", "").rpartition(";")[2]
            return LIGHT if background in ("7", "9", "10", "11", "12", "13", "14", "15") else DARK
