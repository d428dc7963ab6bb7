"""Titles of sessions, written by the cheap model."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from agentcli.agent.compaction.summariser import Summariser
from agentcli.core.errors import AgentError
from agentcli.core.event import UsageReported
from agentcli.core.history import History
from agentcli.core.message import Message, Text
from agentcli.core.model import Model, ModelSpec
from agentcli.core.record import Title
from agentcli.resources import prompt
from agentcli.sessions.info import first_title

SHOWN = 2_000
"""Characters of the prompt, and of the answer, that the model sees."""
REPLY = 400
"""Tokens for its answer: a title is short, but some models think first."""

_log = logging.getLogger(__name__)


class TitleWriter:
    """Writes a session's title, once, if titles are on and there is a cheap model."""

    def __init__(self, summariser: Callable[[ModelSpec], Model], enabled: bool) -> None:
        self._summariser, self._enabled = summariser, enabled

    async def write(
        self, history: History, main: ModelSpec, context: int
    ) -> tuple[Title, Sequence[UsageReported]] | None:
        """Request the title and return it with its cost; None if none is wanted or there is no cheap model.

        `context`: tokens in the window.
        """
        if not self._enabled or not wanted(history):
            return None
        self._enabled = False
        try:
            model = self._summariser(main)
        except AgentError:
            return None  # for example without a key for it: the first words of the prompt are a title, too
        return await improved(history, model, context) if is_cheap(model.spec, main) else None


def wanted(history: History) -> bool:
    """Return True if a prompt was answered and the session has no title or name yet."""
    last = history.entries[-1].body if history.entries else None
    answered = isinstance(last, Message) and last.role == "assistant" and not last.calls and _speaks(last)
    return answered and not history.title and not history.name


def is_cheap(model: ModelSpec, main: ModelSpec) -> bool:
    """Return True if a model may write titles: another than the session's, or the cheap one of its family."""
    return model.name == main.summary_model or model.name != main.name


async def improved(history: History, model: Model, context: int) -> tuple[Title, Sequence[UsageReported]]:
    """Return the title to record, empty if the model gave none, with its cost. `context` is the number of tokens in the
    window.

    If the model fails with an AgentError, there is no title: that is not worth a message.
    """
    summariser, text = Summariser(model, calls=1, context=context, longest=REPLY), ""
    request = replace(summariser.request([prompt("title.md")], _beginning(history)), options={"thinking": False})
    try:
        text = await summariser.ask(request)
    except AgentError as error:
        _log.info("no better title: %s", error)
    title = Title(cleaned(text), model=model.spec.name, usage=summariser.usage, cost=summariser.cost)
    spent = [replace(event, kind="title") for event in summariser.events if isinstance(event, UsageReported)]
    return title, spent


def cleaned(text: str) -> str:
    """Return the model's answer as a title: one line, without the quotes that models put around it."""
    line = next((line for line in text.splitlines() if line.strip("#*`\"'“”„«» \t")), "")
    line = line.strip("#*`\"'“”„«» \t").removeprefix("Title:").strip("*`\"'“”„«» \t").rstrip(".")
    return first_title(Message("assistant", (Text(line),)))


def _beginning(history: History) -> str:
    messages = [entry.body for entry in history.entries if isinstance(entry.body, Message) and _speaks(entry.body)]
    asked = next((message.text for message in messages if message.role == "user"), "")
    answer = next((message.text for message in reversed(messages) if message.role == "assistant"), "")
    return f"<asked>\n{asked[:SHOWN]}\n</asked>\n<answered>\n{answer[-SHOWN:]}\n</answered>\nThe title:"


def _speaks(message: Message) -> bool:
    """Return True if a message has words. Its text is not stripped: a long one would be copied."""
    return re.search(r"\S", message.text) is not None
