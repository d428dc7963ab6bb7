"""One language server of a session: started on demand, ended quietly, with the documents that it knows."""

from __future__ import annotations

import asyncio
import fcntl
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from agentcli.agent.core import SessionCore
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ToolError
from agentcli.core.sanitise import safe_line
from agentcli.core.tool import Boxed
from agentcli.features.checks.lsp.configured import LanguageServer
from agentcli.features.checks.lsp.connection import Connection, Process
from agentcli.permissions.denied.files import NOTHING
from agentcli.permissions.paths import EXPOSED_NOTHING
from agentcli.system.process import RESTARTS
from agentcli.system.programs import environment, find_program
from agentcli.tools.lib.findings import Finding

SETTLED = 0.15
"""Seconds without further diagnostics of a file after which they count as complete."""
UNVERSIONED = 0.4
"""The same for a server that does not state their version: the first ones may be about the old content."""
FIRST = 1.5
"""The same for such a server's first report on a file: diagnostics missing then would later seem new."""
UNCHANGED = 3.0
"""Seconds after which a silent server has nothing more to report about a changed file. Some servers are silent if
nothing changes.
"""
STARTS = 3
"""Starts in a session after which a server that ends by itself is off."""
KEPT = 1_000
"""Maximum diagnostics stored of a file; none are stored of files without an open document."""
_SEVERITIES = {1: "error", 2: "warning"}
_CAPABILITIES = {
    "textDocument": {
        "synchronization": {"didSave": True},
        "publishDiagnostics": {"versionSupport": True},
        "hover": {"contentFormat": ["markdown", "plaintext"]},
        "definition": {"linkSupport": True},
        "references": {},
        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
        "rename": {"prepareSupport": False},
    },
    "workspace": {
        "symbol": {},
        "configuration": True,
        "workspaceFolders": True,
        "workspaceEdit": {"documentChanges": True},
    },
    "general": {"positionEncodings": ["utf-16"]},
    "window": {"workDoneProgress": True},
}


@dataclass(frozen=True, slots=True)
class Patience:
    """Maximum seconds for a server's start, for one answer, and for the diagnostics of a change. The last limits how
    long an edit waits for these diagnostics.

    `question` limits a query with everything before its answer: other work with the server, and its start.
    """

    start: float = 30.0
    answer: float = 30.0
    diagnostics: float = 30.0
    edit: float = 1.0
    question: float = 45.0


@dataclass(slots=True)
class Document:
    """An open document as the server knows it, with its diagnostics; `came` is the time of the newest ones."""

    text: str
    version: int = 1
    told: float = 0.0
    came: float = 0.0
    of_version: int | None = None
    findings: Sequence[Finding] = ()
    edited: str | None = None
    """The text after the last edit; None before the first edit."""
    known: tuple[str, Sequence[Finding]] | None = None
    """A text and its diagnostics, to compare the next ones with; None if they must be requested."""


