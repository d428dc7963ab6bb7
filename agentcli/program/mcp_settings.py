"""Settings of MCP servers: `[mcp]`."""

from __future__ import annotations

from typing import Literal

from agentcli.core.dataclass import dataclass
from agentcli.core.setting import LOWER, Seconds, Tokens, setting


@dataclass(frozen=True, slots=True)
class McpSettings:
    """`[mcp]`: servers of the Model Context Protocol. `mcp.json` and `.mcp.json` define them."""

    upfront_tokens: Tokens = setting(2_000, project="tighten", tighter=LOWER)
    """Server tools that the model sees from the start; `mcp_search` finds the others."""
    catalogue_tokens: int = 1_500
    """Maximum tokens of the list of servers and tools in the first prompt."""
    wait: Seconds = setting(1.0, project="tighten", tighter=LOWER)
    """Longest wait of an interactive session's first prompt for servers."""
    deferred: Literal["off", "auto", "on"] = setting("off", project="free")
    """Load tools that `mcp_search` finds as tools of Claude: `auto` at Anthropic's own address, `on` at any."""
