"""Instructions in files, and rules for paths.

AGENTS.md and similar files come from the user's config folder, and from the repository root down.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agentcli.agent.project.places import Place, files, folders, read_text
from agentcli.core.dataclass import dataclass
from agentcli.core.sanitise import replace_surrogates, safe_line
from agentcli.core.text.encodings import decode_beginning
from agentcli.system import probe
from agentcli.system.regular_file import Missing, Unusable

if TYPE_CHECKING:
    from agentcli.agent.project.instruction_imports import Imports

NAMES = ("AGENTS.override.md", "AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md", "GEMINI.md")
"""Names of instruction files; in each folder the first existing one counts."""
LOCAL_NAMES = ("AGENTS.local.md", "CLAUDE.local.md")
"""One person's files beside the project's; in trusted folders, all existing ones count."""

RULES = ".claude/rules"
"""Folder of rules, which may apply to some paths only."""
DEPTH = 5
"""Levels of folders in it to look at."""
MAX_BYTES = 100_000


@dataclass(frozen=True, slots=True)
class Instructions:
    """One instruction file. `cut` is true if it exceeds the limit and only its beginning is used."""

    path: Path
    text: str
    cut: bool = False
    imported_by: Path | None = None
    """Instruction file that imports it, if any."""


@dataclass(frozen=True, slots=True)
class InstructionSet:
    """Active instruction files, each followed by its imports, and notes about omitted files."""

    files: tuple[Instructions, ...] = ()
    notes: tuple[str, ...] = ()


def instructions(cwd: Path, config: Path, limit: int = MAX_BYTES, names: Sequence[str] = NAMES) -> list[Instructions]:
    """Return the active files for work in `cwd`, outermost first: the user's own, then from the repository root down.

    Links out of the repository are skipped: an unknown repository must not send the user's files to a model.
    """
    return [*_own(config, limit, names), *_of_project(cwd, limit, names, trusted=False)]


def instruction_set(cwd: Path, config: Path, home: Path, *, trusted: bool, limit: int = MAX_BYTES) -> InstructionSet:
    """Return the files for work in `cwd` with imports; a project's imports and local files only in a trusted folder."""
    root = next(iter(folders(cwd))).resolve()
    files: list[Instructions] = []
    notes: list[str] = []
    inner = home.resolve(), config.resolve()
    for own in _own(config, limit, NAMES):
        imports = _imports(home, lambda path: any(path.is_relative_to(place) for place in inner))
        files += with_imports(own, imports)
        notes += imports.notes
    for theirs in _of_project(cwd, limit, NAMES, trusted=trusted):
        imports = _imports(home, lambda path: path.is_relative_to(root))
        files += with_imports(theirs, imports) if trusted else [theirs]
        notes += imports.notes
    notes += _refused(cwd, root, (*NAMES, *LOCAL_NAMES) if trusted else NAMES)
    notes += _unread(cwd, root, limit, files)
    notes += cut_notes(files, limit)
    return InstructionSet(tuple(_each_once(files)), tuple(notes))


def beneath(folder: Path, within: Path, limit: int, home: Path) -> Iterator[Instructions]:
    """Yield the instruction files of one nested folder, each followed by its imports, which must also be in `within`."""
    local = (_first(folder, limit, [name], within) for name in LOCAL_NAMES)
    for file in (_first(folder, limit, NAMES, within), *local):
        if file is not None:
            imports = _imports(home, lambda path: path.is_relative_to(within), limit)
            yield from with_imports(file, imports)


def _own(config: Path, limit: int, names: Sequence[str]) -> list[Instructions]:
    found = _first(config, limit, names, None)
    return [] if found is None else [found]


def _of_project(cwd: Path, limit: int, names: Sequence[str], *, trusted: bool) -> list[Instructions]:
    below = list(folders(cwd))
    root = below[0].resolve()
    found: list[Instructions | None] = []
    for folder in below:
        found.append(_first(folder, limit, names, root))
        found += [_first(folder, limit, [name], root) for name in LOCAL_NAMES if trusted]
    return [file for file in found if file is not None]


def _refused(cwd: Path, root: Path, names: Sequence[str]) -> Iterator[str]:
    """Yield notes about a project's instruction files that are not regular files, or are outside of it."""
    for path in (folder / name for folder in folders(cwd) for name in names):
        if not os.path.lexists(path) or probe.is_dir(path):
            continue
        if not probe.is_file(path):
            yield safe_line(f"{path} is not a regular file: left out.")
        elif not path.resolve().is_relative_to(root):
            yield safe_line(f"{path} is a link that leads out of the repository: left out.")


