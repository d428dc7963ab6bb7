"""Lines whose parts need different boxes: git records in one that is open to git, other programs run where that is closed."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from agentcli.core.tool import LinePart
from agentcli.permissions.paths import Workspace
from agentcli.permissions.shell.effects.containable import Containment
from agentcli.permissions.shell.effects.git_repositories import RECORDING
from agentcli.permissions.shell.programs.known_programs import word_set
from agentcli.permissions.shell.programs.option_grammar import fit
from agentcli.permissions.shell.syntax.parse import contents, plain_git
from agentcli.permissions.shell.syntax.segments import segments
from agentcli.system import probe

_MOST = 16
"""Largest number of parts: each has a box of its own, whose description takes some kilobytes."""
_STORING = word_set("add branch commit tag")
"""Commands of git that leave the work tree alone."""


def in_parts(text: str, workspace: Workspace, judged: Callable[[str], Containment]) -> Containment | None:
    """Judge a line part by part, each as it would run in a box of its own; None if it can't be divided.

    Every part must be one that may run by itself.
    """
    found = segments(text)
    if not 1 < len(found) <= _MOST:
        return None
    if found[0].moves and not probe.is_dir(Path(os.path.normpath(workspace.cwd / os.path.expanduser(found[0].moves)))):
        return None
    parts: list[LinePart] = []
    for segment in found:
        verdict = judged(segment.text)
        ran = any(not part.records for part in parts)
        if verdict.why or verdict.parts or (verdict.records and ran and _takes_content(segment.text)):
            return None
        parts.append(LinePart(segment.text, segment.joint, verdict.records, verdict.records and ran))
    stores = all(words[1:2] and words[1] in _STORING for part in parts if part.records for words in _git(part.text))
    return Containment(records=True, parts=tuple(parts), stores=stores)


def _git(text: str) -> Sequence[Sequence[str]]:
    lines = (plain_git([piece.text for piece in part.words]) for part in contents(text)[0] if part.words)
    return [words for words in lines if words[0] == "git"]


def _takes_content(text: str) -> bool:
    """Return True if git reads or moves a file that the text names, which an earlier part may have replaced by a link."""
    for words in _git(text):
        found = fit(RECORDING.get(words[1], ()), words[2:]) if RECORDING.get(words[1]) else ""
        if not isinstance(found, str) and any(kind == "path" for kind, _ in found[1]):
            return True
    return False
