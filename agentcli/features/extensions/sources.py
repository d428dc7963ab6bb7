"""Files of extensions: where they are, and their content. It is read once, so that what was approved is what runs."""

from __future__ import annotations

import ast
import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import InputError
from agentcli.program.definition import Definition
from agentcli.program.files import label, project_files
from agentcli.program.prompt_files import EXTENSIONS
from agentcli.program.trust import repository
from agentcli.system import probe
from agentcli.system.regular_file import Unusable, read_regular, version

if TYPE_CHECKING:
    from agentcli.program.project import Project
    from agentcli.program.prompt_files.plugins import Plugin

FOLDER = "extensions"
"""Folder of the user's extensions, in the config folder."""
PROJECT_FOLDER = ".agentcli/extensions"
PACKAGE = ".package"
"""Ending of a file in the user's folder that holds the name of an installed package's module."""
FILES = 200
"""Maximum files of an extension that is a folder."""
BYTES = 1_000_000
"""Maximum size of one of its files."""
INIT = "__init__.py"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_LEFT_OUT = ("__pycache__", ".git")

Place = Literal["user", "project", "flag", "package", "plugin"]


@dataclass(frozen=True, slots=True)
class Source:
    """An extension's files, read once. `files` maps relative paths to contents; it is empty for an installed package.

    `path` is the file, or the folder of an extension with several files. `module` is the module of a package.
    """

    name: str
    path: Path
    place: Place
    files: Mapping[str, bytes]
    file: str = ""
    """Name of the file for people."""
    module: str = ""

    @property
    def is_folder(self) -> bool:
        """True if it is a folder with several files."""
        return INIT in self.files

    @property
    def digest(self) -> str:
        """SHA-256 of all names and contents."""
        whole = hashlib.sha256()
        for name, content in sorted(self.files.items()):
            whole.update(f"{len(name)}:{name}:{len(content)}:".encode() + content)
        return whole.hexdigest()

    @property
    def definition(self) -> Definition:
        """The extension as a definition that a person approves."""
        return Definition("extension", self.name, self.file, self.starts, {"sha256": self.digest})

    @property
    def starts(self) -> str:
        """A line with the path and what the code seems to add."""
        return f"{self.file}: {self.adds}"

    @property
    def adds(self) -> str:
        """A line with what the code may do, and what it seems to add: it is read, not run."""
        uses = [use for content in self.files.values() for use in _uses(content)]
        added = "; ".join(dict.fromkeys(uses)) or "no decorator found"
        return f"Python code that runs with your rights and can read your keys ({added})"


