"""Language servers: of plugins, of `.lsp.json`, and known ones on PATH."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentcli.core.dataclass import dataclass
from agentcli.core.sanitise import safe_line
from agentcli.program.definition import Definition
from agentcli.program.project import Project
from agentcli.system.programs import find_program

FILE = ".lsp.json"
"""File of a project that defines language servers, in the form of Claude Code's plugins. The user's file is `lsp.json`
in the config folder.
"""
MOST = 1_000_000
"""Maximum bytes of such a file."""
_PYTHON = {".py": "python", ".pyi": "python"}
_SCRIPTS = {
    **{f".{ending}": "javascript" for ending in ("js", "mjs", "cjs")},
    **{f".{ending}": "typescript" for ending in ("ts", "mts", "cts")},
    ".jsx": "javascriptreact",
    ".tsx": "typescriptreact",
}
_C = {".c": "c", ".h": "c", **{f".{ending}": "cpp" for ending in ("cc", "cpp", "cxx", "hh", "hpp")}}
KNOWN: Mapping[str, tuple[Sequence[str], Mapping[str, str]]] = {
    "pyright": (("pyright-langserver", "--stdio"), _PYTHON),
    "typescript": (("typescript-language-server", "--stdio"), _SCRIPTS),
    "gopls": (("gopls",), {".go": "go"}),
    "rust-analyzer": (("rust-analyzer",), {".rs": "rust"}),
    "clangd": (("clangd",), _C),
}
"""Servers that are used if they are on PATH, by name: argv, and their languages by file extension."""


@dataclass(frozen=True, slots=True)
class LanguageServer:
    """One language server: its command, and the language of each file extension."""

    name: str
    command: str
    args: Sequence[str]
    languages: Mapping[str, str]
    env: Mapping[str, str]
    options: Any = None
    """The `initializationOptions`."""
    settings: Any = None
    """Answer to the server's request for its configuration."""
    source: str = "PATH"
    raw: Mapping[str, Any] | None = None

    @property
    def project(self) -> bool:
        """True if a file of the project defines it."""
        return self.source == FILE

    @property
    def starts(self) -> str:
        """The exact command line, with the variables in the definition: everything that a person approves."""
        variables = [f"{name}={shlex.quote(value)}" for name, value in self.env.items()]
        return "; ".join([shlex.join([self.command, *self.args]), *variables])

    @property
    def definition(self) -> Definition:
        """The server as a definition that a person approves."""
        return Definition("server", self.name, self.source, self.starts, dict(self.raw or {}))


@dataclass(frozen=True, slots=True)
class Found:
    """Servers in order of preference for a file extension, and notes about invalid entries."""

    servers: Sequence[LanguageServer] = ()
    notes: Sequence[str] = ()

    def __add__(self, other: Found) -> Found:
        return Found((*self.servers, *other.servers), (*self.notes, *other.notes))


UNTRUSTED = "Language servers load code of the folder that they serve: none starts until you trust this folder. `agentcli --trust` does for one run."


def in_force(program: Project) -> Found:
    """Return the servers that may be started: the user's, the plugins', the project's approved ones, and known ones on
    PATH.

    None in an untrusted folder, whose code would run in them.
    """
    if not program.trusted:
        return Found(notes=[UNTRUSTED])
    found = _read(program.dirs.config / FILE.lstrip("."), "lsp.json")
    for plugin in program.plugins[0]:
        found += parsed(plugin.lsp, f"plugin {plugin.name}", plugin.variables)
    theirs = project_servers(program)
    found += Found([one for one in theirs.servers if program.approvals.allows(one.definition)], theirs.notes)
    return found + Found([*_on_path(program)])


def project_servers(program: Project) -> Found:
    """Return the servers in the project's file, approved or not; none if the folder is not trusted."""
    return _read(program.cwd / FILE, FILE) if program.trusted else Found()


def parsed(given: Any, source: str, variables: Mapping[str, str]) -> Found:
    """Read the servers of a table by name; `variables` are filled into their texts."""
    if not isinstance(given, Mapping):
        return Found(notes=[f"{source}: language servers must be a table by name: left out."])
    table = given.get("lspServers", given)
    servers, notes = [], []
    for name, raw in table.items() if isinstance(table, Mapping) else ():
        server = _server(str(name), _filled(raw, variables), source)
        if isinstance(server, str):
            notes.append(safe_line(f"{source}: language server {name}: {server}: left out."))
        else:
            servers.append(server)
    return Found(servers, notes)


def _server(name: str, raw: Any, source: str) -> LanguageServer | str:
    """Return the server of an entry, or what is wrong with it."""
    if not isinstance(raw, Mapping) or not isinstance(raw.get("command"), str) or not raw["command"].strip():
        return "it has no command"
    if raw.get("transport", "stdio") != "stdio":
        return "only the transport stdio is supported"
    args, languages, env = raw.get("args", []), raw.get("extensionToLanguage"), raw.get("env", {})
    if not isinstance(args, list) or not all(isinstance(arg, str) for arg in args):
        return "args must be a list of texts"
    if not _texts(languages) or not languages:
        return "extensionToLanguage must name the language of each ending"
    if not _texts(env):
        return "env must be a table of texts"
    endings = {ending if ending.startswith(".") else f".{ending}": name for ending, name in languages.items()}
    options, settings = raw.get("initializationOptions"), raw.get("settings")
    return LanguageServer(name, raw["command"], args, endings, env, options, settings, source, raw)


def _texts(given: Any) -> bool:
    return isinstance(given, Mapping) and all(isinstance(part, str) for pair in given.items() for part in pair)


def _filled(raw: Any, variables: Mapping[str, str]) -> Any:
    match raw:
        case str():
            for name, value in variables.items():
                raw = raw.replace(f"${{{name}}}", value)
            return raw
        case list():
            return [_filled(each, variables) for each in raw]
        case Mapping():
            return {name: _filled(each, variables) for name, each in raw.items()}
        case _:
            return raw


def _read(file: Path, source: str) -> Found:
    try:
        with file.open("rb") as stream:
            data = stream.read(MOST + 1)
        if len(data) > MOST:
            return Found(notes=[f"{source} is larger than {MOST:,} bytes: left out."])
        return parsed(json.loads(data), source, {})
    except FileNotFoundError:
        return Found()
    except (OSError, ValueError, RecursionError) as error:
        return Found(notes=[safe_line(f"{source} is left out: {error}")])


def _on_path(program: Project) -> Iterator[LanguageServer]:
    for name, (argv, languages) in KNOWN.items():
        if file := find_program(argv[0], [program.cwd], program.given_env.get("PATH")):
            yield LanguageServer(name, file, argv[1:], languages, {})
