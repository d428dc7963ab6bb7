"""Themes: colours by role, and appearance of the output. Nothing is expressed by colour alone: without colours, only bold and dim remain."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import Literal

from agentcli.core.dataclass import dataclass
from agentcli.frontends.terminal.render import links
from agentcli.frontends.terminal.render.markdown_blocks import Block
from agentcli.frontends.terminal.settings import UiSettings
from agentcli.system.cells import RESET

Role = Literal[
    "dim", "strong", "accent", "good", "bad", "warn", "added", "removed", "thought", "user", "chosen", "heading",
    "stress", "struck", "code", "link", "quote", "changed", "added changed", "removed changed",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Theme:
    """Select Graphic Rendition parameters for each role and for Pygments' kinds of tokens. Absent ones are plain.

    `bands`: the roles of prompts and of a diff's lines are backgrounds over the whole width.
    """

    name: str
    roles: Mapping[Role, str]
    tokens: Mapping[str, str] = field(default_factory=dict)
    bands: bool = False

    def sgr(self, role: Role) -> str:
        """Return the SGR parameters of a role."""
        return self.roles.get(role, "")

    def paint(self, role: Role, text: str) -> str:
        """Return the text in the colours of its role."""
        parameters = self.roles.get(role, "")
        return f"\x1b[{parameters}m{text}{RESET}" if parameters and text else text


_WEIGHTS: dict[Role, str] = {
    "dim": "2", "strong": "1", "thought": "2;3", "chosen": "1;7", "heading": "1", "user": "1",
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


# Bright and dark variants of a colour differ between terminals: use only colours that are readable on both backgrounds.
DARK = Theme(
    "dark",
    {
        **_WEIGHTS, "accent": "36", "good": "32", "bad": "31", "warn": "33", "added": "32", "removed": "31",
        "user": "1", "heading": "1;35", "code": "36",
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
        "user": "1", "heading": "1;34", "code": "35",
    },
    {
        **_SHAPES, "Keyword": "35", "Operator.Word": "35", "Literal.String": "32", "Literal.Number": "31", "Keyword.Constant": "31",
        "Name.Function": "34", "Name.Class": "34", "Name.Builtin": "34", "Keyword.Type": "34", "Name.Decorator": "31", "Name.Tag": "35", "Name.Attribute": "34",
    },
)  # fmt: skip


def _with_bands(theme: Theme, user: str, removed: tuple[str, str], added: tuple[str, str]) -> Theme:
    """Return the theme with backgrounds in true colour (hexadecimal RGB): of lines, and of the changed parts in them."""
    colours: dict[Role, str] = {
        "user": user, "removed": removed[0], "removed changed": removed[1], "added": added[0], "added changed": added[1],
    }  # fmt: skip
    bands = {role: ";".join(["48;2", *(str(each) for each in bytes.fromhex(rgb))]) for role, rgb in colours.items()}
    return replace(theme, roles={**theme.roles, **bands}, bands=True)


TRUE_DARK = _with_bands(DARK, "2a2a2a", ("3a1a1a", "6b2a2a"), ("12301c", "1f5a33"))


TRUE_LIGHT = _with_bands(LIGHT, "f0f0f0", ("ffe9e9", "ffc9c9"), ("e3f7e6", "b4e8bd"))


PLAIN = Theme("none", _WEIGHTS)


MUTE = Theme("mute", {})
"""Not even weight: for terminals that know no escape sequence."""


THEMES = ("auto", "dark", "light", "none")


def theme_for_background(light: bool, environment: Mapping[str, str] = os.environ) -> Theme:
    """Return the theme for a light or dark background, in true colour if the terminal is known to have it."""
    if environment.get("COLORTERM", "") in ("truecolor", "24bit"):
        return TRUE_LIGHT if light else TRUE_DARK
    return LIGHT if light else DARK


def choose_theme(name: str, environment: Mapping[str, str], light: bool | None = None) -> Theme:
    """Return the theme of that name; `auto` follows NO_COLOR and the background: the terminal's answer, else COLORFGBG."""
    if environment.get("NO_COLOR"):
        return PLAIN
    match name:
        case "light" | "dark":
            return theme_for_background(name == "light", environment)
        case "none":
            return PLAIN
        case _:
            background = environment.get("COLORFGBG", "").rpartition(";")[2]
            bright = background in ("7", "9", "10", "11", "12", "13", "14", "15")
            return theme_for_background(bright if light is None else light, environment)


@dataclass(frozen=True, slots=True)
class Look:
    """Appearance of the output: theme, and how much is printed before the rest is folded."""

    theme: Theme = DARK
    thinking: bool = False
    """Unfolds thoughts."""
    output_lines: int = 5
    """Lines of a command's output before the rest is folded."""
    diff_lines: int = 60
    """Lines of a diff before the rest is folded."""
    tail_rows: int = 14
    flows: bool = False
    """Joins the lines of a paragraph."""
    raw: bool = False
    """Leaves Markdown unchanged."""
    links: bool = False
    """Writes addresses as terminal links."""
    light: bool | None = None
    """Whether the terminal reported a light background; None without a report."""
    folder: str = ""
    """The working folder."""
    for_people: frozenset[str] = frozenset()
    """Tools whose results the user wants to read, too."""

    def near(self, title: str) -> str:
        """Return the title of a call with paths relative to the working folder."""
        return title.replace(self.folder + "/", "") if len(self.folder) > 1 else title


def looks(settings: UiSettings, env: Mapping[str, str] = os.environ) -> Look:
    """Return the appearance for these settings and the terminal of the environment."""
    return Look(
        choose_theme(settings.theme, env),
        settings.thinking,
        settings.output_lines,
        settings.diff_lines,
        links=links.known(settings.links, env),
    )


Markdown = Callable[[Block, int, Look], list[str]]
"""A block as lines of at most so many cells."""


def count(tokens: int) -> str:
    """Format a count in at most four characters, unit included: 820, 3.2k, 34k, 1.2M."""
    if tokens < 1000:
        return str(tokens)
    value, unit = (tokens / 1000, "k") if tokens < 999_500 else (tokens / 1e6, "M")
    return f"{value:.0f}{unit}" if value >= 9.95 or value == int(value) else f"{value:.1f}{unit}"


def duration(seconds: float) -> str:
    """Format a duration in seconds for people."""
    if seconds < 60:
        return f"{seconds:.0f}s"
    if seconds < 3600:
        return f"{seconds // 60:.0f}m {seconds % 60:02.0f}s"
    return f"{seconds // 3600:.0f}h {seconds % 3600 // 60:02.0f}m"
