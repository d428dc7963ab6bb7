"""Tool calls of a session."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentcli.agent.approval import ApprovalGate, Permit, RepeatGuard
from agentcli.agent.buffers import UnsavedBuffers
from agentcli.agent.checkpointing import Checkpointer
from agentcli.agent.extensions.server_tools import ServerTools
from agentcli.agent.hooks.opening import hooks_of
from agentcli.agent.hooks.opinion import Opinion, opinion_of, with_hook_output
from agentcli.agent.hooks.outcome import Outcome
from agentcli.agent.nested import NestedInstructions, NestedSkills
from agentcli.agent.ports import ApprovalRequest
from agentcli.agent.seen_files import seen_files, seen_in
from agentcli.agent.setup import SessionSetup
from agentcli.agent.streams import PrintedEvents
from agentcli.agent.tool_context import SessionToolContext
from agentcli.context.inject import wrap
from agentcli.core.aliases import no_tool, own_name
from agentcli.core.dataclass import dataclass, replace
from agentcli.core.event import Noticed, Recorded
from agentcli.core.journal import Journal
from agentcli.core.mending import mended, with_ignored
from agentcli.core.message import Message, Part, ToolCall, ToolResult
from agentcli.core.model import ModelSpec
from agentcli.core.record import Body, Mode
from agentcli.core.servers import CALL, PREFIX, SEARCH, TOOL, effective
from agentcli.core.tool import (
    NO_SANDBOX,
    UNKNOWN,
    AnswerPage,
    CommandSandbox,
    LeavePlan,
    OpenSkill,
    Question,
    Spawn,
    Tool,
    ToolOutput,
    Traits,
)

_BLIND = (
    "[it ran in a read-only sandbox, which shows no processes, mounts and network but its own: "
    "run what looks at those in a command that names no files]"
)


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A call of the newest reply as it will run: with the name of its tool, its input mended.

    `sent_as` is the name that the model called it by; `ignored` are parameters that the tool does not have.
    """

    call: ToolCall
    sent_as: str
    ignored: Sequence[str] = ()


