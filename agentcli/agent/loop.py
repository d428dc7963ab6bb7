"""One turn: the user says something, the model works until it is done. The whole agent, on one screen."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import aclosing

from agentcli.agent.conversation import Conversation
from agentcli.agent.execute import NOT_RUN, execute
from agentcli.agent.incomplete import Kind, at_last, defect, not_run
from agentcli.agent.ports import Prompt
from agentcli.agent.reply import ReplyBuilder
from agentcli.agent.streams import until_set
from agentcli.core.errors import AgentError, ContextError, HookBlocked, LimitReached, ModelError
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
from agentcli.core.record import Retry


async def turn(conversation: Conversation, prompt: Prompt, interrupt: asyncio.Event) -> AsyncIterator[Event]:
    """Answer a prompt. Ends with exactly one TurnEnded, whatever happens; after it the history is valid and saved."""
    try:
        async for event in _work(conversation, prompt, interrupt):
            yield event
    except AgentError as error:
        yield conversation.failed(error)
        for event in await conversation.hooked.stop_failed(error, interrupt):
            yield event
        yield TurnEnded("limit" if isinstance(error, LimitReached) else "failed", error=error, steps=conversation.steps)


async def _work(conversation: Conversation, prompt: Prompt, interrupt: asyncio.Event) -> AsyncIterator[Event]:
    for event in conversation.begin(prompt):
        yield event
    asked_again: Counter[Kind] = Counter()
    while True:
        conversation.allow_step()
        async for event in conversation.take_steering(interrupt):
            yield event
        async for event in conversation.make_room(interrupt):
            yield event
        box = ReplyBox()
        async for event in _ask(conversation, box, interrupt):
            yield event
        reply = box.reply
        async for event in execute(reply.calls, conversation.runner, interrupt):
            yield event
        for event in conversation.answer_open_calls(NOT_RUN if interrupt.is_set() else not_run(reply)):
            yield event
        if interrupt.is_set():
            yield TurnEnded("interrupted", text=reply.text, steps=conversation.steps)
            return
        if conversation.runner.ended_by_hook:
            raise HookBlocked(conversation.runner.ended_by_hook)
        flaw = defect(reply, conversation.settings.max_pauses)
        if flaw is None or conversation.steered:
            asked_again.clear()
        if flaw is None and not (reply.calls or conversation.steered):
            if await conversation.waited_for_background(interrupt):
                continue
            held = await conversation.hooked.stop(reply.text, interrupt)
            for event in held.events:
                yield event
            if held.verdict.blocks:
                yield conversation.remind(held.verdict.reason)
                continue
            for event in conversation.finish():
                yield event
            yield TurnEnded("done", text=reply.text, steps=conversation.steps)
            return
        if flaw is not None and asked_again[flaw.kind] == flaw.again:
            error = at_last(flaw, reply)
            yield conversation.failed(error)
            yield TurnEnded(flaw.ending, text=reply.text, error=error, steps=conversation.steps)
            return
        if flaw is not None:
            asked_again[flaw.kind] += 1
            if flaw.reminder:
                yield conversation.remind(flaw.reminder)


class ReplyBox:
    """Holder of the reply of a request: an async generator cannot return a value."""

    reply: ReplyBuilder = ReplyBuilder()


async def _ask(conversation: Conversation, box: ReplyBox, interrupt: asyncio.Event) -> AsyncIterator[Event]:
    """One request and its reply, recorded. A request that is refused is mended once in each way that may help."""
    tried: set[str] = set()
    while True:
        try:
            async for event in _stream(conversation, box, interrupt):
                yield event
            return
        except ModelError as error:
            if error.cause in tried:
                raise
            tried.add(error.cause)
            match error.cause:
                case "too_long" | "too_large":
                    before = conversation.builder.window().tokens
                    async for event in conversation.overflow(interrupt):
                        yield event
                    if conversation.builder.window().tokens >= before:
                        why = f"{error} Nothing more can be summarised: unpin messages, or go on in a new session with /handoff."
                        raise ContextError(why) from error
                case "signature" | "pairing":
                    yield conversation.drop_thinking(str(error))
                case _ if conversation.can_fall_back(error):
                    for notice in conversation.fall_back(error):
                        yield notice
                    async for event in conversation.make_room(interrupt):
                        yield event
                case _:
                    if conversation.fallback.trouble:
                        yield Warned(conversation.fallback.trouble)
                    raise


async def _stream(conversation: Conversation, box: ReplyBox, interrupt: asyncio.Event) -> AsyncIterator[Event]:
    """Send the request as it is now. What arrives is recorded, also when the stream breaks off or is interrupted."""
    reply = ReplyBuilder()
    failure: ModelError | LimitReached | None = None
    async for event in conversation.hold_back(interrupt):
        yield event
    steps = until_set(interrupt, conversation.model.stream(conversation.builder.request()))
    try:
        async with aclosing(steps):
            async for step in steps:
                reply = reply.add(step)
                conversation.journal.stream(reply.so_far)
                match step:
                    case TextDelta() | ThinkingDelta() | CallDelta() | ReplyRestarted() | Noticed():
                        yield step
                    case Retrying(attempt, delay, reason):
                        conversation.run_limits.check_wait(delay, reason)
                        yield conversation.record(Retry(attempt, delay, reason))
                        yield step
                    case _:
                        pass
    except (ModelError, LimitReached) as error:
        failure = error
    if isinstance(failure, ModelError) and conversation.can_fall_back(failure):
        # The other model answers from the beginning: half an answer of this one would stand before it.
        yield ReplyRestarted()
        reply = ReplyBuilder(usage=reply.usage)
    box.reply = reply
    for event in conversation.received(reply, failure):
        yield event
    if failure is not None:
        raise failure
