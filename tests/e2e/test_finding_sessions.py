"""Sessions and prompts are found by what was said in them, wherever one is chosen."""

from __future__ import annotations

import json

import pytest

from tests.e2e.program import Program


@pytest.fixture
def needle(program: Program) -> str:
    """The id of a session whose title and name do not hold the word needle, beside another session."""
    program.run("-p", "about other things", "-m", "script:echo")
    first = program.ask("-p", "the beginning", "-m", "script:echo").of("init")[0]["session_id"]
    program.run("resume", first, "-p", "look for the needle in the stack", "-m", "script:echo")
    return str(first)


@pytest.mark.full
@pytest.mark.parametrize("columns", [60, 120])
def test_resume_with_words_shows_the_session_that_contains_them_and_enter_opens_it(
    program: Program, needle: str, columns: int
) -> None:
    with program.terminal("resume", "needle stack", "-m", "script:echo", columns=columns) as t:
        t.until("search: needle stack", "look for the needle")
        assert not any("about other things" in row for row in t.screen())
        t.send("\r", until=f"session {needle}")
        t.settle()
        t.send("/quit\r", until=f"agentcli resume {needle}")


@pytest.mark.full
def test_the_picker_looks_into_the_sessions_while_words_are_typed(program: Program, needle: str) -> None:
    with program.terminal("resume", "-m", "script:echo") as t:
        t.until("about other things")
        t.send("needle", until="look for the needle")
        t.gone("about other things")
        t.send("\x15nowhere", until="No match")


@pytest.mark.full
def test_words_that_no_session_contains_are_an_error_and_so_are_words_without_a_terminal(
    program: Program, needle: str
) -> None:
    assert "Unknown session 'needle'" in program.run("resume", "needle", "-p", "x", "-m", "script:echo").err
    with program.terminal("resume", "nowhere", "-m", "script:echo") as t:
        t.until("Unknown session 'nowhere'")
        assert t.wait() == 42


def test_rewind_finds_a_prompt_by_what_came_after_it(program: Program) -> None:
    script = program.base / "script.json"
    script.write_text(json.dumps({"replies": [{"text": f"It is {word}."} for word in ("hay", "a needle", "straw")]}))
    with program.terminal("-m", f"script:{script}", columns=60) as t:
        for prompt, answer in (("alpha", "It is hay."), ("beta", "It is a needle."), ("gamma", "It is straw.")):
            t.settle()
            t.send(prompt + "\r", until=answer)
        t.settle()
        t.send("/rewind needle\r", until="search: needle")
        t.until("❯ beta")
        t.settle(0.4)
        assert not any(row.startswith(("  alpha", "  gamma")) for row in t.screen())
        assert any(row.startswith("❯ beta") and "It is a needle." in row for row in t.screen())
