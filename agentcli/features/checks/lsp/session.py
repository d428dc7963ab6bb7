"""Language servers in a session: new diagnostics after edits, and the answers of the lsp tool."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from agentcli.agent.calls.call import Call, Run, Stage, beginning, edited_later, wrapped
from agentcli.agent.calls.execute import ToolRun
from agentcli.agent.calls.stages import CheckpointStage, HookStage
from agentcli.agent.core import SessionCore
from agentcli.agent.feature import SessionPart, Unfinished
from agentcli.agent.reply import ReplyBuilder
from agentcli.agent.tool_context import offer
from agentcli.core.dataclass import replace
from agentcli.core.errors import ToolError
from agentcli.core.event import Warned
from agentcli.core.message import ToolCall
from agentcli.core.sanitise import safe
from agentcli.core.tasks import log_failure, start_task, watch_task
from agentcli.core.text.words import plural
from agentcli.core.tool import ToolOutput
from agentcli.features.checks.lsp.configured import in_force
from agentcli.features.checks.lsp.edits import patch_of
from agentcli.features.checks.lsp.server import Document, Patience, Server, path_of
from agentcli.permissions.denied.files import denial_of, reading_denials
from agentcli.permissions.paths import judge_path
from agentcli.program.project import Project
from agentcli.system import probe
from agentcli.tools.lib.findings import line_shift, new_findings, report
from agentcli.tools.lsp import LanguageServers, Operation
from agentcli.tools.registry import tools

FILE_BYTES = 2_000_000
"""Size of a file from which servers are not told about it."""
PLACES = 100
"""Maximum places or symbols that one answer lists."""
CHARACTERS = 8_000
"""Maximum characters of one answer."""


class SessionServers(SessionPart, LanguageServers):
    """Language servers of one session, by file extension."""

    name = "language servers"

    def __init__(self, program: Project, core: SessionCore, patience: Patience | None = None) -> None:
        found, patience = in_force(program), patience or Patience()
        self.all = [Server(core, defined, patience) for defined in found.servers]
        self.late: list[str] = []
        """Findings that came after the edit had its result."""
        self._core, self._root, self._patience = core, core.setup.workspace.cwd.resolve(), patience
        self._told: set[str] = set()
        self._before: dict[Path, str] = {}
        self.stages, self.services = [DiagnosticsStage(core, self)], [offer(LanguageServers, self)]
        for note in found.notes:
            self.warn(note)

    def server_of(self, path: Path) -> Server | None:
        """Return the server for a file: the first one for its extension that is not off."""
        fitting = [server for server in self.all if path.suffix in server.defined.languages]
        return next((server for server in fitting if not server.off), None)

    def _needed(self, path: Path) -> Server:
        """Return the server for a file. Raise ToolError if there is none."""
        server = self.server_of(path)
        if server is None:
            endings = sorted({ending for one in self.all if not one.off for ending in one.defined.languages})
            raise ToolError(
                f"No language server for {path.suffix or path.name}. There is one for: {', '.join(endings) or 'nothing'}."
            )
        return server

    def warn(self, text: str, about: str = "") -> None:
        """Warn the person, once about each subject: the text itself unless another one is given."""
        if (about or text) not in self._told:
            self._told.add(about or text)
            self._core.printed.add(Warned(text))

    def before(self, path: Path) -> None:
        """Keep the content of a file before an edit, unless an earlier edit of the reply did."""
        text = _text(path)
        if path not in self._before and text is not None:
            self._before[path] = text

    def shown(self, path: Path) -> None:
        """Tell the server about a file that the model has read, so that its diagnostics are known before an edit."""
        server, text = self.server_of(path), _text(path)
        if server is not None and text is not None and path.is_relative_to(self._root):
            self._start(server, self._read(server, path, text))

    async def after(self, path: Path) -> str:
        """Return the text about a file's new diagnostics after an edit; empty if none come in time."""
        server, before, after = self.server_of(path), self._before.pop(path, ""), _text(path)
        if server is None or after is None:
            return ""
        first: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        def tell(text: str) -> None:
            if not first.done():
                first.set_result(text)
            elif text:
                self.late.append(text)

        self._start(server, self._compare(server, path, before, after, tell), partial(tell, ""))
        with suppress(TimeoutError):
            return await asyncio.wait_for(first, self._patience.edit)
        return ""

    async def _compare(self, server: Server, path: Path, before: str, after: str, tell: Callable[[str], None]) -> None:
        """Tell the server about an edit, and report its new diagnostics, until there is a newer edit."""
        async with server.lock:
            if await self._know(server, path, before) is None:
                return
            document = await server.show(path, after)
            document.edited = after
        since = document.told
        while (found := await server.diagnosed(document, since)) is not None:
            since, (text, had) = document.came, document.known or ("", ())
            document.known = (after, found)
            new = new_findings(had, found, line_shift(text.split("\n"), after.split("\n")))
            tell(report(server.defined.name, new) if new else "")

    async def _read(self, server: Server, path: Path, text: str) -> None:
        async with server.lock:
            await self._know(server, path, text)

    async def _know(self, server: Server, path: Path, text: str) -> Document | None:
        """Show a text to the server. Learn its diagnostics unless they are known or an edit produced the text.

        Return None if none come.
        """
        document = await server.show(path, text)
        if document.known is None or text not in (document.edited, document.known[0]):
            found = await server.first_known(document)
            document.known = (text, found) if found is not None else None
        return document if document.known is not None else None

    def _start(
        self, server: Server, work: Coroutine[Any, Any, None], ended: Callable[[], object] = lambda: None
    ) -> None:
        """Start work in the background; a server that is off gets a warning."""

        def failed(error: BaseException) -> None:
            ended()
            if not isinstance(error, ToolError):
                log_failure(error)
            elif server.off:
                self.warn(f"{error} Edits continue without it.", server.defined.name)

        watch_task(start_task(work), failed, lambda _: ended())

    async def ask(
        self, call_id: str, operation: Operation, file_path: str, line: int, symbol: str, new_name: str
    ) -> ToolOutput:
        """Answer a query about a symbol in a line of a file, or rename it."""
        path = Path(file_path)
        server, text = self._needed(path), _text(path)
        if text is None:
            raise ToolError(f"{file_path} is not a text file.")
        asked: dict[str, Any] = {"textDocument": {"uri": path.as_uri()}}
        if operation != "symbols":
            asked["position"] = _position(text, line, symbol)
        if operation == "rename":
            asked["newName"] = new_name
        elif operation in ("references", "definition"):
            asked["context"] = {"includeDeclaration": True}
        try:
            async with asyncio.timeout(self._patience.question):
                found = await self._answer(server, path, text, operation, asked)
        except TimeoutError:
            raise ToolError(
                f"The language server {server.defined.name} did not answer within {self._patience.question:g} s. It may still read the project: ask again "
                "later, or search with grep."
            ) from None
        match operation:
            case "symbols":
                return _output([*_symbols(found or [], "")], "no symbols")
            case "hover":
                return _output([_hover(found)], "nothing known")
            case "rename":
                return await self._rename(call_id, found)
            case "references" | "definition":
                return _output([*self._places(found)], f"no {operation}")

    async def _answer(
        self, server: Server, path: Path, text: str, operation: Operation, asked: Mapping[str, Any]
    ) -> Any:
        async with server.lock:
            await server.show(path, text)
        connection = await server.connected()
        method = "documentSymbol" if operation == "symbols" else operation
        return await connection.request(f"textDocument/{method}", asked, self._patience.answer)

    def _places(self, found: Any) -> Iterator[str]:
        """Yield the places of an answer with their lines; without lines in files that deny rules keep from being read."""
        denials = reading_denials(self._core.approval.rules.deny, self._core.traits)
        for each in [found] if isinstance(found, Mapping) else found or []:
            uri = each.get("uri") or each.get("targetUri")
            start = (each.get("targetSelectionRange") or each["range"])["start"]
            path = path_of(str(uri))
            if path is None:
                yield f"{uri}:{start['line'] + 1}"
                continue
            inside = path.is_relative_to(self._root)
            shown = f"{os.path.relpath(path, self._root) if inside else path}:{start['line'] + 1}"
            text = _text(path) if inside and denial_of(path, denials, self._core.setup.workspace) is None else None
            lines = text.split("\n") if text is not None else []
            yield f"{shown}: {lines[start['line']].strip()[:200]}" if start["line"] < len(lines) else shown

    async def _rename(self, call_id: str, edit: Any) -> ToolOutput:
        """Make the edits of a rename as one patch, which is judged, checkpointed and undone like every edit."""
        core = self._core
        text, places, files = patch_of(edit, self._root)
        judged = (judge_path(str(path), core.setup.workspace, write=True) for path in files)
        if away := next((verdict for verdict in judged if verdict.verdict == "outside"), None):
            raise ToolError(f"The rename would change more than the workspace: {away.why}. Edit the files with `edit`.")
        unread = [path for path in files if core.seen.knowledge(path, path.read_bytes()) != "current"]
        for path in unread:
            core.seen.remember(path, path.read_bytes())  # the server has read it: its edits are of the current content
        try:
            return await self._apply(call_id, text, places)
        finally:
            for path in unread:
                core.seen.remember_part(path, path.read_bytes())

    async def _apply(self, call_id: str, text: str, places: int) -> ToolOutput:
        core = self._core
        [tool] = tools(["apply_patch"])
        call = beginning(ToolCall(call_id, tool.name, {"input": text}), tool)
        hooks = HookStage(core.hooks, core.printed, core.setup.person.attended, core.seen, core.setup.workspace.cwd)
        call = await core.approval.decide(await hooks.judge(call), (), hooks.request)
        if call.result is not None:
            return ToolOutput(call.why_refused, status="denied")
        stages = [CheckpointStage(core.checkpointer)] if core.checkpointer is not None else []
        run = ToolRun(core.setup.tools.run, core.ctx, core.approval, core.hooks, core.builder)
        output = (await wrapped(stages, run)(call)).output
        assert output is not None
        if output.status != "success":
            return output
        metadata = {name: value for name, value in output.metadata.items() if name != "seen"}
        return replace(output, output=f"Renamed in {plural(places, 'place')}. {output.output}", metadata=metadata)

    def news(self) -> Sequence[str]:
        """Return the findings that came late, for the model."""
        late, self.late = self.late, []
        return late

    def before_end(self, _: ReplyBuilder) -> Unfinished:
        """Let the turn continue if findings came too late for the last result."""
        found = "\n".join(self.news())
        return (
            Unfinished(found, "Findings came after the model's last edit: it is told of them.")
            if found
            else Unfinished()
        )

    def closed(self) -> None:
        """End all servers."""
        for server in self.all:
            server.close()


