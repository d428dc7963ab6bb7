"""Outputs with carriage returns, colours and cursor movement: the model gets what a terminal shows at the end.

Stopped: control sequences that do not reach the model. Hindered: lines on the screen of an independent emulator that the model does not get.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pyte

from agentcli.core.text.terminal import shown
from tests.guards import Figures, material

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def figures() -> Iterator[Figures]:
    """Yield one row over all outputs."""
    held = material("progress_output")
    bad = stopped = good = hindered = 0
    for each in held["good"]:
        text = each["text"].replace("\r\n", "\n")
        told = shown(each["text"])
        bad += len(CONTROL.findall(text))
        stopped += len(CONTROL.findall(text)) - len(CONTROL.findall(told))
        lines = {line.strip() for line in told.split("\n")}
        on_screen = [line for line in _displayed(text) if line]
        good += len(on_screen)
        hindered += sum(line not in lines for line in on_screen)
    source = f"control characters, and lines, of {len(held['good'])} outputs: {held['source']}"
    yield Figures("what a terminal shows", stopped, bad, hindered, good, source)


def _displayed(text: str) -> list[str]:
    screen = pyte.Screen(1500, 120)
    pyte.Stream(screen).feed(text.replace("\n", "\r\n"))
    return [line.strip() for line in screen.display]
