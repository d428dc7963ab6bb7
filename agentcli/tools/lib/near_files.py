"""Existing files and folders that a missing path may have meant."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from agentcli.core.text.secrets import is_secret_file
from agentcli.core.text.words import NEAREST, did_you_mean, most_alike
from agentcli.system import probe
from agentcli.tools.lib import gitignore

_FILES = 20_000
"""Maximum files of the workspace to search for one of the same name."""
_SECONDS = 0.5
"""Maximum seconds of that search."""
_LIKENESS = 0.6
"""Share of a name that must agree."""


def did_you_mean_file(path: Path, root: Path, cwd: Path) -> str:
    """Return ` Did you mean src/a.py?`, or an empty text; paths below `cwd` are relative to it, others complete.

    First come files of the same name anywhere below `root`, the nearest paths first. Similar names in the same folder
    follow, then similar folders.
    """
    near = list(dict.fromkeys((*_same_name(path, root), *_alike(path, root))))[:NEAREST]
    here = os.path.realpath(cwd)
    return did_you_mean([os.path.relpath(each, here) if each.is_relative_to(here) else str(each) for each in near])


def _same_name(path: Path, root: Path) -> list[Path]:
    if root == Path(root.anchor):  # not the workspace, but a path that was allowed individually
        return []
    wanted = str(path.relative_to(root))
    found = [name for name in _files(root) if os.path.basename(name).casefold() == path.name.casefold()]
    return [root / name for name in most_alike(wanted, found, 0)]


def _files(root: Path) -> Iterator[str]:
    end = time.monotonic() + _SECONDS
    for name in islice(gitignore.walk(root), _FILES):
        if time.monotonic() > end:
            return
        if not is_secret_file(name):
            yield name


def _alike(path: Path, root: Path) -> Iterator[Path]:
    """Yield names similar to the first missing part of the path, in the folder where it should be."""
    missing = path
    while missing.parent != root and not probe.is_dir(missing.parent) and missing.parent != missing:
        missing = missing.parent
    try:
        names = list(islice(os.listdir(missing.parent), 5_000))
    except OSError:
        return
    for name in most_alike(missing.name, names, _LIKENESS):
        yield missing.parent / name