class Server:
    """A language server. `off` is why it is no longer started."""

    def __init__(self, core: SessionCore, defined: LanguageServer, patience: Patience) -> None:
        self.defined, self.off, self._patience = defined, "", patience
        self.lock = asyncio.Lock()
        self.documents: dict[str, Document] = {}
        self._core, self._root = core, core.setup.workspace.cwd
        self._connection: Connection | None = None
        self._starts = 0
        self._working: set[str | int] = set()
        """Tokens of work that the server has reported and not ended."""
        self._rested = 0.0

    async def connected(self) -> Connection:
        """Return the running server, starting it if necessary. Raises ToolError if that fails."""
        if self._connection is not None and not self._connection.ended:
            return self._connection
        if self.off:
            raise ToolError(f"The language server {self.defined.name} is off: {self.off}.")
        if self._starts >= STARTS:
            self.off = self._connection.ended if self._connection is not None else "it could not be started"
            raise ToolError(f"The language server {self.defined.name} is off: it ended {STARTS} times: {self.off}.")
        self._starts += 1
        self.documents.clear()
        self._working.clear()
        for restarts in range(RESTARTS + 1):
            if (connection := await self._greeted(last=restarts == RESTARTS)) is not None:
                break
        assert connection is not None
        connection.notify("initialized", {})
        if self.defined.settings is not None:
            connection.notify("workspace/didChangeConfiguration", {"settings": self.defined.settings})
        return connection

    async def _greeted(self, *, last: bool) -> Connection | None:
        """Start the server and return it, initialized. Raises ToolError if that fails.

        Return None if its sandbox failed before the server started: another process may have removed a path. The last
        attempt raises.
        """
        with ExitStack() as stack:
            process, handed = await asyncio.to_thread(self._start, stack)
            self._connection = connection = Connection(process, self._answer, self._take)
            try:
                await connection.request("initialize", self._greeting(), self._patience.start)
            except ToolError as error:
                if connection.ended and not last and handed.unread():
                    return None
                if connection.ended:
                    self.off = f"it did not start ({connection.ended})"
                    raise ToolError(f"The language server {self.defined.name} is off: {self.off}.") from error
                connection.close(f"at its start: {error}")
                raise
        return connection

    def close(self) -> None:
        """End it."""
        if self._connection is not None:
            self._connection.close()

    async def show(self, path: Path, text: str) -> Document:
        """Tell the server the content of a file."""
        connection, uri = await self.connected(), path.as_uri()
        known = self.documents.get(uri)
        if known is not None and known.text == text:
            return known
        now = time.monotonic()
        if known is None:
            known = self.documents[uri] = Document(text, told=now)
            language = self.defined.languages.get(path.suffix, "")
            document = {"uri": uri, "languageId": language, "version": 1, "text": text}
            connection.notify("textDocument/didOpen", {"textDocument": document})
            return known
        known.text, known.version, known.told = text, known.version + 1, now
        identified = {"uri": uri, "version": known.version}
        connection.notify("textDocument/didChange", {"textDocument": identified, "contentChanges": [{"text": text}]})
        connection.notify("textDocument/didSave", {"textDocument": {"uri": uri}, "text": text})
        return known

    async def diagnosed(self, document: Document, since: float, *, first: bool = False) -> Sequence[Finding] | None:
        """Return the diagnostics of the document's current content that came after a time, once they have settled.

        The `first` ones have settled once the server also reports no more work, such as loading the project. None if
        none come, the content changes, or the server ends.
        """
        text, deadline = document.text, document.told + self._patience.diagnostics
        while (now := time.monotonic()) < deadline and document.text == text:
            current = document.came > since and document.of_version in (None, document.version)
            settled = SETTLED if document.of_version is not None else FIRST if first else UNVERSIONED
            at_work = first and bool(self._working)
            if current and not at_work and now - max(document.came, self._rested if first else 0.0) >= settled:
                return document.findings
            if self._connection is None or self._connection.ended:
                return None
            await self._connection.news(settled if current and not at_work else deadline - now)
        return None

    async def first_known(self, document: Document) -> Sequence[Finding] | None:
        """Return the diagnostics of a content before any edit; None if none come."""
        first = self.diagnosed(document, document.told, first=True)
        if not document.came:
            return await first
        with suppress(TimeoutError):
            return await asyncio.wait_for(first, UNCHANGED)
        return document.findings

    def _start(self, stack: ExitStack) -> tuple[Process, _Handed]:
        """Start the process in the sandbox, in a session of its own; `stack` closes what it was handed."""
        defined, ctx = self.defined, self._core.ctx
        command = (
            defined.command if "/" in defined.command else find_program(defined.command, ctx.roots, ctx.env.get("PATH"))
        )
        if not command:
            self.off = f"{safe_line(defined.command)} is not on PATH"
            raise ToolError(f"The language server {defined.name} did not start: {self.off}.")
        wrap = self._core.setup.permissions.sandboxes("auto", NOTHING, True, EXPOSED_NOTHING).own
        argv = [command, *defined.args]
        handed = _Handed(wrap(argv, False) if wrap is not None else Boxed(argv), stack)
        env = environment(ctx.env, self._core.setup.settings.limits.bash_secrets) | dict(defined.env)
        try:
            process = subprocess.Popen(
                handed.argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=self._root,
                env=env,
                start_new_session=True,
                pass_fds=handed.pipes.values(),
            )
        except OSError as error:
            self.off = str(error)
            raise ToolError(f"The language server {defined.name} did not start: {error}.") from error
        return process, handed

    def _greeting(self) -> Mapping[str, Any]:
        folder = {"uri": self._root.as_uri(), "name": self._root.name}
        # In a sandbox the server does not see our process: with its id it would consider us ended.
        return {
            "processId": None,
            "rootUri": folder["uri"],
            "workspaceFolders": [folder],
            "capabilities": _CAPABILITIES,
            "initializationOptions": self.defined.options,
            "clientInfo": {"name": "agentcli"},
        }

    def _answer(self, method: str, params: Any) -> Any:
        """Return the result of a server's request. Raises KeyError for an unknown one."""
        match method:
            case "workspace/configuration":
                return [self._setting(item.get("section")) for item in params["items"]]
            case "workspace/workspaceFolders":
                return [{"uri": self._root.as_uri(), "name": self._root.name}]
            case "workspace/applyEdit":
                return {"applied": False, "failureReason": "only the user's agent edits files"}
            case (
                "client/registerCapability"
                | "client/unregisterCapability"
                | "window/workDoneProgress/create"
                | "window/showMessageRequest"
            ):
                return None
            case _:
                raise KeyError(method)

    def _setting(self, section: Any) -> Any:
        found = self.defined.settings
        for name in str(section or "").split(".") if section else ():
            found = found.get(name) if isinstance(found, Mapping) else None
        return found

    def _take(self, method: str, params: Any) -> None:
        match method, params:
            case "$/progress", {"token": str() | int() as token, "value": {"kind": "begin"}}:
                self._working.add(token)
            case "$/progress", {"token": str() | int() as token, "value": {"kind": "end"}}:
                self._working.discard(token)
                self._rested = time.monotonic()
            case _:
                pass
        if method != "textDocument/publishDiagnostics" or not isinstance(params, Mapping):
            return
        document = self.documents.get(_same(str(params.get("uri")), self.documents))
        if document is None:
            return
        document.came, document.of_version = time.monotonic(), params.get("version")
        path = path_of(str(params.get("uri")))
        shown = os.path.relpath(path, self._root) if path is not None else str(params.get("uri"))
        given = params.get("diagnostics") or []
        document.findings = [found for each in given[:KEPT] if (found := _finding(each, shown)) is not None]


