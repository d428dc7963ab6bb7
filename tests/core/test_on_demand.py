"""A part on demand is made once, when it is called for or there is one, and not before."""

from __future__ import annotations

from agentcli.core.on_demand import OnDemand


def test_it_is_made_at_the_first_call_and_once() -> None:
    made: list[object] = []

    def make() -> object:
        made.append(object())
        return made[-1]

    part = OnDemand(make)
    assert [part.now, *made] == [None]
    assert [part(), part(), part.now] == made * 3


def test_it_is_there_as_soon_as_there_is_one() -> None:
    recorded: list[str] = []
    part = OnDemand(lambda: [*recorded], lambda: recorded)
    assert part.now is None
    recorded.append("one")
    assert part.now == ["one"]
