"""System prompt of a session: written once, when the session begins, and recorded with it."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, islice, takewhile
from pathlib import Path

from agentcli.agent.project.instructions import Instructions
from agentcli.agent.setup import INSTRUCTIONS, WHERE
from agentcli.core.dataclass import dataclass
from agentcli.core.record import Mode
from agentcli.core.sanitise import safe_line
from agentcli.core.text.words import plural
from agentcli.permissions.git_config import git_facts
from agentcli.system import probe
from agentcli.system.programs import find_program, hardened

_ENTRIES, _CHANGED, _NAME = 220, 110, 60
"""Maximum characters of the listed folder entries, of the listed changed files, and of one name."""
_COMMITS = 3
"""Newest commits to list."""
_SCANNED = 2_000
"""Entries of the folder that are looked at."""
_PROGRAMS = ("python3", "python", "node", "gcc", "make", "rg", "uv", "curl")
"""Programs that models look for first where no manifest says what the project is."""
_OF_PROJECTS = {
    "pyproject.toml": "python3 python",
    "setup.py": "python3 python",
    "setup.cfg": "python3 python",
    "tox.ini": "python3 python",
    "requirements.txt": "python3 python",
    "requirements-dev.txt": "python3 python",
    "package.json": "node npm",
    "Cargo.toml": "cargo",
    "go.mod": "go",
    "Makefile": "make",
    "CMakeLists.txt": "cmake make cc",
    "Gemfile": "ruby bundle",
    "pom.xml": "java mvn",
    "build.gradle": "java gradle",
    "build.gradle.kts": "java gradle",
    "composer.json": "php composer",
    "mix.exs": "elixir mix",
}
"""Manifests with the programs that a project of their kind needs."""
_TOOLS = [
    "pytest",
    "ruff",
    "mypy",
    "black",
    "flake8",
    "pylint",
    "pyright",
    "isort",
    "tox",
    "nox",
    "uv",
    "poetry",
    "pdm",
    "pre-commit",
    "sphinx-build",
    "pnpm",
    "yarn",
    "bun",
    "deno",
    "tsc",
    "eslint",
    "prettier",
    "vitest",
    "jest",
    "mocha",
    "playwright",
    "vite",
    "next",
    "turbo",
    "biome",
    "cargo-nextest",
    "golangci-lint",
    "rspec",
    "rubocop",
    "rake",
    "just",
    "task",
    "docker",
]
"""Tools to look for where a manifest, or the name of a file beside it, mentions them."""
_OTHER_NAMES = {
    "tsc": "typescript",
    "sphinx-build": "sphinx",
    "cargo-nextest": "nextest",
    "just": "justfile",
    "task": "taskfile",
}
"""How manifests mention tools that are not called so."""
_ABOUT = r"""(?m)(?:^|[{,])\s*"?(?:name|description|keywords|categories|classifiers)"?\s*[:=]\s*(?:\[[^\]]*\]|"(?:[^"\\\n]|\\.)*")"""
"""Fields of a manifest that describe the project: words in them are no tools."""
_OWN_PROGRAMS = (".venv/bin", "venv/bin", "node_modules/.bin")
_MANIFEST_BYTES = 100_000
_MOST_TOOLS = 8
_MEMORY_LIMIT = Path("/sys/fs/cgroup/memory.max")
_GIT_SECONDS = 1.0
"""Seconds that git may take to list changed files; a session does not start later because of it."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Circumstances in which a session begins: its folders, and how its calls are approved and sandboxed."""

    cwd: Path
    env: Mapping[str, str]
    roots: Sequence[Path]
    sandbox: str
    """The sandbox of commands in a word; empty without one."""
    attended: bool
    """True if a person can answer."""


def system_blocks(
    base: Sequence[str], files: Sequence[Instructions], parts: Sequence[str], here: str, more: str
) -> tuple[str, ...]:
    """Return the system prompt: `base`, these instruction files, the features' parts, the working folder, and the run's
    additions.

    Blocks that differ between sessions come last, so that a provider's cache covers as much as possible.
    """
    blocks = [*base]
    if files:
        blocks.append(f"{INSTRUCTIONS}\nWhere they differ, the later one applies.\n\n{instruction_text(files)}")
    return tuple(block for block in (*blocks, *parts, here, more) if block)


def instruction_text(files: Sequence[Instructions]) -> str:
    """Return the text of these instruction files, each below its path."""
    return "\n\n".join(f"## {file.path}\n{file.text}" for file in files)


def environment(here: Surroundings, mode: Mode) -> str:
    """Return the block about the folder and the circumstances of the session's beginning; it never changes during the
    session.
    """
    more = "".join(f"\nAlso in the workspace: {root}" for root in here.roots if root != here.cwd)
    held = f"commands in the {here.sandbox} sandbox" if here.sandbox else "no sandbox"
    answers = "; the user answers questions" if here.attended else ""
    return (
        f"{WHERE}\nFolder: {here.cwd}{more}\nPlatform: {platform.system()}; {_machine()}\n{_programs(here)}\n"
        f"When the session began:\n- Git: {_git(here)}\n- Top level: {_top_level(here.cwd)}\n- Mode {mode}; {held}{answers}"
    )


