"""The status command at a terminal: its line is shown, and one that hangs is named once."""

from __future__ import annotations

import json

import pytest

from tests.e2e.program import Program


@pytest.mark.full
def test_its_line_is_shown_and_follows_the_session(program: Program) -> None:
    command = "n=$(sed 's/.*total_output_tokens[^0-9]*//; s/,.*//'); printf '\\033[35mspent %s' $n"
    program.config(f"[ui]\nstatus_command = {json.dumps(command)}\n")
    with program.terminal("-m", "script:echo") as t:
        t.until("spent 0")
        t.send("hello\r")
        t.gone("spent 0")
        t.until("spent ")
    assert b"\x1b[35mspent" in t.raw


@pytest.mark.slow
def test_one_that_hangs_is_named_once_and_nothing_else_happens(program: Program) -> None:
    program.config('[ui]\nstatus_command = "sleep 60"\n')
    with program.terminal("-m", "script:echo") as t:
        t.until("ui.status_command: It took more than 2 s")
        t.send("hello\r", until="9 out")
        t.settle(8)
        assert "\n".join(t.history()).count("ui.status_command: It took") == 1


def test_import_config_takes_it_over_from_claude_code(program: Program) -> None:
    (program.base / ".claude").mkdir()
    (program.base / ".claude" / "settings.json").write_text(
        json.dumps({"statusLine": {"type": "command", "command": "~/.claude/line.sh", "padding": 0}})
    )
    assert program.run("import-config", "claude", "--yes").code == 0
    assert program.run("config", "get", "ui.status_command").out == "~/.claude/line.sh\n"
