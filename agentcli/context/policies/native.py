"""Context editing by the provider, for models that support it; `auto`'s compaction at the marks if that is not enough."""

from __future__ import annotations

from dataclasses import replace

from agentcli.context.context_editing import trigger
from agentcli.context.policies import auto
from agentcli.context.policies.plans import Plan
from agentcli.context.pruning.plan import NONE, Pressure, by_price, cleared_in_words
from agentcli.context.settings import NATIVE
from agentcli.context.view import Block
from agentcli.context.window import Window
from agentcli.core.message import ToolResult
from agentcli.core.record import Prune

POLICY = NATIVE


def plan(window: Window, *, forced: bool = False) -> Plan:
    """Return the plan of `auto`, at its marks alone, for the window as the provider will show it.

    `cleared` names the parts that the provider will clear. A compaction rewrites the cache anyway. It therefore clears
    for good all kept outputs that the provider has cleared.
    """
    settings = replace(window.settings, compact_horizon=0.0)
    planned = auto.plan(replace(window, settings=settings), forced=forced)
    held = [block for block in window.view.blocks if block.held]
    if planned.does_something:
        kept = set(planned.kept)
        staying = tuple(block.tool_use_id for block in held if block.seq in kept and _is_result(block))
        cleared = tuple(dict.fromkeys((*planned.cleared, *staying)))
        return replace(planned, policy=POLICY, cleared=cleared, reasons=(*_reasons(window), *planned.reasons))
    prune = window.view.foreseen or Prune((), 0, "")
    return replace(
        planned,
        policy=POLICY,
        cleared=prune.call_ids,
        cleared_inputs=prune.inputs,
        reasons=(*_reasons(window), *planned.reasons),
    )


def prune(window: Window, pressure: Pressure = NONE) -> tuple[Prune | None, str]:
    """Make no prune of agentcli's own, because the provider clears, unless the user asks for one."""
    if pressure.forced:
        return by_price(window, pressure)
    why = " ".join(_reasons(window))
    return None, why or f"The provider clears nothing before {clears_from(window):,} tokens."


def clears_from(window: Window) -> int:
    """Return the size in tokens beyond which the provider clears old outputs."""
    return trigger(window.usable, window.settings)


def _reasons(window: Window) -> tuple[str, ...]:
    prune = window.view.foreseen
    if prune is None:
        return ()
    what = cleared_in_words(prune) if prune.cleared else "old thoughts"
    return (f"The provider will clear {what} ({prune.tokens:,} tokens).",)


def _is_result(block: Block) -> bool:
    return isinstance(block.part, ToolResult)
