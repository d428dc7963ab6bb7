"""Plan of a prune: its candidates in order, the reasons to clear them now, and the requests until it pays."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Container, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from operator import attrgetter

from agentcli.context.loss import is_worth, priced
from agentcli.context.pruning.blocks import completed
from agentcli.context.settings import PruneSettings
from agentcli.context.window import Window, output_ratio
from agentcli.core.dataclass import dataclass, replace
from agentcli.core.message import ToolCall, ToolResult
from agentcli.core.record import Prune
from agentcli.core.tool import UNKNOWN


@dataclass(frozen=True, slots=True)
class Candidate:
    """An output, or the `input` of an edit, that may be cleared."""

    call_id: str
    number: int
    """Number of blocks before it."""
    position: int
    """Tokens of the blocks before it."""
    tokens: int
    """The size that this frees."""
    rank: int
    """0 is out of date, 1 not worth its price, 2 live content, 3 an error. 4 is what the work in progress needs."""
    worth: float = 0.0
    """The recalls that it saves, as a share of the price of carrying it."""
    input: bool = False


class TokenLayout:
    """A view with the place of each block in tokens.

    `thoughts` are further tokens that any edit invalidates, because thoughts are bound to the content before them.
    """

    def __init__(self, window: Window) -> None:
        self.window, self.counter, self.index = window, window.counter, window.blocks
        self.blocks = self.index.blocks
        self.total = self.index.start(len(self.blocks))
        bound = self.index.thoughts if window.limits.preserved_thinking else []
        self.thoughts = self.index.thought_tokens if bound else 0
        self.first_thought = self.index.start(bound[0]) if bound else self.total
        (self._write, self._read), output = window.limits.price_ratios, output_ratio(window.limits.prices)
        self._asking = (self.total + self.counter.head) * self._read + window.settings.loss.call_tokens * output

    def victim(self, number: int, rank: int, worth: float = 0.0) -> Candidate:
        """Return the candidate at this position."""
        block, index = self.blocks[number], self.index
        given = isinstance(block.part, ToolCall)
        call_id = block.part.call_id if isinstance(block.part, ToolCall) else block.tool_use_id
        return Candidate(call_id, number, index.start(number), index.freed(number), rank, worth, given)

    def worth(self, number: int, tokens: int) -> float:
        """Return what the text with this number, which has so many tokens, is worth at the next requests.

        It is worth the recalls that it should save during `prune.horizon` requests, as a share of its price.
        Below 1 it costs more than it saves. A reply uses a text mostly at once: the chance
        falls with each request since. It grows with the root of the size, while the price grows with the size.
        """
        block, rules = self.blocks[number], self.window.settings.prune
        age, rest = self.index.requests_since(block.seq) + 1, rules.fading - 1
        uses = rules.chance / rest * (age**-rest - (age + rules.horizon) ** -rest) / rules.horizon
        uses *= self._weight(block.part) * math.sqrt(tokens / rules.usual)
        recall = self._asking + min(tokens, rules.recalled) * self._write
        price = tokens * self._read
        return uses * recall / price if price else 1.0

    def _weight(self, part: object) -> float:
        """Return how often a text of this kind is used, as a multiple of other outputs."""
        rules = self.window.settings.prune
        if isinstance(part, ToolCall):
            return rules.edit_weight
        reads = isinstance(part, ToolResult) and self.window.traits.get(part.name, UNKNOWN).reads_files
        return rules.file_weight if reads else 1.0

    def edit(self, removed: int, first: int) -> EditCost:
        """Return the cost for the cache of removing `removed` tokens from position `first` on."""
        first = min(first, self.first_thought)
        return EditCost(removed, max(0, self.total - first - removed - self.thoughts), self.thoughts)

    def prune(self, chosen: Sequence[Candidate], why: str) -> Prune:
        """Return the record that clears these candidates."""
        ordered = sorted(chosen, key=lambda victim: victim.position)
        drop = max(block.seq for block in self.blocks) + 1 if self.thoughts else 0
        freed = max(0, sum(victim.tokens for victim in ordered) + self.thoughts)
        outputs, inputs = ([victim.call_id for victim in ordered if victim.input is given] for given in (False, True))
        outcomes = self._outcomes(ordered)
        freed -= sum(map(self.counter.text, outcomes.values()))
        return Prune(tuple(outputs), max(0, freed), why, drop, tuple(inputs), outcomes)

    def _outcomes(self, chosen: Iterable[Candidate]) -> dict[str, str]:
        """Return the outcome of each of these commands, if it is worth its tokens."""
        loss, traits = priced(self.window), self.window.traits
        outputs = ((victim.number, self.blocks[victim.number].part) for victim in chosen if not victim.input)
        runs = [number for number, part in outputs if traits.get(getattr(part, "name", ""), UNKNOWN).runs_commands]
        found = {self.blocks[number].tool_use_id: self.index.outcome(number) for number in runs if loss.enabled}
        return {call: text for call, text in found.items() if text and is_worth(len(text), loss.command_chance, loss)}


_POINTED_AT = 4
"""Rank of what the work in progress needs as it is."""


def candidates(layout: TokenLayout, spared: frozenset[str] = frozenset()) -> tuple[Candidate, ...]:
    """Return all clearable outputs and inputs of edits, best first.

    The order is: out of date, not worth the price, live content, errors, what the work in progress needs. Of
    each kind, what is worth least comes first.

    Outputs that the model has not answered yet are never candidates. Nor are the newest `auto_protect` tokens of
    outputs, unless they are out of date. On a small window, only a share of it is protected.

    The inputs of successful edits beyond the newest `auto_protect` tokens of outputs and inputs are candidates, too.
    Later edits take their words from them, so they weigh more.
    """
    rules, index = layout.window.settings.prune, layout.index
    superseded, protect = layout.window.superseded, layout.window.settings.protected(layout.window.usable)
    outdated, needed = superseded.outputs, superseded.pointed_at | spared
    found, total = [], 0
    for number in reversed(index.standing[: bisect_left(index.standing, index.answered)]):
        size = index.size(number)
        total += size
        if size < rules.smallest:
            continue
        block = layout.blocks[number]
        dead = block.tool_use_id in outdated
        if total <= protect and not dead:
            continue
        worth, rank = 0.0, 0
        if not dead:
            worth = layout.worth(number, size)
            old = worth < 1 and index.turns_behind(number) >= rules.auto_turns
            rank = 3 if not completed(block) else 1 if old else 2
        victim = layout.victim(number, _POINTED_AT if block.tool_use_id in needed else rank, worth)
        if victim.tokens >= rules.smallest:
            found.append(victim)
    found += _inputs(layout, protect, needed) if rules.inputs and index.inputs else ()
    return tuple(sorted(found, key=attrgetter("rank", "worth", "position")))


def _inputs(layout: TokenLayout, protect: int, needed: Container[str]) -> Iterator[Candidate]:
    rules, index, total = layout.window.settings.prune, layout.index, 0
    for number in sorted((*index.standing, *index.inputs), reverse=True):
        block = layout.blocks[number]
        call = block.part
        if isinstance(call, ToolCall) and (block.seq == index.replies[-1] or call.call_id not in index.succeeded):
            continue
        size = index.size(number)
        total += size
        if not isinstance(call, ToolCall) or total <= protect or size < rules.smallest:
            continue
        worth = layout.worth(number, size)
        rank = _POINTED_AT if call.call_id in needed else 1 if worth < 1 else 2
        victim = layout.victim(number, rank, worth)
        if victim.tokens >= rules.smallest:
            yield victim


@dataclass(frozen=True, slots=True)
class EditCost:
    """An edit of the sent history, in tokens.

    `removed` are gone for good. `behind` follow the first changed byte and are written to the cache again. `thoughts`
    are dropped because the edit invalidates them, and the model may have to think them again.
    """

    removed: int
    behind: int
    thoughts: int = 0


def requests_to_pay(edit: EditCost, write: float, read: float, output: float = 5.0) -> float:
    """Return the requests after which an edit pays, R·(w−r) / (S·r); infinity if it never does.

    `write`, `read` and `output` are prices in units of one fresh token. Dropped thoughts save tokens like everything
    removed, and cost their rewriting once.
    """
    saved = (edit.removed + edit.thoughts) * read
    cost = edit_cost(edit, write, read, output)
    if cost <= 0:
        return 0.0
    return cost / saved if saved > 0 else math.inf


def edit_cost(edit: EditCost, write: float, read: float, output: float = 5.0) -> float:
    """Return the one-time cost of an edit in fresh tokens."""
    return edit.behind * (write - read) + edit.thoughts * output


@dataclass(frozen=True, slots=True)
class Pressure:
    """Reasons to prune now although the cache is warm."""

    free: str = ""
    """Why the prune costs nothing: a cold cache, a switched model, a compaction. Empty if it has a cost."""
    need: int = 0
    """Tokens to remove so that the next request fits."""
    forced: bool = False
    """True if the user requests it."""
    spared: frozenset[str] = frozenset()
    """Calls that the work in progress needs, in addition to those in the view."""


NONE = Pressure()
FADES = 0.2
"""Share of its lifetime by which a cache entry may be gone earlier than at its end, or last longer."""


def by_price(window: Window, pressure: Pressure = NONE) -> tuple[Prune | None, str]:
    """Return the prune to make now, if any, and the reason for or against it, a line for people. Call it only while no call is open.

    Candidates are queued, and cleared all at once when that is free, forced, or pays within `prune.horizon` requests.
    """
    layout = TokenLayout(window)
    chosen, why = _choose(layout, pressure)
    return (layout.prune(chosen, why), why) if chosen else (None, why)


def pays_from(window: Window) -> int:
    """Return the size in tokens below which nothing is cleared while the cache is warm.

    Tokens of the system prompt and the tools, and the protected ones, stay. The rest must be worth an edit. Above this
    size, age and cost decide.
    """
    rules = window.settings.prune
    stays = window.counter.head + window.settings.protected(window.usable)
    share = min(rules.large_prompt, math.ceil(stays / (1 - rules.large_share))) if rules.large_share < 1 else 0
    return max(stays + worthwhile(rules, window.usable), share)


def free_because(window: Window, now: datetime) -> str:
    """Return the reason why an edit costs nothing now, or an empty text.

    The provider's cache has expired, or belongs to another model.
    """
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


def warm_chance(window: Window, now: datetime) -> float:
    """Return the chance that the provider's cache still has the prompt.

    It falls from 1 to 0 around the end of the cache's lifetime.
    """
    last = next((each for each in reversed(window.view.messages) if each.role == "assistant" and each.model), None)
    if last is None:
        return 1.0
    if last.model != window.limits.model:
        return 0.0
    replied, lifetime = moment(last.blocks[-1].created_at), window.limits.cache_lifetime
    idle = (now - replied).total_seconds() if replied else 0.0
    return min(1.0, max(0.0, (lifetime * (1 + FADES) - idle) / (2 * FADES * lifetime))) if lifetime else 0.0


def cleared_in_words(prune: Prune) -> str:
    """Describe a prune for people, as in `3 old outputs and 2 inputs of old edits`."""
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
    most, least = layout.index.clearable_tokens, worthwhile(layout.window.settings.prune, layout.window.usable)
    if pressure == NONE and most <= least:
        return (), f"Waiting: at most {most:,} tokens could go, on a warm cache at least {least:,} should."
    queue = candidates(layout, pressure.spared)
    ready = [victim for victim in queue if victim.rank <= 1]
    if pressure.need > 0:
        # Removing a little at each request would defeat the provider's cache, so the plan frees much at once.
        stride = layout.window.limits.hard - layout.window.limits.soft
        chosen = _first_images(layout, queue, ready, pressure.need, stride)
        return chosen, f"the window demands {pressure.need:,} tokens" if chosen else "There is no output left to clear."
    if not ready:
        return (), "Nothing to prune: no output is out of date or old enough."
    if pressure.forced:
        return ready, "asked for"
    if pressure.free:
        return _free(layout, ready, pressure.free)
    return _paying(layout, ready)


def _first_images(
    layout: TokenLayout, queue: Sequence[Candidate], ready: Sequence[Candidate], need: int, stride: int
) -> Sequence[Candidate]:
    """Return what to clear for `need` tokens: the oldest images alone if they suffice, else them and other outputs."""
    images = _images(layout)
    chosen = _enough(images, (), need, stride)
    if sum(victim.tokens for victim in chosen) >= need:
        return chosen
    taken = {victim.number for victim in images}
    rest, old = ([victim for victim in each if victim.number not in taken] for each in (queue, ready))
    return _enough([*images, *rest], [*images, *old], need, stride)


def _images(layout: TokenLayout) -> Sequence[Candidate]:
    """Return the outputs with images that the model has answered, the oldest first.

    Some servers count an image by the length of its data. The tokens that they report beyond the estimate are shared
    among the images.
    """
    window, index = layout.window, layout.index
    sizes = {number: _image_data(layout.blocks[number].part) for number in index.standing}
    pictured = [number for number in index.standing[: bisect_left(index.standing, index.answered)] if sizes[number]]
    if not pictured:
        return ()
    beyond, whole = max(0, window.tokens - window.estimate(window.view)), sum(sizes.values())
    victims = [(layout.victim(number, 1), beyond * sizes[number] // whole) for number in pictured]
    return [replace(victim, tokens=victim.tokens + more) for victim, more in victims]


def _image_data(part: object) -> int:
    return sum(len(image.data) for image in part.images) if isinstance(part, ToolResult) and part.images else 0


def _enough(queue: Sequence[Candidate], ready: Sequence[Candidate], need: int, stride: int) -> Sequence[Candidate]:
    """Return everything that is ready, and if that is too little, live content, errors last.

    It frees `stride` tokens beyond the `need`, but not from what the work in progress needs.
    """
    chosen = list(ready)
    freed = sum(victim.tokens for victim in chosen)
    for victim in queue[len(ready) :]:
        if freed >= need + (0 if victim.rank == _POINTED_AT else stride):
            break
        chosen.append(victim)
        freed += victim.tokens
    return chosen


def _free(layout: TokenLayout, ready: Sequence[Candidate], why: str) -> tuple[Sequence[Candidate], str]:
    """Return everything that is ready, unless it is hardly anything or costs more in thoughts than it saves."""
    rules, limits = layout.window.settings.prune, layout.window.limits
    freed = sum(victim.tokens for victim in ready)
    if freed < rules.least:
        return (), f"Not worth it: less than {rules.least:,} tokens."
    write, read = limits.price_ratios
    if freed * (write + read * rules.horizon) <= layout.thoughts * output_ratio(limits.prices):
        return (), "Not worth it: more would be lost in thoughts than is saved."
    return ready, why


def _paying(layout: TokenLayout, ready: Sequence[Candidate]) -> tuple[Sequence[Candidate], str]:
    """Return the part of the queue, from some place on, that is due; nothing while waiting is cheaper.

    An edit must free enough, and save `patience` times its cost within the horizon. Of those, the best one is made.
    Below `large_prompt` tokens it must free a good part of the prompt, because the next one rewrites the same tail.
    """
    rules, limits = layout.window.settings.prune, layout.window.limits
    (write, read), output = limits.price_ratios, output_ratio(limits.prices)
    best, best_gain, best_wait, soonest, removed, saved = 0, 0.0, 0.0, math.inf, 0, 0.0
    ordered, minimum = sorted(ready, key=attrgetter("position"), reverse=True), worthwhile(rules, limits.usable)
    prompt = layout.total + layout.counter.head
    if prompt < rules.large_prompt:
        minimum = max(minimum, int(prompt * rules.large_share))
    for count, victim in enumerate(ordered, 1):
        removed += victim.tokens
        saved += victim.tokens * (1 - victim.worth) * read
        edit = layout.edit(removed, victim.position)
        cost = edit_cost(edit, write, read, output)
        rest = saved + edit.thoughts * read
        wait = cost / rest if rest > 0 else math.inf
        soonest = min(soonest, wait)
        gain = rest * rules.horizon - cost
        if removed > minimum and wait * rules.patience <= rules.horizon and gain >= best_gain:
            best, best_gain, best_wait = count, gain, wait
    if best:
        return ordered[:best], f"it pays off after {math.ceil(best_wait)} requests"
    if removed <= minimum:
        return (), f"Waiting: {removed:,} tokens could go, on a warm cache at least {minimum:,} should."
    when = f"after {math.ceil(soonest)} requests" if soonest < math.inf else "never"
    return (), f"Waiting: on a warm cache it would pay {when}."


def worthwhile(rules: PruneSettings, usable: int) -> int:
    """Return the tokens that an edit by `auto` must free in a window of so many usable tokens.

    They are never less than `least`.
    """
    return max(rules.least, min(rules.minimum, int(usable * rules.minimum_share)))
