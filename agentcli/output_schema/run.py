"""A run whose answer must match a JSON Schema: the model is told, the answer checked, and a wrong one corrected once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial

from agentcli.agent.ports import Prompt
from agentcli.agent.session import AgentSession
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import SchemaMismatch, UsageError
from agentcli.core.event import Event, Noticed, Recorded, TurnEnded
from agentcli.core.message import Message, reminder
from agentcli.core.streams import closing
from agentcli.output_schema.schema import AnswerSchema, TooSlow, read_schema

RULE = (
    "A program reads your answer. Your last reply, with which you end the turn, must be one JSON value that matches this JSON Schema, without any "
    "text around it and without a code fence. Replies before it, with calls, are free.\n\n{schema}"
)
AGAIN = "Your answer does not match the JSON Schema:\n{faults}\n\nReply with the corrected JSON value alone."


def holding_to(given: str) -> Callable[..., AsyncIterator[Event]]:
    """Return what holds a turn to the schema in a file, or in a text that is JSON itself. Raises InputError."""
    return partial(held_to, read_schema(given))


async def held_to(
    schema: AnswerSchema, turn: AsyncIterator[Event], session: AgentSession, interrupt: asyncio.Event
) -> AsyncIterator[Event]:
    """Yield the events of a turn that has not begun, whose answer must match: the TurnEnded has the JSON alone, or the error.

    Raises UsageError if no model answers, as after a slash command that reports.
    """
    pending = session.conversation.pending
    rule = reminder(RULE.format(schema=schema.text))
    pending.append(rule)
    outcome = _Outcome()
    async with closing(_before_the_end(turn, outcome)) as events:
        async for event in events:
            yield event
    if rule in pending:
        pending.remove(rule)
    if outcome.ended.ending == "done" and not outcome.answered:
        raise UsageError("--output-schema applies to the model's answers; agentcli itself answers this prompt.")
    outcome.ended, faults = await _judged(outcome.ended, schema)
    if faults:
        yield Noticed(f"The answer does not match the output schema and is asked for once more. {faults[0]}")
        prompt = Prompt("", (reminder(AGAIN.format(faults=_listed(faults))),), typed=False)
        async with closing(_before_the_end(session.turn(prompt, interrupt, continues=True), outcome)) as events:
            async for event in events:
                yield event
        outcome.ended, faults = await _judged(outcome.ended, schema)
    if faults:
        error = SchemaMismatch(f"The answer does not match the output schema, even if asked again:\n{_listed(faults)}")
        outcome.ended = TurnEnded("failed", outcome.ended.text, error, outcome.ended.steps)
    yield outcome.ended


@dataclass(slots=True)
class _Outcome:
    """The end of a turn, and if the model has answered in it."""

    ended: TurnEnded = TurnEnded("failed")
    answered: bool = False


async def _before_the_end(turn: AsyncIterator[Event], outcome: _Outcome) -> AsyncIterator[Event]:
    """Yield the events of a turn but its end, which is kept in `outcome`."""
    async with closing(turn) as events:
        async for event in events:
            match event:
                case TurnEnded():
                    outcome.ended = event
                    continue
                case Recorded(record) if isinstance(record.body, Message) and record.body.role == "assistant":
                    outcome.answered = True
                case _:
                    pass
            yield event


async def _judged(ended: TurnEnded, schema: AnswerSchema) -> tuple[TurnEnded, Sequence[str]]:
    """Return the end of a turn with the JSON alone, and the faults of its answer; with the error if it could not be checked."""
    if ended.ending != "done":
        return ended, ()
    try:
        text, faults = await asyncio.to_thread(schema.checked, ended.text)
    except TooSlow as error:
        return TurnEnded("failed", ended.text, SchemaMismatch(str(error)), ended.steps), ()
    return (ended, faults) if faults else (TurnEnded("done", text, steps=ended.steps), ())


def _listed(faults: Sequence[str]) -> str:
    return "\n".join(f"- {fault}" for fault in faults)
