"""Completion: slash commands, their arguments, and files and resources of servers after an @."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from itertools import chain, islice
from pathlib import Path

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import AgentError
from agentcli.frontends.terminal.input.attachments import mention
from agentcli.frontends.terminal.input.fuzzy import Found, Listing
from agentcli.program.command import Item
from agentcli.system.programs import find_program, hardened

FILES = 200_000
SHOWN = 50
COMPLETED = 5_000
"""Characters of a draft above which it is no longer completed."""
STALE = 10.0
"""Seconds after which the list of files is stale and renewed at the next query."""
SOON = 0.01
"""Seconds that a key waits for a background lookup."""
ENTRIES = 5_000
"""Limit of entries read from a folder outside the project."""
OUTSIDE = ("/", "~/", "./", "../")
PATIENCE = 20.0
"""Time limit of `git ls-files`, in seconds."""
SLICE, BREATH = 2_000, 0.001
"""After so many files the listing thread rests for so many seconds: keys go first."""
_CHUNK = 65_536

_AT = re.compile(r"(?:^|(?<=[\s(\"']))@([^\s\"']*)$")
_SKILL = re.compile(r"(?:^|(?<=[\s(\"']))\$([A-Za-z][\w:-]*)?$")
_SLASH = re.compile(r"/(\S*)$")
_ARGUMENT = re.compile(r"/(\S+)\s+(.*)$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Menu:
    """Completions for the last `length` characters before the cursor.

    `first`: Enter accepts the first item; `more`: the search is unfinished, query again; `cut`: there are further
    matches.
    """

    items: tuple[Item, ...] = ()
    length: int = 0
    first: bool = False
    more: bool = False
    cut: bool = False

    @classmethod
    def of(cls, items: Sequence[Item], length: int, first: bool = False, more: bool = False) -> Menu:
        """Return a menu of the first `SHOWN` of these items."""
        return cls(tuple(items[:SHOWN]), length, first, more, len(items) > SHOWN)


@dataclass(frozen=True, slots=True)
class CommandCompletion:
    """Completion data of a slash command: name, one line of help, completions of its argument, usage `/name [ARGUMENT]`."""

    name: str
    help: str
    arguments: Callable[[], Sequence[Item]] = tuple
    usage: str = ""
    aliases: Sequence[str] = ()
    now: str = ""
    """Its new name if this one is no longer listed."""

    @property
    def runs(self) -> bool:
        """True if it can be run without an argument."""
        return self._argument[:1] in ("", "[")

    @property
    def explained(self) -> str:
        """Its argument and its help, for the menu once the name is complete; empty if it takes no argument."""
        argument = self._argument
        return f"{argument} · {self.help}" if argument else ""

    @property
    def _argument(self) -> str:
        return self.usage.removeprefix(f"/{self.now or self.name}").strip()


@dataclass(slots=True)
class Completion:
    """Completes the text before the cursor."""

    commands: Sequence[CommandCompletion]
    files: Files
    more: Callable[[], Sequence[CommandCompletion]] = tuple
    """Finds further commands, defined in files."""
    resources: Callable[[], Sequence[Item]] = tuple
    """The resources of servers, as `@server:uri`."""
    agents: Callable[[], Sequence[Item]] = tuple
    """Finds agents in files, as `@name`, with which a prompt may begin."""
    skills: Callable[[], Sequence[Item]] = tuple
    """Finds the skills that a prompt may mention, as `$name`."""
    _lookup: _Lookup | None = None

    def __call__(self, before: str) -> Menu:
        """Return the completions for the text before the cursor."""
        if len(before) >= COMPLETED:
            return Menu()
        if found := _AT.search(before):
            if found[1].startswith(OUTSIDE):
                return self._outside(found[1])
            menu = self._mentioned(found[1])
            return self._with_agents(menu, found[1]) if found[1] and before == found[0] else menu
        if found := _SKILL.search(before):
            return self._skill(found[1] or "")
        if found := _ARGUMENT.fullmatch(before):
            return self._argument(found[1], found[2])
        if found := _SLASH.fullmatch(before):
            return self._command(found[1])
        self._lookup = None
        return Menu()

    def _command(self, typed: str) -> Menu:
        found, more = self._look_up("/", lambda: [Item("/" + one.name, one.help, runs=True) for one in self.more()])
        items = _holding(typed, [(item.label[1:], item) for item in (*self._named(typed), *found)])
        # Enter runs the first: it is the complete name, if there is one.
        items = tuple(sorted(items, key=lambda item: item.label != f"/{typed}"))
        same = [item.label for item in items] == ["/" + typed]
        takes = any(typed in (one.name, *one.aliases) and one.explained for one in self.commands)
        return Menu() if same and not takes else Menu(items, len(typed) + 1, first=True, more=more)

    def _named(self, typed: str) -> Iterator[Item]:
        """Yield the commands by their own names, then by the aliases that begin with `typed`."""
        for one in self.commands:
            complete = one.name == typed
            if not one.now:
                yield Item("/" + one.name, (complete and one.explained) or one.help, one.runs or complete)
        for one in self.commands:
            if one.now and typed and one.name.startswith(typed.lower()):
                complete = one.name == typed
                yield Item(
                    "/" + one.name, f"/{one.now}: {(complete and one.explained) or one.help}", one.runs or complete
                )
            for alias in one.aliases:
                if typed and alias.startswith(typed.lower()):
                    detail = (alias == typed and one.explained) or one.help
                    yield Item("/" + alias, f"/{one.name}: {detail}", one.runs or alias == typed)

    def _skill(self, typed: str) -> Menu:
        known, more = self._look_up("$", self.skills)
        items = _holding(typed, [(item.label[1:], item) for item in known])
        return Menu() if [item.label for item in items] == [f"${typed}"] else Menu.of(items, len(typed) + 1, more=more)

    def _argument(self, name: str, typed: str) -> Menu:
        command = next((one for one in self.commands if one.name == name), None)
        if command is None:
            return Menu()
        known, more = self._look_up(name, command.arguments)
        if not (known or more or typed) and command.explained:
            return Menu((Item("", command.explained),))
        items = _holding(typed, [(f"{item.label} {item.detail}", replace(item, runs=True)) for item in known])
        if any(item.label == typed for item in items):
            return Menu()
        begun = bool(typed and items) and items[0].label.lower().startswith(typed.lower())
        return Menu.of(items, len(typed), first=begun, more=more)

    def _outside(self, typed: str) -> Menu:
        """Return the entries of a folder outside the project."""
        folder, _, name = typed.rpartition("/")
        known, more = self._look_up(f"@{folder}/", lambda: _entries(self.files.root, folder + "/"))
        low = f"{folder}/{name}".lower()
        begun = (low, low.replace("\\", "\\\\"))  # in its quoted form
        items = [item for item in known if item.label.lower().lstrip('@"').startswith(begun)]
        visible = [item for item in items if name.startswith(".") or not _is_hidden(item.label)]
        if any(item.label == mention(typed) for item in visible):
            return Menu()
        return Menu.of(visible, len(typed) + 1, first=bool(name), more=more)

    def _look_up(self, key: str, wanted: Callable[[], Sequence[Item]]) -> tuple[Sequence[Item], bool]:
        """Return the items of a background lookup, cached by key, and True while it runs.

        No key waits for the disk.
        """
        if self._lookup is None or self._lookup.key != key:
            self._lookup = _Lookup(key, wanted)
            self._lookup.start()
            self._lookup.join(SOON)
        return self._lookup.found, self._lookup.is_alive()

    def _mentioned(self, typed: str) -> Menu:
        """Return the matching files of the project, and after a server's name and a colon its resources."""
        server, colon, uri = typed.partition(":")
        known = self.resources()
        own = [item for item in known if item.label.startswith(f"@{server}:")] if colon else []
        if own:
            items = _holding(uri, [(item.label.removeprefix(f"@{server}:"), item) for item in own])
            same = any(item.label == f"@{typed}" for item in items)
            return Menu() if same else Menu.of(items, len(typed) + 1, first=True)
        menu = self._file(typed)
        names = sorted({f"{item.label.partition(':')[0]}:" for item in known})
        begun = tuple(Item(name, "resources of a server") for name in names if typed and name.startswith(f"@{typed}"))
        return replace(menu, items=(*begun, *menu.items)) if begun else menu

    def _with_agents(self, menu: Menu, typed: str) -> Menu:
        """Put the agents whose names begin with `typed` before the items of the menu."""
        known, more = self._look_up("@", self.agents)
        begun = tuple(item for item in known if item.label.startswith(f"@{typed}"))
        if not begun and not more:
            return menu
        longer = tuple(item for item in begun if item.label != f"@{typed}")
        # The name is complete: Enter sends it, and longer ones can still be chosen.
        whole = len(longer) < len(begun) or typed in self.files.find(typed).paths
        first = not whole and (bool(longer) or menu.first)
        return Menu((*longer, *menu.items), len(typed) + 1, first=first, more=menu.more or more, cut=menu.cut)

    def _file(self, typed: str) -> Menu:
        found = self.files.find(typed)
        inside = typed.endswith("/")
        if typed in found.paths and not inside:
            return Menu()
        # Without `./` a leading tilde would name a home folder.
        items = [Item(mention("./" * path.startswith("~") + path)) for path in found.paths if path != typed]
        # A folder is complete: Enter sends it, and its entries can still be chosen.
        return Menu.of(items, len(typed) + 1, first=not (inside and typed in found.paths), more=not found.whole)


