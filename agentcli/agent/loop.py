"""One turn: the user says something, the model works until it is done. The whole agent, on one screen."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator

from agentcli.agent.calls.execute import NOT_RUN, execute
from agentcli.agent.conversation import Conversation
from agentcli.agent.ports import Prompt
from agentcli.agent.reply import FULL, Kind, ReplyBuilder, at_last, defect, not_run
from agentcli.core.dataclass import dataclass, replace
from agentcli.core.errors import AgentError, ContextError, HookBlocked, IncompleteReply, LimitReached, ModelError
from agentcli.core.event import (
    CallDelta,
    Emit,
    Ending,
    Event,
    Noticed,
    ReplyRestarted,
    Retrying,
    TextDelta,
    ThinkingDelta,
    TurnEnded,
    Waiting,
    Warned,
    emit_all,
)
from agentcli.core.record import Retry
from agentcli.core.streams import closing
from agentcli.core.tasks import until_set


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn at work: the session that it advances, the event that interrupts it, and the reader of its events."""

    conversation: Conversation
    interrupt: asyncio.Event
    emit: Emit

    async def tell(self, events: Iterable[Event]) -> None:
        """Emit events one after the other."""
        await emit_all(events, self.emit)


async def answer(conversation: Conversation, prompt: Prompt, interrupt: asyncio.Event, emit: Emit) -> TurnEnded:
    """Answer a prompt, and return the turn's end. Afterwards the history is valid and saved.

    A turn may be cancelled, or may raise because of a bug. Even then none of it still runs, and each call has its
    answer.
    """
    turn = Turn(conversation, interrupt, emit)
    try:
        try:
            return await _work(turn, prompt)
        except AgentError as error:
            await emit(conversation.failed(error))
            await turn.tell(await conversation.hooked.stop_failed(error, interrupt))
            ending: Ending = "limit" if isinstance(error, LimitReached) else "failed"
            return TurnEnded(ending, error=error, steps=conversation.steps)
    except BaseException:
        _unseen(conversation.answer_open_calls())
        raise


def _unseen(events: Iterator[Event]) -> None:
    """Run steps that record, although their events no longer have a reader."""
    for _ in events:
        pass


async def _work(turn: Turn, prompt: Prompt) -> TurnEnded:
    await turn.tell(turn.conversation.begin(prompt))
    asked_again: Counter[Kind] = Counter()
    while True:
        reply = await _request(turn)
        ended = await _calls(turn, reply) or await _go_on(turn, reply, asked_again)
        if ended is not None:
            return ended


async def _request(turn: Turn) -> ReplyBuilder:
    """Make room, and return the next reply."""
    turn.conversation.allow_step()
    await turn.conversation.take_steering(turn.interrupt, turn.emit)
    await turn.conversation.make_room(turn.interrupt, turn.emit)
    return await _ask(turn)


async def _calls(turn: Turn, reply: ReplyBuilder) -> TurnEnded | None:
    """Run the reply's calls; return the turn's end if it was interrupted."""
    conversation, interrupt = turn.conversation, turn.interrupt
    printed = conversation.core.printed
    if reply.calls:
        await execute(reply.calls, conversation.stages, printed, interrupt, turn.emit)
    await turn.tell(conversation.answer_open_calls(NOT_RUN if interrupt.is_set() else not_run(reply)))
    if interrupt.is_set():
        return TurnEnded("interrupted", text=reply.text, steps=conversation.steps)
    if printed.ended:
        raise HookBlocked(printed.ended)
    if reply.has_calls:
        conversation.answered()
    return None


async def _go_on(turn: Turn, reply: ReplyBuilder, asked_again: Counter[Kind]) -> TurnEnded | None:
    """Return the turn's end if this reply ends it. Request a flawed reply again, as often as its kind allows."""
    conversation = turn.conversation
    flaw = defect(reply, conversation.settings.max_pauses)
    if flaw is None or conversation.steered:
        asked_again.clear()
    if flaw is None:
        return None if reply.calls or conversation.steered else await _finish(turn, reply)
    if asked_again[flaw.kind] == flaw.again:
        error = at_last(flaw, reply)
        await turn.emit(conversation.failed(error))
        return TurnEnded(flaw.ending, text=reply.text, error=error, steps=conversation.steps)
    asked_again[flaw.kind] += 1
    reminder = flaw.reminder
    if flaw.kind == "full":
        reminder = FULL if await _smaller(turn) else reminder
    if reminder:
        await turn.emit(conversation.remind(reminder))
    return None


