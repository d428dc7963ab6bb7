from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.terminal import Terminal

REPOSITORY = Path(__file__).parents[3]


def plain(tmp_path: Path, *arguments: str) -> Terminal:
    command = [sys.executable, "-m", "tests.frontends.terminal.preview", "plain=yes", f"state={tmp_path}", *arguments]
    return Terminal(command, cwd=str(REPOSITORY), env={"TERM": "dumb"})


def test_a_whole_session_goes_without_a_single_escape_sequence(tmp_path: Path) -> None:
    with plain(tmp_path) as t:
        t.until("lists the commands")
        t.send("tools\r", until="Done: read src/module_2.py, 120 lines")
        t.until("You said: **looked**")
        t.send("\x04")
        assert t.wait() == 0
        assert "agentcli resume 20260101-0001" in "\n".join(t.history())
        assert b"\x1b" not in t.raw


@pytest.mark.full
def test_an_approval_is_answered_by_a_line(tmp_path: Path) -> None:
    with plain(tmp_path) as t:
        t.until("lists the commands")
        t.send("edit\r", until="+        prices = [item.price for item in self.items]")
        t.until("e edit it")
        t.send("maybe\r", until="Please answer")
        t.send("n\r")
        t.until("hat should it do instead?")  # its first letter may end a row
        t.send("use integers\r", until="answer no use integers")


def test_lines_typed_before_the_question_do_not_answer_it(tmp_path: Path) -> None:
    with plain(tmp_path) as t:
        t.until("lists the commands")
        t.send("run\r1\r", until="e edit it")
        t.settle(0.3)
        assert "Running:" not in "\n".join(t.history())


def test_ctrl_c_interrupts_and_twice_leaves(tmp_path: Path) -> None:
    with plain(tmp_path) as t:
        t.until("lists the commands")
        t.send("slow\r", until="Waiting for something")
        t.send("\x03", until="Warning: Interrupted.")
        t.send("\x03\x03")
        assert t.wait() == 130


def test_a_typo_in_a_command_is_told(tmp_path: Path) -> None:
    with plain(tmp_path) as t:
        t.until("lists the commands")
        t.send("/modle\r", until="Did you mean /model or /mode?")


@pytest.mark.full
def test_several_calls_are_allowed_by_one_line_once_all_are_printed(tmp_path: Path) -> None:
    with plain(tmp_path) as t:
        t.until("lists the commands")
        t.send("several\r", until="5 all 3 of this reply")
        t.send("5\r", until="make part2")
        t.until("y or n?")
        t.send("y\r", until="several all")


@pytest.mark.full
def test_a_strange_folder_is_asked_about_before_anything_is_said(tmp_path: Path) -> None:
    with plain(tmp_path, "untrusted=yes") as t:
        t.until(".agentcli/hooks.json (hooks: can run commands", "1 yes, load them, 2 no, start without them?")
        t.send("1\r", until="The folder is trusted now. Restart agentcli to load its settings.")
        t.send("tools\r", until="You said: **looked**")
        assert b"\x1b" not in t.raw


def test_every_change_of_state_is_a_line(tmp_path: Path) -> None:
    with plain(tmp_path) as t:
        t.until("lists the commands")
        t.send("think\r", until="Finished after")
        rows = [row for row in t.history() if row]
        first = next(n for n, row in enumerate(rows) if row.endswith("Working."))
        assert rows[first + 1] == "Thinking."
        assert rows[first + 2].startswith("Thought for ")
        assert "You said: **thought about it**" in rows
        t.send("edit\r", until="Writing a call: edit.")
        t.until("Permission needed: edit shop/cart.py?")


@pytest.mark.full
def test_a_change_that_was_read_out_to_be_approved_is_not_read_out_again(tmp_path: Path) -> None:
    with plain(tmp_path) as t:
        t.until("lists the commands")
        t.send("edit\r", until="e edit it")
        t.send("1\r", until="Done: edit shop/cart.py, +2 −1")
        t.until("answer once")
        assert "\n".join(t.history()).count("+        prices = [item.price") == 1


@pytest.mark.full
def test_a_proposed_command_can_be_typed_anew(tmp_path: Path) -> None:
    with plain(tmp_path) as t:
        t.until("lists the commands")
        t.send("run\r", until="e edit it?")
        t.send("e\r", until="It is: pytest -q")
        t.send("pytest -q -k cart\r", until="Permission needed: Run this command? (changed by you)")
        t.until("1 yes, 4 no, e edit it?")
        t.send("1\r", until="Running: bash pytest -q -k cart")


def test_a_question_mark_lists_what_can_be_typed(tmp_path: Path) -> None:
    with plain(tmp_path) as t:
        t.until("lists the commands")
        t.send("?\r", until="Ctrl-C interrupts, keeping")
