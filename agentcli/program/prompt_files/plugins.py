"""Plugins: folders of skills, commands, agents, hooks, servers and extensions, as of Claude Code and Gemini CLI."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from itertools import islice
from pathlib import Path
from typing import Any

from agentcli.agent.project.instructions import Instructions, InstructionSet
from agentcli.agent.project.places import Kind, Place, read_text
from agentcli.core.dataclass import dataclass
from agentcli.core.sanitise import safe_line
from agentcli.program.prompt_files import EXTENSIONS
from agentcli.program.prompt_files.plugin_source import marketplace
from agentcli.program.prompt_files.skills import FILE as SKILL
from agentcli.system import probe
from agentcli.system.regular_file import Unusable


@dataclass(frozen=True, slots=True)
class PluginHooks:
    """Hook files of a plugin, and the hook tables in its manifest. `gemini` is true for Gemini CLI's format."""

    source: str
    """The plugin's name in messages."""
    files: Sequence[Path] = ()
    tables: Sequence[Any] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    gemini: bool = False


@dataclass(frozen=True, slots=True)
class PluginServers:
    """The text that defines a plugin's MCP servers, with variables filled in; empty if it has none."""

    source: str
    """The plugin's name in messages."""
    text: str = ""
    gemini: bool = False
    """True if the text is in the format of Gemini CLI."""
    problem: str = ""
    """The reason why the text cannot be read."""


