"""Descriptions of a command's consequences, for the question about it."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from agentcli.permissions.shell.programs.known_programs import command_name, uses_network, word_set
from agentcli.permissions.shell.syntax.parse import UNKNOWN

_NETWORK, _DELETES, _DISCARDS = "uses the network", "deletes files", "discards changes"
REWRITES = "rewrites the remote"
"""A consequence that cannot be undone here: it is approved once at a time."""
_ROOT, _ENDS, _RIGHTS, _MOVES = "runs commands as another user", "ends processes", "changes permissions", "moves files"
CAUTIOUS = (_NETWORK, _DELETES, _DISCARDS, REWRITES, _ROOT, _ENDS, _RIGHTS, _MOVES)
"""Consequences for which a hasty Enter must not allow a command."""
_BY_PROGRAM = {
    **dict.fromkeys(word_set("rm rmdir unlink shred srm wipe trash rimraf dd mkfs truncate"), _DELETES),
    **dict.fromkeys(word_set("sudo su doas pkexec"), _ROOT),
    **dict.fromkeys(word_set("kill killall pkill"), _ENDS),
    **dict.fromkeys(word_set("chmod chown chgrp setfacl"), _RIGHTS),
    "mv": _MOVES,
}
_BY_GIT = {
    **dict.fromkeys(word_set("reset checkout restore"), _DISCARDS),
    **dict.fromkeys(word_set("clean rm"), _DELETES),
}


def named_consequence(words: Sequence[str], folders: Sequence[Path]) -> str:
    """Return a command's effect that needs caution, with its name: `git push uses the network`; empty if none is known."""
    if words and words[0] == "time":
        words = words[1:]
    if not words:
        return ""
    name, *arguments = os.path.basename(words[0]), *words[1:]
    found = _consequence(name, arguments, folders)
    called = command_name((name, *arguments))
    if name == "git" and (forced := _forced(arguments)):
        called, found = f"git push {forced}", REWRITES
    return f"{called} {found}" if found else ""


def _consequence(name: str, arguments: list[str], folders: Sequence[Path]) -> str:
    if uses_network((name, *arguments), folders):
        return _NETWORK
    if name == "git":
        found = next((_BY_GIT[word] for word in arguments[:1] if word in _BY_GIT), "")
        only_switches = arguments[:1] == ["checkout"] and _only_switches(arguments[1:], folders)
        return "" if only_switches or _only_unstages(arguments) else found
    if name in ("find", "fd", "fdfind") and "-delete" in arguments:
        return _DELETES
    return _BY_PROGRAM.get(name, "")


def _forced(arguments: Sequence[str]) -> str:
    """Return the word with which `git push` replaces or deletes parts of the remote; empty if there is none."""
    if arguments[:1] != ["push"]:
        return ""
    return next((word for word in arguments[1:] if _FORCING.fullmatch(word)), "")


_FORCING = re.compile(r"--(?:force.*|mirror|delete|prune)|-[a-z]*[fd][a-z]*|[+:].+")


def _only_switches(arguments: Sequence[str], folders: Sequence[Path]) -> bool:
    """Return True if `git checkout` only switches to a branch; git refuses that if changes would be lost."""
    names = [word for word in arguments if not word.startswith("-")]
    options = set(arguments) - set(names) - {"-b", "-q", "--quiet", "-t", "--track", "--no-track"}
    creates = "-b" in arguments
    files = any(os.path.lexists(os.path.join(folder, name)) for folder in folders for name in names)
    return not options and (creates or (len(names) == 1 and not files))


def _only_unstages(arguments: Sequence[str]) -> bool:
    """Return True if `git reset` or `git restore` changes only the index and the branch."""
    known = next((_UNSTAGING[word] for word in arguments[:1] if word in _UNSTAGING), None)
    if known is None or any(UNKNOWN in word for word in arguments):
        return False
    options = {word for word in arguments if word.startswith("-")}
    return options <= known and (arguments[0] == "reset" or not options.isdisjoint(_STAGED))


_STAGED = word_set("-S --staged")
_UNSTAGING = {
    "reset": word_set("-q --quiet -N --intent-to-add -p --patch --soft --mixed --keep --no-refresh --"),
    "restore": _STAGED | word_set("-q --quiet -p --patch --"),
}
"""Options with which git keeps the files."""


def is_cautious(why: str) -> bool:
    """Return True if a reason contains one of these consequences."""
    return any(consequence in why for consequence in CAUTIOUS)
