"""Configuration of Gemini CLI: `~/.gemini/settings.json`, `~/.gemini/GEMINI.md`, extensions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from agentcli.core.aliases import GEMINI_CLI
from agentcli.integrations.foreign.found import Found, Item, hook_groups, read_json, table, texts
from agentcli.integrations.hookfiles import GEMINI_EVENTS
from agentcli.integrations.mcp.gemini import with_braces

SOURCE = "~/.gemini/settings.json"


def read(home: Path, cwd: Path, env: Mapping[str, str]) -> Found:
    """All that Gemini CLI has for this user."""
    found = Found()
    folder = home / ".gemini"
    raw = read_json(folder / "settings.json", found, comments=True)
    for name, server in table(raw, "mcpServers").items():
        found.server(name, with_braces(server), SOURCE)
    events = {foreign: own for own, foreign in GEMINI_EVENTS.items()}
    found.items += hook_groups(raw.get("hooks"), SOURCE, found, events, "gemini")
    if isinstance(model := table(raw, "model").get("name"), str):
        found.items.append(Item("config.toml", "model", f"google/{model}", SOURCE))
    given = table(raw, "tools")
    for kind, rules in (
        ("allow", given.get("allowed")),
        ("deny", given.get("exclude")),
        ("deny", raw.get("excludeTools")),
    ):
        for rule in texts(rules):
            found.rule(kind, rule, SOURCE, _rule(rule))
    found.skip_others(given, ("allowed", "exclude"), f"{SOURCE}: tools")
    found.skip_others(raw, ("mcpServers", "hooks", "model", "tools", "excludeTools"), SOURCE)
    found.file("AGENTS.md", folder / "GEMINI.md")
    extensions = folder / "extensions"
    for path in sorted(extensions.iterdir()) if extensions.is_dir() else ():
        if (path / "gemini-extension.json").is_file():
            found.skip("~/.gemini/extensions", path.name, f"add it with `agentcli plugins add {path}`")
    return found


def _rule(rule: str) -> str:
    """Our rule for one of Gemini CLI, whose commands are beginnings; empty for a tool that there is not."""
    name, paren, rest = rule.partition("(")
    own = GEMINI_CLI[name][0] if name in GEMINI_CLI else name if "__" in name else ""
    if not own or not paren:
        return own
    return f"{own}({rest.removesuffix(')')}:*)" if own == "bash" else f"{own}({rest}"