CLAUDE, GEMINI = ".claude-plugin/plugin.json", "gemini-extension.json"
"""Manifests of the two layouts; Claude Code's is optional."""
FILES, BYTES = 5_000, 100_000_000
"""Maximum files of a plugin, and their maximum total size in bytes."""
DATA = ".data"
"""Folder in a plugin's copy for data of its hooks and servers."""
_LSP = ".lsp.json"
_LEVELS = 3
"""Levels of folders above a plugin to search for a marketplace that lists it."""
_CACHE = "__pycache__"
_PARTS = ("skills", "commands", "agents", "hooks")
_FOLDERS = (*_PARTS, EXTENSIONS)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class Plugin:
    """A plugin in its folder. `gemini` is true for the layout of Gemini CLI."""

    name: str
    folder: Path
    gemini: bool = False
    version: str = ""
    description: str = ""
    manifest: Mapping[str, Any] = field(default_factory=dict)
    from_marketplace: bool = False
    """True if it has no manifest: `manifest` is then its entry in a marketplace."""

    def places(self, kind: Kind) -> list[Place]:
        """Return the folders of its skills, commands or agents."""
        program = ".gemini" if self.gemini and kind != "skills" else ".claude"
        named = self._named(kind)
        # The entry of a folder without a manifest is the whole definition: several plugins may share the folder.
        paths = named if named and self.from_marketplace else [kind, *named]
        root = _real(self.folder)
        folders = [
            path for path in dict.fromkeys(_real(self.folder / path) for path in paths) if path.is_relative_to(root)
        ]
        single = {path: probe.is_file(path) or (kind == "skills" and probe.is_file(path / SKILL)) for path in folders}
        return [
            Place(path.parent, "plugin", program, root, self.name, path.name)
            if single[path] and path != root
            else Place(path, "plugin", program, root, self.name)
            for path in folders
        ]

    def _named(self, part: str) -> list[str]:
        """Return the paths in its manifest for a part."""
        named = None if self.gemini else self.manifest.get(part)
        given = [named] if isinstance(named, str) else named if isinstance(named, list) else []
        return [one for one in given if isinstance(one, str) and "\0" not in one]

    @property
    def astray(self) -> Iterator[str]:
        """Notes about paths in its manifest that do not exist, or lead out of it."""
        root = _real(self.folder)
        for part in _PARTS:
            for path in self._named(part):
                real = _real(self.folder / path)
                why = (
                    "leads out of it" if not real.is_relative_to(root) else "" if probe.exists(real) else "is not there"
                )
                if why:
                    yield f"plugin {self.name}: {safe_line(path)} ({part}) {why}: left out."

    @property
    def hooks(self) -> PluginHooks:
        """Hooks from `hooks/hooks.json` and the paths in its manifest; `CLAUDE_PLUGIN_ROOT` in their environment is its
        folder.
        """
        named = None if self.gemini else self.manifest.get("hooks")
        given = [] if named is None else named if isinstance(named, list) else [named]
        root = _real(self.folder)
        paths = [self.folder / "hooks/hooks.json", *(self.folder / one for one in self._named("hooks"))]
        inside = [path for path in dict.fromkeys(map(_real, paths)) if path.is_relative_to(root)]
        tables = [one for one in given if not isinstance(one, str)]
        return PluginHooks(f"plugin {self.name}", inside, tables, self.variables, self.gemini)

    @property
    def servers(self) -> PluginServers:
        """Its MCP servers."""
        source = f"plugin {self.name}"
        given = self.manifest.get("mcpServers")
        try:
            if isinstance(given, dict):
                text = json.dumps({"mcpServers": {name: _untrusting(one) for name, one in given.items()}})
            elif probe.is_file(file := self.folder / (given if isinstance(given, str) else ".mcp.json")):
                text = read_text(file, _real(self.folder))
            else:
                return PluginServers(source)
        except Unusable as why:
            return PluginServers(source, problem=str(why))
        if '"mcpServers"' not in text and text.lstrip().startswith("{"):
            text = f'{{"mcpServers": {text}}}'
        for name, value in {**self.variables, "/": os.sep}.items():
            text = text.replace(f"${{{name}}}", json.dumps(value)[1:-1])
        return PluginServers(source, text, self.gemini)

    @property
    def lsp(self) -> dict[str, Any]:
        """The definitions of its language servers, as they are written."""
        given = self.manifest.get("lspServers", _LSP)
        if isinstance(given, str):
            try:
                given = json.loads(read_text(self.folder / given, _real(self.folder)))
            except (Unusable, ValueError, RecursionError):
                given = {}
        return given if isinstance(given, dict) else {}

    @property
    def variables(self) -> dict[str, str]:
        """Variables that its hooks and servers may use."""
        root = str(self.folder)
        return {"CLAUDE_PLUGIN_ROOT": root, "CLAUDE_PLUGIN_DATA": f"{root}/{DATA}", "extensionPath": root}

    @property
    def instruction_files(self) -> list[Path]:
        """Its instruction files: the manifest's, else GEMINI.md."""
        named = (self.manifest.get("contextFileName") or ["GEMINI.md"]) if self.gemini else []
        given = named if isinstance(named, list) else [named]
        return [self.folder / one for one in given if isinstance(one, str) and probe.is_file(self.folder / one)]

    def instructions(self, limit: int) -> InstructionSet:
        """Return its instructions, at most `limit` characters of each file."""
        files, notes = [], []
        for path in self.instruction_files:
            try:
                text = read_text(path, _real(self.folder))
            except Unusable as why:
                notes.append(f"plugin {self.name}: {safe_line(path.name)}: {why}: left out.")
                continue
            if len(text) > limit:
                name = safe_line(path.name)
                notes.append(f"plugin {self.name}: {name} is longer than {limit:,} characters: the rest is left out.")
            if text.strip():
                files.append(Instructions(path, text[:limit].strip(), len(text) > limit))
        return InstructionSet(tuple(files), tuple(notes))

    @property
    def excluded(self) -> list[str]:
        """Tools that it denies, as its manifest writes them."""
        named = self.manifest.get("excludeTools") if self.gemini else None
        return [name for name in named if isinstance(name, str)] if isinstance(named, list) else []


def read_plugin(folder: Path, listed_as: Any = None) -> Plugin:
    """Read the plugin in a folder. Raise Unusable if the folder is not a plugin.

    `listed_as` is the marketplace entry of a folder without a manifest; without it, search the folders above for one.
    """
    for file, gemini in ((folder / CLAUDE, False), (folder / GEMINI, True)):
        if probe.is_file(file):
            manifest = _manifest(file, folder)
            name = manifest.get("name")
            if not isinstance(name, str) or not _NAME.fullmatch(name):
                raise Unusable(f"{file.name} needs a name of letters, digits, - and _")
            return Plugin(name, folder, gemini, _text(manifest, "version"), _text(manifest, "description"), manifest)
    listed = {} if listed_as else marketplace(folder)
    if listed and not any(probe.is_dir(folder / part) for part in _FOLDERS):
        about = "is a marketplace. Add one of its plugins, as SOURCE#NAME: "
        raise Unusable(f"{safe_line(folder.name)} {about}{safe_line(', '.join(listed))}")
    listed_as = listed_as if isinstance(listed_as, dict) else _in_a_marketplace(folder)
    name = listed_as.get("name")
    if isinstance(name, str) and _NAME.fullmatch(name):
        version, description = _text(listed_as, "version"), _text(listed_as, "description")
        return Plugin(name, folder, False, version, description, listed_as, from_marketplace=True)
    if not any(probe.is_dir(folder / part) for part in _FOLDERS) and not probe.is_file(folder / _LSP):
        raise Unusable(
            f"{safe_line(folder.name)} is not a plugin: neither {CLAUDE} nor {GEMINI}, skills, commands, agents, hooks or extensions"
        )
    if not _NAME.fullmatch(folder.name):
        raise Unusable(f"{safe_line(folder.name)} cannot be the name of a plugin")
    return Plugin(folder.name, folder)


