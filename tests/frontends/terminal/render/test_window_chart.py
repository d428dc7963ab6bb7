"""The context window as a chart: a bar in the colours of its parts, their sizes, and the largest messages."""

from __future__ import annotations

from pathlib import Path

from agentcli.agent.report import PRUNES_IF_IT_PAYS
from agentcli.context.window_report import WindowReport
from agentcli.frontends.terminal.render.window_chart import LARGEST, chart
from agentcli.frontends.terminal.style import MUTE, Look
from tests.frontends.terminal.slash import type_
from tests.stories.frontends.test_slash import talked


def test_a_window_without_messages_has_no_heading_for_them_and_its_marks_are_wrapped() -> None:
    marks = {PRUNES_IF_IT_PAYS: 2_000, "compacts at": 70_000}
    lines = chart(WindowReport({"system": 700, "free": 99_300}, 100_000, 200_000, 0, (), marks), "m", 30, MUTE, False)
    assert "Messages" not in lines
    assert lines[-2:] == ["╎ prunes if that pays, from 2%", "· compacts at 70%"]


def test_the_largest_messages_are_listed_and_all_of_them_where_asked_for(tmp_path: Path) -> None:
    context = talked(tmp_path, *(f"prompt {n}" for n in range(9)))
    context.look = Look(MUTE)
    short = type_(context, "/context")
    assert sum("#" in line for line in short) == LARGEST
    assert any(line.endswith("/context all lists all 18") for line in short)
    context.output.clear()
    assert sum("#" in line for line in type_(context, "/context all")) == 18
