"""Facts that change are told again where the model no longer sees them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

from agentcli.agent.instructions import changed_instructions
from agentcli.agent.ports import Prompt
from agentcli.agent.session import AgentSession
from agentcli.agent.setup import INSTRUCTIONS, StandingInstructions
from agentcli.core.message import Message, Text
from agentcli.core.record import Compaction
from agentcli.permissions.rules import parse_rules
from agentcli.providers.scripted.model import say as reply
from tests.agent.open_session import open_session
from tests.tables import each_row


def say(session: AgentSession, text: str) -> list[str]:
    """The reminders that go with a prompt."""

    async def drive() -> None:
        async for _ in session.turn(Prompt(text), asyncio.Event()):
            pass

    before = session.history.last_seq
    asyncio.run(drive())
    bodies = [record.body for record in session.journal.records() if record.seq > before]
    messages = [body for body in bodies if isinstance(body, Message) and body.role == "user"]
    return [part.text for body in messages for part in body.parts if isinstance(part, Text) and part.synthetic]


def test_the_date_is_told_once_a_day_and_again_after_a_compaction(tmp_path: Path) -> None:
    session = open_session(tmp_path, lambda _: reply("ok"))
    days = [date(2026, 5, 1)]
    session._setup = replace(session._setup, today=lambda: days[-1])
    assert say(session, "one") == ["Today is 2026-05-01."]
    assert say(session, "two") == []
    days.append(date(2026, 5, 2))
    assert say(session, "three") == ["Today is 2026-05-02."]
    last = session.history.last_seq
    session.journal.append(Compaction("manual", "compressed", "auto", (1, last), last + 1, "<state_snapshot/>"))
    assert say(session, "four") == ["Today is 2026-05-02."]
    assert say(session, "five") == []


def test_changed_instructions_are_told_to_a_session_that_began_with_others(tmp_path: Path) -> None:
    session = open_session(tmp_path, lambda _: reply("ok"))
    now = "## AGENTS.md\nUse tabs."
    began = ("base", f"{INSTRUCTIONS}\nhead\n\n## AGENTS.md\nUse blanks.")
    assert "Use tabs." in changed_instructions(now, began)
    assert changed_instructions(now, ("base", f"{INSTRUCTIONS}\nother head\n\n## AGENTS.md\nUse tabs.")) == ""
    assert "are gone" in changed_instructions("", began)
    assert changed_instructions("", ("base",)) == ""
    session.parts.instructions.now = StandingInstructions(text=now)
    reminders = say(session, "one")
    assert any("Use tabs." in text for text in reminders)
    assert say(session, "two") == []


@each_row(
    ("rules", "sandboxed", "told"),
    [
        ((), True, "commands are still put to the user."),
        (("sandbox(*)",), True, "and commands that the sandbox can hold, run without asking from now on"),
        (("sandbox(*)",), False, "commands are still put to the user."),
        (("sandbox(make *)",), True, "commands are still put to the user."),
    ],
)
def test_mode_auto_edit_is_told_with_what_a_rule_lets_run_in_the_sandbox(
    rules: Sequence[str], sandboxed: bool, told: str, tmp_path: Path
) -> None:
    session = open_session(tmp_path, lambda _: reply("ok"), mode="auto-edit", rules=parse_rules(rules))
    workspace = replace(session._setup.workspace, sandboxed=sandboxed)
    session._setup = replace(session._setup, workspace=workspace)
    [line] = [text for text in say(session, "one") if text.startswith("Edits")]
    assert told in line
