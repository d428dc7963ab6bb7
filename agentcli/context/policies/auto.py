"""The default policy: gemini's split, counted in tokens.

It can also divide one long turn, and never loses the user's words or pins.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain

from agentcli.context.compaction.carryover import carried_tokens, verbatim_answer, verbatim_pins, verbatim_prompts
from agentcli.context.loss import expected_recalls, open_question, phase_end, recall_cost
from agentcli.context.policies.plans import (
    Plan,
    PlanTrigger,
    compactable,
    keep_all,
    opens_step,
    opens_turn,
    outputs,
    recent_from,
    repeated_answers,
    split_plan,
    too_large,
)
from agentcli.context.pruning.plan import (
    EditCost,
    Pressure,
    by_price,
    cleared_in_words,
    edit_cost,
    moment,
    warm_chance,
)
from agentcli.context.settings import ContextSettings
from agentcli.context.view import View, ViewMessage
from agentcli.context.window import Window, is_priced, output_ratio, worth_a_price
from agentcli.core.dataclass import dataclass, replace
from agentcli.core.message import Thinking, ToolResult
from agentcli.core.record import Prune

POLICY = "auto"
OPEN_QUESTION = "A question of the model is open: nothing is summarised below the hard mark until it is answered."


def plan(window: Window, *, forced: bool = False) -> Plan:
    """Choose the part to summarise now.

    `soft` splits at a turn boundary, `hard` also between two tool steps. A forced plan ignores the size. While a
    question of the model is open, only the hard mark counts.

    Below the soft mark, it also compacts if that is cheaper, at the end of a turn or phase. The price includes recalls
    of lost parts; see `compact_horizon`. A compaction at a mark removes at once what would pay at the next prompt.

    Outputs in the kept part that wait for a prune are cleared too, because the cache is rewritten anyway. If the steps
    that must stay are too large themselves, `clipped` names outputs to cut to their two ends.
    """
    trigger = _due(window, forced)
    if trigger == "soft" and _waits_for_an_answer(window):
        return keep_all(POLICY, window, OPEN_QUESTION)
    if trigger is not None:
        return _settled(_planned(trigger, window), window)
    unhurried = _unhurried(window)
    if not _worth_pricing(window):
        return keep_all(POLICY, window, unhurried)
    if _waits_for_an_answer(window):
        return keep_all(POLICY, window, unhurried, OPEN_QUESTION)
    phase = phase_end(window.view, window.traits) if window.settings.loss.enabled else ""
    if not (window.view.messages[-1].is_prompt or (phase and window.settings.loss.phases)):
        return keep_all(POLICY, window, unhurried)
    proposed = replace(_planned("soft", window), phase=phase)
    requests = _requests_to_pay(proposed, window, _warm(window))
    if requests > min(window.settings.compact_horizon, _replies(window.view)):
        return keep_all(POLICY, window, unhurried, _not_yet(requests))
    pays = f"it pays off after {math.ceil(requests)} requests" if requests else "it pays off at once: the cache is cold"
    return replace(proposed, optional=True, reasons=(f"{unhurried[:-1]}, but {pays}.", *proposed.reasons))


def _due(window: Window, forced: bool) -> PlanTrigger | None:
    """Return the mark that has been passed; none counts while auto-compaction is off."""
    if forced:
        return "manual"
    if not window.settings.autocompact or window.tokens < window.limits.soft:
        return None
    return "hard" if window.tokens >= window.limits.hard else "soft"


def _worth_pricing(window: Window) -> bool:
    """Return True if the window has enough in it to compute the price."""
    priced = window.settings.autocompact and is_priced(window)
    return priced and bool(window.view.messages) and window.tokens >= worth_a_price(window)


def _waits_for_an_answer(window: Window) -> bool:
    return window.settings.loss.questions and open_question(window.view)


def _settled(due: Plan, window: Window) -> Plan:
    """Return the plan, or the one that also summarises what would pay at the next prompt.

    A second compaction there would write the cache once more. While a question of the model is open, more stays.
    """
    prompt = bool(window.view.messages) and window.view.messages[-1].is_prompt
    after, settings = due.tokens_after_estimate, window.settings
    if due.trigger is None or due.trigger == "manual" or not (prompt and due.summarised and is_priced(window)):
        return due
    if after < worth_a_price(window) or _waits_for_an_answer(window):
        return due
    deeper = _planned(due.trigger, replace(window, settings=replace(settings, preserve=settings.preserve**2)))
    gone = set(due.summarised)
    rest = replace(deeper, summarised=tuple(seq for seq in deeper.summarised if seq not in gone), tokens_before=after)
    replies = sum(message.role == "assistant" and message.seq not in gone for message in window.view.messages)
    return deeper if _requests_to_pay(rest, window, 1.0) <= min(settings.compact_horizon, replies) else due


def _requests_to_pay(proposed: Plan, window: Window, warm: float) -> float:
    """Return the number of requests after which a compaction is cheaper than none; infinity if it removes too little.

    The cost is the summary and the writing of the smaller prompt. Each later request saves the removed tokens, less its
    expected recalls.

    On a cold cache, the compaction also saves writing the larger prompt again. Both cases count by the chance that the
    cache is `warm`.
    """
    view, limits, settings = window.view, window.limits, window.settings
    going, kept = set(proposed.summarised), set(proposed.kept)
    gone = sum(window.size(block) for block in view.blocks if block.seq in going)
    removed = proposed.tokens_before - proposed.tokens_after_estimate
    if gone < settings.compact_least or removed <= 0:
        return math.inf
    (write, read), output = limits.price_ratios, output_ratio(limits.prices)
    thinking = [each for each in view.blocks if isinstance(each.part, Thinking)] if limits.preserved_thinking else []
    thoughts = sum(window.size(each) for each in thinking if each.seq in kept)
    call = _call(gone, _expected(gone, settings) + settings.auto.scratchpad, window)
    cold = thoughts * output - removed * write
    edit = EditCost(removed, proposed.tokens_after_estimate - window.counter.head, thoughts)
    once = warm * edit_cost(edit, write, read, output) + (1 - warm) * cold
    saved = (removed + thoughts) * read - _recalls(proposed, window)
    return max(0.0, call + once) / saved if saved > 0 else math.inf


def _recalls(proposed: Plan, window: Window) -> float:
    """Return the cost of the recalls that a request is expected to need because of the removed part."""
    if not window.settings.loss.enabled:
        return 0.0
    return expected_recalls(window, proposed.summarised) * recall_cost(proposed.tokens_after_estimate, window)


def _call(read: int, written: int, window: Window) -> float:
    """Return the cost of a summary in fresh tokens of the session's own model."""
    if share := window.settings.compact_price:
        return (read + written * output_ratio(window.limits.prices)) * share
    fresh, output = window.limits.summary_ratios
    return read * fresh + written * output


