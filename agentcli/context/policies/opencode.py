"""opencode's rules for pruning and compaction.

It compacts the whole conversation once the last reply overflowed the window less the reserve.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from agentcli.context.policies.plans import Plan, PlanTrigger, compactable, keep_all, opens_turn, split_plan
from agentcli.context.pruning.blocks import clearable, completed
from agentcli.context.pruning.plan import NONE, Pressure, TokenLayout
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.tokens.estimators import estimator
from agentcli.context.view import Block, View, ViewMessage
from agentcli.context.window import Window
from agentcli.core.message import ToolResult, Usage
from agentcli.core.record import Prune

POLICY = "opencode"


def plan(window: Window, *, forced: bool = False) -> Plan:
    """Summarise everything once the last reply has filled the window; a waiting prompt stays."""
    settings, usable = window.settings, threshold(window)
    used = overflow_count(_last_usage(window.view))
    if not forced and (not settings.autocompact or not overflows(used, window.limits.window, usable)):
        return keep_all(POLICY, window, _counted(used, usable))
    messages = compactable(window.view)
    at = len(messages) - _waiting(messages)
    trigger: PlanTrigger = "manual" if forced else "hard"
    if at == 0:
        return keep_all(POLICY, window, "There is nothing to summarise yet.", trigger=trigger)
    return split_plan(
        POLICY,
        trigger,
        window,
        at,
        settings.opencode.summary_tokens,
        _counted(used, usable),
        "Will summarise the whole conversation.",
    )


def threshold(window: Window) -> int:
    """Return the size in tokens beyond which it compacts: the window less the reserve for a reply."""
    limits, reserve = window.limits, window.settings.opencode.output_reserve
    return limits.window - min(limits.max_output or reserve, reserve)


def prune(window: Window, _: Pressure = NONE) -> tuple[Prune | None, str]:
    """Apply opencode's own rule, whatever the state of the cache. It runs after a prompt was answered, so a waiting prompt does not count."""
    layout, rules = TokenLayout(replace(window, view=_answered(window.view))), window.settings.prune
    chosen = set(prunable(layout.window))
    beyond = f"beyond the newest {rules.protect:,} tokens of outputs"
    if not chosen:
        return None, f"Nothing to prune: no more than {rules.minimum:,} tokens {beyond}."
    why = f"more than {rules.minimum:,} tokens {beyond}"
    found = [
        layout.victim(number, 1)
        for number, block in enumerate(layout.blocks)
        if isinstance(block.part, ToolResult) and block.tool_use_id in chosen
    ]
    return layout.prune(found, why), why


def prunes_from(window: Window) -> int:
    """Return the size in tokens below which it clears nothing: the protected tokens plus the minimum of a prune."""
    return window.settings.prune.protect + window.settings.prune.minimum


def prunable(window: Window) -> tuple[str, ...]:
    """Return the call ids that opencode would clear now, newest first.

    The search goes back from the newest message. Each message of the user counts as a turn, also one written by a
    program on the user's behalf. The newest `turns` are skipped. A summary or an already cleared output ends the
    search. Outputs beyond the newest `protect` tokens are cleared if together they have more than `minimum`. Only the
    texts of completed outputs are counted, by `estimator`.
    """
    rules, total, freed = window.settings.prune, 0, 0
    chosen: list[str] = []
    counter = window.counter if rules.estimator == "calibrated" else TokenCounter(estimator(rules.estimator))
    for block in _beyond_turns(window.view, rules.turns):
        if block.cleared or (block.source == "compactor" and not isinstance(block.part, ToolResult)):
            break
        if not clearable(block, rules) or not completed(block):
            continue
        tokens = counter.text(block.part.output) if isinstance(block.part, ToolResult) else 0
        total += tokens
        if total > rules.protect:
            freed += tokens
            chosen.append(block.tool_use_id)
    return tuple(chosen) if freed > rules.minimum else ()


def _beyond_turns(view: View, turns: int) -> Iterator[Block]:
    """Yield blocks from the newest back, beginning after `turns` of the user's messages."""
    passed: set[int] = set()
    for message in reversed(view.messages):
        for block in reversed(message.blocks):
            if message.role == "user" and not isinstance(block.part, ToolResult):
                passed.add(block.seq)
            if len(passed) >= turns:
                yield block


def _answered(view: View) -> View:
    """Return the view without a prompt that waits for its answer."""
    waits = bool(view.messages) and opens_turn(view.messages[-1])
    return replace(view, messages=view.messages[:-1]) if waits else view


def _counted(used: int, usable: int) -> str:
    return (
        f"The last reply comes to {used:,} tokens of {usable:,} usable ones, as opencode counts: without cache writes."
    )


def overflow_count(usage: Usage | None) -> int:
    """Return the tokens by opencode's count: fresh input, cache reads and output."""
    return usage.input + usage.cache_read + usage.output if usage else 0


def overflows(used: int, window: int, usable: int) -> bool:
    """Return True if the window is overfull; a window of unknown size never is."""
    return window != 0 and used > usable


def _last_usage(view: View) -> Usage | None:
    ours = view.compaction.seq if view.compaction else 0
    replies = (message for message in reversed(view.messages) if message.role == "assistant" and message.usage)
    return next((message.usage for message in replies if message.seq > ours), None)


def _waiting(messages: tuple[ViewMessage, ...]) -> int:
    """Return 1 if the last message is a prompt without its answer, or has calls without results, else 0."""
    return 1 if messages and (opens_turn(messages[-1]) or messages[-1].calls) else 0
