"""Files of a workspace that hooks and servers run: writing one of them changes what runs outside the sandbox."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from agentcli.core.dataclass import dataclass
from agentcli.permissions.paths import impossible, resolved
from agentcli.system import probe

_SEPARATORS = re.compile(r"[;&|<>()\s'\"`=,]+")
_FOLDER = re.compile(r"\$(?:\{(?:CLAUDE|AGENTCLI)_PROJECT_DIR\}|(?:CLAUDE|AGENTCLI)_PROJECT_DIR\b)|\$\{?PWD\b\}?")
_MODULE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")


@dataclass(frozen=True, slots=True)
class Started:
    """A command that agentcli starts itself: a line for the shell, or its words; `what` names it, `folder` is its working folder."""

    what: str
    command: str | Sequence[str]
    folder: Path


def files_started(commands: Iterable[Started], roots: Sequence[Path]) -> Mapping[Path, str]:
    """Return the files below the resolved roots that the commands name, existing or not, each with the reason why it is protected."""
    found: dict[Path, str] = {}
    for one in commands:
        for word in _words(one.command):
            for name in _names(_FOLDER.sub(str(one.folder), word)):
                path = None if not name or impossible(name) else resolved(one.folder / name)
                if path is None or probe.is_dir(path) or not any(root in path.parents for root in roots):
                    continue
                if probe.exists(path) or not _SEPARATORS.search(word):
                    found.setdefault(path, f"{one.what} runs {os.path.basename(path)}")
    return found


def _words(command: str | Sequence[str]) -> Iterator[str]:
    """Yield the words as a shell reads them, and their parts: a file may follow `=` or be in the text of another shell."""
    try:
        whole = shlex.split(command) if isinstance(command, str) else [*command]
    except ValueError:
        whole = []
    yield from whole
    for word in [command] if isinstance(command, str) else whole:
        yield from _SEPARATORS.split(word)


def _names(word: str) -> Iterator[str]:
    """Yield the paths that a word may mean: itself, or a Python module."""
    yield word
    if _MODULE.fullmatch(word):
        yield f"{word.replace('.', '/')}.py"
        yield f"{word.replace('.', '/')}/__main__.py"
