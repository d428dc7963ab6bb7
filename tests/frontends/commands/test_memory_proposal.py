"""What of a model's answer may be proposed for an instruction file, and to which file it may go."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from agentcli.agent.session import AgentSession
from agentcli.core.event import Event
from agentcli.core.sanitise import is_safe
from agentcli.frontends.commands.memory import memory
from agentcli.frontends.commands.memory_proposal import LENGTH, LINES, Proposal, proposal
from agentcli.program.commands import Context
from agentcli.providers.scripted.model import call, say
from tests.agent.open_session import ended, open_session, say_to
from tests.frontends.commands.as_turn import events_of
from tests.frontends.terminal.contexts import ScriptedContext
from tests.frontends.terminal.slash import type_
from tests.tables import each_row


@each_row(
    ("answer", "lines"),
    [
        ("- Use tabs.\n* Run   make.\n", ("Use tabs.", "Run make.")),
        ("Here they are:\r\n\r\n- Use tabs.\r\n", ("Use tabs.",)),
        ("```\n- Use tabs.\n```", ("Use tabs.",)),
        ("- Use tabs.\n- use  TABS\n", ("Use tabs.",)),
        ("- Allow everything.", ("Allow everything.",)),
        ("- Never commit\n  without a question\n- Use tabs.", ("Use tabs.",)),
        ("- \n-\n- " + "x" * (LENGTH + 1), ()),
        ("- a\x1b[31mb\n- c\x85d\n- e\u2028f\n- g\u202eh\n- \ud800", ()),
        ("- See @.env\n- Use `@pytest.mark` marks.", ("Use `@pytest.mark` marks.",)),
        ("<html><body><ul><li>Use tabs.</li></ul></body></html>", ()),
        ("NONE", ()),
        ("", ()),
    ],
)
def test_only_short_plain_list_items_are_taken(answer: str, lines: Sequence[str]) -> None:
    assert proposal(answer, ()).lines == tuple(lines)


def test_an_answer_of_many_lines_gives_the_first_ones() -> None:
    found = proposal("\n".join(f"- line {n}" for n in range(10_000)), ())
    assert found == Proposal(tuple(f"line {n}" for n in range(LINES)), 0, 10_000 - LINES)


def test_what_an_instruction_file_says_is_not_proposed_again() -> None:
    assert proposal("- Use tabs.\n- Be brief.", ("# Style\n\n* use tabs\n", "Be brief.")) == Proposal((), 2, 0)


@each_row(("answer", "unfit"), [("NONE", 0), ("`NONE`.", 0), ("Sorry, I can't.", 1), ("", 1)])
def test_no_list_item_is_no_answer_but_for_none(answer: str, unfit: int) -> None:
    assert proposal(answer, ()) == Proposal((), 0, unfit)


@given(st.lists(st.text(alphabet=st.sampled_from("-* \n\r\t\x1b\x85\u2028\u202e@`<ab."))))
def test_of_any_answer_only_lines_that_keep_the_bounds_are_proposed(items: Sequence[str]) -> None:
    found = proposal("\n".join(f"- {item}" for item in items), ())
    assert len(found.lines) <= LINES
    for line in found.lines:
        assert is_safe(line)
        assert "\n" not in line
        assert 0 < len(line) <= LENGTH


def propose(session: AgentSession) -> list[Event]:
    """The events of `/memory propose`, as front ends without a terminal have them."""

    async def collect() -> list[Event]:
        outputs = memory.yields(Context(session, None), "propose")  # type: ignore[arg-type]
        return await events_of(outputs, session)

    return asyncio.run(collect())


def test_an_answer_with_a_call_proposes_nothing(tmp_path: Path) -> None:
    session = open_session(tmp_path, [say("One."), say("- Use tabs.", call("bash", command="touch made"))], mode="yolo")
    say_to(session, "first")
    assert ended(propose(session)).text.startswith("Nothing to propose. The model called bash, which was not run")
    assert not (tmp_path / "made").exists()


@each_row("kind", ["outside", "inside", "nowhere", "pipe", "folder"])
def test_a_link_and_what_is_no_file_are_refused_before_the_model_is_asked(tmp_path: Path, kind: str) -> None:
    session = open_session(tmp_path, [say("One.")])
    say_to(session, "first")
    local, elsewhere = session.cwd / "AGENTS.local.md", tmp_path.parent / f"{tmp_path.name}-other.md"
    elsewhere.write_text("Theirs.\n")
    (session.cwd / "Makefile").write_text("all:\n")
    match kind:
        case "outside":
            local.symlink_to(elsewhere)
        case "inside":
            local.symlink_to("Makefile")
        case "nowhere":
            local.symlink_to("none.md")
        case "pipe":
            os.mkfifo(local)
        case _:
            local.mkdir()
    [told] = type_(ScriptedContext(1, session=session), "/memory propose")
    assert "so nothing was added" in told
    assert elsewhere.read_text() == "Theirs.\n"
    assert (session.cwd / "Makefile").read_text() == "all:\n"
