"""Rules of Claude Code: the files of `.claude/rules`, instructions for all paths or for the paths in their front matter."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from agentcli.agent.project.frontmatter import read
from agentcli.agent.project.instruction_imports import Imports
from agentcli.agent.project.instructions import Instructions, InstructionSet, cut_notes, with_imports
from agentcli.agent.project.places import Place, files, folders, read_text
from agentcli.core.sanitise import safe_line
from agentcli.system.regular_file import Missing, Unusable

FOLDER = ".claude/rules"
DEPTH = 5
"""Levels of folders in it to look at."""


def rules_of(folder: Path, within: Path, limit: int, notes: list[str]) -> Iterator[tuple[Instructions, Sequence[str]]]:
    """Yield the rules of a folder by name, each with the patterns of its paths; no patterns if it is for all paths.

    At most `limit` bytes of each are used. Unusable files get a note.
    """
    for found in files(Place(folder / FOLDER, "project", ".claude", within), ".md", DEPTH, notes):
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
    """Return the rules for all paths of the folders from the repository's root down to `cwd`, each followed by its imports."""
    places, notes = [*folders(cwd)], list[str]()
    root = places[0].resolve()
    imports = Imports(home, lambda path: path.is_relative_to(root))
    rules = (rule for folder in places for rule, patterns in rules_of(folder, root, limit, notes) if not patterns)
    found = tuple(file for rule in rules for file in with_imports(rule, imports))
    return InstructionSet(found, (*notes, *imports.notes, *cut_notes(found, limit)))


def _patterns(given: object) -> Sequence[str]:
    """Return the patterns of a list or a text; a comma within braces does not separate them."""
    lines = given if isinstance(given, list) else [given] if isinstance(given, str) else []
    parts = (part.strip(" -'\"") for line in lines for part in re.split(r"\n|,(?![^{}]*\})", str(line)))
    return [part for part in parts if part]