def _replies(view: View) -> int:
    """Return the number of requests whose replies are in view.

    The number of later requests is unknown; a compaction must pay within this many.
    """
    return sum(message.role == "assistant" for message in compactable(view))


def _warm(window: Window) -> float:
    """Return the chance that the provider's cache still had the prompt when the newest message came."""
    now = moment(window.view.messages[-1].blocks[-1].created_at)
    return 1.0 if now is None else warm_chance(window, now)


def _planned(trigger: PlanTrigger, window: Window) -> Plan:
    """Return the plan with the split and its effect, or with the reason why none would help."""
    limits, settings, before, head = window.limits, window.settings, window.tokens, window.counter.head
    messages = compactable(window.view)
    sizes = window.counter.each(messages)
    aim = int(limits.soft * settings.auto.air)
    words = min(settings.keep_user_tokens, int(limits.usable * settings.keep_user_share))
    recent = most = settings.recent(limits.usable)
    manual = trigger == "manual"  # even in a short conversation something must go, because the user requested it
    if manual:
        recent = min(recent, int(sum(sizes) * settings.preserve / 2))
    latest = recent_from(messages, sizes, recent, at_most=manual)
    at = split(messages, sizes, 1 - settings.preserve, latest)
    at = _later(messages, sizes, at, aim - head - settings.auto.summary_least - words)
    if sum(sizes[:at]) < settings.auto.summary_least:
        at = 0
    carried = _carried(window, messages[:at])
    floor = head + sum(sizes[at:]) + carried
    summary = _expected(sum(sizes[:at]), settings) if at else 0
    needed = _needed(window, messages[:at], min(most, aim - floor - summary))
    floor += needed.tokens
    queued = _queued(window, messages[at:])
    floor -= queued.tokens
    excess = floor - aim if floor > limits.hard else 0
    clipped = too_large(window, messages[at:], excess, queued.call_ids)
    floor -= sum(clipped.values())
    if not at and not clipped:
        why = f"Not enough to compact yet ({before:,} tokens)."
        return keep_all(POLICY, window, why, trigger=trigger)
    if floor >= before and before <= limits.hard:
        return keep_all(POLICY, window, f"Not enough to compact yet ({before:,} tokens).", trigger=trigger)
    if floor >= before * (1 - settings.min_shrink) or floor > (
        limits.usable if before > limits.usable else limits.hard
    ):
        return keep_all(POLICY, window, _infeasible(floor, before, head, carried), trigger=trigger)
    reasons = (f"{before:,} of {limits.usable:,} usable tokens are in use.", *_what(messages, at, clipped, queued))
    proposed = split_plan(POLICY, trigger, window, at, summary + carried + needed.tokens, *reasons)
    return replace(
        proposed,
        summarised=tuple(seq for seq in proposed.summarised if seq not in needed.seqs),
        kept=tuple(sorted({*proposed.kept, *needed.seqs})),
        needed=tuple(sorted(needed.seqs)),
        cleared=(*needed.cleared, *queued.call_ids, *outputs(clipped)),
        cleared_inputs=queued.inputs,
        clipped=tuple(clipped),
        repeated=tuple(key for key in repeated_answers(messages[at:]) if key not in clipped),
        tokens_after_estimate=max(0, proposed.tokens_after_estimate - sum(clipped.values()) - queued.tokens),
    )


