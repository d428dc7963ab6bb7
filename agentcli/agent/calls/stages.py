"""Stages of a call, from the search for its tool to the checkpoint around its run.

`way` has their order.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from agentcli.agent.approval import ApprovalGate, AskHooks
from agentcli.agent.buffers import UnsavedBuffers
from agentcli.agent.calls.call import Call, PrintedEvents, Run, Stage, with_notes
from agentcli.agent.checkpointing import Checkpointer
from agentcli.agent.hooks import Hooks, Outcome, contents, with_changes_of_hooks, with_hook_output
from agentcli.agent.instructions import NestedInstructions
from agentcli.agent.ports import ApprovalRequest, FoundTools
from agentcli.agent.repeats import RepeatGuard
from agentcli.agent.setup import SessionSetup
from agentcli.core.dataclass import replace
from agentcli.core.errors import AgentError
from agentcli.core.event import PermissionDecided, Recorded
from agentcli.core.mcp_servers import CALL, PREFIX, SEARCH, TOOL, effective
from agentcli.core.message import Part, Text, ToolCall, ToolResult
from agentcli.core.record import Body, InnerCall, TodoItem
from agentcli.core.text.secrets import may_show_git_settings
from agentcli.core.tool import UNKNOWN, CommandSandbox, Tool, ToolOutput, Traits
from agentcli.permissions.paths import Workspace
from agentcli.permissions.rules import NETWORK
from agentcli.permissions.unattended import NOBODY
from agentcli.tools.seen_files import SeenFiles

if TYPE_CHECKING:
    from agentcli.permissions.decide import Decision


class Prepare(Stage):
    """Finds the tools of calls: the session's own, by name, and MCP tools."""

    def __init__(
        self,
        tools: Mapping[str, Tool],
        server_tools: FoundTools,
        cwd: Path,
        offered: Callable[[], Collection[str]] | None = None,
        todo: Callable[[], Sequence[TodoItem]] = tuple,
        start: Callable[[], Path] | None = None,
        tmp: Callable[[], Path | None] = lambda: None,
    ) -> None:
        """`offered` are the tools that the model was offered, `todo` is the current list, `start` the folder of
        commands.

        `tmp` is the folder that commands see as /tmp, if the mode runs them in a sandbox.
        """
        self.tools = dict(tools)
        self.brought: frozenset[str] = frozenset()
        """Names of the tools that extensions have brought since the session was opened."""
        self._offered = offered or (lambda: ())
        self._todo = todo
        self._server_tools = server_tools
        self._cwd = cwd
        self._start = start or (lambda: cwd)
        self._tmp = tmp

    def replace_brought(self, tools: Mapping[str, Tool]) -> None:
        """Replace the tools that extensions bring."""
        for name in self.brought - tools.keys():
            self.tools.pop(name, None)
        self.tools.update(tools)
        self.brought = frozenset(tools)

    def named(self, parts: Sequence[Part]) -> tuple[Part, ...]:
        """Return the parts of a reply with its calls as calls of our tools, if possible."""
        from agentcli.tools.foreign import ForeignCalls

        known = (*self.tools, *self._server_tools.names)
        foreign = ForeignCalls(self.tools, known, self._start(), self._todo())
        return tuple(foreign.own(part) if isinstance(part, ToolCall) else part for part in parts)

    def with_written(self, parts: Sequence[Part], task: str) -> tuple[Part, ...] | None:
        """Return the parts of a reply, with the calls at the end of its text as calls of our tools.

        Return None if there are none. `task` is the person's text: a form that it mentions is quoted.
        """
        from agentcli.agent.written_calls import written_calls  # few replies may write calls as text

        text = "".join(part.text for part in parts if isinstance(part, Text))
        before, written = written_calls(text, self._is_tool, task)
        calls = [ToolCall(f"call_{uuid4().hex[:20]}", name, given) for name, given in written]
        own = [part for part in self.named(calls) if isinstance(part, ToolCall)]
        if not own or not all(map(self._fits, own)):
            return None
        rest = [part for part in parts if not isinstance(part, Text)]
        return (*rest, *([Text(before)] if before else ()), *map(self._typed, own))

    def _is_tool(self, name: str) -> bool:
        from agentcli.core.aliases import TEXT_EDITORS, meanings, own_name

        known = (*self.tools, *self._server_tools.names)
        foreign = (tool in self.tools for tool, _ in meanings(name))
        return own_name(name, known) in known or name in TEXT_EDITORS or any(foreign)

    def _fits(self, call: ToolCall) -> bool:
        """Return True if a call has all that its tool needs."""
        tool = self.tools.get(call.name)
        if tool is None:
            return call.name in self._server_tools.names
        from agentcli.tools.mending import mended

        given = mended(tool, call.input, self._cwd).input
        return all(key in given for key in tool.takes.get("required", ()))

    def _typed(self, call: ToolCall) -> ToolCall:
        """Return a call with its texts converted to the kinds that its tool takes: forms with tags have only texts."""
        from agentcli.agent.written_calls import plain_value

        tool = self.tools.get(call.name)
        kinds = {key: kind.get("type") for key, kind in tool.takes["properties"].items()} if tool is not None else {}
        texts = {key: value for key, value in call.input.items() if isinstance(value, str)}
        typed = {
            key: plain_value(text) for key, text in texts.items() if kinds.get(key) in ("integer", "number", "boolean")
        }
        return replace(call, input={**call.input, **typed})

    def prepared(self, calls: Sequence[ToolCall]) -> list[Call]:
        """Return a reply's calls before the first stage: calls of the MCP gate unwrapped, inputs repaired."""
        begun = [self._prepared(call) for call in calls]
        return [replace(call, later=tuple(other.asked for other in begun[at + 1 :])) for at, call in enumerate(begun)]

    def known(self, name: str) -> Tool | None:
        """Return the tool of that name, if the session has it or it was found on a server before."""
        return self.tools.get(name) or self._server_tools.found.get(name)

    def traits_of(self, call: ToolCall) -> Traits:
        """Return the traits of the tool that a call means."""
        return self._server_tools.traits.get(call.name, UNKNOWN)

    async def judge(self, call: Call) -> Call:
        if call.asked.unreadable:
            return call.refused(call.asked.unreadable, "error")
        tool = await self._find(call.asked)
        if isinstance(tool, str):
            return call.refused(tool, "error")
        return replace(call, tool=tool)

    async def _find(self, call: ToolCall) -> Tool | str:
        """Return the tool that a call means, or why there is none."""
        from agentcli.core.aliases import no_tool

        if call.name == CALL:
            return await self._server_tools.no_server_tool(call.input)
        if (tool := self.tools.get(call.name)) is not None:
            return tool
        if call.name.startswith(PREFIX) or call.name == SEARCH:
            return await self._server_tools.find(call.name)
        return no_tool(call.name, self._offered() or self.tools)

    def _prepared(self, sent: ToolCall) -> Call:
        call = effective(sent, self._server_tools.names if sent.name == CALL else ())
        if call.unreadable:
            return Call(call, call, sent.name)
        tool = self.tools.get(call.name)
        if tool is None:
            return Call(call, call, sent.name)
        from agentcli.tools.mending import mended  # of no use before the first call

        meant = mended(tool, call.input, self._cwd)
        call = replace(call, input=self._in_tmp(tool.traits, meant.input))
        return Call(call, call, sent.name, meant.ignored)

    def _in_tmp(self, traits: Traits, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return an input with a file in the commands' /tmp replaced by its real path."""
        field = traits.subject.field
        path, tmp = given.get(field), self._tmp() if field else None
        files = traits.touches_files
        if tmp is None or not files or not isinstance(path, str) or not path.startswith(f"{_TMP}/"):
            return dict(given)
        there = tmp / path.removeprefix(f"{_TMP}/")
        made = os.path.lexists(there) or (traits.edits_files and not os.path.lexists(path))
        return {**given, field: str(there)} if made and tmp not in Path(path).parents else dict(given)


_TMP = "/tmp"


class ApprovalStage(Stage):
    """Asks the gate about each call, and passes the later calls of its reply, too."""

    def __init__(self, gate: ApprovalGate, prepare: Prepare, ask_hooks: AskHooks | None) -> None:
        self._gate, self._prepare, self._ask_hooks = gate, prepare, ask_hooks

    async def judge(self, call: Call) -> Call:
        later = [(other, tool) for other in call.later if (tool := self._prepare.known(other.name)) is not None]
        return await self._gate.decide(call, later, self._ask_hooks)


class NestedStage(Stage):
    """Adds nested instructions to results: files of folders that the calls touched."""

    def __init__(self, instructions: NestedInstructions, prepare: Prepare) -> None:
        self._instructions, self._prepare = instructions, prepare

    def around(self, run: Run) -> Run:
        async def ran(call: Call) -> Call:
            call = await run(call)
            if call.result is None:
                return call
            traits = self._prepare.traits_of(call.call)
            result = call.result
            for path in call.paths:
                result = self._instructions.added(result, path, traits)
            return replace(call, result=result)

        return ran


INTERRUPTED = "Interrupted by the user: this call may or may not have taken effect."

_log = logging.getLogger(__name__)


class Finish(Stage):
    """Turns outputs and failures into results, and records these."""

    def __init__(self, record: Callable[[Body], Recorded], repeats: RepeatGuard, prepare: Prepare) -> None:
        self._record, self._repeats, self._prepare = record, repeats, prepare

    def around(self, run: Run) -> Run:
        async def ran(call: Call) -> Call:
            """Run one call and turn a failure into its result. A cancelled tool may still return partial output."""
            started, began = time.time(), time.monotonic()
            try:
                call = await run(call)
                assert call.output is not None
                output = call.output
                if call.ignored or call.asked.remarks:
                    from agentcli.tools.mending import with_ignored, with_remarks

                    output = with_remarks(with_ignored(output, call.ignored), call.asked.remarks)
            except asyncio.CancelledError:
                output = ToolOutput(INTERRUPTED, status="interrupted")
            except (AgentError, OSError) as error:
                output = ToolOutput(str(error), status="error")
            except Exception as error:  # noqa: BLE001 - a bug in one tool must not cost the conversation; the log has the traceback
                _log.exception("tool %s failed", call.call.name)
                output = ToolOutput(f"The tool failed: {type(error).__name__}: {error}", status="error")
            # The wall clock may be set meanwhile.
            result = _result(call, output, started, started + time.monotonic() - began)
            return replace(call, result=with_notes(result, call.notes))

        return ran

    def record(self, call: Call, within: str = "") -> Recorded:
        """Record a call's result under the name that the model used; the metadata then contains its tool.

        The call that made it, if any, has the id `within`.
        """
        assert call.result is not None
        result = call.result
        if within:
            return self._record(InnerCall(within, call.asked, result))
        self.note(call.asked, result)
        if call.sent_as != result.name:
            result = replace(result, name=call.sent_as, metadata={**result.metadata, TOOL: result.name})
        return self._record(result)

    def note(self, call: ToolCall, result: ToolResult) -> None:
        """Count the result of a call among its repeats."""
        self._repeats.note(call, result, polls=self._prepare.traits_of(call).behaviour.polls)


class CredentialStage(Stage):
    """Removes from outputs the credentials with which git reaches the remotes of the workspace's repositories."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def around(self, run: Run) -> Run:
        async def ran(call: Call) -> Call:
            call = await run(call)
            if call.output is None or not may_show_git_settings(call.output.output):
                return call
            from agentcli.permissions.exposed import without_credentials  # few outputs look like git's settings

            folders = (*filter(None, [call.folder]), *self._workspace.resolved_roots)
            return replace(call, output=replace(call.output, output=without_credentials(call.output.output, folders)))

        return ran


def _result(call: Call, output: ToolOutput, started: float, ended: float) -> ToolResult:
    return ToolResult(
        call_id=call.call.call_id,
        name=call.call.name,
        status=output.status,
        output=output.output,
        truncated=output.truncated,
        output_file=output.output_file,
        title=output.title or call.title_now,
        started=started,
        ended=ended,
        metadata=output.metadata,
        images=output.images,
    )


_BLIND = (
    "[it ran in a read-only sandbox, which shows no processes, mounts and network but its own: "
    "run what looks at those in a command that names no files]"
)

_SHOWN = 3
"""Maximum hidden files that the model sees by name."""


class SandboxStage(Stage):
    """Chooses the sandbox when a command starts: an earlier call may have changed the mode.

    It reports hosts that commands may not reach, and commands that failed because of the sandbox.
    """

    def __init__(self, setup: SessionSetup, gate: ApprovalGate, printed: PrintedEvents) -> None:
        self._setup, self._gate, self._printed = setup, gate, printed
        self._held = set[str]()

    def around(self, run: Run) -> Run:
        async def ran(call: Call) -> Call:
            decision, traits = call.decision, call.its_tool.traits
            if decision is not None and traits.runs_commands:
                box = self._sandbox(decision, call.harmless)
                call = replace(call, box=replace(box, held=partial(self._report_held, call.call)))
                if decision.instead:
                    call = call.with_input({**call.call.input, traits.subject.field: decision.instead})
            try:
                return await run(call)
            finally:
                self._report(call.call.call_id)

        return ran

    def _report_held(self, call: ToolCall, command: str, reason: str) -> None:
        """Report a command that the sandbox made fail, once each."""
        if command not in self._held:
            self._held.add(command)
            why = f"its sandbox refused it: “{reason}”. {NOBODY}"
            self._printed.add(PermissionDecided(call.call_id, call.name, "deny", f"mode {self._gate.mode}", why))

    def _report(self, call_id: str) -> None:
        """Report answers about hosts since the last call, such as to a job in the background, and denied hosts."""
        for kept in self._setup.permissions.kept_hosts():
            self._gate.take(kept)
        for each in self._setup.permissions.denied_hosts():
            rule = each.rule or f"mode {self._gate.mode}"
            self._printed.add(PermissionDecided(call_id, NETWORK, "deny", rule, each.why, each.host))

    def _sandbox(self, decision: Decision, harmless: bool) -> CommandSandbox:
        """Return the sandbox of a command in the current mode.

        A command that only reads gets the hardened environment. It also gets a reader's sandbox, unless it inspects
        only the machine.
        """
        sandboxes = self._setup.permissions.sandboxes(
            "auto" if self._gate.in_one_sandbox else self._gate.mode,
            decision.hidden,
            decision.contained,
            decision.exposed,
        )
        left_out = self._left_out(decision)
        note, if_failed = (left_out, "") if decision.hidden.told else ("", left_out)
        note = "\n".join(filter(None, (_excluded(decision.left_out), note)))
        if decision.exposed.paths:
            from agentcli.permissions.exposed import hidden_note, limits_note

            note = "\n".join(filter(None, (note, hidden_note(decision.exposed))))
            if_failed = "\n".join(filter(None, (if_failed, limits_note(decision.exposed))))

        def noted(box: CommandSandbox) -> CommandSandbox:
            return replace(box, note=note, if_failed="\n".join(filter(None, (box.if_failed, if_failed))))

        if decision.parts:
            # Only if git does not change the work tree is it certain what else has created a protected file.
            recorder = sandboxes.recorder
            watch = sandboxes.decided.watch if decision.stores else recorder.watch
            leaving = sandboxes.permitted.wrap if sandboxes.permitted is not None else None
            return replace(
                noted(sandboxes.decided), parts=decision.parts, recorder=recorder.wrap, leaving=leaving, watch=watch
            )
        if decision.records:
            return noted(sandboxes.recorder)
        if not harmless and sandboxes.permitted is not None and not decision.contained:
            return noted(sandboxes.permitted)
        if not harmless or sandboxes.reader is None or decision.machine == "only":
            return replace(noted(sandboxes.decided), hardened=harmless)
        blind = _BLIND if decision.machine else ""
        return CommandSandbox(
            sandboxes.reader, hardened=True, note="\n".join(filter(None, (blind, note))), if_failed=if_failed
        )

    def _left_out(self, decision: Decision) -> str:
        """Return the line about the paths hidden from a command; empty if there are none."""
        cwd, paths = self._setup.workspace.cwd, decision.hidden.paths
        shown = [str(path.relative_to(cwd) if path.is_relative_to(cwd) else path) for path in paths[:_SHOWN]]
        more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
        return f"[deny rules hide from commands: {', '.join(shown)}{more}]" if paths else ""


def _excluded(files: Sequence[str]) -> str:
    """Return the line about the files that a git command omitted; empty if there are none."""
    more = f" and {len(files) - _SHOWN} more" if len(files) > _SHOWN else ""
    return f"[left out of what git shows, by deny rules: {', '.join(files[:_SHOWN])}{more}]" if files else ""


class BufferStage(Stage):
    """Makes a call work on the text that the person sees in the editor."""

    def __init__(self, buffers: UnsavedBuffers) -> None:
        self._buffers = buffers

    def around(self, run: Run) -> Run:
        async def ran(call: Call) -> Call:
            if call.its_tool.traits.edits_files:
                await self._buffers.save(call.its_tool, call.paths, call.call.input)
            elif call.its_tool.traits.reads_files and call.paths:
                call = replace(call, buffers=await self._buffers.contents(call.paths))
            return await run(call)

        return ran


class CheckpointStage(Stage):
    """Runs calls between two looks at the files; a harmless command changes none."""

    def __init__(self, checkpointer: Checkpointer) -> None:
        self._checkpointer = checkpointer

    def around(self, run: Run) -> Run:
        async def ran(call: Call) -> Call:
            if call.harmless:
                return await run(call)
            call = replace(call, box=self._noting(call.box))
            done = await self._checkpointer.run(lambda: run(call), call.its_tool, call.paths, call.call)
            changed = await self._checkpointer.changed_by(call.call.call_id)
            if not changed or done.output is None:
                return done
            return replace(done, output=replace(done.output, metadata={**done.output.metadata, **changed}))

        return ran

    def _noting(self, box: CommandSandbox) -> CommandSandbox:
        """Return a sandbox that notes the state of the folders which a person adds, before a command runs again."""
        escalate = box.escalate
        if escalate is None:
            return box

        async def escalated(command: str, reason: str) -> bool | None:
            leaves = await escalate(command, reason)
            if leaves:
                await self._checkpointer.before_rerun()
            return leaves

        return replace(box, escalate=escalated)


class HookStage(Stage):
    """Runs the hooks of calls.

    Their messages for the person go to `printed`, and so does a hook's request to end the turn.
    """

    def __init__(self, hooks: Hooks, printed: PrintedEvents, attended: bool, files: SeenFiles, cwd: Path) -> None:
        self._hooks, self._printed, self._attended = hooks, printed, attended
        self._files, self._cwd = files, cwd

    async def judge(self, call: Call) -> Call:
        judged = await self._hooks.pre_tool(call.call)
        self._report(judged)
        if judged.verdict.context:
            call = replace(call, notes=(*call.notes, judged.verdict.context))
        if judged.verdict.input is not None:
            call = call.with_input(judged.verdict.input)
        return replace(call, hooked=judged)

    def around(self, run: Run) -> Run:
        async def ran(call: Call) -> Call:
            call = await run(call)
            result = call.result
            if result is None or result.status == "interrupted":
                return call
            edited = contents(call.paths) if call.its_tool.traits.edits_files else {}
            try:
                outcome = await self._hooks.post_tool(call.call, result)
            except asyncio.CancelledError:
                return call  # an interrupt ends the hooks and leaves the result unchanged
            self._report(outcome)
            result = with_hook_output(result, outcome)
            return replace(call, result=with_changes_of_hooks(result, edited, self._files, self._cwd))

        return ran

    async def request(self, ask: ApprovalRequest) -> Outcome:
        """Return the hooks' answer instead of the person's; if they give none, notify the person."""
        outcome = await self._hooks.permission(ask.call, ask.session, ask.always)
        self._report(outcome)
        if outcome.verdict.answer not in ("allow", "deny") and self._attended:
            self._hooks.notify(f"agentcli needs your permission to use {ask.call.name}", "permission_prompt")
        return outcome

    def _report(self, outcome: Outcome) -> None:
        """Show the hooks' messages to the person, and record if one ends the turn."""
        for event in outcome.events:
            self._printed.add(event)
        if outcome.verdict.ends:
            self._printed.ended = outcome.verdict.stop_reason or outcome.verdict.reason or "A hook ended the turn."
