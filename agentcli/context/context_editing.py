"""Context editing: the outputs that the provider clears at the next request, and the parameters for exactly these.

The provider edits each request and remembers nothing, so the session continues to send whole outputs. The content
covered by a reply's signature stays unchanged, and context editing invalidates no thought.

With constant parameters, the boundary of the newest outputs would move with each call. The cache would then miss each
time. So `keep` is chosen for each request: it keeps the boundary until the prompt has grown beyond `trigger` again.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

from agentcli.context.cleared import cleared_input, cleared_result
from agentcli.context.settings import ContextSettings
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.view import HIDDEN, Block, View, ViewMessage
from agentcli.core.dataclass import dataclass
from agentcli.core.history import History
from agentcli.core.message import Thinking, ToolCall, ToolResult
from agentcli.core.model import ContextEdits, EditsApplied
from agentcli.core.record import Prune, Record
from agentcli.core.tool import UNKNOWN, Traits

FORESEEN = "to be cleared by the provider"
CLEARED = "Cleared by the provider."


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A call as the provider counts it, with its result in the view.

    The result is None if the request will get a placeholder result.
    """

    call_id: str
    result: Block | None = None

    @property
    def is_held(self) -> bool:
        """True if the provider clears its output."""
        return self.result is not None and self.result.held


def tool_uses(view: View, settings: ContextSettings) -> tuple[ToolUse, ...]:
    """Return the tool uses that the provider may clear, oldest first: all except uses of protected tools."""
    exclude = settings.prune.protected_tools
    results = {block.tool_use_id: block for block in view.blocks if isinstance(block.part, ToolResult)}
    calls = {call.call_id: call for message in view.messages for call in message.calls}
    return tuple(ToolUse(each, results.get(each)) for each, call in calls.items() if call.name not in exclude)


def boundary(uses: Sequence[ToolUse]) -> int:
    """Return the number of uses, from the oldest, up to the newest that the provider clears."""
    return max((number for number, use in enumerate(uses, 1) if use.is_held), default=0)


def foreseen(
    view: View, usable: int, counter: TokenCounter, settings: ContextSettings, traits: Mapping[str, Traits]
) -> View:
    """Return the view as the provider will show it at the next request, with `foreseen` cleared."""
    uses = tool_uses(view, settings)
    calls = _due(view, uses, usable, counter, settings)
    before = _thoughts_before(view, settings.native.thinking_turns)
    if not calls and before <= view.held_thinking:
        return view
    inputs = inputs_of(view, calls, settings, traits)
    seen = held(view, calls, inputs, max(before, view.held_thinking))
    freed = sum(map(counter.message, view.messages)) - sum(map(counter.message, seen.messages))
    body = Prune(calls, max(0, freed), FORESEEN, max(before, view.held_thinking), inputs, by="provider")
    last = max((block.seq for block in view.blocks), default=0)
    return replace(seen, prunes=(*view.prunes, Record(last + 1, "", "", "", body)), foreseen=body)


def context_edits_of(
    view: View, usable: int, counter: TokenCounter, settings: ContextSettings, traits: Mapping[str, Traits]
) -> ContextEdits:
    """Return the parameters with which the provider clears exactly the parts that this view shows as cleared.

    While there are none, it clears by its own count, once the prompt passes `trigger`.
    """
    rules, uses = settings.native, tool_uses(view, settings)
    cleared = boundary(uses)
    by_count = cleared > 0
    keep = len(uses) - cleared if by_count else _keep(view, uses, usable, counter, settings)
    return ContextEdits(
        trigger=keep if by_count else trigger(usable, settings),
        keep=keep,
        at_least=0 if by_count else rules.clear_at_least,
        counts_uses=by_count,
        exclude=settings.prune.protected_tools,
        inputs=tuple(name for name, each in traits.items() if each.edits_files) if settings.prune.inputs else (),
        thinking_turns=rules.thinking_turns,
    )


def reported(
    view: View, applied: EditsApplied, history: History, settings: ContextSettings, traits: Mapping[str, Traits]
) -> Prune | None:
    """Return the record of the provider's report on a request with this view; None if it reports no change.

    The report contains only the number of tool uses, and the provider clears the oldest first.
    """
    uses = tool_uses(view, settings)
    # Not `history.cleared`: an output that a compaction replaced after it was cleared shows its summary, which the provider may clear.
    own = {block.tool_use_id for block in view.blocks if block.cleared and not block.held}
    now = [use.call_id for use in uses[: applied.tool_uses] if use.result is not None and use.call_id not in own]
    came = tuple(call for call in now if call not in history.held)
    restored = tuple(call for call in history.cleared if call in history.held and call not in now)
    before = _turns_before(view, applied.thinking_turns)
    if not (came or restored or before != history.held_thinking):
        return None
    tokens = applied.tokens * len(came) // max(1, len(now)) + (
        applied.thinking_tokens if before > history.held_thinking else 0
    )
    inputs = inputs_of(view, came, settings, traits)
    return Prune(came, tokens, CLEARED, before, inputs, by="provider", restored=restored)


