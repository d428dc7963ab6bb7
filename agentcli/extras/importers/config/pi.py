"""Configuration of pi: `~/.pi/agent` with `settings.json`, `mcp.json` and `AGENTS.md`; its skills and prompts are read in place."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from agentcli.extras.importers.config import home_of
from agentcli.extras.importers.config.found import Found, read_json, table

SOURCE = "~/.pi/agent/settings.json"
_KNOWN = ("defaultProvider", "defaultModel", "defaultThinkingLevel", "packages", "mcpServers", "lastChangelogVersion")


def read(home: Path, cwd: Path, env: Mapping[str, str]) -> Found:
    """Read all settings of pi for this user."""
    found = Found()
    folder = home_of("pi", home, env)
    raw = read_json(folder / "settings.json", found)
    for source, servers in ((SOURCE, raw), ("~/.pi/agent/mcp.json", read_json(folder / "mcp.json", found))):
        for name, server in table(servers, "mcpServers").items():
            found.server(name, server, source)
    found.model(str(raw.get("defaultProvider", "google")), raw.get("defaultModel"), SOURCE)
    found.effort(raw.get("defaultThinkingLevel"), SOURCE)
    packages = raw.get("packages")
    for package in packages if isinstance(packages, list) else ():
        found.skip(SOURCE, f"package {package}", "it is written for pi; see `agentcli help extensions`")
    found.skip_others(raw, _KNOWN, SOURCE)
    found.file("AGENTS.md", folder / "AGENTS.md")
    return found