def _unread(cwd: Path, root: Path, limit: int, read: Sequence[Instructions]) -> Iterator[str]:
    """Yield notes about files that another one in their folder replaces, unless they have the same text."""
    known = {file.path.resolve(): file for file in read}
    for folder in folders(cwd):
        real = {name: Path(os.path.realpath(folder / name)) for name in NAMES}
        chosen = next((known[path] for path in real.values() if path in known), None)
        if chosen is None:
            continue
        for other in (_first(folder, limit, [name], root) for name, path in real.items() if path not in known):
            rest = other.text.replace(f"@{chosen.path.name}", "").strip() if other else ""
            if other and rest and rest != chosen.text:
                yield safe_line(f"{other.path} is not read: {chosen.path.name} counts in its place.")


def cut_notes(files: Sequence[Instructions], limit: int) -> Iterator[str]:
    """Return a note for each file whose beginning alone is used."""
    return (
        safe_line(f"{file.path} is longer than {limit:,} bytes: the rest is left out.") for file in files if file.cut
    )


def _imports(home: Path, allowed: Callable[[Path], bool], limit: int | None = None) -> Imports:
    from agentcli.agent.project.instruction_imports import TOTAL_BYTES, Imports  # many folders have no such file

    return Imports(home, allowed, TOTAL_BYTES if limit is None else limit)


def with_imports(file: Instructions, imports: Imports) -> list[Instructions]:
    """Return the file, followed by its imports."""
    found = imports.of(file.path, file.text)
    return [file, *(Instructions(path, text, imported_by=file.path) for path, text in found)]


def _each_once(files: Sequence[Instructions]) -> Iterator[Instructions]:
    known: set[Path] = set()
    for file in files:
        if file.path.resolve() not in known:
            known.add(file.path.resolve())
            yield file


def _first(folder: Path, limit: int, names: Sequence[str], within: Path | None) -> Instructions | None:
    for name in names:
        path = folder / name
        try:
            if not probe.is_file(path) or (within is not None and not path.resolve().is_relative_to(within)):
                continue
            with path.open("rb") as file:
                data = file.read(limit + 1)
        except OSError:
            continue
        decoded = decode_beginning(data[:limit])
        text = "" if decoded is None else replace_surrogates(decoded[0]).strip()
        if text:
            return Instructions(path, text, cut=len(data) > limit)
    return None


def rules_of(folder: Path, within: Path, limit: int, notes: list[str]) -> Iterator[tuple[Instructions, Sequence[str]]]:
    """Yield a folder's rules by name, each with the patterns of its paths.

    A rule for all paths has no patterns. At most `limit` bytes of each rule are used. Unusable files get a note.
    """
    from agentcli.agent.project.frontmatter import read

    for found in files(Place(folder / RULES, "project", ".claude", within), ".md", DEPTH, notes):
        try:
            head = read(read_text(found.path, within))
        except (Missing, Unusable) as why:
            notes.append(safe_line(f"{found.path}: {why}: left out."))
            continue
        data = head.body.strip().encode()
        if data:
            text = data[:limit].decode("utf-8", errors="ignore")
            yield Instructions(found.path, text, cut=len(data) > limit), _patterns(head.fields.get("paths"))


def standing_rules(cwd: Path, home: Path, limit: int) -> InstructionSet:
    """Return the rules for all paths, of the folders from the repository's root down to `cwd`.

    Each rule is followed by its imports.
    """
    places, notes = [*folders(cwd)], list[str]()
    root = places[0].resolve()
    rules = [rule for folder in places for rule, patterns in rules_of(folder, root, limit, notes) if not patterns]
    if not rules:
        return InstructionSet((), tuple(notes))
    imports = _imports(home, lambda path: path.is_relative_to(root))
    found = tuple(file for rule in rules for file in with_imports(rule, imports))
    return InstructionSet(found, (*notes, *imports.notes, *cut_notes(found, limit)))


def _patterns(given: object) -> Sequence[str]:
    """Return the patterns of a list or a text; a comma within braces does not separate them."""
    lines = given if isinstance(given, list) else [given] if isinstance(given, str) else []
    parts = (part.strip(" -'\"") for line in lines for part in re.split(r"\n|,(?![^{}]*\})", str(line)))
    return [part for part in parts if part]
