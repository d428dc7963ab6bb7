"""What a person sees, beside the answers: lists to choose from, work of subagents, the frame of the screen."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from agentcli.permissions.sandbox import detect
from agentcli.permissions.sandbox.box import entrance_program
from tests.e2e.program import Program
from tests.terminal import Terminal


def call(name: str, **given: Any) -> dict[str, Any]:
    return {"name": name, "input": given}


def start(program: Program, *arguments: str, replies: list[Any], columns: int = 100, rows: int = 30) -> Terminal:
    file = program.base / "script.json"
    file.write_text(json.dumps({"replies": replies}))
    return program.terminal(*arguments, "-m", f"script:{file}", columns=columns, rows=rows)


def row_of(t: Terminal, text: str) -> int:
    return next(n for n, row in enumerate(t.screen()) if text in row)


EDIT = call("edit", file_path="a.py", old_string="1", new_string="2")
WAIT = call("bash", command="echo begun; until [ -e go ]; do sleep 0.1; done")


def test_the_frame_of_the_screen_is_quiet(program: Program) -> None:
    with start(program, replies=[{"text": "Hello."}], columns=120) as t:
        t.until("? keys")
        t.send("hi\r", until="Hello.")
        t.until(" in, ")
        t.settle()
        rows = t.screen()
        assert "─" * 119 in rows
        status = rows[row_of(t, "ask · ")]
        assert "▕" not in status
        assert "$" not in status


UNDONE = ("I'll mend the factor now.", "Should I change it to 2?", "Plan:\n1. Change the factor\n2. Add a test")


@pytest.mark.parametrize("columns", [60, 120])
def test_an_undone_end_is_one_line_to_a_person_and_an_edit_is_none(columns: int, program: Program) -> None:
    (program.work / "a.py").write_text("FACTOR = 1\n")
    reading = call("read", file_path="a.py")
    ends = [reply for text in UNDONE for reply in ({"calls": [reading]}, {"text": text})]
    replies = [*ends, {"calls": [EDIT]}, {"text": "Done."}]
    with start(program, "--mode", "auto-edit", replies=replies, columns=columns) as t:
        t.until("? keys")
        for number, text in enumerate(UNDONE, 1):
            t.send("Fix the factor in a.py\r", until=text.splitlines()[-1])
            t.until(*["proceed."] * number)
            t.settle()
            shown = " ".join(row.strip() for row in t.history())
            assert shown.count("Type “continue” to let") == shown.count("proceed.") == number
        t.send("Fix the factor in a.py\r", until="Done.")
        t.settle(0.5)
        assert " ".join(row.strip() for row in t.history()).count("Type “continue” to let") == len(UNDONE)
    assert (program.work / "a.py").read_text() == "FACTOR = 2\n"


@pytest.mark.skipif(not detect().working, reason="no sandbox works here")
@pytest.mark.parametrize("columns", [60, 120])
def test_auto_is_offered_at_the_start_and_by_shift_tab(columns: int, program: Program) -> None:
    with start(program, replies=[{"text": "Hello."}], columns=columns) as t:
        t.until("? keys", "sandbox on: Shift-Tab twice for auto ·", "\nask · ")
        t.send("\x1b[Z" * 2, until="\nauto · ")


@pytest.mark.skipif(detect().kind != "bubblewrap" or entrance_program() is None, reason="no network by host here")
@pytest.mark.parametrize(("key", "saved"), [("1", 0), ("3", 1)])
def test_an_answer_about_a_host_is_listed_as_a_rule_and_a_saved_one_can_be_removed(
    key: str, saved: int, program: Program
) -> None:
    fetch = {"calls": [call("bash", command="curl -sS http://b.example/")]}
    with start(program, "--mode", "auto", replies=[fetch, {"text": "One."}, fetch, {"text": "Two."}]) as t:
        t.until("? keys")
        t.send("go\r", until="Let curl reach b.example?")
        t.send(key, until="One.")
        t.send("/permissions\r", until=f"allow  network(b.example)  ({'your answers' if saved else 'session'})")
        assert "\n".join(t.history()).count("Saved for this project: network(b.example)") == saved
        if saved:
            t.send("/permissions remove network(b.example)\r", until="Removed network(b.example).")
            t.send("go\r", until="Let curl reach b.example?")
    assert "network(b.example)" not in program.run("permissions", "show").out


@pytest.mark.full
def test_the_todo_list_is_apart_from_the_running_command_and_the_keys_from_the_choices(program: Program) -> None:
    steps = [{"content": "Read it", "status": "completed"}, {"content": "Fix it", "status": "in_progress"}]
    replies = [
        {"calls": [call("todo", todos=steps), call("bash", command="./wait")]},
        {"calls": [call("bash", command="./run")]},
        {"text": "End."},
    ]
    (program.work / "wait").write_text("#!/bin/sh\necho begun; until [ -e go ]; do sleep 0.1; done\n")
    (program.work / "wait").chmod(0o755)
    with start(program, "--allow", "bash(./wait)", replies=replies) as t:
        t.until("? keys")
        t.send("go\r", until="  begun")
        t.until("✔ Read it")
        t.settle()
        rows = t.screen()
        assert "● Todo list · 1 of 2 done" in rows
        assert rows[row_of(t, "✔ Read it") - 1] == ""
        (program.work / "go").touch()
        t.until("$ ./run")
        t.settle()
        assert t.screen()[row_of(t, "e edit · Esc no") - 1] == ""
        t.send("\x1b")


def test_a_short_session_has_not_enough_to_compact(program: Program) -> None:
    with start(program, replies=[{"text": "Hello."}]) as t:
        t.until("? keys")
        t.send("hi\r", until="Hello.")
        t.send("/compress\r", until="Not enough to compact yet (")
        shown = "\n".join(t.screen())
        assert re.search(r"Not enough to compact yet \([\d,]+ tokens\)\.", shown)
        assert "must stay" not in shown


@pytest.mark.full
def test_a_subagent_is_a_tree_with_its_tool_uses_and_tokens_and_the_transcript_has_its_steps(program: Program) -> None:
    task = call("task", description="look for carts", prompt="Find the carts.")
    replies = [
        {"calls": [task]},
        {"calls": [call("grep", pattern="cart")]},
        {"calls": [WAIT]},
        {"text": "Found."},
        {"text": "All done."},
    ]
    with start(program, "--mode", "yolo", replies=replies) as t:
        t.until("? keys")
        t.send("go\r", until="  └ $ echo begun")
        t.settle()
        running = row_of(t, "○ Task: look for carts")
        assert re.search(r"○ Task: look for carts · 2 tool uses · [\d.]+k? tokens", t.screen()[running])
        assert t.screen()[running + 1] == '  ├ Search "cart"'
        t.send("\x0f", until="─ Transcript ─")
        t.settle()
        assert row_of(t, '├ Search "cart"') < row_of(t, "└ $ echo begun")
        t.send("q")
        (program.work / "go").touch()
        t.until("All done.")
        assert re.search(r"● Task: look for carts · 2 tool uses, [\d.]+k? tokens", "\n".join(t.history()))
        t.send("\x0f", until="─ Transcript ─")
        t.until('│ └ Search "cart"', "│ Find the carts.")


@pytest.mark.full
def test_the_transcript_opens_over_a_question_which_waits(program: Program) -> None:
    (program.work / "a.py").write_text("1\n")
    with start(program, replies=[{"text": "I change it.", "calls": [EDIT]}, {"text": "Changed."}]) as t:
        t.until("? keys")
        t.send("go\r", until="❯ 1. Yes")
        t.send("\x0f", until="─ Transcript ─")
        t.until("I change it.")
        t.send("q")
        t.gone("─ Transcript ─")
        t.until("❯ 1. Yes")
        t.send("1", until="Changed.")


@pytest.mark.full
def test_the_arguments_of_a_servers_tool_are_shown_once_and_its_answer_below(program: Program) -> None:
    fake = Path(__file__).parents[1] / "features" / "mcp" / "fake_server.py"
    servers = json.dumps({"mcpServers": {"fake": {"command": sys.executable, "args": [str(fake)]}}})
    (program.work / ".gitignore").write_text("fake.log\n")  # else the log would be shown as a changed file
    rows = "\n".join(f"row {n}" for n in range(9))
    replies = [
        {"calls": [call("mcp__fake__echo", text="Some words.")]},
        {"calls": [call("mcp__fake__echo", text=rows)]},
        {"text": "End."},
    ]
    with start(program, "--mcp-config", servers, replies=replies) as t:
        t.until("? keys")
        for _ in range(20):
            t.send("/mcp\r")
            t.settle(0.5)
            if "fake  connected" in "\n".join(t.screen()):
                break
        t.send("go\r", until="Call fake echo?")
        t.settle()
        assert "\n".join(t.screen()).count("Some words.") == 1
        t.send("1", until="● fake echo(text: Some words.)")
        t.until("  text:")
        t.settle()
        shown = t.history()
        head = shown.index("● fake echo(text: Some words.)")
        assert shown[head + 1 : head + 3] == ["  Some words.", ""]
        t.send("1", until="End.")
        t.until("● Made 2 calls (Ctrl-O)")
        t.settle()
        t.send("\x0f", until="Transcript")
        t.settle()
        shown = t.screen()
        head = next(n for n, row in enumerate(shown) if row.startswith("● fake echo(text: row 0"))
        assert shown[head + 1 : head + 10] == [f"  row {n}" for n in range(9)]


@pytest.mark.slow
def test_sessions_have_their_age_branch_size_and_last_words_and_are_renamed_and_deleted_in_the_list(
    program: Program,
) -> None:
    git = program.work / ".git"
    git.mkdir()
    (git / "HEAD").write_text("ref: refs/heads/feature\n")
    for words in (("first words", "second words"), ("another",)):
        with start(program, replies=[{"text": "Answer."}]) as t:
            t.until("? keys")
            for word in words:
                t.send(f"{word}\r", until=f"> {word}")
                t.until(" in, ")
                t.settle()
            t.send("\x04")
            assert t.wait() == 0
    with start(program, replies=[{"text": "Answer."}]) as t:
        t.until("? keys")
        t.send("/resume\r", until="❯ another")
        t.until("Ctrl-R rename · Ctrl-X delete")
        assert re.search(r"first words +just now · feature · 2 prompts · script.json", "\n".join(t.screen()))
        t.send("\x1b[B", until="Last: second words")
        t.send("\x12", until="Name of the session")
        t.send("mine\r", until="❯ mine")
        t.send("\x1b[B\x18", until="Move “another” to the trash?")
        t.send("y")
        t.gone("another ")
        t.until("❯ mine")
        t.send("\r", until="> second words")
    assert program.run("sessions", "list").out.count("another") == 0
    assert "another" in program.run("sessions", "list", "--trash").out


@pytest.mark.full
def test_lists_tell_what_is_chosen_from(program: Program) -> None:
    (program.work / "a.py").write_text("1\n")
    with start(program, "--mode", "auto-edit", replies=[{"calls": [EDIT]}, {"text": "Changed."}]) as t:
        t.until("? keys")
        t.send("change it\r", until="Changed.")
        t.send("/rewind\r", until="Rewind to which prompt?")
        t.until("a.py +1 −1")
        assert re.search(r"❯ change it +#\d+ · just now · a.py \+1 −1", "\n".join(t.screen()))
        t.send("\x1b")
        t.gone("Rewind to which")
        t.send("/config\r", until="Model of a new session, provider/model or an alias")
        t.send("\x1b[B\x1b[B", until="  Mode of a new session.")
        t.send("\x1b")
        t.gone("Mode of a new session.")
        t.send("/model\r", until="Which model?")
        t.send("sonnet", until="anthropic/claude-sonnet-4-5 ")
        assert all("no key" in row for row in t.screen() if " anthropic/" in row)
        t.send("\x1b")
        t.gone("Which model?")
        t.send("\x12", until="Earlier prompts")
        assert str(program.work) not in "\n".join(t.screen())
