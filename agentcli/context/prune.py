"""Clears old tool outputs from the view, when that is free, forced, or pays."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from agentcli.context.estimators import estimator
from agentcli.context.limits import Limits, output_ratio
from agentcli.context.price import price, requests_to_pay
from agentcli.context.settings import PRUNING, PruneSettings
from agentcli.context.tokens import Counts
from agentcli.context.victims import Layout, Victim, clearable, completed, turns_behind, victims
from agentcli.context.view import Block, View
from agentcli.core.message import ToolResult
from agentcli.core.record import Prune


@dataclass(frozen=True, slots=True)
class Pressure:
    """Why a prune may be made now although the cache is warm.

    `free` says why it costs nothing (a cold cache, a switched model, a compaction), empty if it does. `need` are the tokens that
    must go for the next request to fit. `forced` when the user asks for it.
    """

    free: str = ""
    need: int = 0
    forced: bool = False


def plan_prune(
    view: View,
    counts: Counts,
    limits: Limits,
    settings: PruneSettings,
    *,
    pressure: Pressure = Pressure(),
    policy: str = "auto",
) -> tuple[Prune | None, str]:
    """The prune to make now, if any, and why now or why not: a line for people.

    To be asked only while no call is open. `opencode` follows its rule to the letter; `auto` queues what could go, and lets it go
    all at once when that is free, forced, or pays within `settings.horizon` requests. The other policies do not prune by
    themselves.
    """
    if not settings.enabled and not pressure.forced:
        return None, "Pruning is switched off."
    if policy not in PRUNING and not pressure.forced:
        return None, f"The policy {policy} does not prune."
    layout = Layout(view, counts, limits)
    if policy == "opencode":
        chosen, why = _by_the_letter(layout, settings)
    else:
        chosen, why = _choose(layout, settings, pressure)
    return (layout.prune(chosen, why), why) if chosen else (None, why)


def opencode_rule(view: View, counts: Counts, settings: PruneSettings) -> tuple[str, ...]:
    """The call ids that opencode would clear now, newest first.

    From the newest message back, the user's messages are turns and everything until `turns` of them are passed is
    skipped. A summary ends the walk, and so does an output that is already cleared. What completed outputs hold is
    added up: those beyond the newest `protect` tokens are cleared, if together they hold more than `minimum`. The texts
    alone are counted, by `estimator`.
    """
    total = freed = 0
    chosen: list[str] = []
    counts = _by_its_own_estimator(counts, settings)
    for block in _beyond_turns(view, settings.turns):
        if block.cleared or (block.source == "compactor" and not isinstance(block.part, ToolResult)):
            break
        if not clearable(block, settings) or not completed(block):
            continue
        tokens = counts.text(block.part.output) if isinstance(block.part, ToolResult) else 0
        total += tokens
        if total > settings.protect:
            freed += tokens
            chosen.append(block.tool_use_id)
    return tuple(chosen) if freed > settings.minimum else ()


def free_because(view: View, model: str, now: datetime, lifetime: float) -> str:
    """Why an edit costs nothing now, or an empty text: the provider's cache has run out, or is another model's."""
    for message in reversed(view.messages):
        if message.role != "assistant" or not message.model:
            continue
        if message.model != model:
            return f"the model was switched from {message.model}, so its cache is of no use"
        last = moment(message.blocks[-1].created_at)
        idle = (now - last).total_seconds() if last else 0.0
        return f"the cache is cold after {idle / 60:.0f} minutes" if idle > lifetime else ""
    return ""


def moment(stamp: str) -> datetime | None:
    """The time that a record bears, in UTC unless it says otherwise; None where it bears none."""
    try:
        time = datetime.fromisoformat(stamp)
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _by_its_own_estimator(counts: Counts, settings: PruneSettings) -> Counts:
    return counts if settings.estimator == "calibrated" else Counts(estimator(settings.estimator))


def _beyond_turns(view: View, turns: int) -> Iterator[Block]:
    """Blocks from the newest back, beginning where so many of the user's messages have been passed."""
    blocks = list(view.blocks)
    behind = turns_behind(blocks)
    return (blocks[number] for number in range(len(blocks) - 1, -1, -1) if behind[number] >= turns)


