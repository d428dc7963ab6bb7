"""One turn: the user says something, the model works until it is done. The whole agent, on one screen."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator

from agentcli.agent.conversation import Conversation
from agentcli.agent.execute import NOT_RUN, execute
from agentcli.agent.ports import Prompt
from agentcli.agent.reply import ReplyBuilder
from agentcli.agent.streams import merge
from agentcli.agent.unfinished import Defect, at_last, defect, not_run
from agentcli.core.errors import AgentError, ContextError, LimitReached, ModelError
from agentcli.core.event import CallDelta, Event, ReplyRestarted, Retrying, TextDelta, ThinkingDelta, TurnEnded, Warned
from agentcli.core.record import Retry


async def turn(talk: Conversation, prompt: Prompt, interrupt: asyncio.Event) -> AsyncIterator[Event]:
    """Answer a prompt. Ends with exactly one TurnEnded, whatever happens; after it the history is valid and saved."""
    try:
        async for event in _work(talk, prompt, interrupt):
            yield event
    except AgentError as error:
        yield talk.failed(error)
        yield TurnEnded("limit" if isinstance(error, LimitReached) else "failed", error=error, steps=talk.steps)


async def _work(talk: Conversation, prompt: Prompt, interrupt: asyncio.Event) -> AsyncIterator[Event]:
    for event in talk.begin(prompt):
        yield event
    asked_again: Counter[Defect] = Counter()
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
        async for event in execute(draft.calls, talk.hands, interrupt):
            yield event
        for event in talk.answer_open_calls(NOT_RUN if interrupt.is_set() else not_run(draft)):
            yield event
        if interrupt.is_set():
            yield TurnEnded("interrupted", text=draft.text, steps=talk.steps)
            return
        flaw = defect(draft, talk.settings.max_pauses)
        if flaw is None or talk.steered:
            asked_again.clear()
        if flaw is None and not (draft.calls or talk.steered):
            yield TurnEnded("done", text=draft.text, steps=talk.steps)
            return
        if flaw is not None and asked_again[flaw] == flaw.again:
            error = at_last(flaw, draft)
            yield talk.failed(error)
            yield TurnEnded(flaw.ending, text=draft.text, error=error, steps=talk.steps)
            return
        if flaw is not None:
            asked_again[flaw] += 1
            if flaw.reminder:
                yield talk.remind(flaw.reminder)


class Reply:
    """Where a request leaves what came of it: an async generator cannot return a value."""

    draft: ReplyBuilder = ReplyBuilder()


async def _ask(talk: Conversation, reply: Reply, interrupt: asyncio.Event) -> AsyncIterator[Event]:
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
                    before = talk.builder.window().tokens
                    async for event in talk.overflow(interrupt):
                        yield event
                    if talk.builder.window().tokens >= before:
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


async def _stream(talk: Conversation, reply: Reply, interrupt: asyncio.Event) -> AsyncIterator[Event]:
    """Send the request as it is now. What arrives is recorded, also when the stream breaks off or is interrupted."""
    draft, failure = ReplyBuilder(), None
    async for event in talk.hold_back(interrupt):
        yield event
    try:
        async for step in merge(talk.model.stream(talk.builder.request()), until=interrupt):
            draft = draft.add(step)
            talk.journal.stream(draft.so_far)
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
    if failure is not None and talk.can_fall_back(failure):
        # The other model answers from the beginning: half an answer of this one would stand before it.
        yield ReplyRestarted()
        draft = ReplyBuilder(usage=draft.usage)
    reply.draft = draft
    for event in talk.received(draft, failure):
        yield event
    if failure is not None:
        raise failure