class DiagnosticsStage(Stage):
    """Tells language servers about files that are read and edited. The last edit of a file in a reply gets the new
    diagnostics.
    """

    def __init__(self, core: SessionCore, servers: SessionServers) -> None:
        self._core, self._servers = core, servers

    def around(self, run: Run) -> Run:
        async def ran(call: Call) -> Call:
            traits = call.its_tool.traits
            paths = [path for path in call.paths if self._servers.server_of(path) is not None]
            if not traits.edits_files:
                call = await run(call)
                if traits.reads_files and call.output is not None and call.output.status == "success":
                    for path in paths:
                        self._servers.shown(path)
                return call
            for path in paths:
                self._servers.before(path)
            call = await run(call)
            if call.output is None or call.output.status != "success" or edited_later(call, self._core.traits):
                return call
            try:
                texts = await asyncio.gather(*(self._servers.after(path) for path in paths))
            except asyncio.CancelledError:
                return call  # the edit has taken effect
            return call.with_findings("\n".join(filter(None, texts)))

        return ran


def _position(text: str, line: int, symbol: str) -> Mapping[str, int]:
    """Return a symbol's position in a line, counted as in the protocol."""
    lines = text.split("\n")
    row = lines[line - 1] if line <= len(lines) else ""
    column = row.find(symbol)
    if column < 0:
        near = [n for n, each in enumerate(lines, 1) if symbol in each]
        where = f" It is in line {', '.join(map(str, near[:10]))}." if near else ""
        raise ToolError(f"{symbol!r} is not in line {line}.{where}")
    return {"line": line - 1, "character": len(row[:column].encode("utf-16-le")) // 2}


def _symbols(found: Sequence[Any], indent: str) -> Iterator[str]:
    for each in found:
        where = each.get("range") or each.get("location", {}).get("range")
        yield f"{indent}{each['name']} (line {where['start']['line'] + 1})"
        yield from _symbols(each.get("children") or [], f"{indent}  ")


def _hover(found: Any) -> str:
    contents = found.get("contents") if isinstance(found, Mapping) else found
    parts = contents if isinstance(contents, list) else [contents] if contents else []
    return "\n".join(str(part.get("value", "")) if isinstance(part, Mapping) else str(part) for part in parts).strip()


def _output(lines: Sequence[str], none: str) -> ToolOutput:
    shown = [line for line in lines[:PLACES] if line]
    more = [f"[{len(lines) - PLACES:,} more]"] if len(lines) > PLACES else []
    text = safe("\n".join([*shown, *more]))[:CHARACTERS]
    return ToolOutput(text or f"The language server knows {none} here.", metadata={"matches": len(lines)})


def _text(path: Path) -> str | None:
    """Return the text of a file; None if there is none, or it is too large or not text."""
    try:
        if not probe.is_file(path) or path.stat().st_size > FILE_BYTES:
            return None
        return path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None