def split(messages: Sequence[ViewMessage], sizes: Sequence[int], share: float, latest: int) -> int:
    """Return the number of messages to summarise, so that at least `share` of the tokens is before the split.

    No split is after `latest`. The result is the first such place before a message of the user. In a turn too long to
    have one, it is the first place between two steps. Otherwise, it is the last possible place. A prompt that waits for
    its answer does not count.
    """
    before = list(accumulate(sizes, initial=0))
    waits = bool(messages) and opens_turn(messages[-1])
    target = before[-2 if waits else -1] * share
    last = min(latest, len(messages) - 1)
    enough = [n for n in _places(messages, max(0, bisect_left(before, target) - 1)) if n <= last]
    turns = (n for n in enough if opens_turn(messages[n]))
    earlier = (n for n in range(last, 0, -1) if _is_place(messages[n]))
    return next(turns, enough[0]) if enough else next(earlier, 0)


def _places(messages: Sequence[ViewMessage], after: int = 0) -> Iterator[int]:
    """Yield the places after `after` at which the messages may be split."""
    return (n for n in range(after + 1, len(messages)) if _is_place(messages[n]))


def _is_place(message: ViewMessage) -> bool:
    return opens_step(message) or opens_turn(message)


def _later(messages: Sequence[ViewMessage], sizes: Sequence[int], at: int, room: int) -> int:
    """Return a later split if the kept part would not fit into `room` tokens; the step in progress always stays.

    An answer that falls into the summarised part is carried beside the summary.
    """
    before = list(accumulate(sizes, initial=0))
    for place in chain((at,), _places(messages, at)):
        at = place
        if before[-1] - before[at] <= room:
            break
    return at


@dataclass(frozen=True, slots=True)
class _Needed:
    """Older steps that stay: their records, the calls whose outputs are cleared, and the tokens of the rest."""

    seqs: frozenset[int] = frozenset()
    cleared: tuple[str, ...] = ()
    tokens: int = 0


