"""Plugins: folders that bundle skills, commands, agents, hooks and servers, in the layouts of Claude Code and Gemini CLI."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from itertools import chain
from pathlib import Path
from typing import Any

from agentcli.core.dataclass import dataclass
from agentcli.core.sanitise import safe_line
from agentcli.integrations.extensions.agents import find_agents
from agentcli.integrations.extensions.commands import Template, find_commands
from agentcli.integrations.extensions.places import Kind, Place, read_text
from agentcli.integrations.extensions.skills import Skill, find_skills
from agentcli.integrations.hookfiles import Dialect, HookFile, given_hooks, read_hooks
from agentcli.integrations.instructions import Instructions
from agentcli.integrations.mcp.config import Definitions, parsed
from agentcli.integrations.regular_file import Unusable

CLAUDE, GEMINI = ".claude-plugin/plugin.json", "gemini-extension.json"
"""The manifests of the two layouts; that of Claude Code may be missing."""
FILES, BYTES = 5_000, 100_000_000
"""Files of a plugin, and their size together, at most."""
_PARTS = ("skills", "commands", "agents", "hooks")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class Plugin:
    """A plugin in its folder. `gemini` says which layout it has."""

    name: str
    folder: Path
    gemini: bool = False
    version: str = ""
    description: str = ""
    manifest: Mapping[str, Any] = field(default_factory=dict)

    def places(self, kind: Kind) -> list[Place]:
        """The folders of its skills, commands or agents."""
        program = ".gemini" if self.gemini and kind != "skills" else ".claude"
        paths = [kind, *self._named(kind)]
        root = self.folder.resolve()
        folders = dict.fromkeys((self.folder / path).resolve() for path in paths)
        return [Place(folder, "plugin", program, root, self.name) for folder in folders if folder.is_relative_to(root)]

    def _named(self, part: str) -> list[str]:
        """The paths that its manifest names for a part."""
        named = None if self.gemini else self.manifest.get(part)
        given = [named] if isinstance(named, str) else named if isinstance(named, list) else []
        return [one for one in given if isinstance(one, str)]

    @property
    def astray(self) -> Iterator[str]:
        """Notes about paths of its manifest that are not there, or lead out of it."""
        root = self.folder.resolve()
        for part in _PARTS:
            for path in self._named(part):
                real = (self.folder / path).resolve()
                why = "leads out of it" if not real.is_relative_to(root) else "" if real.exists() else "is not there"
                if why:
                    yield f"plugin {self.name}: {safe_line(path)} ({part}) {why}: left out."

    @property
    def hooks(self) -> HookFile:
        """Its hooks, in `hooks/hooks.json` and where its manifest says; `CLAUDE_PLUGIN_ROOT` names its folder in their environment."""
        source, named = f"plugin {self.name}", None if self.gemini else self.manifest.get("hooks")
        given = [] if named is None else named if isinstance(named, list) else [named]
        root = self.folder.resolve()
        paths = [self.folder / "hooks/hooks.json", *(self.folder / one for one in self._named("hooks"))]
        inside = dict.fromkeys(path.resolve() for path in paths if path.resolve().is_relative_to(root))
        dialect: Dialect = "gemini" if self.gemini else "claude"
        found = [read_hooks(path, source, env=self.variables, dialect=dialect) for path in inside]
        found += [given_hooks(one, source, self.variables) for one in given if not isinstance(one, str)]
        hooks, notes = [one.hooks for one in found], [one.notes for one in found]
        return HookFile(tuple(chain.from_iterable(hooks)), tuple(dict.fromkeys(chain.from_iterable(notes))))

    @property
    def servers(self) -> Definitions:
        """Its servers."""
        source = f"plugin {self.name}"
        given = self.manifest.get("mcpServers")
        try:
            if isinstance(given, dict):
                text = json.dumps({"mcpServers": {name: _untrusting(one) for name, one in given.items()}})
            elif (file := self.folder / (given if isinstance(given, str) else ".mcp.json")).is_file():
                text = read_text(file, self.folder.resolve())
            else:
                return Definitions()
        except Unusable as why:
            return Definitions(problems=(f"{source}: {why}: its servers are left out.",))
        if '"mcpServers"' not in text and text.lstrip().startswith("{"):
            text = f'{{"mcpServers": {text}}}'
        for name, value in {**self.variables, "/": os.sep}.items():
            text = text.replace(f"${{{name}}}", json.dumps(value)[1:-1])
        return parsed(text, source, "plugin")

    @property
    def variables(self) -> dict[str, str]:
        """The variables that its hooks and servers may use."""
        root = str(self.folder)
        return {"CLAUDE_PLUGIN_ROOT": root, "CLAUDE_PLUGIN_DATA": f"{root}/.data", "extensionPath": root}

    @property
    def instructions(self) -> Path | None:
        """The file of standing instructions that it brings."""
        named = self.manifest.get("contextFileName", "GEMINI.md") if self.gemini else None
        file = self.folder / named if isinstance(named, str) else None
        return file if file is not None and file.is_file() else None

    def standing(self, limit: int) -> Instructions | None:
        """The standing instructions that it brings, `limit` characters of them at most."""
        try:
            text = read_text(self.instructions, self.folder.resolve()) if self.instructions is not None else ""
        except Unusable:
            return None
        return (
            Instructions(self.instructions, text[:limit].strip(), len(text) > limit)
            if self.instructions and text.strip()
            else None
        )

    @property
    def excluded(self) -> list[str]:
        """The tools that it denies, as its manifest writes them."""
        named = self.manifest.get("excludeTools") if self.gemini else None
        return [name for name in named if isinstance(name, str)] if isinstance(named, list) else []


def read_plugin(folder: Path) -> Plugin:
    """The plugin in a folder. Raises Unusable for a folder that is none."""
    for file, gemini in ((folder / CLAUDE, False), (folder / GEMINI, True)):
        if file.is_file():
            manifest = _manifest(file)
            name = manifest.get("name")
            if not isinstance(name, str) or not _NAME.fullmatch(name):
                raise Unusable(f"{file.name} needs a name of letters, digits, - and _")
            return Plugin(name, folder, gemini, _text(manifest, "version"), _text(manifest, "description"), manifest)
    if not any((folder / part).is_dir() for part in _PARTS):
        raise Unusable(
            f"{safe_line(folder.name)} is no plugin: neither {CLAUDE} nor {GEMINI}, skills, commands, agents or hooks"
        )
    if not _NAME.fullmatch(folder.name):
        raise Unusable(f"{safe_line(folder.name)} cannot be the name of a plugin")
    return Plugin(folder.name, folder)


def contents(plugin: Plugin) -> Iterator[str]:
    """Lines about what a plugin brings: what it would start in full, the rest by name."""
    notes: list[str] = []
    skills, _ = find_skills(plugin.places("skills"), notes)
    commands, _ = find_commands(plugin.places("commands"), notes)
    agents, _ = find_agents(plugin.places("agents"), notes)
    for kind, found in (("skills", skills), ("commands", commands), ("agents", agents)):
        if found:
            yield f"{kind}: {', '.join(name.partition(':')[2] for name in found)}"
    both: list[Skill | Template] = [*skills.values(), *commands.values()]
    for one in both:
        if one.allowed:
            yield f"allowed without asking by {one.name.partition(':')[2]}: {safe_line(', '.join(one.allowed))}"
    for hook in plugin.hooks.hooks:
        yield f"hook at {hook.event}: {safe_line(hook.line)}"
    for server in plugin.servers.servers.values():
        yield f"server {server.name}: {safe_line(server.starts)}"
    if plugin.instructions is not None:
        yield f"instructions: {plugin.instructions.name}"
    if plugin.excluded:
        yield f"denied tools: {safe_line(', '.join(plugin.excluded))}"
    yield from (*plugin.astray, *notes, *plugin.hooks.notes, *plugin.servers.problems)


def digest(folder: Path) -> str:
    """SHA-256 of all files of a plugin with their names. Raises Unusable for too many, and for links that lead out of it."""
    size, result = 0, hashlib.sha256()
    root = folder.resolve()
    for total, path in enumerate(_files(root), 1):
        inner = str(path.relative_to(root))
        if path.is_symlink() and not path.resolve().is_relative_to(root):
            raise Unusable(f"{safe_line(inner)} is a link that leads out of it")
        if not path.is_file():
            raise Unusable(f"{safe_line(inner)} is no regular file")
        size += path.stat().st_size
        if total > FILES or size > BYTES:
            raise Unusable(f"it has more than {FILES:,} files or {BYTES:,} bytes")
        result.update(f"{inner}\0{path.stat().st_mode & 0o111}\0".encode("utf-8", "surrogateescape"))
        result.update(hashlib.sha256(path.read_bytes()).digest())
    return result.hexdigest()


def _files(root: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in (".git", ".data", "__pycache__"))
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        yield from (Path(folder, name) for name in sorted(files))
        for name in links:
            if not Path(folder, name).resolve().is_relative_to(root):
                raise Unusable(f"{safe_line(name)} is a link that leads out of it")


def _manifest(file: Path) -> dict[str, Any]:
    try:
        manifest = json.loads(read_text(file))
    except (ValueError, RecursionError) as error:
        raise Unusable(f"{file.name} is no valid JSON ({safe_line(str(error))})") from error
    if not isinstance(manifest, dict):
        raise Unusable(f"{file.name} holds no JSON object")
    return manifest


def _text(manifest: Mapping[str, Any], name: str) -> str:
    value = manifest.get(name)
    return safe_line(value)[:500] if isinstance(value, str) else ""


def _untrusting(server: Any) -> Any:
    return {name: value for name, value in server.items() if name != "trust"} if isinstance(server, dict) else server
