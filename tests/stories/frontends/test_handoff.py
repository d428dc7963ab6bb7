"""/handoff in the terminal: the handoff is shown before it is used, and rules that would not last are offered for /memory."""

from __future__ import annotations

import asyncio
from typing import Any

from agentcli.agent.session import AgentSession
from agentcli.core.record import Settings
from agentcli.program.program import Program
from tests.agent.compaction.test_handoff import first_request, worked
from tests.agent.compaction.test_handoff import program as program
from tests.context.snapshot.statements import RULE
from tests.frontends.terminal.contexts import ScriptedContext
from tests.frontends.terminal.slash import COMMANDS

OFFER = "These rules apply only to this session; /memory add TEXT keeps one for every session:"


class Handing(ScriptedContext):
    """A context in a real program."""

    def __init__(self, program: Program, session: AgentSession, *answers: int) -> None:
        super().__init__(*answers, session=session)
        self.program = program


def handed(program: Program, *answers: int, system: str = "You help.") -> tuple[AgentSession, Any]:
    """The session before, and the context after /handoff with these choices; its requests began with `system`."""
    old = worked(program)
    old.journal.append(Settings(system=(system,)))
    context = Handing(program, old, *answers)
    asyncio.run(COMMANDS.run(context, "/handoff mend fold_scope"))  # type: ignore[arg-type]
    return old, context


def test_a_handoff_is_shown_first_and_rules_that_end_with_the_session_are_offered_for_memory(
    program: Program,
) -> None:
    old, context = handed(program, 0)
    assert "<state_snapshot>" in context.output[0]
    assert context.session is not old
    at = context.output.index(OFFER)
    assert RULE in context.output[at + 1 :]
    assert context.output.index(f"moved to {context.session.journal.id}") < at


def test_nothing_is_offered_or_begun_by_who_stays(program: Program) -> None:
    old, context = handed(program, 2)
    assert context.session is old
    assert OFFER not in context.output


def test_it_may_be_edited_before_it_is_used(program: Program) -> None:
    _, context = handed(program, 1, 0)
    assert "as edited" in first_request(context.session)


def test_a_rule_of_an_instruction_file_is_not_offered(program: Program) -> None:
    _, context = handed(program, 0, system=f"AGENTS.md says:\n{RULE}")
    assert OFFER not in context.output