def _needed(window: Window, summarised: Sequence[ViewMessage], room: int) -> _Needed:
    """Return the newest steps that the work in progress needs as they are, in at most `room` tokens.

    Of a step with several calls, only the outputs of needed ones stay.
    """
    pointed_at, seqs, cleared, tokens = window.superseded.pointed_at, set[int](), list[str](), 0
    for n in range(len(summarised) - 2, -1, -1) if pointed_at else ():
        said = summarised[n]
        if said.role == "user" or pointed_at.isdisjoint([call.call_id for call in said.calls]):
            continue
        answers = [block for block in summarised[n + 1].blocks if isinstance(block.part, ToolResult)]
        least = window.settings.prune.smallest
        others = [each for each in answers if each.tool_use_id not in pointed_at and window.size(each) >= least]
        others = [each for each in others if each.compactable and not (each.pinned or each.cleared)]
        size = sum(window.size(block) for block in (*said.blocks, *answers) if block not in others)
        if tokens + size <= room:
            tokens += size
            seqs |= {block.seq for block in (*said.blocks, *answers)}
            cleared += [each.tool_use_id for each in others]
    return _Needed(frozenset(seqs), tuple(cleared), tokens)


def _queued(window: Window, kept: Sequence[ViewMessage]) -> Prune:
    """Return the prune of outputs in the part that stays: the cache is rewritten anyway."""
    nothing_queued = Prune((), 0, "")
    if not window.settings.prune.enabled:
        return nothing_queued
    seen = replace(window.view, messages=tuple(kept))
    # Not a copy of the window: a copy would share the cached results for the whole view, and replace them.
    stays = Window(seen, window.limits, window.counter, window.settings, window.traits)
    why, spared = "a compaction rewrites the cache in any case", window.superseded.pointed_at
    prune, _ = by_price(stays, Pressure(free=why, spared=spared))
    return prune or nothing_queued


def _carried(window: Window, summarised: Sequence[ViewMessage]) -> int:
    """Return the tokens that a summary carries verbatim.

    These are the user's prompts, the pins, and the model's newest answer if it is summarised.
    """
    answer = verbatim_answer(summarised, window)
    carried = (*verbatim_prompts(summarised, window), *verbatim_pins(summarised, window.view))
    return carried_tokens((*carried, *([answer] if answer else ())), window.counter)


def _expected(summarised: int, settings: ContextSettings) -> int:
    rules = settings.auto
    return min(rules.summary_most, max(rules.summary_least, int(summarised * rules.summary_share)))


def _unhurried(window: Window) -> str:
    if not window.settings.autocompact:
        return "Auto-compaction is switched off."
    return f"{window.tokens:,} tokens are below the soft mark of {window.limits.soft:,}."


def _not_yet(requests: float) -> str:
    if math.isinf(requests):
        return "Too little could be summarised for that to pay."
    return f"A compaction now would pay only after {math.ceil(requests)} requests."


def _infeasible(floor: int, before: int, head: int, carried: int) -> str:
    floor, carried = min(floor, before), min(carried, max(before - head, 0))
    return (
        f"Compacting would not help: {floor:,} of {before:,} tokens must stay in any case (system and tools {head:,}, "
        f"your words and pins {carried:,}, the newest steps {max(floor - head - carried, 0):,})."
    )


def _what(messages: Sequence[ViewMessage], at: int, clipped: dict[str, int], queued: Prune) -> tuple[str, ...]:
    lines = []
    if at:
        how = "everything" if at == len(messages) else f"the first {at} of {len(messages)} messages"
        lines.append(f"Will summarise {how}{_up_to(messages, at)}.")
    if queued.cleared:
        lines.append(f"Will clear {cleared_in_words(queued)} of what stays ({queued.tokens:,} tokens).")
    if clipped:
        which = "outputs" if len(outputs(clipped)) == len(clipped) else "outputs, inputs and texts"
        lines.append(
            f"Will cut {len(clipped)} {which} of the newest steps to their two ends: they alone are too large."
        )
    return tuple(lines)


def _up_to(messages: Sequence[ViewMessage], at: int) -> str:
    if at == len(messages):
        return ""
    if opens_turn(messages[at]):
        return ", up to a message of the user"
    return ", up to a pause between two steps of one long turn, whose message stays word for word"