class _Lookup(threading.Thread):
    """Lookup of completions in a thread; `found` stays empty if it fails."""

    def __init__(self, key: str, wanted: Callable[[], Sequence[Item]]) -> None:
        super().__init__(daemon=True)
        self.key, self._wanted = key, wanted
        self.found: Sequence[Item] = ()

    def run(self) -> None:
        with contextlib.suppress(AgentError):
            self.found = tuple(self._wanted())


def _entries(root: Path, folder: str) -> Sequence[Item]:
    """Return the entries of a folder, folders first; empty if it cannot be read."""
    try:
        with os.scandir(root / Path(folder).expanduser()) as entries:
            found = sorted((not entry.is_dir(), entry.name) for entry in islice(entries, ENTRIES))
    except (OSError, RuntimeError, ValueError):
        return ()
    return [Item(mention(f"{folder}{name}{'' if file else '/'}")) for file, name in found]


def _is_hidden(label: str) -> bool:
    return label.rstrip('/"').rpartition("/")[2].startswith(".")


def _holding(typed: str, items: Sequence[tuple[str, Item]]) -> tuple[Item, ...]:
    """Return the items that start with the text, then, from two characters on, those that contain it."""
    low = typed.lower()
    begin = [item for text, item in items if text.lower().startswith(low)]
    within = [item for text, item in items if low in text.lower()] if len(low) > 1 else []
    return tuple(dict.fromkeys((*begin, *within)))


