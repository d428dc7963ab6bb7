"""The order of slash commands: by group in /help, by use in the menu."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import get_args

from agentcli.program.command import Command, Group

USED = ("help", "model", "resume", "clear", "context", "undo", "diff", "compress", "review", "rewind", "cost", "mode")
"""The commands that people need most, first in the menu."""


def by_group(commands: Iterable[Command]) -> list[Command]:
    """Return the commands in the order of their groups."""
    return sorted(commands, key=lambda one: get_args(Group).index(one.group))


def grouped(commands: Iterable[Command]) -> dict[Group, list[Command]]:
    """Return the commands of each group, without empty groups."""
    return {group: [*each] for group, each in groupby(by_group(commands), key=lambda one: one.group)}


def by_use(commands: Iterable[Command]) -> list[Command]:
    """Return the commands as the menu lists them: the most used, then the others by group."""
    return sorted(by_group(commands), key=lambda one: USED.index(one.name) if one.name in USED else len(USED))
