"""Parts of a session: its own, which offer services to tools, and its features' parts; and what all return together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

from agentcli.agent.calls.execute import CallStages
from agentcli.agent.calls.way import way_of_calls
from agentcli.agent.core import OpenChild, SessionCore
from agentcli.agent.ending import Ending
from agentcli.agent.feature import SessionPart
from agentcli.agent.instructions import Standing, nested_of
from agentcli.agent.ports import FoundTools, Prompt, SessionPromptFiles
from agentcli.agent.repeats import RepeatGuard
from agentcli.agent.tool_context import offer
from agentcli.context.inject import wrap
from agentcli.context.settings import NATIVE, PROVIDER
from agentcli.core.errors import AgentError
from agentcli.core.event import Emit, Event, Noticed, UsageReported
from agentcli.core.journal import SessionText
from agentcli.core.message import Message, Usage, reminder
from agentcli.core.model import ToolSchema
from agentcli.core.record import Settings, Todo, TodoItem
from agentcli.core.sanitise import safe_line
from agentcli.core.subagent_result import spending
from agentcli.core.tasks import start_task
from agentcli.core.tool import ToolOutput
from agentcli.resources import prompt
from agentcli.tools.ask_user import Answers
from agentcli.tools.exit_plan import Planning
from agentcli.tools.jobs import Jobs
from agentcli.tools.seen_files import SeenFiles
from agentcli.tools.task import Delegates, Delegation
from agentcli.tools.todo import TodoList
from agentcli.tools.web_fetch import PageAnswer, Reader

if TYPE_CHECKING:
    from agentcli.agent.delegation.subagents import Subagents

PAGE_SHOWN = 200_000
"""Maximum characters of a page that the model sees: its beginning and its end."""
TOKEN_CHARACTERS = 3
"""Minimum characters of a token: limits how much of a page is sent to a model with a small window."""
PAGE_REPLY = 2_000
"""Tokens that it may answer with."""


def todo_list(core: SessionCore) -> TodoList:
    """Return the todo list of a session: a fold of its records."""

    def replaced(items: Sequence[TodoItem]) -> None:
        core.printed.add(core.record(Todo(tuple(items))))

    return TodoList(lambda: core.journal.history.todo, replaced)


def planning(core: SessionCore) -> Planning:
    """Return the end of a session's plan mode, for the mode that the person chose with the approval."""
    approval = core.approval

    def leave() -> bool:
        if approval.mode != "plan":
            return False
        approval.mode = approval.after_plan
        core.record(Settings("", approval.mode))
        return True

    return Planning(leave, lambda: approval.compacts_plan)