def path_of(uri: str) -> Path | None:
    """Return the file of a URI; None for another scheme."""
    parts = urlsplit(uri)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None


def _same(uri: str, documents: Mapping[str, Document]) -> str:
    """Return the key of a document whose URI a server spells differently."""
    if uri in documents:
        return uri
    path = path_of(uri)
    return path.as_uri() if path is not None and path.is_absolute() else ""


def _finding(given: Any, shown: str) -> Finding | None:
    """Return an error or warning as a finding; None for hints, and for anything that is not a diagnostic."""
    try:
        start = given["range"]["start"]
        line, column = int(start["line"]) + 1, int(start["character"]) + 1
        kind = _SEVERITIES.get(given.get("severity", 1))
        message = " ".join(str(given["message"]).split())[:400]
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    code = given.get("code")
    tail = f" [{code}]" if isinstance(code, str | int) else ""
    return Finding(safe_line(f"{shown}:{line}:{column}: {kind}: {message}{tail}"), line) if kind else None


class _Handed:
    """A sandboxed command, and pipes with the contents of its further descriptors."""

    def __init__(self, boxed: Boxed, stack: ExitStack) -> None:
        """`stack` closes the pipes."""
        self._boxed = boxed
        self.pipes = {number: _filled(data, stack) for number, data in boxed.files.items()}

    @property
    def argv(self) -> Sequence[str]:
        """The command, with its descriptors opened by a shell that it replaces."""
        if not self.pipes:
            return self._boxed.argv
        opened = " ".join(f"{number}<&{pipe} {pipe}<&-" for number, pipe in self.pipes.items())
        return ["/bin/bash", "--noprofile", "--norc", "-c", f'exec "$@" {opened}', "bash", *self._boxed.argv]

    def unread(self) -> bool:
        """Return True if the command ended before its sandbox was complete."""
        last = self.pipes.get(self._boxed.read_last)
        return last is not None and bool(os.read(last, 1))


def _filled(data: bytes, stack: ExitStack) -> int:
    """Return the reading end of a pipe with these bytes, above the numbers of a sandbox's descriptors."""
    read, write = os.pipe()
    try:
        os.write(write, data)
        above = fcntl.fcntl(read, fcntl.F_DUPFD_CLOEXEC, _ABOVE)
    finally:
        os.close(read)
        os.close(write)
    stack.callback(os.close, above)
    return above


_ABOVE = 100
"""Lowest descriptor of such a pipe."""
