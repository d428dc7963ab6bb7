"""A run whose answer must match a JSON Schema. The model gets the schema. The answer is checked, and a wrong one
corrected once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from agentcli.agent.ports import Prompt, RunTurn
from agentcli.agent.session import AgentSession
from agentcli.core.errors import SchemaMismatch, UsageError
from agentcli.core.event import Emit, Event, Noticed, Recorded, TurnEnded
from agentcli.core.message import Message, reminder
from agentcli.features.output_schema.schema import AnswerSchema, TooSlow, read_schema

if TYPE_CHECKING:
    from agentcli.program.feature import WrapTurn

RULE = (
    "A program reads your answer. Your last reply, with which you end the turn, must be one JSON value that matches this JSON Schema, without any "
    "text around it and without a code fence. Replies before it, with calls, are free.\n\n{schema}"
)
AGAIN = "Your answer does not match the JSON Schema:\n{faults}\n\nReply with the corrected JSON value alone."


def holding_to(given: str) -> WrapTurn:
    """Return a wrapper that requires turns to match a schema. `given` is the schema's file, or a text that is JSON
    itself.

    Raises InputError.
    """
    return partial(held_to, read_schema(given))


async def held_to(
    schema: AnswerSchema, turn: RunTurn, session: AgentSession, interrupt: asyncio.Event, emit: Emit
) -> TurnEnded:
    """Run a turn whose answer must match, and return its end with only the JSON, or with the error.

    Raises UsageError if no model answers, as after a slash command that reports.
    """
    pending = session.conversation.pending
    rule = reminder(RULE.format(schema=schema.text))
    pending.append(rule)
    answered = False

    async def before_the_end(event: Event) -> None:
        nonlocal answered
        match event:
            case TurnEnded():
                return
            case Recorded(record) if isinstance(record.body, Message) and record.body.role == "assistant":
                answered = True
            case _:
                pass
        await emit(event)

    ended = await turn(interrupt, before_the_end)
    if rule in pending:
        pending.remove(rule)
    if ended.ending == "done" and not answered:
        raise UsageError("--output-schema applies to the model's answers; agentcli itself answers this prompt.")
    ended, faults = await _judged(ended, schema)
    if faults:
        await emit(Noticed(f"The answer does not match the output schema; the model is asked once more. {faults[0]}"))
        prompt = Prompt("", (reminder(AGAIN.format(faults=_listed(faults))),), typed=False)
        ended, faults = await _judged(await session.run(prompt, interrupt, before_the_end, continues=True), schema)
    if faults:
        error = SchemaMismatch(f"The answer does not match the output schema, even if asked again:\n{_listed(faults)}")
        ended = TurnEnded("failed", ended.text, error, ended.steps)
    await emit(ended)
    return ended


async def _judged(ended: TurnEnded, schema: AnswerSchema) -> tuple[TurnEnded, Sequence[str]]:
    """Return a turn's end with only the JSON, and its answer's faults. The end has the error if it could not be
    checked.
    """
    if ended.ending != "done":
        return ended, ()
    try:
        text, faults = await asyncio.to_thread(schema.checked, ended.text)
    except TooSlow as error:
        return TurnEnded("failed", ended.text, SchemaMismatch(str(error)), ended.steps), ()
    return (ended, faults) if faults else (TurnEnded("done", text, steps=ended.steps), ())


def _listed(faults: Sequence[str]) -> str:
    return "\n".join(f"- {fault}" for fault in faults)
