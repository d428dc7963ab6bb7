"""Names of skills and commands within a prompt: `$name` and `/name`."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from agentcli.core.dataclass import dataclass

MOST = 20
"""Different names in one prompt at most that are looked up as skills."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A name with the sign before it: `$` names a skill, `/` a skill or a command."""

    sign: str
    name: str


def mentions(text: str) -> Sequence[Mention]:
    """Return the distinct names in a text, in order, code left out.

    Whether they name anything is for the caller to say: `$HOME` and `/tmp` are names, too. A path that exists is none.
    """
    found = dict.fromkeys(Mention(each[1], each[2]) for each in re.finditer(_NAMED, re.sub(_CODE, " ` ", text)))
    return [one for one in found if one.sign == "$" or not os.path.exists(f"/{one.name}")]


_NAMED = r"(?:^|(?<=[\s(\"']))([$/])([A-Za-z][\w-]*(?::[\w-]+)*)(?![\w/$=-]|[.:]\w)"
"""A name at the beginning of a word, and no part of a longer one such as `/usr/bin`, `$HOME/x` or `$x.y`."""
_CODE = r"(?s)```.*?(?:```|\Z)|`[^`\n]*`"
