"""A user's first minutes and the status facts, in the real program with a model behind a real wire."""

from __future__ import annotations

import re
import subprocess
from typing import Any

import pytest

from agentcli.providers.scripted.model import call, say
from tests.e2e.program import Program
from tests.e2e.test_repl import CLAUDE, leave, terminal
from tests.loopback import Asked, Loopback, Refuse


def model(asked: Asked) -> Any:
    """Runs what it is told to, and says that it is done."""
    words = asked.last_text
    if "wait" in words:
        return say("I wait.", call("bash", command="echo begun; read x < go; echo over"))
    if "several" in words:
        return say("I do.", *(call("bash", command=f"touch {name}.txt") for name in ("one", "two", "three")))
    if "AGENTS.md" in words:
        return say("I write it.", call("write", file_path="AGENTS.md", content="# Work\n\nRun make.\n"))
    return say("That is that.")


@pytest.mark.full
def test_a_folder_is_trusted_once_and_its_settings_count_from_then_on(program: Program) -> None:
    (program.work / ".agentcli").mkdir()
    (program.work / ".agentcli" / "config.toml").write_text("[budget.session]\ncost = 5.0\n")
    with Loopback(model) as server:
        program.more = server.env
        with terminal(program, "-m", CLAUDE, forked=False) as t:
            t.until("Trust this folder?")
            rows = t.screen()
            assert ".agentcli/config.toml(settings:" in "".join(rows).replace(" ", "")
            [first, last] = [n for n, row in enumerate(rows) if "Trust this folder?" in row or "1. Yes" in row]
            assert all(row.startswith("  ") for row in rows[first + 1 : last] if row)
            t.send("y", until="budget 0%")
            t.send("hello\r", until="That is that.")
            t.send("/budget\r", until="of $5.00 left")
            leave(t)
        with terminal(program, "-m", CLAUDE) as t:
            t.until("budget 0%")
            assert "trust" not in "\n".join(t.history())
            leave(t)


@pytest.mark.full
def test_a_folder_that_is_not_trusted_changes_nothing(program: Program) -> None:
    (program.work / ".agentcli").mkdir()
    (program.work / ".agentcli" / "config.toml").write_text("[budget.session]\ncost = 5.0\n")
    with Loopback(model) as server:
        program.more = server.env
        with terminal(program, "-m", CLAUDE) as t:
            t.until("Trust this folder?")
            t.send("n", until="/968k")
            t.send("/budget\r", until="No budget is set.")
            t.send("hello\r", until="That is that.")
            leave(t)


@pytest.mark.full
def test_a_command_sent_to_the_background_is_counted_listed_and_told_to_the_model(program: Program) -> None:
    subprocess.run(["mkfifo", str(program.work / "go")], check=True)
    with Loopback(model) as server:
        program.more = server.env
        with terminal(program, "-m", CLAUDE, "--mode", "yolo", columns=140) as t:
            t.until("/968k")
            t.send("wait for it\r", until="  begun")
            t.send("\x02", until="That is that.")
            t.until("· 1 job")
            t.send("/tasks\r", until="job-1  running")
            (program.work / "go").write_text("now\n")
            t.settle(2.5)
            assert "· 1 job" not in "\n".join(t.screen())
            t.send("/tasks\r", until="job-1  done")
            t.send("hello\r")
            t.settle(0.5)
            leave(t)
    assert "the user sent it to the background as job-1" in str(server.requests[-1].json)
    assert "Background job job-1" in str(server.requests[-1].json)


@pytest.mark.full
def test_all_commands_of_a_reply_are_allowed_at_once(program: Program) -> None:
    with Loopback(model) as server:
        program.more = server.env
        with terminal(program, "-m", CLAUDE) as t:
            t.until("/968k")
            t.send("several\r", until="Yes to all 3")
            t.send("a", until="Allow all 3")
            assert [row.strip() for row in t.screen() if "3. " in row or "three" in row] == [
                "3. touch may change files",
                "$ touch three.txt",
            ]
            t.send("y", until="That is that.")
            leave(t)
    assert sorted(path.stem for path in program.work.glob("*.txt")) == ["one", "three", "two"]


@pytest.mark.full
def test_the_program_tells_about_itself_and_the_session(program: Program) -> None:
    with Loopback(model) as server:
        program.more = server.env
        with terminal(program, "-m", CLAUDE, columns=140, rows=60) as t:
            t.until("/968k")
            t.send("hello\r", until="That is that.")
            for command, words in {
                "/cache": "cache write",
                "/doctor": "ok    key for anthropic",
                "/permissions": "No rules set. “Always” in an approval saves one; /permissions allow bash(make *)",
                "/stats": "Per day",
                f"/export {program.base}/session.md": "session.md, ",
                "/tasks": "No background jobs.",
            }.items():
                t.send(f"{command}\r", until=words)
            t.send("/init with our style\r", until="AGENTS.md is protected")
            seen = "\n".join(t.history())
            assert "> Write an AGENTS.md for this project" in seen
            assert "with our style" in seen
            assert "single test" not in seen  # how it is to be done
            assert "how to run a single test" in str(server.requests[-1].json)
            t.send("y")
            t.gone("1. Yes")
            t.settle(0.5)
            assert re.search(r" · cache \d+%", "\n".join(t.screen())), t.screen()
            leave(t)
    assert (program.work / "AGENTS.md").read_text() == "# Work\n\nRun make.\n"
    assert "That is that." in (program.base / "session.md").read_text()


@pytest.mark.full
def test_why_lists_what_was_done_unasked_and_after_a_resume_what_is_on_record(program: Program) -> None:
    failures = iter([Refuse(529, "overloaded_error")])

    def unsteady(asked: Asked) -> Any:
        return next(failures, None) or say("That is that.")

    program.config("[budget.session]\ntokens = 2500\nmode = 'soft'\n")
    with Loopback(unsteady) as server:
        program.more = server.env
        with terminal(program, "-m", CLAUDE) as t:
            t.until("/968k")
            t.send("hello\r", until="That is that.")
            t.send("more\r", until="s: a budget runs low")
            t.settle(1)
            t.send("/why\r")
            t.settle(0.5)
            shown = "\n".join(t.history())
            assert shown.count("Anthropic is overloaded (529). Retrying in 1 s (attempt 1)") == 1, shown
            assert shown.count("s: a budget runs low") == 2, shown
            session = leave(t)
        with terminal(program, "resume", session) as t:
            t.until("/968k")
            t.send("/why\r", until="Retrying in")
            leave(t)


@pytest.mark.full
def test_a_message_into_a_turn_that_is_interrupted_is_sent_next(program: Program) -> None:
    subprocess.run(["mkfifo", str(program.work / "go")], check=True)
    with Loopback(model) as server:
        program.more = server.env
        with terminal(program, "-m", CLAUDE, "--mode", "yolo") as t:
            t.until("/968k")
            t.send("wait for it\r", until="  begun")
            t.send("use the other door")
            t.settle()
            t.send("\r", until="After this step: use the other door")
            t.settle(0.3)
            t.send("\x1b", until="Interrupted.")
            t.until("That is that.")
            t.gone("After this step: use the other door")
            leave(t)
    assert "use the other door" in str(server.requests[-1].json)
