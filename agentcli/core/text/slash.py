"""Slash commands as they are typed."""

from __future__ import annotations

import os
import re
from collections.abc import Callable

from agentcli.core.errors import InputError

_MEANT = re.compile(r"/(?:([a-z][a-z-]*)|([a-z][\w-]*(?::[a-z][\w-]*)+)(?:[ \t].*)?)")


def name_and_argument(line: str) -> tuple[str, str]:
    """The name and the argument of a line `/name argument`; either may be empty."""
    name, *rest = line.strip().removeprefix("/").split(None, 1) or [""]
    return name, rest[0].strip() if rest else ""


def meant_as_command(text: str) -> str:
    """The name of the command that a prompt can only mean: `/name` alone, or `/namespace:name` in a line; else empty.

    `/usr`, `/usr/bin`, `/etc is full` and `/login answers 500` are text.
    """
    found = _MEANT.fullmatch(text.rstrip())
    name = (found[1] or found[2]) if found else ""
    return "" if os.path.exists(f"/{name}") else name


def unknown_command(text: str, is_known: Callable[[str], bool], is_server: Callable[[str], bool]) -> str:
    """The name of the command that a prompt means and that nobody has; else empty.

    What begins with a server's name passes: its prompts are not known before it is connected.
    """
    name = meant_as_command(text)
    server, colon, _ = name.partition(":")
    return "" if not name or is_known(name) or (colon and is_server(server)) else name


def no_command(name: str, trusted: bool) -> InputError:
    """The refusal of a command that nobody has, where a prompt may be meant as text."""
    unread = "" if trusted else " This folder is not trusted, so its commands are not read; --trust reads them."
    return InputError(f"There is no command /{name}.{unread} Put a space before it to send it as text.")
