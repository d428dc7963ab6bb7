"""How things are shown: colours, and how much of what is printed before the rest is folded."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from agentcli.ui import links
from agentcli.ui.blocks import Block
from agentcli.ui.settings import UiSettings
from agentcli.ui.theme import DARK, Theme, choose_theme


@dataclass(frozen=True, slots=True)
class Look:
    """`output_lines` and `diff_lines` are printed before the rest is folded; `thinking` unfolds thoughts; `raw` leaves
    Markdown as it is; `links` writes addresses as links that the terminal follows; `light` is what the terminal said of
    its background, if it did; `folder` is the working folder; `for_people` are the tools whose results the person wants to
    read again.
    """

    theme: Theme = DARK
    thinking: bool = False
    output_lines: int = 5
    diff_lines: int = 60
    tail_rows: int = 14
    raw: bool = False
    links: bool = False
    light: bool | None = None
    folder: str = ""
    for_people: frozenset[str] = frozenset()

    def near(self, title: str) -> str:
        """The title of a call with paths in the working folder as they are called there."""
        return title.replace(self.folder + "/", "") if len(self.folder) > 1 else title


def looks(settings: UiSettings, env: Mapping[str, str] = os.environ) -> Look:
    """How things are shown with these settings on the terminal that the environment tells of."""
    return Look(
        choose_theme(settings.theme, env),
        settings.thinking,
        settings.output_lines,
        settings.diff_lines,
        settings.tail_rows,
        links=links.known(settings.links, env),
    )


Markdown = Callable[[Block, int, Look], list[str]]
"""A block as lines of at most so many cells."""


def duration(seconds: float) -> str:
    """Seconds for people."""
    if seconds < 60:
        return f"{seconds:.0f}s"
    if seconds < 3600:
        return f"{seconds // 60:.0f}m {seconds % 60:02.0f}s"
    return f"{seconds // 3600:.0f}h {seconds % 3600 // 60:02.0f}m"