def _in_a_marketplace(folder: Path) -> Mapping[str, Any]:
    """Return the entry for a folder without a manifest in the marketplace above it; empty if there is none."""
    real = _real(folder)
    for top in islice(real.parents, _LEVELS):
        for entry in marketplace(top).values():
            source = entry.get("source")
            if isinstance(source, str) and "\0" not in source and _real(top / source) == real:
                return dict(entry)
    return {}


def digest(folder: Path) -> str:
    """Return the SHA-256 of a plugin's files with their names.

    Raise Unusable if there are too many, or if a link leads out of it.
    """
    size, result = 0, hashlib.sha256()
    root = _real(folder)
    for total, path in enumerate(_files(root), 1):
        inner = str(path.relative_to(root))
        if path.is_symlink() and not _real(path).is_relative_to(root):
            raise Unusable(f"{safe_line(inner)} is a link that leads out of it")
        if not probe.is_file(path):
            raise Unusable(f"{safe_line(inner)} is not a regular file")
        size += path.stat().st_size
        if total > FILES or size > BYTES:
            raise Unusable(f"it has more than {FILES:,} files or {BYTES:,} bytes")
        result.update(f"{inner}\0{path.stat().st_mode & 0o111}\0".encode("utf-8", "surrogateescape"))
        result.update(hashlib.sha256(path.read_bytes()).digest())
    return result.hexdigest()


def hashes(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each file of a plugin, by its path in it."""
    root = _real(folder)
    return {str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in _files(root)}


def remove_caches(folder: Path) -> None:
    """Remove Python's compiled files, which would run instead of the reviewed sources. Raise Unusable if that fails."""
    for place, folders, _ in os.walk(folder):
        folders[:] = [name for name in folders if name not in (".git", DATA)]
        if _CACHE in folders:
            cache = Path(place, _CACHE)
            if cache.is_symlink():
                raise Unusable(f"{safe_line(str(cache.relative_to(folder)))} is a link")
            folders.remove(_CACHE)
            try:
                shutil.rmtree(cache)
            except OSError as error:
                raise Unusable(f"Can't remove {safe_line(str(cache.relative_to(folder)))}: {error.strerror}") from error


def _files(root: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in (".git", DATA, _CACHE))
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        yield from (Path(folder, name) for name in sorted(files))
        for name in links:
            if not _real(Path(folder, name)).is_relative_to(root):
                raise Unusable(f"{safe_line(name)} is a link that leads out of it")


def _manifest(file: Path, folder: Path) -> dict[str, Any]:
    try:
        manifest = json.loads(read_text(file, _real(folder)))
    except Unusable as why:
        raise Unusable(f"{file.name}: {why}") from why
    except (ValueError, RecursionError) as error:
        raise Unusable(f"{file.name} is not valid JSON ({safe_line(str(error))})") from error
    if not isinstance(manifest, dict):
        raise Unusable(f"{file.name} contains no JSON object")
    return manifest


def _real(path: Path) -> Path:
    """Return the path with its links followed; a cycle of links stays unresolved."""
    return Path(os.path.realpath(path))


def _text(manifest: Mapping[str, Any], name: str) -> str:
    value = manifest.get(name)
    return safe_line(value)[:500] if isinstance(value, str) else ""


def _untrusting(server: Any) -> Any:
    return {name: value for name, value in server.items() if name != "trust"} if isinstance(server, dict) else server
