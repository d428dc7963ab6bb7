"""Exclusions: git commands of a line with the pathspecs that leave denied files out of what they show."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Collection, Sequence

from agentcli.permissions.denied.git_verdicts import GitVerdict
from agentcli.permissions.shell.syntax.parse import PLAIN_WRAPPERS, Part, command_nodes

_ENDING_IN_GIT = PLAIN_WRAPPERS | {"git", "env", "command"}
"""Commands that may run git with their last words."""


def with_exclusions(text: str, verdicts: Callable[[Part], Sequence[GitVerdict]]) -> str:
    """Return a line in which the git commands that would show denied files exclude them; the empty string if none can.

    Only commands that the shell itself starts are changed, and the result must be judged again.
    """
    source = text.encode("utf-8", "surrogatepass")
    added: list[tuple[int, bytes]] = []
    for part, ends in command_nodes(text):
        denied = [verdict for verdict in verdicts(part) if verdict.shows == "denied"]
        words = [piece.text for piece in part.words]
        specs = dict.fromkeys(spec for verdict in denied for spec in verdict.exclusions if spec not in words)
        if not specs or len(ends) != len(part.words) or os.path.basename(words[0]) not in _ENDING_IN_GIT:
            continue
        behind = "".join(f" {shlex.quote(spec)}" for spec in specs)
        if "--" not in words:
            first = _first_path(part, {verdict.limit for verdict in denied})
            if first == len(words):
                behind = f" --{behind}"
            else:
                added.append((ends[first - 1], b" --"))
        added.append((ends[-1], behind.encode()))
    for place, piece in sorted(added, reverse=True):
        source = source[:place] + piece + source[place:]
    return source.decode("utf-8", "surrogatepass") if added else ""


def _first_path(part: Part, limits: Collection[str]) -> int:
    """Return the index of the first word that git takes for a path; the number of words if there is none.

    File names that the shell puts in place of a pattern are paths, too.
    """
    given = [piece.loose or piece.text in limits for piece in part.words]
    options = [piece.text.startswith("-") or not piece.text for piece in part.words]
    return next((at for at, path in enumerate(given) if path and not options[at]), len(given))
