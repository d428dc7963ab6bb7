"""A run whose answer must match a JSON Schema. The model gets the schema, and may correct a wrong answer once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from agentcli.extension import AgentError, Context, Ended, Turn, around_turn, settings
from agentcli.features.output_schema.schema import AnswerSchema, TooSlow, schema_in

RULE = (
    "A program reads your answer. Your last reply, with which you end the turn, must be one JSON value that matches this JSON Schema, without any "
    "text around it and without a code fence. Replies before it, with calls, are free.\n\n{schema}"
)
AGAIN = "Your answer does not match the JSON Schema:\n{faults}\n\nReply with the corrected JSON value alone."


class SchemaMismatch(AgentError):
    """The answer of a run does not match its JSON Schema."""

    exit_code = 65


class NotAnswered(AgentError):
    """No model has answered, as after a slash command that reports."""

    exit_code = 2


@settings
@dataclass
class OutputSchema:
    """`text` is the schema as JSON."""

    text: str

    def __post_init__(self) -> None:
        """Raise Unusable for an invalid schema."""
        self.schema = schema_in(self.text)


@around_turn
async def hold(turn: Turn, ctx: Context) -> Ended:
    """Require that the answer matches."""
    schema: AnswerSchema = ctx.settings.schema
    turn.remind(RULE.format(schema=schema.text))
    ended = await turn.run()
    if ended.ending == "done" and not ended.answered:
        raise NotAnswered("--output-schema applies to the model's answers; agentcli itself answers this prompt.")
    ended, faults = await _judged(ended, schema)
    if faults:
        ctx.ui.notify(f"The answer does not match the output schema; the model is asked once more. {faults[0]}")
        ended, faults = await _judged(await turn.go_on(AGAIN.format(faults=_listed(faults))), schema)
    if faults:
        why = f"The answer does not match the output schema, even if asked again:\n{_listed(faults)}"
        return replace(ended, error=SchemaMismatch(why))
    return ended


async def _judged(ended: Ended, schema: AnswerSchema) -> tuple[Ended, Sequence[str]]:
    """Return a turn's end with only the JSON, and the faults. It has an error if it could not be checked."""
    if ended.ending != "done":
        return ended, ()
    try:
        text, faults = await asyncio.to_thread(schema.checked, ended.text)
    except TooSlow as error:
        return replace(ended, error=SchemaMismatch(str(error))), ()
    return (ended, faults) if faults else (replace(ended, text=text), ())


def _listed(faults: Sequence[str]) -> str:
    return "\n".join(f"- {fault}" for fault in faults)
