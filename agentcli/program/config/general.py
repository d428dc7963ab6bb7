"""Settings at the top level of config.toml, and `[mcp]`, which the program itself reads as well."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from agentcli.core.dataclass import dataclass
from agentcli.core.record import Mode
from agentcli.core.setting import ENTRIES_ADDED, LOWER, Seconds, Tokens, setting, towards


@dataclass(frozen=True, slots=True)
class General:
    """Settings at the top level of config.toml."""

    model: str = setting("", project="free")
    """Model of a new session, `provider/model` or an alias; empty: the newest of the first provider with a key."""
    accounts: Mapping[str, str] = setting({}, project="never")
    """Account whose keys are used, by folder: `"~/work" = "work"`. See `agentcli help models`."""
    mode: Mode = setting("ask", project="never")
    """Mode of a new session."""
    sandbox: Literal["auto", "require", "off"] = setting(
        "auto", project="tighten", tighter=towards("off", "auto", "require")
    )
    """`auto`: commands that no person approved run in the sandbox; `require`: all commands do, or none runs; `off`: none does."""
    sandbox_network: bool = setting(False, project="tighten", tighter=towards(True, False))
    """Let commands in the sandbox use the network."""
    add_dirs: tuple[str, ...] = setting((), project="never")
    """Folders that belong to every workspace."""
    checks: Mapping[str, str] = setting({}, project="tighten", tighter=ENTRIES_ADDED)
    """Commands that check a file after an edit, by glob: `"*.py" = "ruff check {file}"`."""
    lsp: bool = setting(False, project="tighten", tighter=towards(True, False))
    """Use language servers: diagnostics after edits, and the tool `lsp`."""


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
