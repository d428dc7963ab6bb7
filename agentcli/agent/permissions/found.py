"""Which program a command's name would start, and whether the workspace has a say in that."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from agentcli.agent.permissions.place import Place
from agentcli.agent.permissions.scripts import words
from agentcli.core.programs import lies_in, located, trusted_path, untrusted

_BUILTINS = words(": [ [[ cd command echo false help history printf pwd test true type ulimit umask")
"""What bash does by itself: no program is looked for."""

_LOOKING_UP = words("command type whereis which")
"""Commands that tell which program a name would start."""

_SHIMS = words("asdf mise rtx volta-shim proto-shim vfox")
"""Version managers that a program's own name may lead to: they start the version that a file of the folder asks for."""

_CHOOSING = (
    *(".tool-versions", "mise.toml", ".mise.toml", "mise.local.toml", ".mise.local.toml", ".rtx.toml", ".mise", "mise"),
    *(".config/mise.toml", ".config/mise", ".config/mise.local.toml", ".prototools", ".vfox.toml", ".volta"),
    *(".python-version", ".node-version", ".nvmrc", ".ruby-version", ".go-version", ".java-version", ".perl-version"),
)
"""Files and folders by which a version manager chooses what its shims start."""

_NODE = words("corepack node npm npx pnpm yarn")
"""Programs whose version `package.json` may ask for, too."""


def chosen_by_workspace(name: str, arguments: Iterable[str], folders: Sequence[Path], place: Place) -> str:
    """Why the workspace may choose what a command starts, or the empty string."""
    if name in _LOOKING_UP:
        # They would look where commands that run unasked find their programs, and so miss these.
        for word in arguments:
            if file := _inside(word, folders, place):
                return f"{word} is {file}, in the workspace, where {name} looks only when it is allowed"
    if name in _BUILTINS:
        return ""
    if file := _inside(name, folders, place):
        return f"{name} is {file}, a program in the workspace"
    return _by_shim(name, folders, place)


def _inside(name: str, folders: Sequence[Path], place: Place) -> str:
    """The program that a name leads to, if it lies in the workspace."""
    closed = tuple(untrusted(place.workspace))
    if "/" in name:
        return ""
    files = (located(name, path, folder) for folder in folders for path in (place.path, _trusted(place)))
    return next((file for file in files if file and lies_in(file, closed)), "")


def _by_shim(name: str, folders: Sequence[Path], place: Place) -> str:
    file = located(name, _trusted(place), place.cwd)
    real = os.path.realpath(file) if file else ""
    named = {part for path in (file, real) for part in path.split("/")[:-1]}
    if not file or not ("shims" in named or os.path.basename(real) in _SHIMS):
        return ""
    # What stands in the home folder was put there by the user; above it nobody but the user looks.
    home = place.home if place.home not in place.workspace else None
    choosing = (*_CHOOSING, "package.json") if name in _NODE or os.path.basename(real) == "volta-shim" else _CHOOSING
    above = (above for folder in folders for above in (folder, *folder.parents) if above != home)
    for folder in dict.fromkeys(above):
        if choice := next((choice for choice in choosing if os.path.lexists(folder / choice)), ""):
            return f"{folder / choice} may choose what {name} starts ({file} is a shim)"
    return ""


def _trusted(place: Place) -> str:
    return trusted_path(place.path, place.workspace)
