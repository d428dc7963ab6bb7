"""Settings of the agent: `[agent]`, `[mcp]`, `[permissions]` and `[hooks]`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from agentcli.core.dataclass import dataclass
from agentcli.core.model import REPLY_TOKENS, SMALL_WINDOW
from agentcli.core.text.ranges import Positive


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """`[agent]`: how the agent works. Sizes in tokens unless said otherwise."""

    max_steps: int = 0
    """Maximum requests in one turn; 0: no limit."""
    max_output: Positive = REPLY_TOKENS
    """Maximum tokens of one reply."""
    max_pauses: int = 10
    """Maximum replies in a row that pause, as they do while the provider runs tools of its own; the next one ends the turn."""
    repeat_limit: int = 3
    """Identical calls with identical results in a row after which the user is asked, or the call denied if nobody is there; 0: no limit."""
    titles: bool = True
    """Give sessions a title."""
    thinking: bool = True
    """Let the model think before it answers, if it can."""
    effort: str = ""
    """Thinking effort, `low` to `max`; models that think within a budget get a budget to match."""
    thinking_budget: int = 0
    """Thinking budget of such models, at most three quarters of `max_output`; 0: chosen by `effort`."""
    thinking_display: Literal["summarized", "omitted"] = "summarized"
    """Form in which adaptive models return their thinking."""
    fallback_model: str = ""
    """The model that takes over when the session's own is unavailable; empty: none."""
    instruction_bytes: int = 100_000
    """Maximum bytes used of each instruction file (AGENTS.md)."""
    small_window: int = SMALL_WINDOW
    """Window up to which a model gets a shorter system prompt and only the most important tools; 0: never."""
    subagents: bool = True
    """Let the model delegate work to subagents."""
    subagents_at_once: Positive = 8
    """Maximum subagents that run at the same time."""
    subagent_model: str = ""
    """The model of subagents; empty: the session's own."""

    def is_small(self, window: int) -> bool:
        """True if a window of so many tokens is small."""
        return window <= self.small_window


@dataclass(frozen=True, slots=True)
class McpSettings:
    """`[mcp]`: servers of the Model Context Protocol. `mcp.json` and `.mcp.json` define them."""

    upfront_tokens: int = 2_000
    """Maximum tokens of server tools that the model sees from the start; it finds the others with `mcp_search`."""
    catalogue_tokens: int = 1_500
    """Maximum tokens of the list of servers and tools in the first prompt."""
    wait: float = 1.0
    """Seconds that the first prompt of an interactive session waits for servers."""
    deferred: Literal["off", "auto", "on"] = "off"
    """Load the tools that `mcp_search` finds as tools of the model itself (Claude only): `auto` at Anthropic's own address, `on` at any address of `anthropic`."""


@dataclass(frozen=True, slots=True)
class PermissionSettings:
    """`[permissions]`: rules such as `bash(git push *)`; deny wins over ask, ask over allow."""

    allow: tuple[str, ...] = ()
    """Calls that run without asking."""
    ask: tuple[str, ...] = ()
    """Calls that are always asked about."""
    deny: tuple[str, ...] = ()
    """Calls that never run."""
    destructive: Literal["ask", "allow"] = "ask"
    """`ask`: commands that can only destroy (`rm -rf ~`, `mkfs`) ask in every mode; `allow`: they are treated like any other."""


@dataclass(frozen=True, slots=True)
class HookSettings:
    """`[hooks]`: commands that run at events, with a JSON object on stdin. Only your own config.toml can set them."""

    pre_compress: str = ""
    """A command that runs before each compaction: short for a hook of PreCompress."""
    timeout: float = 30.0
    """Seconds after which a hook is stopped."""
    commands: tuple[Mapping[str, Any], ...] = ()
    """The `[[hooks]]` tables: each has `event` and `command`, and may have `matcher` and `timeout`."""
