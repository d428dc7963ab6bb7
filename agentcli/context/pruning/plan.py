"""Plan of a prune: the reasons to clear old tool outputs and inputs of edits now, and the rule for when it pays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime

from agentcli.context.pruning.candidates import Candidate, TokenLayout, candidates, edit_cost, requests_to_pay
from agentcli.context.window import Window, output_ratio
from agentcli.core.dataclass import dataclass
from agentcli.core.record import Prune


@dataclass(frozen=True, slots=True)
class Pressure:
    """Reasons to prune now although the cache is warm.

    `free` says why the prune costs nothing (a cold cache, a switched model, a compaction), empty if it has a cost. `need` are
    the tokens to remove for the next request to fit. `forced`: the user asks for it.
    """

    free: str = ""
    need: int = 0
    forced: bool = False


NONE = Pressure()


def by_price(window: Window, pressure: Pressure = NONE) -> tuple[Prune | None, str]:
    """Return the prune to make now, if any, and the reason for or against it, a line for people. Call it only while no call is open.

    Candidates are queued, and cleared all at once when that is free, forced, or pays within `prune.horizon` requests.
    """
    layout = TokenLayout(window)
    chosen, why = _choose(layout, pressure)
    return (layout.prune(chosen, why), why) if chosen else (None, why)


def pays_from(window: Window) -> int:
    """Return the size in tokens below which nothing is cleared while the cache is warm: the protected tokens plus the least worth an edit.

    Above it, age and cost decide.
    """
    rules = window.settings.prune
    return rules.protected(window.usable) + rules.worthwhile(window.usable)


def free_because(window: Window, now: datetime) -> str:
    """Return the reason why an edit costs nothing now, or an empty text: the provider's cache has expired, or is another model's."""
    model, lifetime = window.limits.model, window.limits.cache_lifetime
    for message in reversed(window.view.messages):
        if message.role != "assistant" or not message.model:
            continue
        if message.model != model:
            return f"the model was switched from {message.model}, so its cache is of no use"
        last = moment(message.blocks[-1].created_at)
        idle = (now - last).total_seconds() if last else 0.0
        return f"the cache is cold after {idle / 60:.0f} minutes" if idle > lifetime else ""
    return ""


def cleared_in_words(prune: Prune) -> str:
    """Describe a prune in words, as in `3 old outputs and 2 inputs of old edits`."""
    outputs, inputs = len(prune.call_ids), len(prune.inputs)
    kinds = [f"{outputs} old outputs"] if outputs or not inputs else []
    return " and ".join([*kinds, *([f"{inputs} inputs of old edits"] if inputs else [])])


def moment(stamp: str) -> datetime | None:
    """Return the time of a record, UTC unless it names a zone; None without a time."""
    try:
        time = datetime.fromisoformat(stamp)
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _choose(layout: TokenLayout, pressure: Pressure) -> tuple[Sequence[Candidate], str]:
    """Return the part of the queue to clear now, with the reason."""
    most, least = layout.index.clearable_tokens, layout.window.settings.prune.worthwhile(layout.window.usable)
    if pressure == NONE and most <= least:
        return (), f"Waiting: at most {most:,} tokens could go, on a warm cache at least {least:,} should."
    queue = candidates(layout)
    ready = [victim for victim in queue if victim.rank <= 1]
    if pressure.need > 0:
        # Removing a little at each request would defeat the provider's cache, so the plan frees much at once.
        stride = layout.window.limits.hard - layout.window.limits.soft
        chosen = _enough(queue, ready, pressure.need + stride)
        return chosen, f"the window demands {pressure.need:,} tokens" if chosen else "There is no output left to clear."
    if not ready:
        return (), "Nothing to prune: no output is out of date or old enough."
    if pressure.forced:
        return ready, "asked for"
    if pressure.free:
        return _free(layout, ready, pressure.free)
    return _paying(layout, ready)


def _enough(queue: Sequence[Candidate], ready: Sequence[Candidate], need: int) -> Sequence[Candidate]:
    """Return everything that is ready, and if that is too little, live content from the oldest on, errors last."""
    chosen = list(ready)
    freed = sum(victim.tokens for victim in chosen)
    for victim in queue[len(ready) :]:
        if freed >= need:
            break
        chosen.append(victim)
        freed += victim.tokens
    return chosen


def _free(layout: TokenLayout, ready: Sequence[Candidate], why: str) -> tuple[Sequence[Candidate], str]:
    """Return everything that is ready if it is worth an occasional recall, otherwise only the out-of-date candidates."""
    rules, limits = layout.window.settings.prune, layout.window.limits
    enough = sum(victim.tokens for victim in ready) > rules.worthwhile(limits.usable)
    chosen = ready if enough else [victim for victim in ready if victim.rank == 0]
    if sum(victim.tokens for victim in chosen) < rules.least:
        return (), f"Not worth it: less than {rules.least:,} tokens."
    write, read = limits.price_ratios
    saved = sum(victim.tokens for victim in chosen) * (write + read * rules.horizon)
    if saved <= layout.thoughts * output_ratio(limits.prices):
        return (), "Not worth it: more would be lost in thoughts than is saved."
    return chosen, why


def _paying(layout: TokenLayout, ready: Sequence[Candidate]) -> tuple[Sequence[Candidate], str]:
    """Return the part of the queue, from some place on, that is due; nothing while waiting is cheaper.

    An edit must be worth it and pay within the horizon. It is made once carrying the candidates has cost as much as the edit
    itself: dead tokens gather all the time, and each edit rewrites the same tail, so this spacing is the cheapest (as with
    stock and orders).
    """
    rules, limits = layout.window.settings.prune, layout.window.limits
    (write, read), output = limits.price_ratios, output_ratio(limits.prices)
    best, best_over, best_wait, soonest, removed, carried = 0, 0.0, 0.0, math.inf, 0, 0.0
    ordered, minimum = sorted(ready, key=lambda victim: -victim.position), rules.worthwhile(limits.usable)
    for count, victim in enumerate(ordered, 1):
        removed += victim.tokens
        carried += victim.tokens * layout.carried(victim) * read
        edit = layout.edit(removed, victim.position)
        wait = requests_to_pay(edit, write, read, output)
        over = carried - rules.patience * edit_cost(edit, write, read, output)
        soonest = min(soonest, wait)
        if removed > minimum and wait <= rules.horizon and over >= best_over:
            best, best_over, best_wait = count, over, wait
    if best:
        return ordered[:best], f"it pays off after {math.ceil(best_wait)} requests"
    if removed <= minimum:
        return (), f"Waiting: {removed:,} tokens could go, on a warm cache at least {minimum:,} should."
    when = f"after {math.ceil(soonest)} requests" if soonest < math.inf else "never"
    return (), f"Waiting: on a warm cache it would pay {when}."
