"""Reports as tabs, in the terminal and where there are none."""

from __future__ import annotations

from tests.e2e.program import Program
from tests.frontends.terminal.contexts import ScriptedContext
from tests.frontends.terminal.slash import COMMANDS, type_

RIGHT, ESCAPE = "\x1b[C", "\x1b"


def test_arrows_switch_tabs_and_what_is_typed_keeps_the_one_that_is_shown(program: Program) -> None:
    with program.terminal("-m", "demo", rows=40) as t:
        t.until("? keys")
        t.send("/cost\r", until="/cost is now /usage turn.")
        t.until("session [turn] day  cache")
        t.send(RIGHT, until=" turn [day]")
        t.send("\t", until=" day [cache]")
        t.until("│ Nothing has been asked yet")
        t.send("x")
        t.gone("[cache]")
        assert {"Nothing has been asked yet, so nothing is cached.", "> x"} <= {*t.screen()}
        t.send("\x7f/stats\r", until=" turn [day]")
        t.send(ESCAPE)
        t.gone("[day]")
        t.send("/stats\r", until=" turn [day]")
        assert "\n".join(t.history()).count("/stats is now") == 1


def test_a_person_must_know_at_most_forty_commands_and_the_former_ones_answer() -> None:
    assert len(COMMANDS.listed) <= 40
    for name, command in COMMANDS.all.items():
        if command.former:
            assert COMMANDS.meant(f"/{name}").command is command
            assert COMMANDS.meant(f"/{command.now}", here=True).command.now == command.now
    assert COMMANDS.meant("/sessions", here=True).told == "/sessions is now /resume."
    assert not COMMANDS.meant("/sessions").told, "there is no /resume without a terminal"


def test_a_terminal_without_tabs_prints_one_and_names_the_others() -> None:
    lines = type_(ScriptedContext(), "/usage day")
    assert lines == ["No sessions. See `agentcli help sessions`.", "See also /usage, /usage turn, /usage cache."]
    assert type_(ScriptedContext(), "/status nonsense") == ["Use /status, or /status why, or /status checks."]
