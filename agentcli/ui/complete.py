"""What may stand where the cursor is: slash commands, their arguments, and files after an @."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agentcli.ui.draw import Item

FILES = 200_000
SHOWN = 50
STALE = 10.0
"""Seconds after which the list of files is made anew when it is next wanted."""

_AT = re.compile(r"(?:^|(?<=[\s(\"']))@([^\s\"']*)$")
_SLASH = re.compile(r"/(\S*)$")
_ARGUMENT = re.compile(r"/(\S+)\s+(.*)$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Menu:
    """Completions for the last `length` characters before the cursor. `first` when Enter should take the first."""

    items: tuple[Item, ...] = ()
    length: int = 0
    first: bool = False


@dataclass(frozen=True, slots=True)
class Words:
    """One slash command as completion sees it: name, a line of help, and what its argument may be."""

    name: str
    help: str
    arguments: Callable[[], Sequence[Item]] = tuple


@dataclass(slots=True)
class Completion:
    """Completes a line before its cursor."""

    commands: Sequence[Words]
    files: Files

    def __call__(self, before: str) -> Menu:
        """The menu for a cursor that stands after `before`."""
        if found := _SLASH.fullmatch(before):
            return self._command(found[1])
        if found := _ARGUMENT.fullmatch(before):
            return self._argument(found[1], found[2])
        if found := _AT.search(before):
            return self._file(found[1])
        return Menu()

    def _command(self, typed: str) -> Menu:
        items = [Item("/" + words.name, words.help) for words in self.commands if words.name.startswith(typed)]
        if [item.label for item in items] == ["/" + typed]:
            return Menu()
        return Menu(tuple(items), len(typed) + 1)

    def _argument(self, name: str, typed: str) -> Menu:
        words = next((words for words in self.commands if words.name == name), None)
        items = [item for item in (words.arguments() if words else ()) if item.label.startswith(typed)]
        if [item.label for item in items] == [typed]:
            return Menu()
        return Menu(tuple(items[:SHOWN]), len(typed))

    def _file(self, typed: str) -> Menu:
        found = self.files.find(typed)
        if typed in found:
            return Menu()
        return Menu(tuple(Item("@" + path) for path in found), len(typed) + 1, first=True)


@dataclass(slots=True)
class Files:
    """The files and folders of a project, found in the background; git is asked where it knows them."""

    root: Path
    limit: int = FILES
    _paths: Listing = field(default_factory=lambda: Listing(()))
    _made: float = 0.0
    _busy: bool = False

    def find(self, query: str, count: int = SHOWN) -> list[str]:
        """The best paths for a query, best first; nothing while the list is still being made for the first time."""
        self.refresh()
        return self._paths.find(query, count)

    def refresh(self) -> None:
        """Begin to list anew if the list is old."""
        if self._busy or (self._made and time.monotonic() - self._made < STALE):
            return
        self._busy = True
        threading.Thread(target=self._list, daemon=True).start()

    def _list(self) -> None:
        try:
            self._paths = Listing(tuple(_list_files(self.root, self.limit)))
        finally:
            self._made, self._busy = time.monotonic(), False


class Listing:
    """Paths in a form that can be searched at one stroke: a line each in one string."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._shown = "\n" + "\n".join(paths) + "\n"
        # Lowering must keep every character's place, so what grows when lowered stays as it is.
        lowered = self._shown.lower()
        self._text = lowered if len(lowered) == len(self._shown) else self._shown
        self._letters = frozenset(self._text)

    def find(self, query: str, count: int) -> list[str]:
        """Best first: names that begin so, paths that hold it, paths that hold its letters in this order."""
        query = query.lower()
        if not self._letters.issuperset(query):
            return []
        if not query:
            return self._shown[1:].split("\n", count)[:count] if len(self._shown) > 2 else []
        found: dict[str, int] = {}
        for rank, pattern in enumerate(_patterns(query)):
            for match in re.finditer(pattern, self._text):
                found.setdefault(self._line(match.start()), rank)
                if len(found) >= count * 8:
                    break
            if len(found) >= count:
                break
        order = sorted(found, key=lambda path: (found[path], path.count("/"), len(path), path))
        return order[:count]

    def _line(self, place: int) -> str:
        if self._text[place] == "\n":
            place += 1
        start = self._shown.rfind("\n", 0, place) + 1
        return self._shown[start : self._shown.find("\n", place)]


def _patterns(query: str) -> list[str]:
    exact = re.escape(query)
    # Possessive, from each line's beginning: no way back, so a line costs its length and no more.
    letters = "".join(f"[^{re.escape(char)}\n]*+{re.escape(char)}" for char in query)
    return [f"\n{exact}", f"/{exact}", exact, *([f"\n{letters}"] if len(query) > 1 else [])]


def _list_files(root: Path, limit: int) -> list[str]:
    files = _git_files(root)
    if files is None:
        files = _walk(root, limit)
    files = files[:limit]
    folders = {folder + "/" for path in files for folder in _parents(path)}
    return sorted([*files, *folders], key=lambda path: (path.count("/"), path))


def _parents(path: str) -> list[str]:
    parts = path.split("/")[:-1]
    return ["/".join(parts[: n + 1]) for n in range(len(parts))]


def _git_files(root: Path) -> list[str] | None:
    import subprocess

    # The repository's own settings must not start a program just because somebody typed an @.
    command = ["git", "-c", "core.fsmonitor=false", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
    try:
        done = subprocess.run(
            command, cwd=root, capture_output=True, timeout=20, env=environment, stdin=subprocess.DEVNULL, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    names = done.stdout.decode(errors="replace").split("\0")
    return [name for name in dict.fromkeys(names) if name and "\n" not in name]


def _walk(root: Path, limit: int) -> list[str]:
    found: list[str] = []
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        inside = os.path.relpath(folder, root)
        prefix = "" if inside == "." else inside + "/"
        found += [prefix + name for name in sorted(files) if "\n" not in name]
        if len(found) >= limit:
            break
    return found[:limit]
