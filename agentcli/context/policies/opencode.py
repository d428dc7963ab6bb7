"""opencode's compaction: when the last reply overflowed the window less the reserve, the whole conversation is summarised."""

from __future__ import annotations

from agentcli.context.limits import Limits
from agentcli.context.plan import Plan
from agentcli.context.policies.stretch import divided, nothing, opens_turn, stretch
from agentcli.context.settings import ContextSettings
from agentcli.context.tokens import Counts
from agentcli.context.view import View, ViewMessage
from agentcli.core.message import Usage

POLICY = "opencode"


def plan(view: View, limits: Limits, counts: Counts, settings: ContextSettings, *, forced: bool = False) -> Plan:
    """Everything, once the last reply has filled the window; a prompt that waits for its answer stays."""
    before = counts.prompt(view)
    usable = limits.window - min(
        limits.max_output or settings.opencode.output_reserve, settings.opencode.output_reserve
    )
    used = overflow_count(_last_usage(view))
    if not forced and (not settings.autocompact or not overflows(used, limits.window, usable)):
        return nothing(POLICY, view, before, _counted(used, usable))
    messages = stretch(view)
    at = len(messages) - _waiting(messages)
    if at == 0:
        return nothing(
            POLICY, view, before, "There is nothing to summarise yet.", trigger="manual" if forced else "hard"
        )
    return divided(
        POLICY,
        "manual" if forced else "hard",
        view,
        counts,
        before,
        at,
        settings.opencode.summary_tokens,
        _counted(used, usable),
        "Will summarise the whole conversation.",
    )


def _counted(used: int, usable: int) -> str:
    return (
        f"The last reply comes to {used:,} tokens of {usable:,} usable ones, as opencode counts: without cache writes."
    )


def overflow_count(usage: Usage | None) -> int:
    """What opencode adds up: fresh input, cache reads and output."""
    return usage.input + usage.cache_read + usage.output if usage else 0


def overflows(used: int, window: int, usable: int) -> bool:
    """Whether the window is overfull; a window of unknown size never is."""
    return window != 0 and used > usable


def _last_usage(view: View) -> Usage | None:
    ours = view.compaction.seq if view.compaction else 0
    replies = (message for message in reversed(view.messages) if message.role == "assistant" and message.usage)
    return next((message.usage for message in replies if message.seq > ours), None)


def _waiting(messages: tuple[ViewMessage, ...]) -> int:
    """1 if the last message is a prompt without its answer, or asks for tools that have not answered."""
    return 1 if messages and (opens_turn(messages[-1]) or messages[-1].calls) else 0
