"""Settings of the agent: `[agent]` and `[permissions]`."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from agentcli.core.dataclass import dataclass
from agentcli.core.model import REPLY_TOKENS, SMALL_WINDOW
from agentcli.core.setting import ADDED, LIMIT, LOWER, Bytes, Calls, Range, Requests, Tokens, setting, towards

Effort = Literal["", "minimal", "low", "medium", "high", "xhigh", "max"]
EFFORTS: tuple[str, ...] = get_args(Effort)[1:]
"""Levels that people can choose, from little to much."""


def with_effort(name: str) -> tuple[str, str]:
    """Return a model's name and the effort after its last colon, as in `sonnet:high`; empty if there is none."""
    model, _, level = name.rpartition(":")
    return (model, level) if model and level in EFFORTS else (name, "")


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """`[agent]`: how the agent works. Sizes in tokens unless stated otherwise."""

    max_steps: Requests = setting(0, project="tighten", tighter=LIMIT)
    """Maximum in one turn; 0: no limit."""
    max_output: Annotated[int, Range(1, unit="tokens")] = setting(REPLY_TOKENS, project="tighten", tighter=LOWER)
    """Maximum of one reply."""
    max_pauses: int = 10
    """Maximum pauses in a row, which occur while the provider runs its own tools; the next one ends the turn."""
    repeat_limit: Calls = setting(3, project="tighten", tighter=LIMIT)
    """After this many identical calls with the same result, the call is refused; 0: no limit."""
    confirm_done: bool = setting(False, project="free")
    """In unattended runs, have the model re-check its work before it finishes."""
    receipts: bool = setting(True, project="never")
    """Compare claims of the last message (“tests pass”, “it builds”) with the commands that ran."""
    titles: bool = setting(True, project="free")
    """Give sessions a title."""
    thinking: bool = setting(True, project="free")
    """Let the model think before it answers, if it can."""
    effort: Effort = setting("", project="free")
    """Thinking effort; empty: the model's own."""
    thinking_budget: Tokens = setting(0, project="free")
    """Budget of models that think within one, at most ¾ of `max_output`; 0: by `effort`."""
    fallback_model: str = setting("", project="free")
    """Model that takes over if the session's own is unavailable."""
    instruction_bytes: Bytes = setting(100_000, project="tighten", tighter=LOWER)
    """Maximum used of each instruction file (AGENTS.md)."""
    small_window: Tokens = setting(SMALL_WINDOW, project="free")
    """Window up to which a model gets a short system prompt and few tools; 0: never."""
    subagents: bool = setting(True, project="tighten", tighter=towards(True, False))
    """Let the model delegate work to subagents."""
    subagents_at_once: Annotated[int, Range(1, unit="subagents")] = setting(8, project="tighten", tighter=LOWER)
    """Maximum that run at the same time."""
    subagent_model: str = setting("", project="free")
    """Model of subagents; empty: the session's own."""

    def is_small(self, window: int) -> bool:
        """Return True if a window of so many tokens is small."""
        return window <= self.small_window


@dataclass(frozen=True, slots=True)
class PermissionSettings:
    """`[permissions]`: rules such as `bash(git push *)`; deny wins over ask, ask over allow."""

    allow: tuple[str, ...] = setting((), project="never")
    """Calls that run without asking."""
    ask: tuple[str, ...] = setting((), project="tighten", tighter=ADDED)
    """Calls that are always asked about."""
    deny: tuple[str, ...] = setting((), project="tighten", tighter=ADDED)
    """Calls that never run."""
    destructive: Literal["ask", "allow"] = setting("ask", project="tighten", tighter=towards("allow", "ask"))
    """`ask`: destructive commands ask in every mode, commands beyond the workspace also in yolo; `allow`: neither asks."""
