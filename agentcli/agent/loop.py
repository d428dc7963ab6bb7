"""One turn: the user says something, the model works until it is done. The whole agent, on one screen."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator

from agentcli.agent.draft import Draft
from agentcli.agent.execute import NOT_RUN, execute
from agentcli.agent.merge import merge
from agentcli.agent.ports import Prompt
from agentcli.agent.talk import Talk
from agentcli.core.errors import AgentError, ContextError, LimitReached, ModelError
from agentcli.core.event import (
    CallDelta,
    Event,
    Noticed,
    ReplyRestarted,
    Retrying,
    TextDelta,
    ThinkingDelta,
    TurnEnded,
    Warned,
)
from agentcli.core.message import ToolCall
from agentcli.core.record import Retry

EMPTY = "Your last reply was empty. Go on with the task, or say in a sentence why it is finished."
CUT = (
    "Your reply reached the output limit: what was unfinished, a tool call included, is lost. Go on in smaller pieces."
)
MALFORMED = "Your last tool call was malformed and did not run. Send it again with valid arguments."
NOT_WHOLE = "Not run: the reply that asked for it did not end as it should have."
UNKNOWN = "Your last reply ended for an unknown reason, so its tool calls did not run. Send them again if they are still wanted."
REMINDERS = {EMPTY: 1, CUT: 3, MALFORMED: 1, UNKNOWN: 1}
"""What the model is told after a reply that cannot stand, and how often in one turn."""


async def turn(talk: Talk, prompt: Prompt, interrupt: asyncio.Event) -> AsyncIterator[Event]:
    """Answer a prompt. Ends with exactly one TurnEnded, whatever happens; after it the history is valid and saved."""
    try:
        async for event in _work(talk, prompt, interrupt):
            yield event
    except AgentError as error:
        yield talk.failed(error)
        yield TurnEnded("limit" if isinstance(error, LimitReached) else "failed", error=error, steps=talk.steps)


async def _work(talk: Talk, prompt: Prompt, interrupt: asyncio.Event) -> AsyncIterator[Event]:
    for event in talk.begin(prompt):
        yield event
    reminded: Counter[str] = Counter()
    while True:
        talk.allow_step()
        for event in talk.take_steering():
            yield event
        async for event in talk.make_room(interrupt):
            yield event
        reply = Reply()
        async for event in _ask(talk, reply, interrupt):
            yield event
        draft = reply.draft
        async for event in execute(draft.calls, talk.kit, interrupt):
            yield event
        for event in talk.answer_open_calls(NOT_RUN if interrupt.is_set() else NOT_WHOLE):
            yield event
        if interrupt.is_set():
            yield TurnEnded("interrupted", text=draft.text, steps=talk.steps)
            return
        reminder = _reminder(draft)
        if reminder and reminded[reminder] < REMINDERS[reminder]:
            reminded[reminder] += 1
            yield talk.remind(reminder)
        elif draft.stop == "refusal":
            yield Noticed(f"The model refused to go on. {draft.detail}".rstrip() + " Rephrase the request.")
            yield TurnEnded("refused", text=draft.text, steps=talk.steps)
            return
        elif not (draft.calls or talk.steered or draft.stop == "pause"):
            if reminder:
                yield Noticed("The model stopped without a whole answer. Say what it should do next.")
            yield TurnEnded("done", text=draft.text, steps=talk.steps)
            return


class Reply:
    """Where a request leaves what came of it: an async generator cannot return a value."""

    draft: Draft = Draft()


async def _ask(talk: Talk, reply: Reply, interrupt: asyncio.Event) -> AsyncIterator[Event]:
    """One request and its reply, recorded. A request that is refused is mended once in each way that may help."""
    tried: set[str] = set()
    while True:
        try:
            async for event in _stream(talk, reply, interrupt):
                yield event
            return
        except ModelError as error:
            if error.cause in tried:
                raise
            tried.add(error.cause)
            match error.cause:
                case "too_long" | "too_large":
                    before = talk.size()
                    async for event in talk.overflow(interrupt):
                        yield event
                    if talk.size() >= before:
                        why = f"{error} Nothing more can be summarised: unpin messages, or start anew with /new."
                        raise ContextError(why) from error
                case "signature" | "pairing":
                    yield talk.drop_thinking(str(error))
                case _ if talk.can_fall_back(error):
                    for notice in talk.fall_back(error):
                        yield notice
                    async for event in talk.make_room(interrupt):
                        yield event
                case _:
                    if talk.standby.trouble:
                        yield Warned(talk.standby.trouble)
                    raise


async def _stream(talk: Talk, reply: Reply, interrupt: asyncio.Event) -> AsyncIterator[Event]:
    """Send the request as it is now. What arrives is recorded, also when the stream breaks off or is interrupted."""
    draft, failure = Draft(), None
    async for event in talk.hold_back(interrupt):
        yield event
    try:
        async for step in merge(talk.model.stream(talk.request()), until=interrupt):
            draft = draft.add(step)
            talk.keeping.keep(draft)
            match step:
                case TextDelta() | ThinkingDelta() | CallDelta() | ReplyRestarted():
                    yield step
                case Retrying(attempt, delay, reason):
                    yield talk.record(Retry(attempt, delay, reason))
                    yield step
                case _:
                    pass
    except ModelError as error:
        failure = error
    finally:
        talk.keeping.stop()
    if failure is not None and talk.can_fall_back(failure):
        # The other model answers from the beginning: half an answer of this one would stand before it.
        yield ReplyRestarted()
        draft = Draft(usage=draft.usage)
    reply.draft = draft
    for event in talk.received(draft, failure):
        yield event
    if failure is not None:
        raise failure


def _reminder(draft: Draft) -> str:
    match draft.stop:
        case "malformed_call":
            return MALFORMED
        case "max_tokens" | "context_exceeded":
            return CUT
        case "refusal" | "pause":
            return ""
        case "error" if any(isinstance(part, ToolCall) for part in draft.parts):
            return UNKNOWN
        case _:
            return EMPTY if draft.empty else ""