def _uses(content: bytes) -> Iterator[str]:
    """Yield the tools, commands and events of the decorated functions in a file."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        for each in getattr(node, "decorator_list", ()):
            called = each.func if isinstance(each, ast.Call) else each
            kind = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            first = each.args[0] if isinstance(each, ast.Call) and each.args else None
            text = str(first.value) if isinstance(first, ast.Constant) else str(getattr(node, "name", ""))
            if kind in ("tool", "command", "on"):
                yield f"{'event' if kind == 'on' else kind} {text}"


@dataclass(frozen=True, slots=True)
class Found:
    """Extensions of a run in loading order, and notes about files that were left out."""

    sources: tuple[Source, ...] = ()
    notes: tuple[str, ...] = ()


def found(project: Project, flags: Sequence[str]) -> Found:
    """Return the extensions of flags, of the user with added packages and plugins, and of a trusted project.

    Raise InputError for a file of a flag that cannot be read.
    """
    notes: list[str] = []
    sources: dict[str, Source] = {}
    own = [*_of_flags(flags, project.cwd), *_in_folder(project.dirs.config / FOLDER, "user", "", None, notes)]
    for each in (*own, *_of_plugins(project, notes), *_of_project(project, notes)):
        if each.name in sources:
            notes.append(f"The extension {each.file} is left out: {sources[each.name].file} has the same name.")
        else:
            sources[each.name] = each
    return Found(tuple(sources.values()), tuple(notes))


def stamp(project: Project, flags: Sequence[str]) -> tuple[object, ...]:
    """Return a value that differs after a file of an extension was added, changed or removed."""
    places = [
        project.dirs.config / FOLDER,
        *map(Path, flags),
        *(one.folder / EXTENSIONS for one in with_extensions(project)),
    ]
    if project.trusted:
        places += project_files(project.cwd, [PROJECT_FOLDER]).paths
    return tuple((str(path), version(path)) for place in places for path in _reached(place))


def _reached(place: Path) -> Iterator[Path]:
    yield place
    if probe.is_dir(place):
        for folder, inner, names in os.walk(place):
            inner[:] = sorted(name for name in inner if name not in _LEFT_OUT)
            yield from (Path(folder, name) for name in sorted(names) if not name.endswith(".pyc"))


def _of_flags(flags: Sequence[str], cwd: Path) -> Iterator[Source]:
    for given in flags:
        path = cwd / os.path.expanduser(given)
        try:
            source = read(path, "flag", given)
        except Unusable as error:
            raise InputError(f"Can't load the extension {given}: {error}.") from error
        if source is None:
            raise InputError(f"{given} is not an extension. Give a .py file, or a folder with {INIT}.")
        yield source


def with_extensions(project: Project) -> Sequence[Plugin]:
    """Return the plugins in force that have extensions."""
    return [one for one in project.plugins[0] if probe.is_dir(one.folder / EXTENSIONS)]


def in_plugin(plugin: Plugin, notes: list[str]) -> Sequence[Source]:
    """Return the extensions of a plugin."""
    root = Path(os.path.realpath(plugin.folder))
    return [*_in_folder(root / EXTENSIONS, "plugin", f"plugin {plugin.name}", root, notes)]


def _of_plugins(project: Project, notes: list[str]) -> Iterator[Source]:
    """Yield the extensions of plugins if their files are the approved ones; they are compared after they are read."""
    read_ones = {one.name: in_plugin(one, notes) for one in with_extensions(project)}
    if not read_ones:
        return
    from agentcli.program.prompt_files.installed_plugins import Plugins

    unchanged = {one.name for one in Plugins(project.dirs).in_force()[0]}
    for name, sources in read_ones.items():
        if name in unchanged:
            yield from sources
        else:
            notes.append(f"The extensions of plugin {name} are left out: its files have changed. Add it again.")


def _of_project(project: Project, notes: list[str]) -> Iterator[Source]:
    if not project.trusted:
        return
    there = project_files(project.cwd, [PROJECT_FOLDER])
    notes += there.notes
    root = Path(os.path.realpath(repository(project.cwd)))
    for folder in there.paths:
        yield from _in_folder(folder, "project", label(folder, project.cwd), root, notes)


def _in_folder(folder: Path, place: Place, shown: str, within: Path | None, notes: list[str]) -> Iterator[Source]:
    """Yield the extensions in a folder by name. A link that leads out of `within` is left out with a note."""
    if not probe.is_dir(folder):
        return
    for path in sorted(folder.iterdir()):
        file = f"{shown}/{path.name}" if shown else str(path)
        try:
            source = read(path, place, file, within)
        except Unusable as error:
            notes.append(f"The extension {file} is left out: {error}.")
            continue
        if source is not None:
            yield source


def read(path: Path, place: Place, file: str, within: Path | None = None) -> Source | None:
    """Read an extension; None if there is none at the path. Raise Unusable for one that cannot be read."""
    if path.name.startswith((".", "_", "test_")) or not _NAME.fullmatch(path.stem):
        return None
    if probe.is_dir(path):
        if not os.path.lexists(path / INIT):
            return None
        return Source(path.name, path, place, _contents(path, within), file)
    if path.suffix == PACKAGE and place == "user":
        module = read_regular(path, BYTES).decode("utf-8", "replace").strip()
        return Source(path.stem, path, "package", {}, f"the package of {module}", module)
    if path.suffix != ".py":
        return None
    return Source(path.stem, path, place, {path.name: read_regular(path, BYTES, within)}, file)


def _contents(folder: Path, within: Path | None) -> Mapping[str, bytes]:
    found: dict[str, bytes] = {}
    for path in _reached(folder):
        if probe.is_dir(path):
            continue
        if len(found) == FILES:
            raise Unusable(f"it has more than {FILES} files")
        found[path.relative_to(folder).as_posix()] = read_regular(path, BYTES, within)
    return found
