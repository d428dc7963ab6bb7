"""Plugins that the user has installed from a folder or a git address, verified by their files' hashes."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ConfigError, InputError
from agentcli.core.sanitise import safe_line
from agentcli.core.text.words import instead
from agentcli.program.prompt_files import PLUGINS_FILE
from agentcli.program.prompt_files.plugin_source import canonical, found_at
from agentcli.program.prompt_files.plugins import DATA, Plugin, digest, read_plugin, remove_caches
from agentcli.program.trust import read_own
from agentcli.system import probe
from agentcli.system.locked_file import update
from agentcli.system.paths import AppDirs
from agentcli.system.regular_file import Unusable

_Entries = dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Installed:
    """An installed plugin. `trouble` is why it is not in force; a `link` is used in place, not copied."""

    name: str
    folder: Path
    source: str
    enabled: bool
    link: bool = False
    plugin: Plugin | None = None
    trouble: str = ""


class Plugins:
    """The plugins of the user, in the data folder."""

    def __init__(self, dirs: AppDirs) -> None:
        self._root, self._file = dirs.data / "plugins", dirs.state / PLUGINS_FILE
        self._looked_at: dict[Path, str] = {}
        """Hashes of candidates from before anything in them was shown."""

    def installed(self) -> list[Installed]:
        """Return all added plugins by name. Raises ConfigError if the list is unreadable."""
        return [self._installed(name, entry) for name, entry in sorted(self._entries().items())]

    def chosen(self, name: str) -> list[Installed]:
        """Return the plugin of this name, or without a name all that are not used in place.

        Raises InputError for an unknown or linked one.
        """
        if name:
            self._known(name)
        found = [one for one in self.installed() if not one.link and name in ("", one.name)]
        if name and not found:
            raise InputError(f"{name} is used in place, so it is up to date.")
        return found

    def in_force(self) -> tuple[list[Plugin], list[str]]:
        """Return the plugins that are enabled and unchanged, and notes about enabled ones that are unusable."""
        try:
            every = self.installed()
        except ConfigError as error:
            return [], [str(error)]
        notes = [f"Plugin {one.name}: {one.trouble}: left out." for one in every if one.enabled and one.trouble]
        return [one.plugin for one in every if one.enabled and one.plugin is not None], notes

    @contextmanager
    def candidate(self, source: str) -> Iterator[Plugin]:
        """Yield the plugin at a source, as `found_at` reads it, to look at. Raises InputError if it is unusable."""
        with tempfile.TemporaryDirectory(prefix="agentcli-") as place:
            found = found_at(source, Path(place))
            folder, entry = found.folder, found.entry or None
            try:
                read_plugin(folder, entry)
            except Unusable as why:
                raise InputError(f"{why}.") from why
            try:
                self._looked_at[folder] = digest(folder)
                plugin = read_plugin(folder, entry)
            except Unusable as why:
                raise InputError(f"Can't add plugin {safe_line(folder.name)}: {why}.") from why
            yield plugin

    def is_new(self, plugin: Plugin) -> bool:
        """Return True if the shown plugin differs from the installed one of its name, or none is installed."""
        entry = self._entries().get(plugin.name, {})
        manifest = dict(plugin.manifest) if plugin.from_marketplace else None
        return (self._looked_at.get(plugin.folder), manifest) != (entry.get("digest"), entry.get("manifest"))

    def add(self, plugin: Plugin, source: str, link: bool, enabled: bool = True) -> None:
        """Install a shown plugin, replacing an earlier one of its name. Raises InputError, and StoreError."""
        found = self._looked_at.get(plugin.folder, "")
        try:
            if link:
                remove_caches(plugin.folder)
                self._check(plugin, plugin.folder, found)
            else:
                self._copy(plugin, found)
        except Unusable as why:
            raise InputError(f"Can't add plugin {plugin.name}: {why}.") from why
        entry = {
            "source": str(plugin.folder) if link else canonical(source),
            "digest": found,
            "enabled": enabled,
            "link": link,
        }
        if plugin.from_marketplace:
            entry["manifest"] = dict(plugin.manifest)  # the installed copy has no marketplace around it
        self._edit(lambda entries: entries | {plugin.name: entry})

    def _copy(self, plugin: Plugin, found: str) -> None:
        self._root.mkdir(parents=True, exist_ok=True, mode=0o700)
        aside = Path(tempfile.mkdtemp(prefix=".new-", dir=self._root))
        try:
            ignored = shutil.ignore_patterns(".git", "__pycache__", DATA)
            copy = aside / plugin.name
            shutil.copytree(plugin.folder, copy, symlinks=True, ignore=ignored)
            self._check(plugin, copy, found)
            present, former = self._root / plugin.name, aside / ".former"
            if probe.exists(present):
                os.replace(present, former)
            if probe.is_dir(former / DATA):  # the data of its hooks and servers survives an update
                os.replace(former / DATA, copy / DATA)
            (copy / DATA).mkdir(exist_ok=True, mode=0o700)
            os.replace(copy, present)
        finally:
            shutil.rmtree(aside, ignore_errors=True)

    def _check(self, plugin: Plugin, folder: Path, found: str) -> None:
        """Raise InputError if the files differ from those that the person was shown."""
        if digest(folder) != found:
            raise InputError(
                f"The files of {plugin.name} have changed since they were listed. Add it again to look at them."
            )

    def remove(self, name: str) -> None:
        """Forget a plugin and delete its copy. Raises InputError for an unknown one."""
        self._known(name)
        self._edit(lambda entries: {one: entry for one, entry in entries.items() if one != name})
        shutil.rmtree(self._root / name, ignore_errors=True)

    def enable(self, name: str, enabled: bool) -> None:
        """Switch a plugin on or off. Raises InputError for an unknown one."""
        self._known(name)
        self._edit(lambda entries: entries | {name: {**entries[name], "enabled": enabled}})

    def _known(self, name: str) -> None:
        known = self._entries()
        if name not in known:
            raise InputError(
                f"Unknown plugin {safe_line(name)}.{instead(name, known, '`agentcli plugins list` lists them.')}"
            )

    def _installed(self, name: str, entry: Mapping[str, Any]) -> Installed:
        link = entry.get("link") is True
        folder = Path(str(entry.get("source"))) if link else self._root / name
        plugin, trouble = None, ""
        try:
            remove_caches(folder)
            plugin = read_plugin(folder, entry.get("manifest"))
            if digest(folder) != entry.get("digest"):
                plugin, trouble = None, "its files have changed since it was added; add it again to look at them"
        except (Unusable, OSError) as why:
            trouble = str(why)
        return Installed(name, folder, str(entry.get("source")), entry.get("enabled") is True, link, plugin, trouble)

    def _entries(self) -> _Entries:
        text = read_own(self._file, "No plugin is loaded")
        try:
            plugins = json.loads(text)["plugins"] if text is not None else {}
            return {str(name): dict(entry) for name, entry in plugins.items() if not str(name).startswith((".", "/"))}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ConfigError(f"{self._file} is damaged. No plugin is loaded; correct or remove it.") from error

    def _edit(self, change: Callable[[_Entries], _Entries]) -> None:
        def changed(_: str) -> str:
            # Read again, with the checks for files that allow programs to run.
            return json.dumps({"schema": 1, "plugins": change(self._entries())}, indent=1) + "\n"

        self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        update(self._file, changed)
