"""Skills and commands by name: of a message `/name`, and within a prompt, `$name` and `/name`.

Those of a folder that is not trusted are refused.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from agentcli.agent.project.places import Scope, defines
from agentcli.agent.project.prompt_files import PromptFiles, Skill, Template
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import InputError
from agentcli.core.text.words import name_and_argument

_RANK: Mapping[Scope, int] = {"project": 0, "user": 1, "plugin": 2}
SCOPES = ("project", "user")
"""Prefixes that name a command which another one shadows: `/project:x`."""


def named(found: PromptFiles, name: str) -> Skill | Template | None:
    """Return the skill or command of that name.

    The project's comes before the user's, and a skill before a command of the same place. A plugin's skill or command
    also has its plain name if nothing else does.
    """
    both = [one for one in (found.skills.get(name), found.commands.get(name)) if one is not None]
    if both:
        return min(both, key=lambda one: _RANK[one.place.scope])
    scope, colon, rest = name.partition(":")
    if colon and scope in SCOPES:
        return next((one for one in _every(found) if one.place.scope == scope and one.name == rest), None)
    plain = [one for one in _every(found) if one.place.plugin and one.name == f"{one.place.plugin}:{name}"]
    return plain[0] if len(plain) == 1 else None


def _every(found: PromptFiles) -> list[Skill | Template]:
    hidden = [one for one in found.shadowed if isinstance(one, Skill | Template)]
    return [*found.skills.values(), *found.commands.values(), *hidden]


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


def refuse(text: str, own: str, cwd: Path, found: PromptFiles) -> None:
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
