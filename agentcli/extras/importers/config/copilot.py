"""Configuration of GitHub Copilot CLI: `~/.copilot` with `config.json`, `mcp-config.json` and instructions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from agentcli.extras.importers.config import home_of
from agentcli.extras.importers.config.found import Found, read_json, table, texts

SOURCE, SERVERS = "~/.copilot/config.json", "~/.copilot/mcp-config.json"
_KNOWN = ("model", "trusted_folders", "reasoning_effort")


def read(home: Path, cwd: Path, env: Mapping[str, str]) -> Found:
    """Read all settings of Copilot CLI for this user."""
    found = Found()
    folder = home_of("copilot", home, env)
    for name, server in table(read_json(folder / "mcp-config.json", found), "mcpServers").items():
        found.server(name, _server(server) if isinstance(server, Mapping) else server, SERVERS)
    raw = read_json(folder / "config.json", found, comments=True)
    if model := raw.get("model"):
        found.skip(SOURCE, f"model {model}", "Copilot serves it; choose one with /model")
    found.effort(raw.get("reasoning_effort"), SOURCE)
    found.skip_others(raw, _KNOWN, SOURCE)
    found.file("AGENTS.md", folder / "copilot-instructions.md")
    return found


def _server(raw: Mapping[str, object]) -> Mapping[str, object]:
    """Return a server's definition with our names: a list of tools replaces `*` for all of them."""
    tools = texts(raw.get("tools"))
    kinds = {"type": "stdio"} if raw.get("type") == "local" else {}
    return {
        **{key: value for key, value in raw.items() if key != "tools"},
        **kinds,
        **({"includeTools": tools} if tools and tools != ["*"] else {}),
    }