def held(view: View, calls: Sequence[str], inputs: Sequence[str], thinking_before: int) -> View:
    """Return the view with these outputs, inputs and thoughts as the provider shows them."""
    chosen, edits = frozenset(calls), frozenset(inputs)

    def shown(block: Block) -> Block:
        match block.part:
            case ToolResult(call_id, name, status) as result if call_id in chosen and not block.cleared:
                part = cleared_result(call_id, name, status)
                return replace(block, part=part, cleared=True, held=True, original=result)
            case ToolCall(call_id) as call if call_id in edits and not block.cleared:
                return replace(block, part=cleared_input(call), cleared=True, held=True, original=call)
            case Thinking() as thought if block.seq < thinking_before and not block.cleared:
                return replace(block, part=HIDDEN, cleared=True, held=True, original=thought)
            case _:
                return block

    def edited(message: ViewMessage) -> ViewMessage:
        blocks = tuple(map(shown, message.blocks))
        return message if all(map(operator.is_, blocks, message.blocks)) else replace(message, blocks=blocks)

    return replace(view, messages=tuple(map(edited, view.messages)), held_thinking=thinking_before)


def as_shown(view: View) -> View:
    """Return the view with the provider's markers as if they were sent: the prompt that the model gets."""
    messages = (
        replace(message, blocks=tuple(replace(block, held=False) for block in message.blocks if block.part != HIDDEN))
        for message in view.messages
    )
    return replace(view, messages=tuple(messages))


def trigger(usable: int, settings: ContextSettings) -> int:
    """Return the size of the prompt, in tokens, beyond which the provider clears, in a window of `usable` tokens."""
    return min(settings.native.trigger, int(usable * settings.native.trigger_share))


def inputs_of(
    view: View, calls: Sequence[str], settings: ContextSettings, traits: Mapping[str, Traits]
) -> tuple[str, ...]:
    """Return the calls whose inputs are cleared with their outputs: edits of files."""
    if not settings.prune.inputs or not calls:
        return ()
    chosen = frozenset(calls)
    made = (block.part for block in view.blocks if isinstance(block.part, ToolCall))
    return tuple(call.call_id for call in made if call.call_id in chosen and traits.get(call.name, UNKNOWN).edits_files)


def _due(
    view: View, uses: Sequence[ToolUse], usable: int, counter: TokenCounter, settings: ContextSettings
) -> tuple[str, ...]:
    """Return the calls whose outputs the provider must clear now, in addition to those that it clears already."""
    if not settings.prune.enabled or counter.prompt(view) <= trigger(usable, settings):
        return ()
    end = len(uses) - _keep(view, uses, usable, counter, settings)
    new = [use.result for use in uses[boundary(uses) : end] if use.result is not None and not use.result.cleared]
    freed = sum(counter.block(block) for block in new)
    least = min(settings.native.clear_at_least, trigger(usable, settings) // 4)
    return tuple(block.tool_use_id for block in new) if new and freed >= least else ()


def _keep(view: View, uses: Sequence[ToolUse], usable: int, counter: TokenCounter, settings: ContextSettings) -> int:
    """Return the number of newest uses that stay: the configured number, the newest tokens, unseen results, and pins.

    The provider spares tools only by name, so everything from the oldest pinned output on stays.
    """
    total, recent = len(uses), settings.recent(usable)
    sums = accumulate(counter.block(use.result) if use.result else 0 for use in reversed(uses))
    within = sum(tokens <= recent for tokens in sums)
    last = view.messages[-1].blocks if view.messages else ()
    unseen = {block.tool_use_id for block in last}
    new = sum(use.result is None or use.call_id in unseen for use in uses[boundary(uses) :])
    pinned = next((total - number for number, use in enumerate(uses) if use.result and use.result.pinned), 0)
    return min(total, max(settings.native.keep, within, new, pinned))


def _thoughts_before(view: View, turns: int) -> int:
    """Return the seq of the first record whose thoughts stay; 0 if all stay.

    The newest `turns` turns keep their thoughts.
    """
    thinking = _thinking_turns(view)
    return _turns_before(view, len(thinking) - turns) if turns and len(thinking) > turns else 0


def _turns_before(view: View, cleared: int) -> int:
    """Return the seq of the first reply after the oldest `cleared` turns with thoughts; 0 for none."""
    thinking = _thinking_turns(view)
    if cleared <= 0 or not thinking:
        return 0
    last = thinking[min(cleared, len(thinking)) - 1]
    later = (message.seq for message in view.messages if message.role == "assistant" and message.turn > last)
    return next(later, max(message.seq for message in view.messages) + 1)


def _thinking_turns(view: View) -> list[int]:
    """Return the turns of the user in which the model thought, oldest first."""
    return sorted({message.turn for message in view.messages if any(map(_is_thought, message.blocks))})


def _is_thought(block: Block) -> bool:
    return isinstance(block.part, Thinking)
