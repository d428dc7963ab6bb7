"""Checks that a project's own files suggest: a person decides, nothing is switched on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from agentcli.core.dataclass import dataclass
from agentcli.system import probe
from agentcli.system.programs import find_program

_MOST = 1_000_000
"""Bytes of a file that are searched for evidence."""


@dataclass(frozen=True, slots=True)
class Linter:
    """A program, its kind of files, and its evidence. The evidence is files that exist only for it, or a pattern in
    another file.
    """

    glob: str
    program: str
    arguments: str
    files: Sequence[str] = ()
    mentioned: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A check that a project suggests, and the files that suggest it."""

    glob: str
    command: str
    evidence: Sequence[str]


_PYTHON, _SCRIPTS = "*.py", "*.{js,jsx,ts,tsx}"
LINTERS = (
    Linter(
        _PYTHON,
        "ruff",
        "check --quiet --output-format concise {file}",
        ("ruff.toml", ".ruff.toml"),
        {"pyproject.toml": r"(?m)^\[tool\.ruff\b"},
    ),
    Linter(_PYTHON, "flake8", "{file}", (".flake8",), {"setup.cfg": r"(?m)^\[flake8\]", "tox.ini": r"(?m)^\[flake8\]"}),
    Linter(
        _PYTHON,
        "mypy",
        "--no-error-summary {file}",
        ("mypy.ini", ".mypy.ini"),
        {"pyproject.toml": r"(?m)^\[tool\.mypy\b", "setup.cfg": r"(?m)^\[mypy\b"},
    ),
    Linter(
        _PYTHON, "pyright", "{file}", ("pyrightconfig.json",), {"pyproject.toml": r"(?m)^\[tool\.(?:based)?pyright\b"}
    ),
    Linter(
        _SCRIPTS,
        "eslint",
        "{file}",
        (
            "eslint.config.js",
            "eslint.config.mjs",
            "eslint.config.ts",
            ".eslintrc.json",
            ".eslintrc.js",
            ".eslintrc.cjs",
        ),
        {"package.json": r'"eslintConfig"\s*:'},
    ),
    Linter(_SCRIPTS, "biome", "lint {file}", ("biome.json", "biome.jsonc")),
    Linter("*.{ts,tsx}", "tsc", "--noEmit --pretty false", ("tsconfig.json",)),
    Linter("*.go", "go", "vet ./...", ("go.mod",)),
    Linter("*.rs", "cargo", "check --quiet --message-format short", ("Cargo.toml",)),
    Linter("*.rb", "rubocop", "--format emacs {file}", (".rubocop.yml",)),
    Linter("*.sh", "shellcheck", "--format gcc {file}", (".shellcheckrc",)),
)
_INSTALLED = (".venv/bin", "venv/bin", "node_modules/.bin", "vendor/bin")
"""Folders in which a project's programs are installed."""


def suggestions(folder: Path, path: str | None = None) -> Sequence[Suggestion]:
    """Return the checks that a folder's files suggest, one for each glob; only installed programs, here or on `path`."""
    found: dict[str, Suggestion] = {}
    for linter in LINTERS:
        evidence = [*_evidence(linter, folder)]
        program = _installed(linter.program, folder, path) if evidence else ""
        if not program:
            continue
        command = f"{program} {linter.arguments}"
        if (other := found.get(linter.glob)) is not None:
            command, evidence = f"{other.command}; {command}", [*other.evidence, *evidence]
        found[linter.glob] = Suggestion(linter.glob, command, [*dict.fromkeys(evidence)])
    return [*found.values()]


def _evidence(linter: Linter, folder: Path) -> Iterator[str]:
    yield from (name for name in linter.files if probe.is_file(folder / name))
    for name, pattern in (linter.mentioned or {}).items():
        if re.search(pattern, _beginning(folder / name)):
            yield name


def _beginning(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            return stream.read(_MOST).decode("utf-8", "replace")
    except OSError:
        return ""


def _installed(program: str, folder: Path, path: str | None) -> str:
    """Return the program as a command names it. That is its path in the project, or its name if it is on PATH.

    The result is empty if the program is not installed.
    """
    here = next((f"{place}/{program}" for place in _INSTALLED if probe.is_file(folder / place / program)), "")
    return here or (program if find_program(program, [folder], path) else "")
