"""Key actions: the order of the modes."""

from itertools import accumulate, repeat

from agentcli.core.record import Mode
from agentcli.frontends.terminal.input.actions import after, way_to_auto


def round_of(mode: Mode, sandboxed: bool) -> list[Mode]:
    return list(accumulate(repeat(mode, 5), lambda now, _: after(now, sandboxed=sandboxed)))


def test_shift_tab_offers_auto_where_a_sandbox_works() -> None:
    assert round_of("ask", sandboxed=True) == ["ask", "auto-edit", "auto", "plan", "ask"]
    assert round_of("yolo", sandboxed=True)[:3] == ["yolo", "ask", "auto-edit"]
    assert round_of("ask", sandboxed=False) == ["ask", "auto-edit", "plan", "ask", "auto-edit"]
    assert round_of("auto", sandboxed=False)[:2] == ["auto", "ask"]


def test_the_way_to_auto_counts_the_keys() -> None:
    said = {mode: way_to_auto(mode) for mode in ("ask", "auto-edit", "plan", "auto")}
    assert said == {
        "ask": ": Shift-Tab twice for auto",
        "auto-edit": ": Shift-Tab for auto",
        "plan": ": Shift-Tab three times for auto",
        "auto": "",
    }
