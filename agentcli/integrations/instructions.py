"""Standing instructions in files: AGENTS.md and its cousins, from the user's config folder and down from the repository root."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from agentcli.core.dataclass import dataclass

NAMES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md")
"""In each folder the first of these that exists counts, the others are ignored."""

MAX_BYTES = 100_000


@dataclass(frozen=True, slots=True)
class Instructions:
    """One instruction file. `cut` when it was longer than the limit and only its beginning is used."""

    path: Path
    text: str
    cut: bool = False


def instructions(cwd: Path, config: Path, limit: int = MAX_BYTES, names: Sequence[str] = NAMES) -> list[Instructions]:
    """The files in force for work in `cwd`, outermost first: the user's own, then from the repository root down.

    A link in a repository that leads out of it is passed over: a stranger's repository must not send the user's files to a model.
    """
    below = list(folders(cwd))
    own = [_first(config, limit, names, None)]
    found = (*own, *(_first(folder, limit, names, below[0].resolve()) for folder in below))
    return [file for file in found if file is not None]


def folders(cwd: Path) -> Iterator[Path]:
    """From the repository's root (where `.git` is) down to `cwd`; just `cwd` outside a repository."""
    above = (cwd, *cwd.parents)
    root = next((folder for folder in above if (folder / ".git").exists()), cwd)
    return reversed([folder for folder in above if folder == root or root in folder.parents])


def _first(folder: Path, limit: int, names: Sequence[str], within: Path | None) -> Instructions | None:
    for name in names:
        path = folder / name
        try:
            if not path.is_file() or (within is not None and not path.resolve().is_relative_to(within)):
                continue
            with path.open("rb") as file:
                data = file.read(limit + 1)
        except OSError:
            continue
        text = data[:limit].decode("utf-8", errors="ignore").strip()
        if text:
            return Instructions(path, text, cut=len(data) > limit)
    return None
