"""The tools of one open session: what may run, in which surroundings, and the way back from it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from agentcli.agent.cover import Cover
from agentcli.agent.execute import Kit, Permit
from agentcli.agent.outfit import Outfit
from agentcli.agent.permit import Gate, Repeats
from agentcli.agent.workplace import SessionWorkplace
from agentcli.core.event import Recorded
from agentcli.core.journal import Journal
from agentcli.core.message import Message, ToolCall, ToolResult
from agentcli.core.record import Body, Mode
from agentcli.core.tool import Outcome, Tool, Workplace
from agentcli.tools.task import Delegate
from agentcli.tools.web_fetch import Answerer

_BLIND = (
    "[it ran in a read-only sandbox, which shows no processes, mounts and network but its own: "
    "run what looks at those in a command that names no files]"
)


class Hands:
    """What the loop's calls go through. `leave_plan` is told when the person has approved a plan, `delegate` runs a subagent,
    `answer` asks about a page.
    """

    def __init__(
        self,
        journal: Journal,
        outfit: Outfit,
        mode: Mode,
        leave_plan: Callable[[str], Awaitable[None]],
        delegate: Delegate,
        answer: Answerer,
    ) -> None:
        self._journal = journal
        self._outfit = outfit
        self._leave_plan = leave_plan
        self._delegate = delegate
        self._answer = answer
        self._calls: dict[str, ToolCall] = {}
        self._permits: dict[str, Permit] = {}
        self.jobs = outfit.jobs()
        self.gate = Gate(
            rules=outfit.rules,
            mode=mode,
            place=outfit.place,
            approve=outfit.approve,
            preview=lambda tool, given, path: outfit.preview(self.work.judged(path), tool, given),
            save=outfit.save_rule,
            repeats=Repeats(outfit.agent.repeat_limit),
            later=self._later,
        )
        self.work = self._workplace()
        makes = outfit.changes(journal)
        self.cover = Cover(makes, self.record, self.work.printed.put_nowait, self.work.cwd) if makes else outfit.cover

    @property
    def kit(self) -> Kit:
        """The same, as the loop wants it."""
        tools = {tool.name: tool for tool in self._outfit.tools}
        return Kit(tools, self.work, self.run, self.permit, self.record, self.work.printed)

    async def permit(self, call: ToolCall, tool: Tool) -> Permit:
        """The gate's decision; what it allows holds for this one call."""
        permit = await self.gate.permit(call, tool)
        self._permits[permit.call.call_id] = permit
        return permit

    async def run(self, tool: Tool, work: Workplace, call_id: str, given: Mapping[str, Any]) -> Outcome:
        """Run a tool at the path that it was allowed for, the states of the files that it may change taken before."""
        permit = self._permits[call_id]
        harmless = permit.event is not None and permit.event.rule == "read-only"
        self.work.options = self._options(permit if harmless else None)
        work = self.work.judged(permit.path)
        if self.cover is None:
            return await self._outfit.run(tool, work, call_id, given)
        return await self.cover.run(self._outfit.run, tool, work, call_id, given, harmless=harmless)

    def _later(self, call: ToolCall) -> Sequence[tuple[ToolCall, Tool]]:
        """The calls of the same reply that come after this one."""
        calls, tools = list(self._calls), {tool.name: tool for tool in self._outfit.tools}
        after = calls[calls.index(call.call_id) + 1 :] if call.call_id in calls else []
        return [(self._calls[each], tools[self._calls[each].name]) for each in after if self._calls[each].name in tools]

    def news(self) -> Sequence[str]:
        """What has happened outside of the conversation: background jobs that have ended."""
        return [
            f"Background job {job.id} ({job.command}) has ended: {job.state}. bash_output shows what it printed."
            for job in self.jobs.finished()
        ]

    def _options(self, reader: Permit | None = None) -> Mapping[str, Any]:
        """Settings of single tools as they are now; for `reader`, a call that is allowed because it only reads, those of a reader.

        Such a command gets the hardened environment, and the box of a reader unless all that it looks at is the machine.
        """
        given = self._outfit.tool_options(self.gate.mode)
        bash = {key: value for key, value in given.get("bash", {}).items() if key != "reader"}
        if reader is not None and reader.machine != "only" and "reader" in given.get("bash", {}):
            bash = {"wrap": given["bash"]["reader"], "note": _BLIND if reader.machine else ""}
        bash["hardened"] = reader is not None
        fetch = {**given.get("web_fetch", {}), "answer": self._answer}
        own = {
            "bash": bash,
            "web_fetch": fetch,
            "jobs": self.jobs,
            "exit_plan": self._leave_plan,
            "task": self._delegate,
        }
        return {**given, **own}

    def _workplace(self) -> SessionWorkplace:
        place = self._outfit.place
        return SessionWorkplace(
            place.cwd,
            place.workspace,
            self._journal,
            self.record,
            limits=self._outfit.limits,
            options=self._options(),
            ask=self._outfit.ask,
        )

    def record(self, body: Body) -> Recorded:
        match body:
            case Message():
                if body.calls:
                    self._calls, self._permits = {call.call_id: call for call in body.calls}, {}
            case ToolResult() if call := self._calls.get(body.call_id):
                self.gate.repeats.note(call, body)
            case _:
                pass
        return Recorded(self._journal.append(body))
