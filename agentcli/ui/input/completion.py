"""What may stand where the cursor is: slash commands, their arguments, and files after an @."""

from __future__ import annotations

import contextlib
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path

from agentcli.core.errors import AgentError
from agentcli.core.hardened import hardened
from agentcli.core.programs import find_program
from agentcli.ui.input.attachments import mention
from agentcli.ui.input.fuzzy import Found, Listing
from agentcli.ui.render.frame import Item

FILES = 200_000
SHOWN = 50
STALE = 10.0
"""Seconds after which the list of files is made anew when it is next wanted."""
SOON = 0.01
"""Seconds that a key waits for what is found in the background."""
ENTRIES = 5_000
"""Of a folder outside of the project so many entries are looked at."""
OUTSIDE = ("/", "~/", "./", "../")
PATIENCE = 20.0
"""Seconds that git has to name them."""
SLICE, BREATH = 2_000, 0.001
"""After so many files the thread that lists them rests for so many seconds: keys go first."""
_CHUNK = 65_536

_AT = re.compile(r"(?:^|(?<=[\s(\"']))@([^\s\"']*)$")
_SLASH = re.compile(r"/(\S*)$")
_ARGUMENT = re.compile(r"/(\S+)\s+(.*)$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Menu:
    """Completions for the last `length` characters before the cursor. `first` when Enter should take the first.

    `more` when asking again may give others.
    """

    items: tuple[Item, ...] = ()
    length: int = 0
    first: bool = False
    more: bool = False


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
    _lookup: _Lookup | None = field(default=None, init=False)

    def __call__(self, before: str) -> Menu:
        """The menu for a cursor that stands after `before`."""
        if found := _AT.search(before):
            return self._outside(found[1]) if found[1].startswith(OUTSIDE) else self._file(found[1])
        if found := _ARGUMENT.fullmatch(before):
            return self._argument(found[1], found[2])
        self._lookup = None
        if found := _SLASH.fullmatch(before):
            return self._command(found[1])
        return Menu()

    def _command(self, typed: str) -> Menu:
        items = _holding(typed, [(words.name, Item("/" + words.name, words.help)) for words in self.commands])
        return Menu() if [item.label for item in items] == ["/" + typed] else Menu(items, len(typed) + 1)

    def _argument(self, name: str, typed: str) -> Menu:
        words = next((words for words in self.commands if words.name == name), None)
        if words is None:
            return Menu()
        known, more = self._look_up(name, words.arguments)
        items = _holding(typed, [(f"{item.label} {item.detail}", item) for item in known])
        return Menu() if any(item.label == typed for item in items) else Menu(items[:SHOWN], len(typed), more=more)

    def _outside(self, typed: str) -> Menu:
        """What lies in the folder that is named, anywhere on the disk."""
        folder, _, name = typed.rpartition("/")
        known, more = self._look_up(f"@{folder}/", lambda: _entries(self.files.root, folder + "/"))
        low = f"{folder}/{name}".lower()
        items = [item for item in known if item.label.lower().lstrip('@"').startswith(low)]
        shown = [item for item in items if name.startswith(".") or not _is_hidden(item.label)]
        if any(item.label == mention(typed) for item in shown):
            return Menu()
        return Menu(tuple(shown[:SHOWN]), len(typed) + 1, first=bool(name), more=more)

    def _look_up(self, key: str, wanted: Callable[[], Sequence[Item]]) -> tuple[Sequence[Item], bool]:
        """What is wanted, found once for a line and in the background, and whether more may come: a key waits for no disk."""
        if self._lookup is None or self._lookup.key != key:
            self._lookup = _Lookup(key, wanted)
            self._lookup.start()
            self._lookup.join(SOON)
        return self._lookup.found, self._lookup.is_alive()

    def _file(self, typed: str) -> Menu:
        found = self.files.find(typed)
        inside = typed.endswith("/")
        if typed in found.paths and not inside:
            return Menu()
        items = tuple(Item(mention(path)) for path in found.paths if path != typed)
        # A folder is complete: Enter sends it, and what is in it can be chosen all the same.
        return Menu(items, len(typed) + 1, first=not (inside and typed in found.paths), more=not found.whole)


class _Lookup(threading.Thread):
    """What may stand somewhere, being found; nothing until it is, and for ever where that fails."""

    def __init__(self, key: str, wanted: Callable[[], Sequence[Item]]) -> None:
        super().__init__(daemon=True)
        self.key, self._wanted = key, wanted
        self.found: Sequence[Item] = ()

    def run(self) -> None:
        with contextlib.suppress(AgentError):
            self.found = tuple(self._wanted())


def _entries(root: Path, folder: str) -> Sequence[Item]:
    """What lies in a folder, folders first; nothing where it cannot be read."""
    try:
        with os.scandir(root / Path(folder).expanduser()) as entries:
            found = sorted((not entry.is_dir(), entry.name) for entry in islice(entries, ENTRIES))
    except (OSError, RuntimeError, ValueError):
        return ()
    return [Item(mention(f"{folder}{name}{'' if file else '/'}")) for file, name in found]


def _is_hidden(label: str) -> bool:
    return label.rstrip('/"').rpartition("/")[2].startswith(".")


def _holding(typed: str, items: Sequence[tuple[str, Item]]) -> tuple[Item, ...]:
    """The items whose words begin so, then those whose words hold it, once that says something."""
    low = typed.lower()
    begin = [item for words, item in items if words.lower().startswith(low)]
    within = [item for words, item in items if low in words.lower()] if len(low) > 1 else []
    return tuple(dict.fromkeys((*begin, *within)))


@dataclass(slots=True)
class Files:
    """The files and folders of a project, found in the background; git is asked where it knows them."""

    root: Path
    limit: int = FILES
    _paths: Listing = field(default_factory=lambda: Listing(()))
    _made: float = 0.0
    _busy: bool = False

    def find(self, query: str, count: int = SHOWN) -> Found:
        """The best paths for a query, best first; not whole while the list is still being made for the first time."""
        self.refresh()
        found = self._paths.find(query, count)
        return found if self._made else replace(found, whole=False)

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


def _list_files(root: Path, limit: int) -> list[str]:
    """The project's files and their folders, those higher up first."""
    depths: dict[int, dict[str, None]] = {}
    for number, path in enumerate(islice(_files(root), limit)):
        if not number % SLICE:
            time.sleep(BREATH)
        for name in (path, *_parents(path)):
            known = depths.setdefault(name.rstrip("/").count("/"), {})
            if name in known:
                break
            known[name] = None
    return [path for depth in sorted(depths) for path in depths[depth]]


def _parents(path: str) -> Iterator[str]:
    """The folders that a path lies in, the nearest first."""
    while path := path.rstrip("/").rpartition("/")[0]:
        path += "/"
        yield path


def _files(root: Path) -> Iterator[str]:
    first = next(found := _git_files(root), None)
    return chain((first,), found) if first is not None else _walk(root)


def _git_files(root: Path) -> Iterator[str]:
    """What git tracks or would add; nothing outside of a repository."""
    import subprocess

    program = find_program("git", [root])
    if not program:
        return
    command = [program, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    # Nothing of the repository may start a program just because somebody typed an @.
    environment = hardened(os.environ, [root])
    none = subprocess.DEVNULL
    try:
        git = subprocess.Popen(command, cwd=root, stdin=none, stdout=subprocess.PIPE, stderr=none, env=environment)
    except OSError:
        return
    patience = threading.Timer(PATIENCE, git.kill)
    patience.start()
    with git:
        rest = b""
        assert git.stdout is not None
        while data := git.stdout.read(_CHUNK):
            *names, rest = (rest + data).split(b"\0")
            yield from (name.decode(errors="replace") for name in names if b"\n" not in name)
    patience.cancel()


def _walk(root: Path) -> Iterator[str]:
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        inside = os.path.relpath(folder, root)
        prefix = "" if inside == "." else inside + "/"
        yield from (prefix + name for name in sorted(files) if "\n" not in name)
