"""Names of skills and commands within a prompt: `$name` and `/name`. Those of a folder that is not trusted are refused."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from agentcli.agent.project.extensions import Extensions
from agentcli.agent.project.places import defines
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import InputError
from agentcli.core.text.words import name_and_argument
from agentcli.program.extensions.lookup import named

MOST = 20
"""Maximum different names in one prompt to look up as skills."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A name with its prefix: `$` for a skill, `/` for a skill or a command."""

    sign: str
    name: str


def mentions(text: str) -> Sequence[Mention]:
    """Return the distinct names in a text, in order, except those in code.

    The caller decides whether they exist: `$HOME` and `/tmp` are names, too. An existing path is not a name.
    """
    found = dict.fromkeys(Mention(each[1], each[2]) for each in re.finditer(_NAMED, re.sub(_CODE, " ` ", text)))
    return [one for one in found if one.sign == "$" or not os.path.exists(f"/{one.name}")]


_NAMED = r"(?:^|(?<=[\s(\"']))([$/])([A-Za-z][\w-]*(?::[\w-]+)*)(?![\w/$=-]|[.:]\w)"
"""A name at the beginning of a word.

It is not part of a longer word such as `/usr/bin`, `$HOME/x` or `$x.y`.
"""
_CODE = r"(?s)```.*?(?:```|\Z)|`[^`\n]*`"


_FILED = re.compile(r"/[\w-]+(?::[\w-]+)*(?:\s|$)")
"""A name that a file may give a command."""


def refuse(text: str, own: str, cwd: Path, found: Extensions) -> None:
    """Refuse a prompt that uses a file of an untrusted folder.

    Raises InputError if the prompt begins with `/name` of such a file. The same applies if `own` has `$name` of a skill
    there. `own` is the part of the prompt that was not piped in. `found` are the extensions that were read.
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
