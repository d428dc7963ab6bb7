"""Objects that revisions refer to, as git itself resolves them: the content of denied files under another spelling."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from agentcli.core.dataclass import dataclass
from agentcli.permissions.denied.history import Held, run_git
from agentcli.system.programs import find_program

_EMPTY = (
    "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
)
"""Ids of the empty file, by SHA-1 and SHA-256."""
_ANSWER = re.compile(r"(blob|tree|commit|tag) ([0-9a-f]{40}|[0-9a-f]{64})")
_PARENTS = re.compile(r"\^(?:@|!|-\d*)$")
_RANGE = re.compile(r"\.{2,3}")


@dataclass(frozen=True, slots=True)
class Named:
    """Objects that a command's words refer to: the `blobs`, and the blobs `below` trees.

    `doubtful` if an abbreviation is ambiguous.
    """

    blobs: frozenset[str] = frozenset()
    below: frozenset[str] = frozenset()
    doubtful: bool = False

    def shows(self, held: Held, *, trees: bool) -> bool:
        """Return True if these are the content of a denied file, including files of trees if `trees`."""
        found = self.blobs | self.below if trees else self.blobs
        if not held.known:
            return bool(found) or self.doubtful
        return self.doubtful or not held.blobs.isdisjoint(found.difference(_EMPTY))


def named_objects(words: Iterable[str], folders: Sequence[Path], roots: Sequence[Path]) -> Named:
    """Return the objects that a git command's words refer to in any of the folders.

    A word may name one alone, as an end of a range, or as the value of an option.
    """
    given = sorted({spelling for word in words for spelling in _spellings(word)})
    git = find_program("git", tuple(roots))
    if not given or not git:
        return Named()
    blobs: set[str] = set()
    below: set[str] = set()
    doubtful = False
    for folder in folders:
        answers = _resolve(git, folder, given)
        tags = [f"{oid}^{{}}" for kind, oid in answers if kind == "tag"]
        found = [*answers, *(_resolve(git, folder, tags) if tags else ())]
        doubtful |= any(kind == "ambiguous" for kind, _ in found)
        blobs |= {oid for kind, oid in found if kind == "blob"}
        for tree in {oid for kind, oid in found if kind == "tree"}:
            listed = run_git(git, folder, ["ls-tree", "-r", "-z", "--full-tree", tree])
            doubtful |= listed is None
            below |= {entry.split("\t")[0].split(" ")[2] for entry in (listed or "").split("\0") if entry}
    return Named(frozenset(blobs), frozenset(below), doubtful)


def all_commits(names: Sequence[str], folder: Path) -> bool:
    """Return True if each of these revisions is a commit of the repository around a folder, or nothing."""
    git = find_program("git", (folder,))
    return bool(git) and all(kind == "commit" for kind, _ in _resolve(git, folder, names))


def _spellings(word: str) -> Iterator[str]:
    """Yield the texts that git may look up in a word.

    The forms are `a..b`, `^a`, `a^!`, `--source=a`, and both sides of `a:b` in a refspec.
    """
    whole = [word, word.partition("=")[2] if word.startswith("-") else ""]
    for text in whole:
        for end in (text, *_RANGE.split(text), *text.split(":")):
            plain = _PARENTS.sub("", end).lstrip("^+")
            if plain and not plain.startswith("-") and "\n" not in plain:
                yield plain


def _resolve(git: str, folder: Path, names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the kind and id of each object that a name resolves to; ("ambiguous", name) if there are several."""
    asked = "".join(f"{name}\n" for name in names)
    out = run_git(git, folder, ["cat-file", "--batch-check=%(objecttype) %(objectname)"], asked)
    lines = (out or "").split("\n")
    found = [(match[1], match[2]) for line in lines if (match := _ANSWER.fullmatch(line))]
    return found + [("ambiguous", line) for line in lines if line.endswith(" ambiguous")]