def _by_the_letter(layout: Layout, settings: PruneSettings) -> tuple[Sequence[Victim], str]:
    chosen = set(opencode_rule(layout.view, layout.counts, settings))
    beyond = f"beyond the newest {settings.protect:,} tokens of outputs"
    if not chosen:
        return (), f"Nothing to prune: no more than {settings.minimum:,} tokens {beyond}."
    found = [
        layout.victim(number, 1)
        for number, block in enumerate(layout.blocks)
        if isinstance(block.part, ToolResult) and block.tool_use_id in chosen
    ]
    return found, f"more than {settings.minimum:,} tokens {beyond}"


def _choose(layout: Layout, settings: PruneSettings, pressure: Pressure) -> tuple[Sequence[Victim], str]:
    """What of the queue goes now, and why."""
    queue = victims(layout, settings)
    ready = [victim for victim in queue if victim.rank <= 1]
    if pressure.need > 0:
        # Trimming a little on each request would defeat the provider's cache, so we move in long strides.
        stride = layout.limits.hard - layout.limits.soft
        chosen = _enough(queue, ready, pressure.need + stride)
        return chosen, f"the window demands {pressure.need:,} tokens" if chosen else "There is no output left to clear."
    if not ready:
        return (), "Nothing to prune: no output is out of date or old enough."
    if pressure.forced:
        return ready, "asked for"
    if pressure.free:
        return _free(layout, settings, ready, pressure.free)
    return _paying(layout, settings, ready)


def _enough(queue: Sequence[Victim], ready: Sequence[Victim], need: int) -> Sequence[Victim]:
    """All that is ready, and if that is too little, live content from the oldest on, errors last."""
    chosen = list(ready)
    freed = sum(victim.tokens for victim in chosen)
    for victim in queue[len(ready) :]:
        if freed >= need:
            break
        chosen.append(victim)
        freed += victim.tokens
    return chosen


def _free(layout: Layout, settings: PruneSettings, ready: Sequence[Victim], why: str) -> tuple[Sequence[Victim], str]:
    """Everything that is ready if it is worth a recall now and then, otherwise what is out of date."""
    enough = sum(victim.tokens for victim in ready) > settings.worthwhile(layout.limits.usable)
    chosen = ready if enough else [victim for victim in ready if victim.rank == 0]
    if sum(victim.tokens for victim in chosen) < settings.least:
        return (), f"Not worth it: less than {settings.least:,} tokens."
    write, read = layout.limits.price_ratios
    saved = sum(victim.tokens for victim in chosen) * (write + read * settings.horizon)
    if saved <= layout.thoughts * output_ratio(layout.limits.prices):
        return (), "Not worth it: more would be lost in thoughts than is saved."
    return chosen, why


def _paying(layout: Layout, settings: PruneSettings, ready: Sequence[Victim]) -> tuple[Sequence[Victim], str]:
    """The part of the queue, from some place on, that is due; nothing while waiting is cheaper.

    An edit must be worth it and pay within the horizon. It is made once carrying what could go has cost as much as the edit
    itself: dead tokens gather all the time, and each edit writes the same tail anew, so this spacing is the cheapest (as with
    stock and orders).
    """
    (write, read), output = layout.limits.price_ratios, output_ratio(layout.limits.prices)
    best, best_over, best_wait, soonest, removed, carried = 0, 0.0, 0.0, math.inf, 0, 0.0
    ordered, minimum = sorted(ready, key=lambda victim: -victim.position), settings.worthwhile(layout.limits.usable)
    for count, victim in enumerate(ordered, 1):
        removed += victim.tokens
        carried += victim.tokens * victim.carried * read
        edit = layout.edit(removed, victim.position)
        wait = requests_to_pay(edit, write, read, output)
        over = carried - settings.patience * price(edit, write, read, output)
        soonest = min(soonest, wait)
        if removed > minimum and wait <= settings.horizon and over >= best_over:
            best, best_over, best_wait = count, over, wait
    if best:
        return ordered[:best], f"it pays after {math.ceil(best_wait)} requests"
    if removed <= minimum:
        return (), f"Waiting: {removed:,} tokens could go, on a warm cache at least {minimum:,} should."
    when = f"after {math.ceil(soonest)} requests" if soonest < math.inf else "never"
    return (), f"Waiting: on a warm cache it would pay {when}."
