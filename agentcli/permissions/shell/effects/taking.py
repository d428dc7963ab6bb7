"""Files of the workspace that a command outside the sandbox takes elsewhere, such as into a container."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from agentcli.permissions.paths import Workspace, below, judge_path, resolved
from agentcli.permissions.shell.effects.private_tmp import seen_text
from agentcli.permissions.shell.programs.forge import files_told
from agentcli.permissions.shell.programs.known_programs import word_set
from agentcli.permissions.shell.programs.readers import fits_reading
from agentcli.permissions.shell.syntax.parse import Command, contents


def may_be_taken(text: str, folder: Path, workspace: Workspace) -> bool:
    """Return True for a file of the workspace or /tmp that may be read unasked, or does not exist."""
    there = folder / seen_text(text, workspace)
    return _free(text, there, folder, workspace, write=False) and (os.path.isfile(there) or not os.path.lexists(there))


def may_be_made(text: str, name: str, folder: Path, workspace: Workspace) -> bool:
    """Return True if a file put there, or into that folder under its `name`, replaces none and is not protected."""
    there = folder / seen_text(text, workspace)
    if os.path.isdir(there):
        text, there = os.path.join(text, name), there / name
    return _free(text, there, folder, workspace, write=True) and not os.path.lexists(there)


def _free(text: str, there: Path, folder: Path, workspace: Workspace, *, write: bool) -> bool:
    if workspace.tmp is not None and below(resolved(there), (resolved(workspace.tmp),)):
        return True
    return judge_path(text, workspace, write=write, cwd=folder).verdict == "free"


def takes_own(command: Command, folders: Sequence[Path], workspace: Workspace) -> bool:
    """Return True if a command of `gh` takes only text of the line itself and such files."""
    files = files_told(command.words)
    piped = "-" in files and command.joint == "|"
    return not piped and all(file == "-" or may_be_taken(file, at, workspace) for file in files for at in folders)


_WRITING = word_set("cat echo printf mkdir touch tee cd true sleep kill killall pkill")


def makes_no_links(words: Sequence[str]) -> bool:
    """Return True if a command surely puts no link in the place of a file that is taken later."""
    name, *arguments = words
    if name in _WRITING or fits_reading(name, list(words)):
        return True
    if (name, *arguments[:1]) in (("docker", "cp"), ("podman", "cp")):
        return ":" in arguments[-1]  # out of a container, it may copy a link
    fetches = not {"api", "checkout", "clone", "download"}.isdisjoint(arguments)
    return (
        (name, *arguments[:1]) in (("git", "push"), ("git", "fetch")) or name == "ssh" or (name == "gh" and not fetches)
    )


def line_makes_no_links(text: str) -> bool:
    """Return True if that is so for every command of a line."""
    parts, whole = contents(text)
    lines = [part.texts for part in parts]
    return whole and all(not words or makes_no_links(words) for words in lines)
