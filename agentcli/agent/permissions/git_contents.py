"""Which git commands show what tracked files hold, and so a tracked `.env` that they do not name."""

from __future__ import annotations

import fnmatch
import glob
import os
from collections.abc import Sequence
from pathlib import Path

from agentcli.agent.permissions.paths import names_protected
from agentcli.agent.permissions.scripts import words
from agentcli.agent.permissions.shapes import Found

_PATCHES = words("""
-p -u -U -W -c -m -L -S -G --patch --unified --function-context --cc --patch-with-raw --word-diff --color-words --binary --check
""")
"""Options with which changes are shown as text, or their text is searched."""

_SUMMARIES = words("""
-s --no-patch --stat --numstat --shortstat --dirstat --summary --compact-summary --name-only --name-status --raw --quiet
""")
"""Options with which no text is shown unless one of the others asks for it."""

_WITH_TEXT = words("diff show range-diff")
_WITHOUT_TEXT = words("log reflog whatchanged rev-list diff-tree diff-index diff-files")
_LIMITED = words("diff show log whatchanged rev-list diff-tree diff-index diff-files grep status")
"""Commands to which an operand that exists as a file is a path: git refuses to guess where it may be a revision as well."""


def shown_secret(subcommand: str, found: Found, folder: Path, tracked: Sequence[str]) -> str:
    """A tracked file that must not be read unasked and that a recognised git command may show; empty where there is none."""
    if not tracked or not _shows_text(subcommand, found):
        return ""
    here = os.path.realpath(folder)
    specs = _limits(subcommand, found, here)
    secrets = (path for path in tracked if names_protected(path, write=False))
    return next((path for path in secrets if not specs or any(_covers(spec, here, path) for spec in specs)), "")


def _shows_text(subcommand: str, found: Found) -> bool:
    options = {value for kind, value in found if kind == "option"}
    values = [value for kind, value in found if kind == "rev"]
    patch = not options.isdisjoint(_PATCHES)
    match subcommand:
        case "grep":
            return True
        case "status":
            return not options.isdisjoint(("-v", "--verbose"))
        case "cat-file":
            asked = "-p" in options or any(value == "blob" for kind, value in found if kind.startswith("="))
            return asked and not all(":" in value for value in values)
        case "show" if values and all(":" in value for value in values):
            return False
        case "stash" if any(value == "list" for kind, value in found if kind.startswith("=")):
            return patch
        case "stash":
            return patch or options.isdisjoint(_SUMMARIES)
        case _ if subcommand in _WITH_TEXT:
            return patch or options.isdisjoint(_SUMMARIES)
        case _:
            return patch and subcommand in _WITHOUT_TEXT


def _limits(subcommand: str, found: Found, here: str) -> list[str]:
    """The paths that a command is limited to; none where it may show every file."""
    if subcommand not in _LIMITED:
        return []
    behind = [value for kind, value in found if kind == "behind"]
    if ("option", "--") not in found:
        behind = [value for kind, value in found if kind == "rev" and os.path.lexists(os.path.join(here, value))]
    return behind or (["."] if subcommand == "grep" else [])


def _covers(spec: str, here: str, path: str) -> bool:
    """Whether a pathspec may stand for a file, in doubt yes."""
    if spec.startswith(":") or any(sign in spec for sign in "[\\"):
        return True
    path, full = path.casefold(), os.path.normpath(os.path.join(here, spec)).casefold()
    if path == full or path.startswith(full.rstrip("/") + "/"):
        return True
    wild = not {"*", "?"}.isdisjoint(spec)
    return wild and (".." in spec or fnmatch.fnmatchcase(path, f"{glob.escape(here)}/{spec}*".casefold()))
