"""The line after a turn that cost much more than usual."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agentcli.core.dataclass import replace
from agentcli.core.event import Noticed
from agentcli.core.message import Usage
from agentcli.core.model import Prices
from agentcli.features.cost_line.extension import USUAL_FROM
from agentcli.frontends.built_in import CostLine
from agentcli.providers.scripted.model import Reply, say
from tests.agent.open_session import DEMO, open_session, say_to

PRICED = replace(DEMO, prices=Prices(3.0, 15.0, 0.3, 3.75))
PROGRAM: Any = None
HIT, MISS = Usage(10, 100, 0, 50_000, 1_000), Usage(10, 100, 0, 0, 90_000)
LONG = Usage(10, 30_000, 0, 50_000, 1_000)


def told(folder: Path, *usages: Usage) -> list[list[str]]:
    """The notices of each turn."""
    script: list[Reply] = [say("so", usage=usage) for usage in usages]
    session = open_session(folder, script, model=PRICED, features=[lambda core: CostLine().session(PROGRAM, core)])
    return [[event.message for event in say_to(session, "go on") if isinstance(event, Noticed)] for _ in usages]


def test_a_turn_whose_cache_was_missed_is_told_once_there_is_a_usual_cost(tmp_path: Path) -> None:
    *early, late = told(tmp_path, Usage(10, 100, 0, 0, 50_000), HIT, HIT, HIT, MISS)
    assert early == [[], [], [], []]
    [line] = late
    assert line.startswith(
        "This turn cost $0.3390, usual is $0.0203: sent again in full, 51,000 tokens: the provider did not find it"
    )
    assert line.endswith(" /usage has the details.")


def test_its_code_is_loaded_once_it_may_say_something() -> None:
    assert CostLine.from_turn == USUAL_FROM + 1


def test_long_work_is_not_told(tmp_path: Path) -> None:
    assert told(tmp_path, HIT, HIT, HIT, HIT, LONG)[-1] == []


def test_nothing_is_told_before_the_fifth_turn_or_of_small_amounts(tmp_path: Path) -> None:
    assert told(tmp_path / "a", HIT, HIT, HIT, MISS)[-1] == []
    cheap = [Usage(10, 10, 0, 2_000, 100)] * 4
    assert told(tmp_path / "b", *cheap, Usage(10, 10, 0, 0, 5_000))[-1] == []


def test_what_is_always_so_is_usual(tmp_path: Path) -> None:
    assert told(tmp_path, *[MISS] * 6)[-1] == []
