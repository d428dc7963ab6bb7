"""Clears old tool outputs from the view, when that is free, forced, or pays."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate

from agentcli.context.estimators import estimator
from agentcli.context.limits import Limits, output_ratio
from agentcli.context.price import Edit, price, requests_to_pay
from agentcli.context.settings import PruneSettings
from agentcli.context.supersede import superseded
from agentcli.context.tokens import Counts
from agentcli.context.view import Block, View, cleared_result
from agentcli.core.message import Thinking, ToolResult
from agentcli.core.record import Prune


@dataclass(frozen=True, slots=True)
class Victim:
    """An output that may be cleared, `tokens` being what that frees.

    `rank` 0 is out of date, 1 old, 2 live content of the newest turns, 3 the text of an error. `carried` is how many requests
    it has been sent with since it became so.
    """

    call_id: str
    seq: int
    position: int
    tokens: int
    rank: int
    carried: int = 0


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
    if policy not in ("auto", "opencode") and not pressure.forced:
        return None, f"The policy {policy} does not prune."
    layout = _Layout(view, counts, limits)
    if policy == "opencode":
        chosen, why = _by_the_letter(layout, settings)
    else:
        chosen, why = _choose(layout, settings, pressure)
    return (layout.prune(chosen, why), why) if chosen else (None, why)


def opencode_rule(view: View, counts: Counts, settings: PruneSettings) -> tuple[str, ...]:
    """The call ids that opencode would clear now, newest first.

    From the newest message back, the user's messages are turns and everything until `turns` of them are passed is skipped. A
    summary ends the walk, and so does an output that is already cleared. What completed outputs hold is added up: those beyond
    the newest `protect` tokens are cleared, if together they hold more than `minimum`. The texts alone are counted, by `estimator`.
    """
    total = freed = 0
    chosen: list[str] = []
    counts = _by_its_own_estimator(counts, settings)
    for block in _beyond_turns(view, settings.turns):
        if block.cleared or (block.source == "compactor" and not isinstance(block.part, ToolResult)):
            break
        if not _clearable(block, settings) or not _completed(block):
            continue
        tokens = counts.text(block.part.output) if isinstance(block.part, ToolResult) else 0
        total += tokens
        if total > settings.protect:
            freed += tokens
            chosen.append(block.tool_use_id)
    return tuple(chosen) if freed > settings.minimum else ()


def _by_its_own_estimator(counts: Counts, settings: PruneSettings) -> Counts:
    return counts if settings.estimator == "calibrated" else Counts(estimator(settings.estimator))


def victims(view: View, counts: Counts, limits: Limits, settings: PruneSettings) -> tuple[Victim, ...]:
    """Everything that could be cleared, best first: what is out of date, then what is old, then live content, then errors.

    What the model has not answered yet is never among it, nor are the newest `auto_protect` tokens of outputs (on a small window a
    quarter of it) unless they are out of date.
    """
    return _victims(_Layout(view, counts, limits), settings)


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


class _Layout:
    """A view with the place of each block in tokens, measured once."""

    def __init__(self, view: View, counts: Counts, limits: Limits) -> None:
        self.view, self.counts, self.limits = view, counts, limits
        self.blocks = list(view.blocks)
        sizes = [counts.block(block) for block in self.blocks]
        self.starts = list(accumulate(sizes, initial=0))
        self.total = self.starts.pop()
        # Where thoughts are bound to what stands before them, an edit costs all of them.
        bound = [n for n, block in enumerate(self.blocks) if isinstance(block.part, Thinking)]
        bound = bound if limits.preserved_thinking else []
        self.thoughts = sum(sizes[n] for n in bound)
        self.first_thought = self.starts[bound[0]] if bound else self.total

    def victim(self, number: int, rank: int, carried: int = 0) -> Victim:
        block = self.blocks[number]
        assert isinstance(block.part, ToolResult)
        marker = cleared_result(block.part.call_id, block.part.name, block.part.status)
        freed = self.counts.block(block) - self.counts.part(marker)
        return Victim(block.tool_use_id, block.seq, self.starts[number], freed, rank, carried)

    def edit(self, removed: int, first: int) -> Edit:
        """What removing so many tokens from some place on means for the cache."""
        first = min(first, self.first_thought)
        return Edit(removed, max(0, self.total - first - removed - self.thoughts), self.thoughts)

    def prune(self, chosen: Sequence[Victim], why: str) -> Prune:
        ordered = sorted(chosen, key=lambda victim: victim.position)
        drop = max(block.seq for block in self.blocks) + 1 if self.thoughts else 0
        freed = max(0, sum(victim.tokens for victim in ordered) + self.thoughts)
        return Prune(tuple(victim.call_id for victim in ordered), freed, why, drop)


def _by_the_letter(layout: _Layout, settings: PruneSettings) -> tuple[Sequence[Victim], str]:
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


def _victims(layout: _Layout, settings: PruneSettings) -> tuple[Victim, ...]:
    outdated, turns = superseded(layout.view), _turns_behind(layout.blocks)
    protect = min(settings.auto_protect, int(layout.limits.usable * settings.protect_share))
    found, total = [], 0
    ages = _Ages(layout, settings, protect)
    for number in range(_answered(layout.blocks) - 1, -1, -1):
        block = layout.blocks[number]
        if block.cleared or not _clearable(block, settings):
            continue
        total += layout.counts.block(block)
        if total <= protect and block.tool_use_id not in outdated:
            continue
        since = outdated.get(block.tool_use_id)
        old = turns[number] >= settings.auto_turns
        rank = 0 if since else 3 if not _completed(block) else 1 if old else 2
        victim = layout.victim(
            number, rank, ages.requests_since(since.since) if since else ages.requests_beyond(number)
        )
        if victim.tokens >= settings.smallest:
            found.append(victim)
    return tuple(sorted(found, key=lambda victim: (victim.rank, victim.position)))


def _choose(layout: _Layout, settings: PruneSettings, pressure: Pressure) -> tuple[Sequence[Victim], str]:
    """What of the queue goes now, and why."""
    queue = _victims(layout, settings)
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


def _free(layout: _Layout, settings: PruneSettings, ready: Sequence[Victim], why: str) -> tuple[Sequence[Victim], str]:
    """Everything that is ready if it is worth a recall now and then, otherwise what is out of date."""
    enough = sum(victim.tokens for victim in ready) > _minimum(layout, settings)
    chosen = ready if enough else [victim for victim in ready if victim.rank == 0]
    if sum(victim.tokens for victim in chosen) < settings.least:
        return (), f"Not worth it: less than {settings.least:,} tokens."
    write, read = layout.limits.price_ratios
    saved = sum(victim.tokens for victim in chosen) * (write + read * settings.horizon)
    if saved <= layout.thoughts * output_ratio(layout.limits.prices):
        return (), "Not worth it: more would be lost in thoughts than is saved."
    return chosen, why


def _paying(layout: _Layout, settings: PruneSettings, ready: Sequence[Victim]) -> tuple[Sequence[Victim], str]:
    """The part of the queue, from some place on, that is due; nothing while waiting is cheaper.

    An edit must be worth it and pay within the horizon. It is made once carrying what could go has cost as much as the edit itself: dead tokens
    gather all the time, and each edit writes the same tail anew, so this spacing is the cheapest (as with stock and orders).
    """
    (write, read), output = layout.limits.price_ratios, output_ratio(layout.limits.prices)
    best, best_over, best_wait, soonest, removed, carried = 0, 0.0, 0.0, math.inf, 0, 0.0
    ordered, minimum = sorted(ready, key=lambda victim: -victim.position), _minimum(layout, settings)
    for count, victim in enumerate(ordered, 1):
        removed += victim.tokens
        carried += victim.tokens * victim.carried * read
        edit = layout.edit(removed, victim.position)
        wait, over = (
            requests_to_pay(edit, write, read, output),
            carried - settings.patience * price(edit, write, read, output),
        )
        soonest = min(soonest, wait)
        if removed > minimum and wait <= settings.horizon and over >= best_over:
            best, best_over, best_wait = count, over, wait
    if best:
        return ordered[:best], f"it pays after {math.ceil(best_wait)} requests"
    if removed <= minimum:
        return (), f"Waiting: {removed:,} tokens could go, on a warm cache at least {minimum:,} should."
    when = f"after {math.ceil(soonest)} requests" if soonest < math.inf else "never"
    return (), f"Waiting: on a warm cache it would pay {when}."


def _minimum(layout: _Layout, settings: PruneSettings) -> int:
    """What is worth an edit; less on a small window, but never fewer tokens than are worth telling."""
    return max(settings.least, min(settings.minimum, int(layout.limits.usable * settings.minimum_share)))


class _Ages:
    """Since how many requests an output could have been cleared."""

    def __init__(self, layout: _Layout, settings: PruneSettings, protect: int) -> None:
        self.blocks, self.protect, self.turns = layout.blocks, protect, settings.auto_turns
        self.replies = sorted({block.seq for block in layout.blocks if block.source == "assistant"})
        self.prompts = sorted({block.seq for block in layout.blocks if block.source == "user"})
        sizes = [layout.counts.block(block) if _clearable(block, settings) else 0 for block in layout.blocks]
        self.before = list(accumulate(sizes, initial=0))

    def requests_since(self, seq: int) -> int:
        """Requests made since a record."""
        return len(self.replies) - bisect_right(self.replies, seq)

    def requests_beyond(self, number: int) -> int:
        """Requests made since a block was beyond the newest tokens and turns that are protected."""
        crossed = bisect_right(self.before, self.before[number] + self.protect) - 1
        passed = bisect_right(self.prompts, self.blocks[number].seq) + self.turns - 1
        last = self.blocks[min(crossed, len(self.blocks) - 1)].seq
        turned = self.prompts[passed] if passed < len(self.prompts) else last
        return self.requests_since(max(last, turned))


def _beyond_turns(view: View, turns: int) -> Iterator[Block]:
    """Blocks from the newest back, beginning where so many of the user's messages have been passed."""
    blocks = list(view.blocks)
    behind = _turns_behind(blocks)
    return (blocks[number] for number in range(len(blocks) - 1, -1, -1) if behind[number] >= turns)


def _turns_behind(blocks: Sequence[Block]) -> list[int]:
    """How many of the user's messages stand at or behind each block."""
    passed: set[int] = set()
    counts = []
    for block in reversed(blocks):
        if block.source == "user":
            passed.add(block.seq)
        counts.append(len(passed))
    return counts[::-1]


def _answered(blocks: Sequence[Block]) -> int:
    """How many blocks the model has already seen: those up to its newest reply."""
    return max((number for number, block in enumerate(blocks) if block.source == "assistant"), default=0)


def _clearable(block: Block, settings: PruneSettings) -> bool:
    part = block.part
    return (
        isinstance(part, ToolResult)
        and not block.pinned
        and block.compactable
        and part.name not in settings.protected_tools
    )


def _completed(block: Block) -> bool:
    return isinstance(block.part, ToolResult) and block.part.status == "success"
