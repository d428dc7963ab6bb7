"""How much smaller the window stays when inputs of old edits are cleared, too: `python -m tests.bench.bench_inputs`.

The recorded session is replayed under `auto` with and without it: as it is by default, without compactions in a window that holds
all of it, and with nothing but the prunes that the user asks for at the end. Where it compacts by price, less in the window means
that it does so later, so that the last window says nothing by itself: the mean over all requests is the fair measure there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from agentcli.context.policies import plan_prune
from agentcli.context.pruning.plan import Pressure
from agentcli.context.settings import ContextSettings, PruneSettings
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.view import after, view
from agentcli.context.window import Window, limits_of
from agentcli.core.history import fold
from agentcli.core.record import Compaction, Record
from agentcli.extras.lab.replay import Setup, replay
from agentcli.providers.catalog import spec
from agentcli.tools.registry import TRAITS
from tests.context.realsession import records

MODEL = spec("claude-sonnet-4-5")


@dataclass(frozen=True, slots=True)
class Figures:
    """Tokens of the last prompt and of the mean one, and cost in USD, without and with inputs cleared."""

    name: str
    tokens: tuple[int, int]
    mean: tuple[int, int] = (0, 0)
    cost: tuple[float, float] = (0.0, 0.0)
    compactions: tuple[int, int] = (0, 0)

    @property
    def smaller(self) -> float:
        """Share by which the last prompt is smaller."""
        return 1 - self.tokens[1] / self.tokens[0]


def rules(inputs: bool, autocompact: bool = True) -> ContextSettings:
    return ContextSettings(autocompact=autocompact, prune=PruneSettings(inputs=inputs))


def replayed(name: str, said: list[Record], window: int, autocompact: bool) -> Figures:
    """The session under `auto` in a window of so many tokens."""
    model = replace(MODEL, window=window)
    before, now = (
        replay(said, "auto", Setup(model, TRAITS, settings=rules(inputs, autocompact))) for inputs in (False, True)
    )
    means = (sum(before.sizes) // before.requests, sum(now.sizes) // now.requests)
    compactions = (before.compactions, now.compactions)
    return Figures(name, (before.sizes[-1], now.sizes[-1]), means, (before.cost, now.cost), compactions)


def pruned(said: list[Record]) -> Figures:
    """The whole session in view, pruned once at its end."""
    history = fold([record for record in said if not isinstance(record.body, Compaction)])
    tokens = []
    for inputs in (False, True):
        settings, counter = rules(inputs), TokenCounter()
        model = replace(MODEL, window=2_000_000)
        window = Window(view(history), limits_of(model, settings), counter, settings, TRAITS)
        made, _ = plan_prune(window, Pressure(forced=True))
        tokens.append(counter.view(after(history, made) if made else window.view))
    return Figures("one prune at the end", (tokens[0], tokens[1]))


def figures(said: list[Record]) -> list[Figures]:
    return [
        replayed("as it is by default", said, MODEL.window, autocompact=True),
        replayed("no compaction, all in view", said, 2_000_000, autocompact=False),
        pruned(said),
    ]


def main() -> None:
    for found in figures(records()):
        (before, now), (cost, less) = found.tokens, found.cost
        print(f"{found.name:28} {before:9,} → {now:9,} tokens at the end, {found.smaller:.1%} smaller")
        if cost:
            (one, other), (many, few) = found.mean, found.compactions
            mean = f"{one:,} → {other:,} tokens on average, {1 - other / one:.1%} smaller"
            print(f"{'':28} {mean}; ${cost:.2f} → ${less:.2f}, {1 - less / cost:.1%} less; compactions {many} → {few}")


if __name__ == "__main__":
    main()