async def answer_about(core: SessionCore, question: str, page: str) -> PageAnswer:
    """Return a small model's answer about a page, or why it failed; its usage is printed as an event.

    Raises no AgentError, because the page itself can still be read.
    """
    from agentcli.agent.compaction.summariser import Summariser
    from agentcli.core.text.truncate import truncate_middle

    seconds = core.setup.settings.limits.fetch_answer_seconds
    try:
        model = core.setup.models.summariser(core.model)
    except AgentError as error:
        return PageAnswer(trouble=str(error))
    summariser = Summariser(model, calls=1, longest=PAGE_REPLY)
    excerpt = truncate_middle(page, max(1, min(PAGE_SHOWN, summariser.room * TOKEN_CHARACTERS)))
    text = f"{wrap('page', excerpt)}\n{wrap('question', question)}"
    forbidden = await core.objection(model.spec, len(text) // TOKEN_CHARACTERS)
    if forbidden:
        return PageAnswer(trouble=forbidden)
    request = replace(summariser.request([prompt("page.md")], text), options={"thinking": False})
    answer = trouble = ""
    try:
        async with asyncio.timeout(seconds):
            answer = await summariser.ask(request)
    except TimeoutError:
        trouble = f"{model.spec.name} took longer than {seconds:g} s."
    except AgentError as error:
        trouble = str(error)
    for event in summariser.news():
        core.printed.add(replace(event, kind="page") if isinstance(event, UsageReported) else event)
    spent = spending(model.spec.name, summariser.usage, summariser.cost, "pages") if summariser.usage != Usage() else {}
    return PageAnswer(answer.strip(), trouble, model.spec.name, spent)


MakePart = Callable[[SessionCore], SessionPart | None]
"""Makes a session part once the core is complete; None if the feature adds nothing to this session."""


class SessionParts:
    """All parts of one session, in the order of their reminders and notices, with the way of its calls."""

    def __init__(self, core: SessionCore, open_child: OpenChild, features: Sequence[MakePart]) -> None:
        setup = core.setup
        more = [part for make in features if (part := make(core)) is not None]
        self.found = next((part.found for part in more if part.found is not None), None) or FoundTools(core.traits)
        self.instructions, self.nested = Standing(setup, core.journal), nested_of(core)
        repeats, ending = RepeatGuard(setup.settings.agent.repeat_limit, alone=setup.alone), Ending(core)
        stages = [stage for part in more for stage in part.stages]
        self.way: CallStages = way_of_calls(core, self.found, repeats, self.nested, ending, stages)
        own = [repeats, BackgroundJobs(core.jobs), self.instructions, ending, *_context_editing(core)]
        core.ctx.add(
            [
                offer(CallStages, self.way),
                offer(Jobs, core.jobs),
                offer(SeenFiles, core.seen),
                offer(TodoList, todo_list(core)),
                offer(SessionText, SessionText(core.journal)),
                offer(Answers, Answers(setup.person.ask)),
                offer(Planning, planning(core)),
                offer(Reader, Reader(partial(answer_about, core))),
                *(service for part in more for service in part.services),
            ]
        )
        self.prompt_files = core.ctx.service(SessionPromptFiles) or SessionPromptFiles()
        subagents = SubagentsPart(core, self.prompt_files, open_child)
        core.ctx.add(subagents.services)
        self.all: Sequence[SessionPart] = (*own, *more, subagents)

    @property
    def upfront(self) -> Sequence[ToolSchema]:
        """Tools that a new session lists in addition to those of every session."""
        return (*self.found.upfront(), *(tool for part in self.all for tool in part.upfront()))

    @property
    def nested_files(self) -> Sequence[str]:
        """Paths of the instruction files in results in the view."""
        return self.nested.in_view() if self.nested is not None else ()


class BackgroundJobs(SessionPart):
    """The news of background commands and subagents; some begin a turn by themselves."""

    name = "jobs"

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs

    def news(self) -> Sequence[str]:
        return self._jobs.news()

    async def background(self) -> bool:
        return await self._jobs.wait_for_awaited()

    def goes_on(self) -> bool:
        return bool(self._jobs.running())

    def is_due(self) -> bool:
        return bool(self._jobs.waking())

    async def due(self, interrupt: asyncio.Event, emit: Emit) -> Prompt | None:
        """Return the prompt with the news of jobs, after a notice of what woke the model."""
        reasons = "; ".join(self._jobs.waking())
        if not (texts := self._jobs.news()):
            return None
        await emit(Noticed(safe_line(f"Woken by {reasons}")))
        return Prompt("", tuple(map(reminder, texts)), typed=False)

    def closed(self) -> None:
        self._jobs.abandon()


class SubagentsPart(SessionPart):
    """The subagents of a session. What runs them is imported with the first one, or if the session was open before."""

    name = "subagents"

    def __init__(self, core: SessionCore, prompt_files: SessionPromptFiles, open_child: OpenChild) -> None:
        self._core, self._prompt_files, self._open_child = core, prompt_files, open_child
        self.services = [offer(Delegates, Delegates(self.delegate))]

    @cached_property
    def _all(self) -> Subagents:
        from agentcli.agent.delegation.subagents import Subagents

        found = Subagents(self._core, self._prompt_files, self._open_child)
        if not self._sent_before:
            found.unfinished = ()
        return found

    async def delegate(self, call_id: str, work: Delegation) -> ToolOutput:
        """Run a subagent, as `Subagents` describes it."""
        return await self._all.delegate(call_id, work)

    def notices(self) -> Iterable[Event]:
        return self._all.notices() if self._sent_before else ()

    async def fact(self) -> str:
        return self._all.reminder() if self._sent_before else ""

    @cached_property
    def _sent_before(self) -> bool:
        """True if a call of the session as it was opened sent a subagent."""
        sent = {name for name, traits in self._core.setup.tools.traits.items() if traits.behaviour.delegates}
        messages = (entry.body for entry in self._core.journal.history.entries if entry.seq <= self._core.opened_at)
        return any(call.name in sent for body in messages if isinstance(body, Message) for call in body.calls)


def _context_editing(core: SessionCore) -> Iterator[SessionPart]:
    """Yield the part for context editing, if the policy requires it.

    An earlier policy may also have required it, if the session was open before.
    """
    if core.builder.settings.policy in (NATIVE, PROVIDER) or core.opened_at:
        from agentcli.agent.compaction.context_editing import ContextEditing

        yield ContextEditing(core.builder, core.record)


@contextmanager
def watching(parts: Sequence[SessionPart], emit: Emit) -> Iterator[Emit]:
    """Enter a turn, and return a function that emits its events after the watching parts have seen them."""
    with ExitStack() as stack:
        watches = [watch for part in parts if (watch := part.watch()) is not None]
        seeing = [stack.enter_context(watch) for watch in watches]

        async def watched(event: Event) -> None:
            for see in seeing:
                see(event)
            await emit(event)

        yield watched if seeing else emit


async def wait_for_background(parts: Sequence[SessionPart]) -> bool:
    """Wait for the first news of background work. Return False if none can come."""
    waiting = [start_task(part.background()) for part in parts]
    try:
        for each in asyncio.as_completed(waiting):
            if await each:
                return True
        return False
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
