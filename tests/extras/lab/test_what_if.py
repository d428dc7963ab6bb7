"""A session is really run on two models, over the wire; its cost on the second is predicted from its records on the first."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from agentcli.providers.scripted.model import Reply, call, say
from tests.e2e.program import Program
from tests.features.costs.wire_cache import WireCache
from tests.loopback import Asked, Loopback

MARGIN = 0.01
"""Share by which a prediction may differ from what the session really cost on the other model of the same vendor."""
FOREIGN_MARGIN = 0.02
"""The same for a model of another vendor, whose prompt and tools have other texts."""


@dataclass(frozen=True)
class Priced:
    """A model with what its vendor charges: USD a million tokens, fresh, written, read and output."""

    name: str
    prices: tuple[float, float, float, float]
    minimum: int
    lifetime: float = 300.0


SONNET = Priced("anthropic/claude-sonnet-5", (2, 2.5, 0.2, 10), 1024)
OPUS = Priced("anthropic/claude-opus-4-6", (5, 6.25, 0.5, 25), 4096, lifetime=3600.0)
GEMINI = Priced("google/gemini-3.8-flash", (0.75, 0, 0.075, 3.75), 4096)
CONFIG = '[agent]\ntitles = false\n[models."anthropic/claude-opus-4-6"]\ncache_lifetime = 3600\n'
STEPS = [
    say("Let me look.", call("read", file_path="a.txt")),
    say("And at the other.", call("read", file_path="b.txt"), call("glob", pattern="*.txt")),
    say("Both are long."),
    say("", call("bash", command="seq 1 400")),
    say("Numbers."),
    say("", call("grep", pattern="7", path="a.txt", output_mode="content")),
    say("Sevens. " * 40),
    say("The end."),
]
PROMPTS = [(0, "Read both."), (60, "Count."), (500, "Find sevens."), (560, "Sum up.")]
"""Prompts with the seconds after the beginning: the third comes when a cache that lives for five minutes is cold."""


def ran(model: Priced, folder: Path) -> tuple[Program, WireCache]:
    """The session on a model, each prompt in a process of its own whose clock is fast."""
    begun, late = time.time(), [0]
    wire = WireCache(model.minimum, model.lifetime, lambda: time.time() - begun + late[0])
    steps = iter(STEPS)

    def plan(asked: Asked) -> Reply:
        step = next(steps)
        return wire.answer(asked, step, 300)

    folder.mkdir()
    with Loopback(plan) as server:
        program = Program(folder, more=server.env)
        program.config(CONFIG)
        for name in ("a", "b"):
            (program.work / f"{name}.txt").write_text("".join(f"{name} {n} " * 12 + "\n" for n in range(120)))
        for seconds, prompt in PROMPTS:
            late[0] = seconds
            program.command = ("-m", "tests.e2e.leaping_clock", str(seconds))
            goes_on = ("-c",) if seconds else ()
            done = program.run(*goes_on, "-p", prompt, "-m", model.name, "--mode", "yolo")
            assert done.code == 0, done.err
    program.command = ("-m", "agentcli")
    return program, wire


def charged(program: Program) -> float:
    (info,) = program.sessions.glob("*/*/session.json")
    return float(json.loads(info.read_text())["cost"])


def predicted(program: Program, model: Priced) -> dict[str, float]:
    (info,) = program.sessions.glob("*/*/session.json")
    told = program.run("stats", "what-if", info.parent.name, "-m", model.name, "--json")
    assert told.code == 0, told.err
    found: dict[str, float] = json.loads(told.out)
    return found


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Priced], tuple[Program, WireCache]]:
    """Runs the session on a model, once for all tests."""
    folder = tmp_path_factory.mktemp("runs")
    return cache(lambda model: ran(model, folder / model.name.replace("/", "-")))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "second", "margin"),
    [
        (SONNET, GEMINI, FOREIGN_MARGIN),
        (GEMINI, OPUS, FOREIGN_MARGIN),
        (SONNET, OPUS, MARGIN),
        (OPUS, SONNET, MARGIN),
    ],
    ids=lambda value: value.name.partition("/")[2] if isinstance(value, Priced) else "",
)
def test_the_predicted_cost_is_what_the_session_really_cost_on_the_other_model(
    first: Priced, second: Priced, margin: float, runs: Callable[[Priced], tuple[Program, WireCache]]
) -> None:
    (program, reported), (other, really_reported) = runs(first), runs(second)
    really = really_reported.cost(*second.prices)
    assert charged(other) == pytest.approx(really, rel=1e-6)
    assert charged(program) == pytest.approx(reported.cost(*first.prices), rel=1e-6)
    told = predicted(program, second)
    print(
        f"\n{first.name} → {second.name}: predicted {told['cost']:.5f}, really {really:.5f}, {told['cost'] / really - 1:+.2%}"
    )
    assert told["cost"] == pytest.approx(really, rel=margin)
    assert told["own_model"]["cost"] == pytest.approx(charged(program), rel=MARGIN)  # type: ignore[index]
    assert abs(reported.cost(*second.prices) / really - 1) > 2 * margin, (
        "the same counts at other prices would do as well"
    )
