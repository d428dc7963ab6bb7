"""Unknown slash commands in prompts of runs that cannot ask what was meant."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable

from agentcli.core.errors import InputError
from agentcli.core.text.words import did_you_mean, near_names
from agentcli.frontends.commands import peers

_MEANT = re.compile(r"/(?:([a-z][a-z-]*)|([a-z][\w-]*(?::[a-z][\w-]*)+)(?:[ \t].*)?)")


def meant_as_command(text: str) -> str:
    """Return the name of a command if the prompt can mean nothing else, otherwise an empty name.

    That is `/name` alone, or `/namespace:name` in a line.

    `/usr`, `/usr/bin`, `/etc is full` and `/login answers 500` are text.
    """
    found = _MEANT.fullmatch(text.rstrip())
    name = (found[1] or found[2]) if found else ""
    return "" if os.path.exists(f"/{name}") else name


def unknown_command(text: str, is_known: Callable[[str], bool], is_server: Callable[[str], bool]) -> str:
    """Return the name of the command that a prompt means if there is no such command; else empty.

    A name with a server's namespace passes: the server's prompts are unknown until it is connected.
    """
    name = meant_as_command(text)
    server, colon, _ = name.partition(":")
    return "" if not name or is_known(name) or (colon and is_server(server)) else name


def no_command(name: str, trusted: bool, commands: Iterable[str]) -> InputError:
    """Return the refusal of an unknown command, for a prompt that may be meant as text."""
    unread = "" if trusted else " This folder is not trusted, so its commands are not read; --trust reads them."
    near = [f"/{each}" for each in near_names(name, commands)]
    known = f" {said}" if (said := peers.hint(name)) else did_you_mean(near)
    return InputError(f"Unknown command /{name}.{known}{unread} Put a space before it to send it as text.")
