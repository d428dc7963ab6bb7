"""Services of a session for its tools: the list, the end of plan mode, and questions about fetched pages."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from agentcli.agent.core import SessionCore
from agentcli.context.inject import wrap
from agentcli.core.errors import AgentError
from agentcli.core.event import UsageReported
from agentcli.core.message import Usage
from agentcli.core.record import Settings, Todo, TodoItem
from agentcli.core.subagent_result import spending
from agentcli.resources import prompt
from agentcli.tools.exit_plan import Planning
from agentcli.tools.todo import TodoList
from agentcli.tools.web_fetch import PageAnswer

SHOWN = 200_000
"""Maximum characters of a page that the model sees: its beginning and its end."""
CHARACTERS = 3
"""Minimum characters of a token: limits how much of a page is sent to a model with a small window."""
REPLY = 2_000
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
    summariser = Summariser(model, calls=1, longest=REPLY)
    excerpt = truncate_middle(page, max(1, min(SHOWN, summariser.room * CHARACTERS)))
    text = f"{wrap('page', excerpt)}\n{wrap('question', question)}"
    forbidden = await core.objection(model.spec, len(text) // CHARACTERS)
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
