"""Colours by what they mean; without colours only weight is left, and nothing is said by colour alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from agentcli.ui.cells import RESET

Role = Literal[
    "dim", "strong", "accent", "good", "bad", "warn", "added", "removed", "thought", "said", "chosen", "heading",
    "stress", "struck", "code", "link", "quote", "changed",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Theme:
    """Select Graphic Rendition parameters for each role and for Pygments' kinds of tokens. What is absent is plain."""

    name: str
    roles: Mapping[Role, str]
    tokens: Mapping[str, str] = field(default_factory=dict)

    def sgr(self, role: Role) -> str:
        """The parameters of a role."""
        return self.roles.get(role, "")

    def paint(self, role: Role, text: str) -> str:
        """The text in the colours of its role."""
        parameters = self.roles.get(role, "")
        return f"\x1b[{parameters}m{text}{RESET}" if parameters and text else text


_WEIGHTS: dict[Role, str] = {
    "dim": "2", "strong": "1", "thought": "2;3", "chosen": "1;7", "heading": "1", "said": "1",
    "stress": "3", "struck": "9", "code": "1", "link": "4", "quote": "2", "changed": "1;4",
}  # fmt: skip
_FAINT = {"Comment": "2;3", "Generic.Prompt": "2", "Generic.Output": "2"}
_SHAPES = {
    **_FAINT,
    "Generic.Inserted": "32",
    "Generic.Deleted": "31",
    "Generic.Heading": "1",
    "Generic.Subheading": "36",
    "Comment.Preproc": "35",
}

# Bright and dark sorts of a colour differ from terminal to terminal: only those are used that can be read on either.
DARK = Theme(
    "dark",
    {
        **_WEIGHTS, "accent": "36", "good": "32", "bad": "31", "warn": "33", "added": "32", "removed": "31",
        "said": "1;36", "heading": "1;36", "code": "36",
    },
    {
        **_SHAPES, "Keyword": "35", "Operator.Word": "35", "Literal.String": "32", "Literal.Number": "33", "Keyword.Constant": "33",
        "Name.Function": "36", "Name.Class": "36", "Name.Builtin": "36", "Keyword.Type": "36", "Name.Decorator": "33", "Name.Tag": "35", "Name.Attribute": "36",
    },
)  # fmt: skip
LIGHT = Theme(
    "light",
    {
        **_WEIGHTS, "accent": "34", "good": "32", "bad": "31", "warn": "35", "added": "32", "removed": "31",
        "said": "1;34", "heading": "1;34", "code": "34",
    },
    {
        **_SHAPES, "Keyword": "35", "Operator.Word": "35", "Literal.String": "32", "Literal.Number": "31", "Keyword.Constant": "31",
        "Name.Function": "34", "Name.Class": "34", "Name.Builtin": "34", "Keyword.Type": "34", "Name.Decorator": "31", "Name.Tag": "35", "Name.Attribute": "34",
    },
)  # fmt: skip
PLAIN = Theme("none", _WEIGHTS)
MUTE = Theme("mute", {})
"""Not even weight: for terminals that know no escape sequence."""
THEMES = ("auto", "dark", "light", "none")


def theme_for_background(light: bool) -> Theme:
    """The theme for a light background, or a dark one."""
    return LIGHT if light else DARK


def choose_theme(name: str, environment: Mapping[str, str], light: bool | None = None) -> Theme:
    """The theme of that name; `auto` follows NO_COLOR and the background: what the terminal said of it, else COLORFGBG."""
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
            told = environment.get("COLORFGBG", "").rpartition(";")[2]
            return theme_for_background(
                told in ("7", "9", "10", "11", "12", "13", "14", "15") if light is None else light
            )
