"""The command line accepts what is documented, and explains what it refuses."""

from __future__ import annotations

import pytest

from tests.e2e.program import Program


def test_the_help_names_the_options_of_a_session_and_the_commands(program: Program) -> None:
    shown = program.run("--help").out
    assert "agentcli [OPTIONS] [PROMPT] | COMMAND" in shown
    for name in ("-p, --prompt", "-c, --continue", "--max-cost USD", "--no-session", "--version", "sessions", "demo"):
        assert name in shown
    assert "[[" not in program.run("sessions", "check", "--help").out


def test_a_file_that_cannot_be_read_is_named_with_the_reason_alone(program: Program) -> None:
    ran = program.run("-p", "x", "--system-prompt-file", "none", "-m", "script:echo")
    assert (ran.code, ran.err) == (2, "agentcli: Can't read none: No such file or directory.\n")
    assert program.run("batch", "run", "none", "out").err.endswith("Can't read none: No such file or directory.\n")


@pytest.mark.slow
def test_without_a_terminal_the_demo_plays_to_its_end_by_itself(program: Program) -> None:
    ran = program.run("demo", seconds=90)
    assert ran.code == 0, ran.err
    assert "all three tests pass" in ran.out


def test_without_a_terminal_what_is_missing_is_said_in_the_order_of_mending(program: Program) -> None:
    assert program.run().code == 41
    asked = program.run("-m", "script:echo")
    assert (asked.code, "Use -p" in asked.err) == (42, True)
    assert "Which session?" in program.run("resume").err
