"""Refusal of prompts that name a command or a skill of a folder that is not trusted: it would be sent as a word."""

from __future__ import annotations

import re
from pathlib import Path

from agentcli.agent.project.extensions import Extensions
from agentcli.agent.project.places import defines
from agentcli.core.errors import InputError
from agentcli.core.text.words import name_and_argument
from agentcli.program.extensions.lookup import named
from agentcli.program.extensions.mentions import mentions

_FILED = re.compile(r"/[\w-]+(?::[\w-]+)*(?:\s|$)")
"""A name that a file may give a command."""


def refuse(text: str, own: str, cwd: Path, found: Extensions) -> None:
    """Raise InputError if a prompt begins with `/name` of a file in an untrusted folder, or if `own` has `$name` of a skill there.

    `own` is the part of the prompt that was not piped in, `found` are the extensions that were read.
    """

    def is_unread(name: str) -> bool:
        return defines(name, cwd) and named(found, name) is None

    name, _ = name_and_argument(text)
    if _FILED.match(text) and is_unread(name):
        raise InputError(
            f"/{name} is a command of this folder, which is not trusted; --trust reads it. Put a space before it to send it as text."
        )
    for one in mentions(own):
        if one.sign == "$" and is_unread(one.name):
            raise InputError(
                f"${one.name} is a skill of this folder, which is not trusted; --trust reads it. Put it between backticks to send it as text."
            )
