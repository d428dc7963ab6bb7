from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.frontends.terminal.test_app import PREVIEW, REPOSITORY
from tests.terminal import Terminal


def loading(tmp_path: Path, *more: str) -> Terminal:
    return Terminal([*PREVIEW, f"state={tmp_path}", "loading=1.5", *more], cwd=str(REPOSITORY))


@pytest.mark.full
def test_the_whole_editor_works_while_the_program_is_loaded(tmp_path: Path) -> None:
    with loading(tmp_path) as t:
        t.until("> ")
        t.send("world\x01hello ", until="> hello world")
        assert "demo/demo" not in "\n".join(t.screen())
        t.send("\x05!\rnext draft", until="> next draft")
        t.until("Waiting: hello world!", "You said: hello world!")
        t.settle()
        assert "\n".join(t.history()).count("> next draft") == 1


@pytest.mark.full
def test_what_takes_long_is_named_below_the_prompt(tmp_path: Path) -> None:
    with loading(tmp_path, "reading=opening the session: 501 of 2,000 records") as t:
        t.until("opening the session: 501 of 2,000 records", "Shift-Tab mode")
        assert "opening" not in "\n".join(t.screen())


def test_one_can_leave_before_anything_is_loaded(tmp_path: Path) -> None:
    with loading(tmp_path) as t:
        t.until("> ")
        t.send("\x04")
        assert t.wait() == 0
        assert "starting" not in "\n".join(t.screen())


@pytest.mark.full
def test_what_went_wrong_while_loading_is_told_on_a_clean_screen_and_what_was_typed_stays(tmp_path: Path) -> None:
    with loading(tmp_path, "broken=yes") as t:
        t.until("> ")
        t.send("precious words", until="No key is set")
        t.until("> precious words")
        assert t.wait() == 1
        assert "starting" not in "\n".join(t.screen())


def test_a_terminal_that_goes_away_while_loading_ends_the_program(tmp_path: Path) -> None:
    with loading(tmp_path) as t:
        t.until("> ")
        t.send("x", until="> x")
        t.hang_up()
        assert t.wait() != 0


def test_the_editor_needs_nothing_of_the_program_it_waits_for() -> None:
    code = "import sys, agentcli.frontends.terminal.startup; print([name for name in sys.modules if name.startswith(('rich', 'agentcli.agent', 'agentcli.context'))])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_the_first_paint_needs_next_to_nothing() -> None:
    code = "import sys, agentcli.frontends.terminal.early; print([name for name in ('asyncio', 'prompt_toolkit', 'dataclasses', 'pathlib', 'inspect') if name in sys.modules])"
    found = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"sys=__import__('sys'); sys.path.insert(0, {str(REPOSITORY)!r}); {code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == "[]"


def test_a_terminated_program_with_an_open_question_ends_at_once(tmp_path: Path) -> None:
    with Terminal([*PREVIEW, f"state={tmp_path}"], cwd=str(REPOSITORY)) as t:
        t.until("ask · demo")
        t.send("edit\r", until="1. Yes")
        t.signal(signal.SIGTERM)
        assert t.wait(2.0) == 143


def test_pasting_works_after_another_program_had_the_terminal(tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nprintf '\\033[?2004l'\n")
    editor.chmod(0o755)
    command = [*PREVIEW, f"state={tmp_path}"]
    with Terminal(command, cwd=str(REPOSITORY), env={"EDITOR": str(editor), "VISUAL": str(editor)}) as t:
        t.until("ask · demo")
        t.send("draft\x07")
        t.bytes_until(b"\x1b[?2004l")
        t.until("> draft")
        t.settle()
        assert t.raw.rindex(b"\x1b[?2004h") > t.raw.rindex(b"\x1b[?2004l")


@pytest.mark.parametrize("columns", [120, *(pytest.param(n, marks=pytest.mark.full) for n in (60, 119))])
def test_the_rule_above_the_prompt_has_the_width_of_the_screen_from_the_first_paint(
    tmp_path: Path, columns: int
) -> None:
    with Terminal([*PREVIEW, f"state={tmp_path}", "loading=0.3"], cwd=str(REPOSITORY), columns=columns) as t:
        t.until("Shift-Tab mode")
        t.settle()
        rules = re.findall("─+", t.raw.decode())
    assert {len(rule) for rule in rules} == {columns - 1}
    assert len(rules) > 1