def _machine() -> str:
    """Return the processor cores that commands may use, and the memory of the machine or of its container."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with contextlib.suppress(OSError, ValueError):  # no container, or one without a limit, which contains "max"
        memory = min(memory, int(_MEMORY_LIMIT.read_text()))
    return f"{plural(cores, 'core')}, {max(1, round(memory / 2**30))} GB"


def _programs(here: Surroundings) -> str:
    """Return which programs of the project are installed, in folders of its own or on PATH, and which are missing.

    Without a manifest, these are the programs that models look for first.
    """
    names = _names_in(here.cwd)
    named = {*_OF_PROJECTS} & {*names}
    wanted = list(dict.fromkeys(" ".join(_OF_PROJECTS[name] for name in _OF_PROJECTS if name in named).split()))
    wanted = [*wanted, *_tools_of(here.cwd, names, sorted(named)), "rg"] if named else [*_PROGRAMS]
    places = [(name, str(here.cwd / name)) for name in _OWN_PROGRAMS if named and probe.is_dir(here.cwd / name)]
    places.append(("Installed", here.env.get("PATH", os.defpath)))
    found: dict[str, list[str]] = {"Installed": []}
    for name in wanted:
        place = next((place for place, path in places if shutil.which(name, path=path)), "missing")
        found.setdefault(place, []).append(name)
    missing = found.pop("missing", [])
    return "; ".join(f"{place}: {', '.join(names)}" for place, names in (*found.items(), ("missing", missing)) if names)


def _names_in(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in islice(entries, _SCANNED)]
    except OSError:
        return []


def _tools_of(folder: Path, names: Sequence[str], manifests: Sequence[str]) -> list[str]:
    """Return the tools that the manifests of a folder, or the names of its files, mention."""
    texts = [name.lower() for name in names]
    for name in manifests:
        with contextlib.suppress(OSError), (folder / name).open("rb") as file:
            texts.append(re.sub(_ABOUT, "", file.read(_MANIFEST_BYTES).decode("utf-8", "replace")))
    words = {*re.findall(r"[a-z][a-z0-9-]*", "\n".join(texts))}
    return [name for name in _TOOLS if _OTHER_NAMES.get(name, name) in words][:_MOST_TOOLS]


def _top_level(folder: Path) -> str:
    """List a folder's entries: folders before files, hidden ones last."""
    try:
        with os.scandir(folder) as entries:
            found = [(entry.name, entry.is_dir()) for entry in islice(entries, _SCANNED) if entry.name != ".git"]
    except OSError:
        return "unreadable"
    found.sort(key=lambda each: (each[0].startswith("."), not each[1], each[0]))
    return _listed([_short(name) + "/" * is_folder for name, is_folder in found], _ENTRIES) or "empty"


def _git(here: Surroundings) -> str:
    """Return branch, changed files and newest commits.

    Git runs only if nothing in the repository's config can start a program.
    """
    if not any(probe.exists(folder / ".git") for folder in (here.cwd, *here.cwd.parents)):
        return "no repository"
    program = find_program("git", here.roots)
    if not program or git_facts(here.cwd).danger:
        return "a repository"
    status = _git_says(program, here, "status", "--porcelain=v1", "--branch", "-z", "--ignore-submodules=all")
    if status is None:
        return "a repository"
    branch, *rows = status.split("\0")
    name = branch.removeprefix("## ").removeprefix("No commits yet on ").partition("...")[0]
    changed = [_short(row) for row in _changed(rows)]
    newest = (_git_says(program, here, "log", f"-{_COMMITS}", "--format=%h %s") or "").splitlines()
    commits = f"; newest commits: {'; '.join(map(_short, newest))}" if newest else ""
    return f"{_short(name)}; {f'changed: {_listed(changed, _CHANGED)}' if changed else 'nothing changed'}{commits}"


def _git_says(program: str, here: Surroundings, *options: str) -> str | None:
    """Return a git command's output; None if it fails or takes too long."""
    try:
        done = subprocess.run(
            [program, *options],
            cwd=here.cwd,
            env=hardened(here.env, here.roots),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_GIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return None if done.returncode else done.stdout.decode("utf-8", "replace")


def _changed(rows: Sequence[str]) -> Iterator[str]:
    """Yield the files of a short status; after a renamed file the next row is its old name."""
    left = iter(rows)
    for row in left:
        if row[:1] in ("R", "C"):
            next(left, None)
        if row:
            yield row[3:]


def _listed(names: Sequence[str], characters: int) -> str:
    """Return as many names as fit, and the number of others."""
    part = list(takewhile(lambda size: size <= characters, accumulate(len(name) + 2 for name in names)))
    rest = len(names) - len(part)
    return ", ".join(names[: len(part)]) + (f" and {rest:,} more" if rest else "")


def _short(name: str) -> str:
    name = safe_line(name)
    return name if len(name) <= _NAME else f"{name[: _NAME - 1]}…"
