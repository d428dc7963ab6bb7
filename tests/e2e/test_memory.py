"""Lines that the model proposes for AGENTS.local.md, as people accept or refuse them at a terminal, and without one."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.program import Program
from tests.terminal import Terminal

ANSWER = "- Run `make check` before a commit.\n- The user wants tabs.\n"
LINES = ["- Run `make check` before a commit.", "- The user wants tabs."]
QUESTION = "Add these lines to AGENTS.local.md?"


@pytest.fixture
def program(tmp_path: Path) -> Program:
    program = Program(tmp_path)
    subprocess.run(["git", "init", "-q", program.work], check=True)
    return program


def script(program: Program, *answers: str) -> tuple[str, ...]:
    file = program.base / "script.json"
    replies: list[dict[str, Any]] = [{"text": text} for text in answers]
    file.write_text(json.dumps({"replies": replies}))
    return ("-m", f"script:{file}", "--trust")


def proposed(t: Terminal) -> None:
    """Begin a conversation, and have lines of it proposed."""
    t.until("? keys")
    t.send("first\r", until="One.")
    t.settle()
    t.send("/memory propose\r", until=QUESTION)


@pytest.mark.full
def test_the_change_is_shown_and_written_after_a_yes_and_kept_out_of_git(program: Program) -> None:
    local = program.work / "AGENTS.local.md"
    local.write_text("Be brief.\n")
    with program.terminal(*script(program, "One.", ANSWER)) as t:
        proposed(t)
        shown = "\n".join(t.history())
        assert all(f"+{line}" in shown for line in LINES)
        assert "Side question: $0" in shown
        assert local.read_text() == "Be brief.\n"
        t.send("y", until="Added to ")
    assert local.read_text() == "\n".join(["Be brief.", "", "## Notes", "", *LINES, ""])
    status = subprocess.run(["git", "status", "--porcelain"], cwd=program.work, capture_output=True, text=True)
    assert "AGENTS.local.md" not in status.stdout
    kinds = [record["kind"] for record in program.records()]
    assert (kinds.count("message"), kinds.count("feature")) == (2, 1)
    assert "make check" not in json.dumps(program.records())


@pytest.mark.full
@pytest.mark.parametrize("answer", ["\r", "\x1b", "n"])
def test_enter_esc_and_no_write_nothing(program: Program, answer: str) -> None:
    with program.terminal(*script(program, "One.", ANSWER)) as t:
        proposed(t)
        t.send(answer, until="Nothing was written.")
    assert not (program.work / "AGENTS.local.md").exists()


@pytest.mark.full
@pytest.mark.parametrize(("link", "why"), [(False, "has changed since the lines"), (True, "is a link")])
def test_a_file_that_changes_while_the_question_is_open_stays_as_it_is(program: Program, link: bool, why: str) -> None:
    local, elsewhere = program.work / "AGENTS.local.md", program.base / "elsewhere.md"
    with program.terminal(*script(program, "One.", ANSWER)) as t:
        proposed(t)
        elsewhere.write_text("" if link else "Mine.\n")
        if link:
            local.symlink_to(elsewhere)
        else:
            local.write_text("Mine.\n")
        t.send("y", until=why)
    assert local.read_text() == elsewhere.read_text() == ("" if link else "Mine.\n")


@pytest.mark.full
def test_escape_sequences_reach_neither_the_screen_nor_the_file(program: Program) -> None:
    answer = "- \x1b]0;owned\x07Allow everything\n- \u202eevil\n- Allow everything.\n"
    with program.terminal(*script(program, "One.", answer)) as t:
        proposed(t)
        t.until("Left out: 2 more lines")
        assert b"owned" not in t.raw
        t.send("y", until="Added to ")
    assert (program.work / "AGENTS.local.md").read_text() == "## Notes\n\n- Allow everything.\n"


def test_leaving_a_session_asks_and_sends_nothing(program: Program) -> None:
    with program.terminal(*script(program, "One.")) as t:
        t.until("? keys")
        t.send("first\r", until="One.")
        t.settle()
        t.send("\x04")
        assert t.wait(20) == 0
        assert QUESTION not in "\n".join(t.history())
    assert [record["kind"] for record in program.records()].count("feature") == 0


def test_without_a_terminal_the_lines_are_printed_and_nothing_is_written(program: Program) -> None:
    assert program.run("-p", "hello", *script(program, "One.")).code == 0
    ran = program.run("-c", "-p", "/memory propose", *script(program, ANSWER))
    assert (ran.code, ran.out) == (0, "\n".join([*LINES, ""]))
    assert "Side question: $0, " in ran.err
    assert not (program.work / "AGENTS.local.md").exists()
    nothing = program.run("-c", "-p", "/memory propose", *script(program, "NONE"))
    assert (nothing.code, nothing.out) == (0, "Nothing to propose: the model found nothing worth keeping.\n")


def test_an_empty_conversation_is_not_asked_about(program: Program) -> None:
    ran = program.run("-p", "/memory propose", *script(program))
    assert (ran.code, ran.out) == (2, "")
    assert "There is no conversation yet" in ran.err


@pytest.mark.full
def test_a_line_is_added_only_at_a_terminal(program: Program) -> None:
    ran = program.run("-p", "/memory add Be brief", *script(program))
    assert ran.code != 0
    assert "/memory add works only in the terminal." in ran.err
