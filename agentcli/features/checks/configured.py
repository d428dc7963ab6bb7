"""Checks in the settings: by glob, with the place that sets them; a project's own need a person's approval."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from agentcli.core.dataclass import dataclass
from agentcli.core.text.path_pattern import matching
from agentcli.permissions.started import Started
from agentcli.program.config.general import General
from agentcli.program.definition import Definition
from agentcli.program.project import Project

FILE = "{file}"
"""Placeholder for the file in a command, replaced by the path relative to the session's folder."""
PROJECT_FILE = ".agentcli/config.toml"
"""The file of a project that may define checks."""


@dataclass(frozen=True, slots=True)
class Check:
    """One check: a command for files that match a glob."""

    glob: str
    command: str
    project: bool = False
    """True if the project's file defines it."""

    def matches(self, path: str) -> bool:
        """Return True if it checks the file at a path relative to the session's folder."""
        return bool(matching(self.glob, [path]))

    def line(self, path: str) -> str:
        """Return the command line for a file."""
        name = f"./{path}" if path.startswith("-") else path
        return self.command.replace(FILE, shlex.quote(name))

    @property
    def by_file(self) -> bool:
        """True if it checks one file, False if it checks the whole project."""
        return FILE in self.command

    @property
    def definition(self) -> Definition:
        """The check as a definition that a person approves."""
        content = {"glob": self.glob, "command": self.command}
        return Definition("check", self.glob, PROJECT_FILE, self.command, content)


def configured(program: Project) -> Sequence[Check]:
    """Return the checks in the settings, approved or not. An empty command switches a glob off."""
    origins = program.config.origins
    return [
        Check(glob, command, Path(origins.get(f"checks.{glob}", "")).parts[-2:] == tuple(PROJECT_FILE.split("/")))
        for glob, command in program.config[General].checks.items()
        if command.strip()
    ]


def in_force(program: Project) -> Sequence[Check]:
    """Return the checks that may run: the user's own, and the project's approved ones.

    None in an untrusted folder: most checks load its code.
    """
    if not program.trusted:
        return []
    return [one for one in configured(program) if not one.project or program.approvals.allows(one.definition)]


def definitions(program: Project) -> Sequence[Definition]:
    """Return the definitions of the project's checks and language servers, which a person must approve."""
    own = [one.definition for one in configured(program) if one.project]
    if not program.config[General].lsp:
        return own
    from agentcli.features.checks.lsp.configured import project_servers

    return [*own, *(one.definition for one in project_servers(program).servers)]


def started(program: Project) -> Sequence[Started]:
    """Return the commands of the checks and language servers in force."""
    own = [Started(f"the check of {one.glob}", one.command.replace(FILE, ""), program.cwd) for one in in_force(program)]
    if not program.config[General].lsp:
        return own
    from agentcli.features.checks.lsp import configured as servers

    found = servers.in_force(program).servers
    return [
        *own,
        *(Started(f"the language server {one.name}", [one.command, *one.args], program.cwd) for one in found),
    ]
