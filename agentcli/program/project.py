"""Project of a run: folder, trust, settings, plugins and session store. Imports no agent, provider or tool."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from agentcli.core.errors import AgentError, ConfigError, InputError, UsageError
from agentcli.core.sanitise import safe_line
from agentcli.program.options import Options
from agentcli.program.prompt_files import PLUGINS_FILE
from agentcli.sessions.store import Store
from agentcli.system import probe
from agentcli.system.paths import AppDirs, app_dirs
from agentcli.system.programs import leave_out, search_path

if TYPE_CHECKING:
    from agentcli.agent.project.prompt_files import PromptFiles
    from agentcli.program.approvals import Approvals
    from agentcli.program.config import Config
    from agentcli.program.config.schema import Schema
    from agentcli.program.prompt_files.plugins import Plugin
    from agentcli.sessions.project import Project as StoredProject

TRUSTED = "trusted.json"
"""File in the state folder that lists the folders that the user trusts."""


class Project:
    """The project in which a command runs: enough for commands that only manage sessions. Importing it costs a third of
    a whole Program.

    `schema` returns all settings; it is called when the settings are first read.
    """

    def __init__(self, options: Options, schema: Callable[[], Schema], env: Mapping[str, str] | None = None) -> None:
        """Raise UsageError if the folder does not exist, InputError if the current one has been removed."""
        self.options, self._schema = options, schema
        self.given_env = self.env = os.environ if env is None else env
        """The environment without the stored keys, which `env` includes."""
        self.is_embedded = env is not None
        """True in an embedding program, which provides the environment: the process's own must not change."""
        self.cwd = folder_named(options.cwd or _here())
        self.added = list[Path]()
        """Resolved folders that have joined the workspace of this run."""
        self.made = list[Path]()
        """Resolved work trees that commands of this run have made."""
        self.leave_out([self.cwd])
        self.dirs: AppDirs = app_dirs(self.env)

    def leave_out(self, workspace: Sequence[Path]) -> None:
        """From now on the process finds no program in these folders by name, if the process is ours."""
        if not self.is_embedded:
            leave_out(workspace)

    @property
    def search_path(self) -> str:
        """PATH for commands that a person or a rule allowed."""
        return self.given_env.get("PATH", "") if self.is_embedded else search_path()

    @property
    def trusted(self) -> bool:
        """True if the user trusts the folder, permanently or for this run."""
        from agentcli.program.trust import is_trusted

        return self.options.trust or is_trusted(self.cwd, self.dirs.state / TRUSTED)

    @property
    def running_its_code(self) -> Sequence[str]:
        """Lines about the user's settings that run code of a trusted folder. Raises like `config`."""
        from agentcli.program.config.general import General

        general = self.config[General]
        servers = ["language servers, which load code of the folder (lsp = true)"] if general.lsp else []
        return [*servers, *(["checks after edits, which load code of the folder"] if general.checks else [])]

    @cached_property
    def approvals(self) -> Approvals:
        """The user's answers about what this project may start; with `--trust` all of it, for this run."""
        from agentcli.program.approvals import APPROVED, Approvals

        return Approvals(self.cwd, self.dirs.state / APPROVED, everything=self.options.trust)

    @cached_property
    def config(self) -> Config:
        """Settings in force. Raises ConfigError for an invalid configuration."""
        from agentcli.program.config import load

        project = self._folder_config_file if self.trusted else None
        return load(
            self._schema(), self.dirs.config_file, project, self.env, self.options.settings, self.options.overrides
        )

    @property
    def roots(self) -> tuple[Path, ...]:
        """Folders of the workspace, the current one first. Raises UsageError for a missing one."""
        return (*self.first_roots, *self.added)

    @cached_property
    def first_roots(self) -> tuple[Path, ...]:
        """Folders of the workspace as the run begins. Raises UsageError for a missing one."""
        from agentcli.program.config.general import General

        return (self.cwd, *map(folder_named, (*self.config[General].add_dirs, *self.options.add_dirs)))

    def add_folder(self, folder: Path) -> None:
        """Add a folder to the workspace of this run, also to that of its open sessions."""
        folder = folder_named(str(folder))
        if folder not in self.roots:
            self.added.append(folder)
            self.leave_out(self.roots)

    @property
    def home(self) -> Path:
        """The user's home folder."""
        return Path(self.env.get("HOME") or Path.home())

    @property
    def worktrees(self) -> Path:
        """The folder of the subagents' worktrees."""
        return self.dirs.cache / "worktrees"

    @cached_property
    def plugins(self) -> tuple[Sequence[Plugin], Sequence[str]]:
        """Return the plugins in force, and notes about unusable ones. Reads nothing else if no plugin is listed."""
        if not probe.exists(self.dirs.state / PLUGINS_FILE):
            return (), ()
        from agentcli.program.prompt_files.installed_plugins import Plugins

        return Plugins(self.dirs).in_force()

    @cached_property
    def prompt_files(self) -> PromptFiles:
        """Skills, slash commands and kinds of agents from the last search; the project's only in a trusted folder."""
        return self.look_for_prompt_files()

    def look_for_prompt_files(self) -> PromptFiles:
        """Search for skills, slash commands and kinds of agents, and store them in `extensions`."""
        from agentcli.program.prompt_files.discover import discover

        plugins, notes = self.plugins
        found = discover(self.cwd if self.trusted else None, self.home, self.dirs.config, plugins, notes)
        self.__dict__["prompt_files"] = found
        return found

    @contextmanager
    def preparing(self) -> Iterator[None]:
        """Add the warnings about settings to an AgentError as notes: until a session is open, nothing else reports them."""
        try:
            yield
        except AgentError as error:
            for warning in self.config.warnings:
                error.add_note(warning)
            raise

    @property
    def folder_config(self) -> Config:
        """Return the settings of only the folder's file, trusted or not.

        They show what it would change. They are never applied.
        """
        from agentcli.program.config import Config, load

        try:
            return load(self._schema(), None, self._folder_config_file, {})
        except ConfigError:
            return Config(self._schema())

    @property
    def _folder_config_file(self) -> Path:
        return self.cwd / ".agentcli" / "config.toml"

    @cached_property
    def store(self) -> Store:
        """The session store."""
        return Store(self.dirs.sessions)

    @cached_property
    def project(self) -> StoredProject:
        """The project that the current folder belongs to."""
        return self.store.project(self.cwd)


def _here() -> str:
    try:
        return os.getcwd()
    except OSError as error:
        raise InputError("The current folder no longer exists. Change to another one, or use -C.") from error


def folder_named(name: str) -> Path:
    """Return a folder that the user specifies. Raises UsageError if it is not a folder."""
    with contextlib.suppress(ValueError, RuntimeError):  # a null byte; a home that does not exist
        path = Path(name).expanduser().resolve()
        if probe.is_dir(path):
            return path
    raise UsageError(f"{safe_line(name)} is not a folder.")