class ToolRunner:
    """Runs a session's tool calls: approval, checkpoint, execution, recording.

    `leave_plan` is called when the person has approved a plan, `spawn` runs a subagent, `answer_page` asks about a page,
    `open_skill` gives the body of a skill, `model` is the one in use.
    """

    def __init__(
        self,
        journal: Journal,
        setup: SessionSetup,
        mode: Mode,
        leave_plan: LeavePlan,
        spawn: Spawn,
        answer_page: AnswerPage,
        open_skill: OpenSkill,
        model: Callable[[], ModelSpec],
    ) -> None:
        self._journal = journal
        self.server_tools = ServerTools(setup.servers, setup.traits, lambda: setup.estimator(setup.context.policy))
        self.hooks = hooks_of(journal, setup, lambda: self.approval.mode, lambda: self._model().id)
        self.ended_by_hook = ""
        """The reason why a hook ends the turn, where one does."""
        self._added: dict[str, str] = {}
        cwd, roots = setup.workspace.cwd, setup.workspace.resolved_roots
        self._nested = NestedInstructions(journal, cwd, roots, setup.workspace.home) if setup.trusted else None
        self.nested_skills = NestedSkills(journal, cwd, roots if setup.trusted else ())
        self._setup = setup
        self._prepared: dict[str, _Prepared] = {}
        self._permits: dict[str, Permit] = {}
        self._model = model
        self.tools = {tool.name: tool for tool in setup.tools}
        self.jobs = setup.jobs()
        self.approval = self._gate(mode)
        self.ctx = SessionToolContext(
            setup.workspace,
            journal,
            self.record,
            limits=setup.limits,
            ask=self._asked,
            jobs=self.jobs,
            spawn=spawn,
            leave_plan=leave_plan,
            answer_page=answer_page,
            open_skill=open_skill,
            servers=setup.servers,
        )
        self.ctx.seen.update(seen_files(journal.history.entries))
        self.checkpointer = self._checkpointer()
        self.buffers = UnsavedBuffers(setup.editor, self.ctx, self.checkpointer)

    def _checkpointer(self) -> Checkpointer | None:
        """The checkpointer of the session, or its parent's."""
        setup = self._setup
        make_changes, changed = setup.changes(self._journal), setup.editor.changed if setup.editor else None
        if make_changes is None:
            return setup.checkpointer
        return Checkpointer(make_changes, self.record, self.ctx.printed.add, self.ctx.cwd, changed)

    def _gate(self, mode: Mode) -> ApprovalGate:
        setup = self._setup
        return ApprovalGate(
            traits=self.server_tools.traits,
            rules=setup.rules,
            mode=mode,
            workspace=setup.workspace,
            approve=setup.approve,
            preview=self._preview,
            save=setup.save_rules,
            repeats=RepeatGuard(setup.agent.repeat_limit),
            notice=lambda text: self.ctx.printed.add(Noticed(text)),
            later=self._later,
            request=self._request,
        )

    @property
    def nested_instructions(self) -> Sequence[str]:
        """The instruction files that results in the view have brought."""
        return self._nested.in_view() if self._nested is not None else ()

    @property
    def printed(self) -> PrintedEvents:
        """Events of running tools: their output, and warnings."""
        return self.ctx.printed

    def prepared(self, call: ToolCall) -> ToolCall:
        """The call of the newest reply that is decided about, shown and run: with the name of its tool, its input mended."""
        prepared = self._prepared.get(call.call_id)
        return prepared.call if prepared is not None else call

    async def find(self, call: ToolCall) -> Tool | str:
        """The tool that a call means, or the reason why there is none."""
        if call.name == CALL:
            return await self.server_tools.no_server_tool(call.input)
        if (tool := self.tools.get(call.name)) is not None:
            return tool
        if call.name.startswith(PREFIX) or call.name in (SEARCH, CALL):
            return await self.server_tools.find(call.name)
        return no_tool(call.name, self.tools)

    async def permit(self, call: ToolCall, tool: Tool) -> Permit:
        """Decide about one call, after the hooks; a permission holds for this call only."""
        judged = await self.hooks.pre_tool(call)
        self._report(judged)
        if judged.verdict.context:
            self._added[call.call_id] = judged.verdict.context
        if judged.verdict.input is not None:
            call = replace(call, input=dict(judged.verdict.input))
        permit = await self.approval.permit(call, tool, opinion_of(judged))
        self._permits[permit.call.call_id] = permit
        return permit

    async def run(self, tool: Tool, call_id: str, given: Mapping[str, Any]) -> ToolOutput:
        """Run a tool on the path that was allowed, after a checkpoint of the files that it may change."""
        permit = self._permits[call_id]
        harmless = permit.event is not None and permit.event.rule == "read-only"
        sandbox = self._sandbox(permit, harmless) if tool.traits.effect == "run" else NO_SANDBOX
        ctx = self.ctx.for_call(permit.path, sandbox)
        numbers = ctx.limits.line_numbers
        ctx.line_numbers = self._model().line_numbers if numbers == "auto" else numbers
        ctx.variables = self.hooks.variables
        if tool.traits.edits_files:
            await self.buffers.save(tool, permit.path, given)
        elif tool.traits.reads_files and permit.path is not None:
            ctx.buffers = await self.buffers.contents([permit.path])
        if self.checkpointer is None:
            output = await self._setup.run(tool, ctx, call_id, given)
        else:
            output = await self.checkpointer.run(self._setup.run, tool, ctx, call_id, given, harmless=harmless)
        if tool.name == SEARCH and self._setup.defers(self._model()):
            output = self.server_tools.loading(output, self._journal.history)
        prepared = self._prepared.get(call_id)
        return with_ignored(output, prepared.ignored) if prepared is not None else output

    async def _preview(self, tool: Tool, given: Mapping[str, Any], path: Path | None) -> str:
        ctx = self.ctx.for_call(path)
        if tool.traits.edits_files:
            ctx.buffers = await self.buffers.for_edit(path)
        return tool.preview(ctx, given)

    def with_context(self, result: ToolResult) -> ToolResult:
        """The result with the text that hooks had for the model before the call."""
        added = self._added.pop(result.call_id, "")
        output = f"{result.output}\n{wrap('pre-tool-use-hook', added)}".lstrip("\n")
        return replace(result, output=output) if added else result

    async def finished(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """The result of a call after its hooks; an interrupt ends them and leaves the result unchanged."""
        result = self.with_context(result)
        if self._nested is not None and (permit := self._permits.get(call.call_id)) is not None:
            result = self._nested.added(result, permit.path, self._traits_of(call))
            result = self.nested_skills.noted(result, permit.path, self._traits_of(call))
        if result.status == "interrupted":
            return result
        try:
            outcome = await self.hooks.post_tool(call, result)
        except asyncio.CancelledError:
            return result
        self._report(outcome)
        return with_hook_output(result, outcome)

    def _report(self, outcome: Outcome) -> None:
        """Show the messages of hooks to the person, and note if one ends the turn."""
        for event in outcome.events:
            self.printed.add(event)
        if outcome.verdict.ends:
            self.ended_by_hook = outcome.verdict.stop_reason or outcome.verdict.reason or "A hook ended the turn."

    async def _request(self, ask: ApprovalRequest) -> tuple[Opinion, Mapping[str, Any] | None]:
        """The answer of hooks in place of the person; if they give none, the person is notified."""
        outcome = await self.hooks.permission(ask.call, ask.session, ask.always)
        self._report(outcome)
        if outcome.verdict.answer not in ("allow", "deny") and self._setup.attended:
            self.hooks.notify(f"agentcli needs your permission to use {ask.call.name}", "permission_prompt")
        return opinion_of(outcome), outcome.verdict.input

    async def _asked(self, questions: Sequence[Question]) -> Sequence[str] | None:
        """The answers of the person, who is notified of the questions."""
        if self._setup.attended:
            self.hooks.notify("agentcli has a question for you", "permission_prompt")
        return await self._setup.ask(questions)

    def _later(self, call: ToolCall) -> Sequence[tuple[ToolCall, Tool]]:
        """The calls of the same reply that come after this one."""
        ids, tools = list(self._prepared), {**self.server_tools.found, **self.tools}
        after = ids[ids.index(call.call_id) + 1 :] if call.call_id in ids else []
        calls = [self._prepared[id].call for id in after]
        return [(later, tools[later.name]) for later in calls if later.name in tools]

    def news(self) -> Sequence[str]:
        """Notices of events outside of the conversation: background jobs that have ended."""
        return [
            f"Background job {job.id} ({job.command}) has ended: {job.state}. bash_output shows what it printed."
            for job in self.jobs.finished()
        ] + [*self.server_tools.changes()]

    def _sandbox(self, permit: Permit, harmless: bool) -> CommandSandbox:
        """The sandbox of a command in the present mode.

        One that is allowed because it only reads gets the hardened environment, and the sandbox of a reader unless all that it
        looks at is the machine.
        """
        sandboxes = self._setup.sandboxes(self.approval.mode)
        if permit.records:
            return sandboxes.recorder
        if not harmless or sandboxes.reader is None or permit.machine == "only":
            return replace(sandboxes.decided, hardened=harmless)
        return CommandSandbox(sandboxes.reader, hardened=True, note=_BLIND if permit.machine else "")

    def _named(self, part: Part) -> Part:
        known = (*self.tools, *self.server_tools.names)
        return replace(part, name=own_name(part.name, known)) if isinstance(part, ToolCall) else part

    def _prepare(self, sent: ToolCall) -> _Prepared:
        call = effective(sent)
        tool = self.tools.get(call.name)
        if tool is None:
            return _Prepared(call, sent.name)
        meant = mended(tool, call.input, self.ctx.cwd)
        return _Prepared(replace(call, input=meant.input), sent.name, meant.ignored)

    def _traits_of(self, call: ToolCall) -> Traits:
        return self.server_tools.traits.get(call.name, UNKNOWN)

    def record(self, body: Body) -> Recorded:
        """Append to the session. The calls of a reply get the names of our tools and are prepared to run."""
        match body:
            case Message() if body.calls:
                body = replace(body, parts=tuple(map(self._named, body.parts)))
                self._permits = {}
                self._prepared = {call.call_id: self._prepare(call) for call in body.calls}
            case Message():
                self.ctx.seen.update(seen_in(body))
            case ToolResult() if prepared := self._prepared.get(body.call_id):
                if not self._traits_of(prepared.call).polls:
                    self.approval.repeats.note(prepared.call, body)
                if prepared.sent_as != body.name:
                    # The record answers the call that the model made; everybody else is told which tool it was.
                    body = replace(body, name=prepared.sent_as, metadata={**body.metadata, TOOL: body.name})
            case _:
                pass
        return Recorded(self._journal.append(body))