async def _finish(turn: Turn, reply: ReplyBuilder) -> TurnEnded | None:
    """Return the turn's end, unless background work has news, or a feature or hook objects."""
    conversation, interrupt = turn.conversation, turn.interrupt
    if await conversation.waited_for_background(interrupt):
        return None
    objection = conversation.unfinished(reply)
    if objection.notice:
        await turn.emit(Noticed(objection.notice))
    if objection.reminder:
        await turn.emit(conversation.remind(objection.reminder))
        return None
    held = await conversation.hooked.stop(reply.text, interrupt)
    await turn.tell(held.events)
    if held.verdict.blocks:
        await turn.emit(conversation.remind(held.verdict.reason))
        return None
    await turn.tell(conversation.finish())
    ended = TurnEnded(
        "done", text=objection.answer or reply.text, steps=conversation.steps, verified=objection.verified
    )
    if not objection.undone:
        return ended
    error = IncompleteReply(objection.undone)
    await turn.emit(conversation.failed(error))
    return replace(ended, ending="incomplete", error=error)


async def _ask(turn: Turn) -> ReplyBuilder:
    """Make one request, and return its recorded reply. A refused request is changed once in each way that may help."""
    conversation = turn.conversation
    tried: set[str] = set()
    while True:
        try:
            await conversation.hold_back(turn.interrupt, turn.emit)
            return await _stream(turn)
        except ModelError as error:
            if error.cause in tried and not conversation.another_account(error):
                raise
            tried.add(error.cause)
            await _mend(turn, error)


async def _mend(turn: Turn, error: ModelError) -> None:
    """Change the next request according to the error. Raises the error, or a ContextError, if nothing helps."""
    conversation = turn.conversation
    match error.cause:
        case "too_long" | "too_large":
            if not await _smaller(turn):
                why = "The conversation is too long for the model: /handoff continues in a new session."
                raise ContextError(why) from error
        case "signature" | "pairing":
            await turn.emit(conversation.drop_thinking(str(error)))
        case _ if conversation.can_fall_back(error):
            await turn.tell(conversation.fall_back(error))
            await conversation.make_room(turn.interrupt, turn.emit)
        case _:
            if conversation.fallback.trouble:
                await turn.emit(Warned(conversation.fallback.trouble))
            raise error


async def _smaller(turn: Turn) -> bool:
    """Compact because the provider found the prompt too long; return True if the window is smaller then."""
    before = turn.conversation.builder.window().tokens
    await turn.conversation.overflow(turn.interrupt, turn.emit)
    return turn.conversation.builder.window().tokens < before


async def _stream(turn: Turn) -> ReplyBuilder:
    """Send the current request, and return the reply.

    What arrives is recorded, even if the stream breaks off or is interrupted.
    """
    conversation, emit = turn.conversation, turn.emit
    reply = ReplyBuilder()
    failure: ModelError | LimitReached | None = None
    stream = until_set(turn.interrupt, conversation.model.stream(conversation.builder.request()))
    try:
        async with closing(stream) as steps:
            async for step in steps:
                if isinstance(step, ReplyRestarted):
                    await turn.tell(conversation.cut_off(reply))
                    reply = replace(reply, usage=None)
                    conversation.allow_again()
                reply = reply.add(step)
                conversation.journal.stream(reply.unfinished)
                match step:
                    case TextDelta() | ThinkingDelta() | CallDelta() | ReplyRestarted() | Noticed():
                        await emit(step)
                    case Retrying() | Waiting():
                        await emit(_wait(conversation, step))
                        await emit(step)
                    case _:
                        pass
    except (ModelError, LimitReached) as error:
        failure, reply = error, reply.joined()
        conversation.journal.stream(reply.unfinished)  # which would keep the pieces
    except BaseException:
        _unseen(conversation.received(reply, None))
        raise
    if isinstance(failure, ModelError) and conversation.can_fall_back(failure):
        # The other model answers from the beginning: half an answer of this one would precede it.
        await emit(ReplyRestarted())
        reply = ReplyBuilder(usage=reply.usage)
    reply = conversation.named(reply)
    await turn.tell(conversation.received(reply, failure))
    if failure is not None:
        raise failure
    return reply


def _wait(conversation: Conversation, wait: Retrying | Waiting) -> Event:
    """Record that the model waits. Raises LimitReached if the limits leave no time for it."""
    conversation.spending.limits.check_wait(wait.delay, wait.reason)
    attempt = wait.attempt if isinstance(wait, Retrying) else 0
    return conversation.record(Retry(attempt, wait.delay, wait.reason))