@dataclass(slots=True)
class Files:
    """Index of a project's files and folders, listed in the background, by git if possible."""

    root: Path
    limit: int = FILES
    _paths: Listing = field(default_factory=lambda: Listing(()))
    _listed_at: float = 0.0
    _busy: bool = False

    def find(self, query: str, count: int = SHOWN + 2) -> Found:
        """Return the best matches for a query, best first; incomplete during the first listing."""
        self.refresh()
        found = self._paths.find(query, count)
        return found if self._listed_at else replace(found, whole=False)

    def refresh(self) -> None:
        """Start a new listing if the last is stale."""
        if self._busy or (self._listed_at and time.monotonic() - self._listed_at < STALE):
            return
        self._busy = True
        threading.Thread(target=self._list, daemon=True).start()

    def _list(self) -> None:
        try:
            self._paths = Listing(tuple(_list_files(self.root, self.limit)))
        finally:
            self._listed_at, self._busy = time.monotonic(), False


def _list_files(root: Path, limit: int) -> list[str]:
    """Return the files of the project and their folders, by depth."""
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
    """Yield the parent folders of a path, nearest first."""
    while path := path.rstrip("/").rpartition("/")[0]:
        path += "/"
        yield path


def _files(root: Path) -> Iterator[str]:
    first = next(found := _git_files(root), None)
    return chain((first,), found) if first is not None else _walk(root)


def _git_files(root: Path) -> Iterator[str]:
    """Yield the files that git tracks or would add; none outside a repository."""
    program = find_program("git", [root])
    if not program:
        return
    command = [program, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    # No file of the repository may start a program just because an @ was typed.
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
