"""Files of a workspace that hooks and servers run: writing one of them changes what runs outside the sandbox."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

from agentcli.permissions.paths import Workspace, impossible, resolved
from agentcli.permissions.shell.programs.known_programs import is_interpreter, runs_a_file, word_set
from agentcli.permissions.shell.programs.readers import fits_reading
from agentcli.permissions.shell.syntax.flow import runs_of
from agentcli.permissions.shell.syntax.parse import UNKNOWN
from agentcli.permissions.shell.syntax.state import Run
from agentcli.permissions.started import Started
from agentcli.system import probe

_PROJECT = ("CLAUDE_PROJECT_DIR", "AGENTCLI_PROJECT_DIR")
"""Variables with the working folder of a hook."""
_SEPARATORS = re.compile(r"[;&|<>()\s'\"`=,]+")
_IMPORT = re.compile(r"\b(?:import|from)\s+([\w.]+)")
_ENDINGS = word_set("""
sh bash zsh ksh fish py pyw js mjs cjs jsx ts mts cts tsx rb pl php lua r jl tcl ps1 psm1 bat cmd exs groovy kts csx swift go rs java
""")
"""Endings of files that an interpreter runs."""


def files_started(commands: Iterable[Started], roots: Sequence[Path]) -> Mapping[Path, str]:
    """Return the files below the resolved roots that the commands run, each with the reason why it is protected.

    A command runs its program, and existing scripts among its words; texts that it prints or takes run nothing.
    """
    found: dict[Path, str] = {}
    for one in commands:
        line = one.command if isinstance(one.command, str) else shlex.join(one.command)
        for run in _acting(_runs(line, one.folder)):
            for folder, name, sure in ((folder, *named) for folder in run.folders for named in _files(run)):
                path = None if UNKNOWN in name or impossible(name) else resolved(folder / name)
                if path is None or probe.is_dir(path) or not any(root in path.parents for root in roots):
                    continue
                if sure or _is_script(path):
                    found.setdefault(path, f"{one.what} runs {path.name}")
    return found


@lru_cache(maxsize=256)
def _runs(line: str, folder: Path) -> tuple[Run, ...]:
    """Return the commands that a line runs in a folder.

    If it is too deep to follow, its words are one command.
    """
    runs = runs_of(line, Workspace(folder, env=dict.fromkeys(_PROJECT, str(folder))))
    return (Run(("sh", *_SEPARATORS.split(line)), (folder,)),) if runs is None else tuple(runs)


def _acting(runs: Sequence[Run]) -> Iterator[Run]:
    """Yield the commands that do more than print and read.

    If an interpreter may get the output of reading commands, yield those too.
    """
    feeding = any(run.words and is_interpreter(run.words[0]) for run in runs)
    for run in runs:
        name = os.path.basename(run.words[0]) if run.words else ""
        if name and name not in ("echo", "printf") and (feeding or not fits_reading(name, run.words)):
            yield run


def _files(run: Run) -> Iterator[tuple[str, bool]]:
    """Yield the names of the files that a command may run.

    Each has True if it can only be a program or a script. Other names are scripts only if they exist: operands, values
    of options, names in the text of a script.
    """
    name, *arguments = run.words
    program = os.path.basename(name)
    if "/" in name:
        yield name, True
    script = next((word for word in arguments if not word.startswith("-")), "")
    if "/" in script and (runs_a_file(program) or program in ("source", ".")):
        yield script, True
    for word in arguments:
        yield from ((form, False) for form in (word, word.partition("=")[2]) if form)
    if not is_interpreter(program):
        return
    modules = [word for option, word in pairwise(arguments) if option == "-m"]
    for text in (*(word for word in arguments if any(map(str.isspace, word))), run.script):
        yield from ((word, False) for word in _SEPARATORS.split(text) if word)
        modules += _IMPORT.findall(text)
    for module in modules:
        path = module.replace(".", "/")
        yield from ((form, False) for form in (f"{path}.py", f"{path}/__init__.py", f"{path}/__main__.py"))


def _is_script(path: Path) -> bool:
    """Return True if an existing file is meant for an interpreter, by its extension or its first line."""
    if path.suffix.removeprefix(".").lower() in _ENDINGS:
        return probe.is_file(path)
    try:
        with path.open("rb") as file:
            return file.read(2) == b"#!"
    except OSError:
        return False
