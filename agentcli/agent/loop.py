"""One turn: the user says something, the model works until it is done. The whole agent, on one screen."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator

from agentcli.agent.calls.execute import NOT_RUN, execute
from agentcli.agent.conversation import Conversation
from agentcli.agent.ports import Prompt
from agentcli.agent.reply import FULL, Kind, ReplyBuilder, at_last, defect, not_run
from agentcli.core.dataclass import replace
from agentcli.core.errors import AgentError, ContextError, HookBlocked, LimitReached, ModelError
from agentcli.core.event import (
    CallDelta,
    Ending,
    Event,
    Noticed,
    Recorded,
    ReplyRestarted,
    Retrying,
    TextDelta,
    ThinkingDelta,
    TurnEnded,
    Waiting,
    Warned,
)
from agentcli.core.record import Retry
from agentcli.core.streams import closing
from agentcli.core.tasks import until_set


async def turn(conversation: Conversation, prompt: Prompt, interrupt: asyncio.Event) -> AsyncIterator[Event]:
    """Answer a prompt. Ends with exactly one TurnEnded; after it the history is valid and saved.

    One that is closed or cancelled, or that raises because of a bug, ends without, once nothing of it runs any more and every call
    has its answer.
    """
    try:
        try:
            async with closing(_work(conversation, prompt, interrupt)) as events:
                async for event in events:
                    yield event
        except AgentError as error:
            yield conversation.failed(error)
            for event in await conversation.hooked.stop_failed(error, interrupt):
                yield event
            ending: Ending = "limit" if isinstance(error, LimitReached) else "failed"
            yield TurnEnded(ending, error=error, steps=conversation.steps)
    except BaseException:
        _unseen(conversation.answer_open_calls())
        raise


def _unseen(events: Iterator[Event]) -> None:
    """Run steps that record, although their events no longer have a reader."""
    for _ in events:
        pass


async def _work(conversation: Conversation, prompt: Prompt, interrupt: asyncio.Event) -> AsyncIterator[Event]:
    for event in conversation.begin(prompt):
        yield event
    asked_again: Counter[Kind] = Counter()
    while True:
        box = ReplyBox()
        for step in (
            _request(conversation, box, interrupt),
            _calls(conversation, box, interrupt),
            _go_on(conversation, box, asked_again, interrupt),
        ):
            async with closing(step) as events:
                async for event in events:
                    yield event
                    if isinstance(event, TurnEnded):
                        return


async def _request(conversation: Conversation, box: ReplyBox, interrupt: asyncio.Event) -> AsyncIterator[Event]:
    """Make room, and get the next reply."""
    conversation.allow_step()
    for step in (
        conversation.take_steering(interrupt),
        conversation.make_room(interrupt),
        _ask(conversation, box, interrupt),
    ):
        async with closing(step) as events:
            async for event in events:
                yield event


async def _calls(conversation: Conversation, box: ReplyBox, interrupt: asyncio.Event) -> AsyncIterator[Event]:
    """Run the calls of the reply; the turn ends here if it was interrupted."""
    reply, printed = box.reply, conversation.core.printed
    if reply.calls:
        async with closing(execute(reply.calls, conversation.stages, printed, interrupt)) as events:
            async for event in events:
                yield event
    for event in conversation.answer_open_calls(NOT_RUN if interrupt.is_set() else not_run(reply)):
        yield event
    if interrupt.is_set():
        yield TurnEnded("interrupted", text=reply.text, steps=conversation.steps)
        return
    if printed.ended:
        raise HookBlocked(printed.ended)
    if reply.has_calls:
        conversation.answered()


async def _go_on(
    conversation: Conversation, box: ReplyBox, asked_again: Counter[Kind], interrupt: asyncio.Event
) -> AsyncIterator[Event]:
    """End the turn with this reply, or continue it. Request a flawed reply again, as often as its kind allows."""
    reply = box.reply
    flaw = defect(reply, conversation.settings.max_pauses)
    if flaw is None or conversation.steered:
        asked_again.clear()
    if flaw is None:
        if not (reply.calls or conversation.steered):
            async with closing(_finish(conversation, reply, interrupt)) as events:
                async for event in events:
                    yield event
        return
    if asked_again[flaw.kind] == flaw.again:
        error = at_last(flaw, reply)
        yield conversation.failed(error)
        yield TurnEnded(flaw.ending, text=reply.text, error=error, steps=conversation.steps)
        return
    asked_again[flaw.kind] += 1
    reminder = flaw.reminder
    if flaw.kind == "full":
        before = conversation.builder.window().tokens
        async with closing(conversation.overflow(interrupt)) as events:
            async for event in events:
                yield event
        reminder = FULL if conversation.builder.window().tokens < before else reminder
    if reminder:
        yield conversation.remind(reminder)


async def _finish(conversation: Conversation, reply: ReplyBuilder, interrupt: asyncio.Event) -> AsyncIterator[Event]:
    """End the turn, unless background work has news, or a feature or a hook objects."""
    if await conversation.waited_for_background(interrupt):
        return
    objections = [*conversation.unfinished(reply)]
    for event in objections:
        yield event
    if any(isinstance(event, Recorded) for event in objections):
        return
    held = await conversation.hooked.stop(reply.text, interrupt)
    for event in held.events:
        yield event
    if held.verdict.blocks:
        yield conversation.remind(held.verdict.reason)
        return
    for event in conversation.finish():
        yield event
    yield TurnEnded("done", text=reply.text, steps=conversation.steps)


class ReplyBox:
    """Holder of the reply of a request: an async generator cannot return a value."""

    reply: ReplyBuilder = ReplyBuilder()


async def _ask(conversation: Conversation, box: ReplyBox, interrupt: asyncio.Event) -> AsyncIterator[Event]:
    """One request and its reply, recorded. A request that is refused is mended once in each way that may help."""
    tried: set[str] = set()
    while True:
        try:
            for step in (conversation.hold_back(interrupt), _stream(conversation, box, interrupt)):
                async with closing(step) as events:
                    async for event in events:
                        yield event
            return
        except ModelError as error:
            if error.cause in tried and not conversation.another_account(error):
                raise
            tried.add(error.cause)
            async with closing(_mend(conversation, error, interrupt)) as events:
                async for event in events:
                    yield event


async def _mend(conversation: Conversation, error: ModelError, interrupt: asyncio.Event) -> AsyncIterator[Event]:
    """Change the next request by what the error says. Raises the error, or a ContextError, if nothing helps."""
    match error.cause:
        case "too_long" | "too_large":
            before = conversation.builder.window().tokens
            async with closing(conversation.overflow(interrupt)) as events:
                async for event in events:
                    yield event
            if conversation.builder.window().tokens >= before:
                why = f"{error} Nothing more can be summarised: unpin messages, or continue in a new session with /handoff."
                raise ContextError(why) from error
        case "signature" | "pairing":
            yield conversation.drop_thinking(str(error))
        case _ if conversation.can_fall_back(error):
            for notice in conversation.fall_back(error):
                yield notice
            async with closing(conversation.make_room(interrupt)) as events:
                async for event in events:
                    yield event
        case _:
            if conversation.fallback.trouble:
                yield Warned(conversation.fallback.trouble)
            raise error


async def _stream(conversation: Conversation, box: ReplyBox, interrupt: asyncio.Event) -> AsyncIterator[Event]:
    """Send the current request. What arrives is recorded, also when the stream breaks off or is interrupted."""
    reply = ReplyBuilder()
    failure: ModelError | LimitReached | None = None
    stream = until_set(interrupt, conversation.model.stream(conversation.builder.request()))
    try:
        async with closing(stream) as steps:
            async for step in steps:
                if isinstance(step, ReplyRestarted):
                    for event in conversation.cut_off(reply):
                        yield event
                    reply = replace(reply, usage=None)
                    conversation.allow_again()
                reply = reply.add(step)
                conversation.journal.stream(reply.so_far)
                match step:
                    case TextDelta() | ThinkingDelta() | CallDelta() | ReplyRestarted() | Noticed():
                        yield step
                    case Retrying() | Waiting():
                        yield _wait(conversation, step)
                        yield step
                    case _:
                        pass
    except (ModelError, LimitReached) as error:
        failure = error
    except BaseException:
        _unseen(conversation.received(reply, None))
        raise
    for event in _received(conversation, box, reply, failure):
        yield event


def _wait(conversation: Conversation, wait: Retrying | Waiting) -> Event:
    """Record that the model waits. Raises LimitReached if the limits leave no time for it."""
    conversation.spending.limits.check_wait(wait.delay, wait.reason)
    attempt = wait.attempt if isinstance(wait, Retrying) else 0
    return conversation.record(Retry(attempt, wait.delay, wait.reason))


def _received(
    conversation: Conversation, box: ReplyBox, reply: ReplyBuilder, failure: ModelError | LimitReached | None
) -> Iterator[Event]:
    """Record a reply, and raise the failure that ended it."""
    if isinstance(failure, ModelError) and conversation.can_fall_back(failure):
        # The other model answers from the beginning: half an answer of this one would precede it.
        yield ReplyRestarted()
        reply = ReplyBuilder(usage=reply.usage)
    box.reply = reply = conversation.named(reply)
    yield from conversation.received(reply, failure)
    if failure is not None:
        raise failure
