"""The title of the terminal's tab and its mark of progress."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from agentcli.frontends.terminal.dialogs.dialogs import Dialog
from agentcli.frontends.terminal.render.state import State
from agentcli.frontends.terminal.tab import Tab, shows_progress
from agentcli.program.commands import Choice
from tests.e2e.program import Program
from tests.tables import each_row

PUSHED, RESTORED = "\x1b[22;2t", "\x1b[23;2t"
GHOSTTY = {"TERM_PROGRAM": "ghostty"}


def titles(raw: str) -> list[str]:
    return re.findall(r"\x1b\]0;(.*?)\a", raw)


def test_a_tab_says_once_whether_the_session_works_or_waits_and_is_restored() -> None:
    written: list[str] = []
    tab = Tab(written.append, GHOSTTY)
    idle, asking = State(), replace(State(), dialog=Dialog("Run it?", choices=(Choice("yes"),)))
    works = State().begin("Thinking", 0)
    tab.show(idle, "")
    assert written == []
    for state in (idle, idle, works, works, asking, works, idle):
        tab.show(state, "shop\x1b[31m")
    tab.close()
    raw = "".join(written)
    assert raw.startswith(PUSHED)
    assert [title[0] for title in titles(raw)] == ["s", "●", "?", "●", "s"]
    assert "\x1b[31m" not in raw
    assert re.findall(r"9;4;(\d);0\a", raw) == ["3", "4", "3", "0"]
    assert raw.endswith(RESTORED)
    tab.close()
    assert "".join(written) == raw


@each_row(
    ("environment", "shown"),
    [({}, False), (GHOSTTY, True), ({"WT_SESSION": "x"}, True), (GHOSTTY | {"TMUX": "x"}, False)],
)
def test_only_terminals_that_know_the_mark_get_it(environment: Mapping[str, str], shown: bool) -> None:
    assert shows_progress(environment) is shown


@pytest.mark.full
@pytest.mark.parametrize("notify", ["auto", "off"])
def test_the_tab_of_a_session_has_the_name_of_its_folder(tmp_path: Path, notify: str) -> None:
    program = Program(tmp_path)
    # A reply that takes about a second: a turn that ends before the first frame never shows that it works.
    with program.terminal("-m", "script:long-reply:30@3000", "--set", f"ui.notify={notify}", "hello") as t:
        t.until("#0029")
        t.settle()
        t.send("/quit\r")
        t.wait()
        raw = t.raw.decode(errors="replace")
    assert ("● work" in titles(raw), "work" in titles(raw), RESTORED in raw) == (3 * (notify == "auto",))
