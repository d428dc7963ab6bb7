"""The features of a session, in one list: what each adds to its calls, prompts and notices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from agentcli.agent.approval import no_hooks
from agentcli.agent.calls.execute import CallStages
from agentcli.agent.calls.hooks import HookStage
from agentcli.agent.calls.stages import (
    ApprovalStage,
    BufferStage,
    CheckpointStage,
    Finish,
    NestedStage,
    NothingFound,
    Prepare,
    SandboxStage,
)
from agentcli.agent.compaction.context_editing import ContextEditing
from agentcli.agent.core import SessionCore
from agentcli.agent.delegation.subagents import OpenChild, Subagents
from agentcli.agent.ending import ending_of
from agentcli.agent.feature import FeatureList, MakeFeature, SessionFeature
from agentcli.agent.instructions import Standing, nested_of
from agentcli.agent.page_questions import PageReader
from agentcli.agent.plan_mode import PlanMode
from agentcli.agent.ports import NoExtensions, PromptExtensions
from agentcli.agent.repeats import RepeatGuard, RepeatStage
from agentcli.agent.tool_context import SessionPassages, SessionTodo, offer
from agentcli.agent.working_folder import FolderStage
from agentcli.core.message import ToolResult
from agentcli.tools.ask_user import Answers
from agentcli.tools.exit_plan import Planning
from agentcli.tools.jobs import Jobs
from agentcli.tools.lib.seen_files import SeenFiles
from agentcli.tools.recall import SessionText
from agentcli.tools.todo import TodoList
from agentcli.tools.web_fetch import Reader


class Features(FeatureList):
    """The features of one session. Stages, reminders and notices come in the order of `all`.

    The ones that need one another are made here, in the order in which calls pass their stages; `more` makes the others,
    whose stages come last: their calls were allowed, and `around` wraps the running tool directly.
    """

    def __init__(self, core: SessionCore, open_child: OpenChild, more: Sequence[MakeFeature]) -> None:
        setup, journal = core.setup, core.journal
        made = [one for make in more if (one := make(core)) is not None]
        self.found = next((one.found for one in made if one.found is not None), None) or NothingFound(core.traits)
        self.instructions = Standing(setup, journal)
        self.nested = nested_of(core)
        prepare = Prepare(
            {tool.name: tool for tool in setup.tools.offered},
            self.found,
            setup.workspace.cwd,
            lambda: [raw["name"] for raw in journal.history.tools],
            lambda: journal.history.todo,
            lambda: core.folder.now,
            lambda: setup.workspace.tmp if core.approval.mode == "auto" else None,
        )
        repeats = RepeatGuard(setup.settings.agent.repeat_limit, alone=setup.alone)
        finish = Finish(core.record, repeats, prepare)
        with_stages = [*self._with_stages(core, prepare, finish, repeats), *made]
        stages = CallStages(core, prepare, finish, [*chain.from_iterable(one.stages for one in with_stages)])
        core.ctx.add([offer(CallStages, stages), *chain.from_iterable(one.services for one in with_stages)])
        self.extensions = core.ctx.service(PromptExtensions) or NoExtensions()
        delegating = Subagents(core, self.extensions, open_child).feature
        core.ctx.add(delegating.services)
        super().__init__([*with_stages, delegating], stages)

    def _with_stages(
        self, core: SessionCore, prepare: Prepare, finish: Finish, repeats: RepeatGuard
    ) -> Iterator[SessionFeature]:
        setup = core.setup
        hooks = HookStage(core.hooks, core.printed, setup.person.attended) if core.hooks.hooks else None
        ask_hooks = hooks.request if hooks is not None else no_hooks
        nested = [NestedStage(self.nested, prepare)] if self.nested is not None else []
        editing = ContextEditing(core.builder, core.record)
        yield SessionFeature("tools", (prepare,))
        yield self._repeats(core, repeats)
        yield SessionFeature(
            "jobs",
            services=[offer(Jobs, core.jobs)],
            news=core.jobs.news,
            background=core.jobs.wait_for_awaited,
            closed=core.jobs.abandon,
        )
        yield SessionFeature("folder of commands", (FolderStage(core.folder),))
        yield SessionFeature("hooks", [hooks] if hooks is not None else (), closed=core.hooks.close)
        yield SessionFeature("approval", (ApprovalStage(core.approval, prepare, ask_hooks),))
        yield SessionFeature("instructions", nested, fact=self.instructions.changed)
        yield SessionFeature("results", (finish,))
        yield SessionFeature("sandbox", (SandboxStage(setup, core.approval),))
        yield SessionFeature("buffers", [BufferStage(core.buffers)] if setup.person.editor is not None else ())
        yield SessionFeature(
            "checkpoints", [CheckpointStage(core.checkpointer)] if core.checkpointer is not None else ()
        )
        yield ending_of(core)
        yield SessionFeature("files", services=[offer(SeenFiles, core.seen)])
        yield SessionFeature("todo", services=[offer(TodoList, SessionTodo(core.journal, core.record, core.printed))])
        yield SessionFeature("recall", services=[offer(SessionText, SessionPassages(core.journal))])
        yield SessionFeature("questions", services=[offer(Answers, setup.person)])
        yield SessionFeature("plan mode", services=[offer(Planning, PlanMode(core))])
        yield SessionFeature("web", services=[offer(Reader, PageReader(core))])
        yield editing.feature(core.opened_at)

    def _repeats(self, core: SessionCore, guard: RepeatGuard) -> SessionFeature:
        def in_view(call_id: str) -> bool:
            """Return True if the model still sees the result of a call."""
            history = core.journal.history
            entries = (entry.body for entry in reversed(history.entries))
            shown = any(isinstance(body, ToolResult) and body.call_id == call_id for body in entries)
            return shown and call_id not in history.cleared

        return SessionFeature("repeats", (RepeatStage(guard, in_view),), prompted=guard.begin, answered=guard.check)
