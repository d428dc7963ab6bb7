"""Facts that the live part shows: running calls, the work they belong to, and the status line's."""

from __future__ import annotations

from dataclasses import replace

from agentcli.frontends.terminal.render.facts import Status
from agentcli.frontends.terminal.render.status_line import status_line
from agentcli.frontends.terminal.style import DARK, MUTE, PLAIN


def test_the_status_line_leaves_out_what_does_not_fit() -> None:
    status = Status("demo/demo", "ask", 4_200, 10_000, cost=0.5, branch="main", hit_rate=0.9, jobs=1)
    assert (
        status_line(status, 80, MUTE)
        == "ask · demo · 4.2k/10k ▕███▍    ▏".ljust(47) + "$0.50 · cache 90% · 1 job · main"
    )
    assert status_line(status, 40, MUTE) == "ask · demo · 4.2k/10k     $0.50 · 1 job"
    assert status_line(status, 24, MUTE) == "ask · demo · 4.2k/10k"


def test_the_status_line_tells_the_facts_that_were_chosen_in_their_order() -> None:
    status = Status(
        "m",
        "ask",
        42,
        100,
        hit_rate=0.876,
        sandbox="bubblewrap",
        session="s",
        order=("cache", "mode", "session", "sandbox"),
    )
    assert status_line(status, 80, MUTE) == "cache 88% · ask · s · bubblewrap"


def test_the_mode_has_a_colour_and_a_window_that_is_nearly_full_another() -> None:
    status = Status("m", "yolo", 30_000, 100_000, soft=70_000)
    assert status_line(status, 80, DARK).startswith("\x1b[31myolo\x1b[0m")
    assert "compacts" not in status_line(status, 80, DARK)
    near = status_line(replace(status, used=57_000), 80, DARK)
    assert "\x1b[33m57k/100k ▕████▌   ▏ compacts at 70%\x1b[0m" in near
    passed = replace(status, used=71_000, hard=90_000)
    assert "compacts at 90%" in status_line(passed, 80, MUTE)
    assert "compacts at 70%" in status_line(replace(passed, hard=0), 80, MUTE)


def test_the_line_is_cut_before_it_is_dropped_and_plain_without_colours() -> None:
    status = Status(
        model="a/b", mode="ask", used=1, usable=9, branch="main", extra="\x1b[32m" + "long " * 30 + "\x1b[0m"
    )
    row = status_line(status, 60, DARK)
    assert "\x1b[32mlong long" in row
    assert "…" in row
    assert "main" not in row
    assert "\x1b[32m" not in status_line(status, 60, PLAIN)
    assert "long long" in status_line(status, 60, PLAIN)
