"""Settings of the agent: `[agent]`, `[mcp]`, `[permissions]` and `[hooks]`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from agentcli.core.dataclass import dataclass
from agentcli.core.model import REPLY_TOKENS, SMALL_WINDOW
from agentcli.core.text.ranges import Positive


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """`[agent]`: limits of one turn. Tokens, unless said otherwise; 0 in `max_steps` and `repeat_limit` is no limit."""

    max_steps: int = 0
    """Requests of one turn at most; 0: no limit."""
    max_output: Positive = REPLY_TOKENS
    """Tokens of one reply at most."""
    max_pauses: int = 10
    """Replies in a row that may end with a pause, as with tools that the provider runs itself, before the turn ends."""
    repeat_limit: int = 3
    """The same call with the same result this often in a row asks the user, and is denied where nobody is there."""
    titles: bool = True
    """Give sessions a title."""
    thinking: bool = True
    """Let the model think before it answers, where it can."""
    effort: str = ""
    """Thinking effort, `low` to `max`; models that think within a budget get one by it."""
    thinking_budget: int = 0
    """Tokens for such a model's thoughts instead; 0 leaves it to `effort`. At most three quarters of `max_output`."""
    thinking_display: Literal["summarized", "omitted"] = "summarized"
    """The form in which adaptive models show their thoughts."""
    fallback_model: str = ""
    """The model that takes over when the session's own is unavailable; empty: none."""
    instruction_bytes: int = 100_000
    """Bytes of instruction files (AGENTS.md) that are read at most."""
    small_window: int = SMALL_WINDOW
    """Tokens up to which a model's window gets a shorter system prompt and only the tools that a coding task needs most; 0: none does."""
    subagents: bool = True
    """True if the model may delegate to subagents; they use `subagent_model`, by default the session's own."""
    subagents_at_once: Positive = 8
    """Subagents that run at the same time at most."""
    subagent_model: str = ""
    """The model of subagents; empty: the session's own."""

    def is_small(self, window: int) -> bool:
        """True if a window of so many tokens is small."""
        return window <= self.small_window


@dataclass(frozen=True, slots=True)
class McpSettings:
    """`[mcp]`: servers of the Model Context Protocol. `mcp.json` and `.mcp.json` define them."""

    upfront_tokens: int = 2_000
    """Tokens of servers' tools that the model sees from the start; it finds the others with `mcp_search`."""
    catalogue_tokens: int = 1_500
    """Tokens of the list of servers and tools that the model gets with the first prompt."""
    wait: float = 1.0
    """Seconds that the first prompt of a session with a person waits for servers."""
    deferred: Literal["off", "auto", "on"] = "off"
    """Claude loads the tools that `mcp_search` finds as tools of its own: `auto` at Anthropic's own address only, `on` at any address of `anthropic`."""


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
    """Commands that can only destroy (`rm -rf ~`, `mkfs`) are asked about in every mode; `allow` decides about them like others."""


@dataclass(frozen=True, slots=True)
class HookSettings:
    """`[hooks]`: commands that get a JSON object on stdin, stopped after `timeout` seconds. Only the user's own config sets them."""

    pre_compress: str = ""
    """A command that runs before each compaction."""
    timeout: float = 30.0
    """Seconds that a hook may take."""
    commands: tuple[Mapping[str, Any], ...] = ()
    """Each `[[hooks]]`: `event`, `command`, and if wanted `matcher` and `timeout`. `pre_compress` is one for PreCompress."""
