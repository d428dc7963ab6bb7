"""The plugins that the user has installed: added from a folder or a git address, kept by the hash of their files."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ConfigError, InputError
from agentcli.core.hardened import hardened
from agentcli.core.programs import find_program
from agentcli.core.sanitise import safe_line
from agentcli.integrations.extensions.plugins import DATA, Plugin, digest, read_plugin
from agentcli.integrations.regular_file import Unusable
from agentcli.paths import AppDirs
from agentcli.sessions.storage.locked_file import update

FILE = "plugins.json"
"""The file in the state folder that lists the plugins with the hashes of their files."""
_SCHEMES = ("https://", "http://", "ssh://", "git@", "file://")
_CLONE_SECONDS = 120
_Entries = dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Installed:
    """A plugin that was added. `trouble` is the reason why it is not in force; a `link` stays where it lies."""

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
        self._root, self._file = dirs.data / "plugins", dirs.state / FILE

    def installed(self) -> list[Installed]:
        """All that were added, by name. Raises ConfigError where the list cannot be read."""
        return [self._installed(name, entry) for name, entry in sorted(self._entries().items())]

    def in_force(self) -> tuple[list[Plugin], list[str]]:
        """The plugins that are enabled and unchanged, and notes about those that are not usable."""
        try:
            every = self.installed()
        except ConfigError as error:
            return [], [str(error)]
        notes = [f"Plugin {one.name}: {one.trouble}: left out." for one in every if one.enabled and one.trouble]
        return [one.plugin for one in every if one.enabled and one.plugin is not None], notes

    @contextmanager
    def candidate(self, source: str) -> Iterator[Plugin]:
        """The plugin in a folder, or at a git address (`URL@REF`), to look at. Raises InputError for one that cannot be used."""
        with tempfile.TemporaryDirectory(prefix="agentcli-") as place:
            folder = _cloned(source, Path(place)) if source.startswith(_SCHEMES) else Path(source).expanduser()
            if not folder.is_dir():
                raise InputError(f"{source} is neither a folder nor a git address (https://…, ssh://…, git@…).")
            try:
                yield read_plugin(folder.resolve())
            except Unusable as why:
                raise InputError(f"{why}.") from why

    def add(self, plugin: Plugin, source: str, link: bool) -> None:
        """Install a plugin that was looked at, in place of a former one of its name. Raises InputError, and StoreError."""
        try:
            found = digest(plugin.folder)
        except Unusable as why:
            raise InputError(f"Plugin {plugin.name} cannot be added: {why}.") from why
        if not link:
            self._root.mkdir(parents=True, exist_ok=True, mode=0o700)
            aside = Path(tempfile.mkdtemp(prefix=".new-", dir=self._root))
            ignored = shutil.ignore_patterns(".git", "__pycache__", DATA)
            shutil.copytree(plugin.folder, aside / plugin.name, symlinks=True, ignore=ignored)
            present, former = self._root / plugin.name, aside / ".former"
            if present.exists():
                os.replace(present, former)
            if (former / DATA).is_dir():  # what its hooks and servers have kept outlasts an update
                os.replace(former / DATA, aside / plugin.name / DATA)
            (aside / plugin.name / DATA).mkdir(exist_ok=True, mode=0o700)
            os.replace(aside / plugin.name, present)
            shutil.rmtree(aside, ignore_errors=True)
        given = source if source.startswith(_SCHEMES) else str(plugin.folder)
        entry = {"source": given, "digest": found, "enabled": True, "link": link}
        self._edit(lambda entries: entries | {plugin.name: entry})

    def remove(self, name: str) -> None:
        """Forget a plugin and delete its copy. Raises InputError for one that is not there."""
        self._known(name)
        self._edit(lambda entries: {one: entry for one, entry in entries.items() if one != name})
        shutil.rmtree(self._root / name, ignore_errors=True)

    def enable(self, name: str, enabled: bool) -> None:
        """Switch a plugin on or off. Raises InputError for one that is not there."""
        self._known(name)
        self._edit(lambda entries: entries | {name: {**entries[name], "enabled": enabled}})

    def _known(self, name: str) -> None:
        known = self._entries()
        if name not in known:
            raise InputError(f"There is no plugin {safe_line(name)}. There are: {', '.join(known) or 'none'}.")

    def _installed(self, name: str, entry: Mapping[str, Any]) -> Installed:
        link = entry.get("link") is True
        folder = Path(str(entry.get("source"))) if link else self._root / name
        plugin, trouble = None, ""
        try:
            plugin = read_plugin(folder)
            if digest(folder) != entry.get("digest"):
                plugin, trouble = None, "its files have changed since it was added; add it again to look at them"
        except (Unusable, OSError) as why:
            trouble = str(why)
        return Installed(name, folder, str(entry.get("source")), entry.get("enabled") is True, link, plugin, trouble)

    def _entries(self) -> _Entries:
        from agentcli.app.trust import read_own

        text = read_own(self._file, "No plugin is loaded")
        try:
            plugins = json.loads(text)["plugins"] if text is not None else {}
            return {str(name): dict(entry) for name, entry in plugins.items() if not str(name).startswith((".", "/"))}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ConfigError(f"{self._file} is damaged. No plugin is loaded; correct or remove it.") from error

    def _edit(self, change: Callable[[_Entries], _Entries]) -> None:
        def changed(_: str) -> str:
            # Read anew, with all that must hold of a file that decides what runs.
            return json.dumps({"schema": 1, "plugins": change(self._entries())}, indent=1) + "\n"

        self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        update(self._file, changed)


def _cloned(source: str, place: Path) -> Path:
    """A clone of a git repository, of its newest state or of `@REF`. No hook, submodule or helper of it is run."""
    address, at, ref = source.rpartition("@")
    if not at or "/" in ref or ":" in ref or "/" not in address:
        address, ref = source, ""
    program = find_program("git", [place])
    if not program:
        raise InputError("git is not installed, so a plugin can only be added from a folder.")
    name = address.rstrip("/").rpartition("/")[2].removesuffix(".git") or "plugin"
    target = place / name
    options = ["-c", "protocol.ext.allow=never", "-c", "core.hooksPath=/dev/null", "clone", "-q", "--depth", "1"]
    command = [program, *options, *(["--branch", ref] if ref else []), "--", address, str(target)]
    environment = {**hardened(os.environ, [place]), "GIT_TERMINAL_PROMPT": "0"}
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=_CLONE_SECONDS, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(f"{address} could not be cloned: {error}") from error
    if done.returncode:
        raise InputError(f"{address} could not be cloned: {safe_line(done.stderr.strip()[-300:])}")
    return target
