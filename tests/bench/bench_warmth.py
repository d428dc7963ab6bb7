"""What a cache kept warm saves: `python -m tests.bench.bench_warmth FOLDER [WINDOW [MODEL]]`, the window in thousands of tokens, 200 by default.

FOLDER holds recorded sessions with the times of their records. Each is replayed under `auto` three more times than without: with the
decision that runs live, with foresight of each pause, and with marks that last an hour, written at twice the price of fresh tokens.
Sessions with one beginning of their file's name, `PROGRAM-OWNER`, are one user's, whose pauses add up in the order of the names.
"""

from __future__ import annotations

import math
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from agentcli.context.warmth import LEAD, LONGEST, Pauses, gain, gains_by_cold
from agentcli.core.message import Message, Usage
from agentcli.core.model import ModelSpec, Request
from agentcli.core.record import Record
from agentcli.extras.importers.sessions import read
from agentcli.extras.lab.emulate import seconds_of
from agentcli.extras.lab.replay import Player, Setup, events_of
from tests.bench.bench_lab import setup

HOUR, TWICE = 3_600.0, 2.0
"""Seconds that the long mark lasts, and the price of writing with it in fresh tokens."""


class Warmed(Player):
    """A session whose prompts are kept warm by this user's pauses so far; with `foresight`, by the pause that follows."""

    def __init__(self, setup: Setup, pauses: Pauses, *, foresight: bool) -> None:
        super().__init__("auto", setup, None)
        self.pauses, self.foresight = pauses, foresight
        self.last: tuple[Request, int, float, float] | None = None
        """The newest request, its size, and when it was sent and answered."""
        self.repeated, self.spent = 0, 0.0

    def ask(self, record: Record, message: Message) -> None:
        spec, prompt = self.model, self.records[-1] if self.records else record
        if self.last is not None and isinstance(prompt.body, Message) and prompt.body.is_prompt:
            pause = seconds_of(prompt.time) - self.last[3]
            self.wait(pause, *self.last)
            self.pauses = self.pauses.after(pause)
        super().ask(record, message)
        self.model = spec
        assert self.last is not None
        self.last = (*self.last[:2], self.now, seconds_of(record.time))

    def wait(self, pause: float, request: Request, size: int, sent: float, answered: float) -> None:
        """Repeat the request while that pays; edits then know until when the cache is warm."""
        spec, repeated = self.model, sent
        price, cold = (spec.cost(Usage(cache_read=size, output=1)) or 0.0, spec.cost(Usage(cache_write=size)) or 0.0)
        for after in list(self.times(pause, sent - answered, price, cold - price, size)):
            repeated = answered + after
            cost = spec.cost(self.cache.usage(request, repeated, 1)) or 0.0
            self.repeated, self.spent = self.repeated + 1, self.spent + cost
            self.played = replace(self.played, cost=self.played.cost + cost)
        self.model = replace(spec, cache_lifetime=spec.cache_lifetime + repeated - sent)
        self._seen = None

    def times(self, pause: float, sent: float, price: float, saved: float, size: int) -> Iterator[float]:
        """The seconds after the reply at which the request is repeated, `sent` the time of the request by the same clock."""
        lifetime = self.model.cache_lifetime
        after = max(0.0, sent + lifetime - LEAD)
        if self.foresight:
            needed = max(0, math.ceil((pause - sent - lifetime) / (lifetime - LEAD)))
            yield from (after + n * (lifetime - LEAD) for n in range(needed if needed * price < saved else 0))
            return
        if gains_by_cold(self.window, size, datetime.now(UTC)):
            return
        while after < pause and after <= LONGEST and gain(self.pauses, after, lifetime, price, saved) > price:
            yield after
            after += lifetime - LEAD

    def request(self) -> tuple[Request, int]:
        made = super().request()
        self.last = (*made, 0.0, 0.0)
        return made


def played(records: Sequence[Record], model: ModelSpec, pauses: Pauses | None, *, foresight: bool = False) -> Player:
    """A session under `auto` with a model, with pauses so far, or cold after each."""
    conditions = replace(setup(), model=model)
    player = Player("auto", conditions, None) if pauses is None else Warmed(conditions, pauses, foresight=foresight)
    for record in events_of(records):
        player.add(record)
    return player


def main() -> None:
    """Print each session's price without warming, and the others as shares of it."""
    window = int(sys.argv[2]) * 1_000 if len(sys.argv) > 2 else 200_000
    model = replace(setup(*sys.argv[3:4]).model, window=window)
    assert model.prices is not None
    hour = replace(model, cache_lifetime=HOUR, prices=replace(model.prices, cache_write=TWICE * model.prices.input))
    sums, users = defaultdict[str, float](float), defaultdict[str, Pauses](Pauses)
    for path in sorted(Path(sys.argv[1]).glob("*.json*")):
        records = [Record(seq, "", at, "", body) for seq, (at, body) in enumerate(read(path).bodies, 1)]
        user = "-".join(path.stem.split("-")[:2])
        warm = played(records, model, users[user])
        assert isinstance(warm, Warmed)
        prices = {
            "without": played(records, model, None).played.cost,
            "warm": warm.played.cost,
            "with foresight": played(records, model, Pauses(), foresight=True).played.cost,
            "an hour": played(records, hour, None).played.cost,
        }
        users[user] = warm.pauses
        for name, price in prices.items():
            sums[name] += price
        sums["spent"] += warm.spent
        print(f"{path.stem:34} {line(prices)}  {warm.repeated} repeated, ${warm.spent:.2f}", flush=True)
    print(f"{'all':34} {line(sums)}  ${sums['spent']:.2f}")


def line(prices: dict[str, float]) -> str:
    """The price without warming, and the others as shares of it."""
    without = prices["without"]
    shares = (f"{name} {prices[name] / without:.3f}" for name in ("warm", "with foresight", "an hour"))
    return f"${without:7.2f}  " + "  ".join(shares)


if __name__ == "__main__":
    main()
