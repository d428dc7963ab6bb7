"""Configuration of Gemini CLI: `~/.gemini/settings.json`, `~/.gemini/GEMINI.md`, extensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agentcli.core.aliases import GEMINI_CLI
from agentcli.extras.importers.config import home_of
from agentcli.extras.importers.config.found import OF_PROJECT, Found, Item, hook_groups, read_json, table, texts
from agentcli.features.hooks.files import GEMINI_EVENTS
from agentcli.features.mcp.config import with_braces
from agentcli.system import probe

SOURCE = "~/.gemini/settings.json"


def read(home: Path, cwd: Path, env: Mapping[str, str]) -> Found:
    """Read all settings of Gemini CLI for this user."""
    found = Found()
    folder = home_of("gemini", home, env)
    raw = read_json(folder / "settings.json", found, comments=True)
    for name, server in table(raw, "mcpServers").items():
        found.server(name, with_braces(server), SOURCE)
    events = {foreign: own for own, foreign in GEMINI_EVENTS.items()}
    found.items += hook_groups(raw.get("hooks"), SOURCE, found, events, "gemini")
    if isinstance(model := table(raw, "model").get("name"), str):
        found.items.append(Item("config.toml", "model", f"google/{model}", SOURCE))
    _rules(raw, ("allow", "deny"), SOURCE, found)
    found.skip_others(raw, ("mcpServers", "hooks", "model", "tools", "excludeTools"), SOURCE)
    found.file("AGENTS.md", folder / "GEMINI.md")
    extensions = folder / "extensions"
    for path in sorted(extensions.iterdir()) if probe.is_dir(extensions) else ():
        if probe.is_file(path / "gemini-extension.json"):
            found.skip("~/.gemini/extensions", path.name, f"add it with `agentcli plugins add {path}`")
    return found


def restrictions(path: Path, source: str, top: str) -> Found:
    """Return the tools that a project's settings file excludes, and its settings without effect, except servers."""
    found = Found(otherwise=OF_PROJECT)
    raw = read_json(path, found, comments=True)
    _rules(raw, ("deny",), source, found)
    found.skip_others(raw, ("mcpServers", "tools", "excludeTools"), source)
    return found


def _rules(raw: Mapping[str, Any], kinds: Sequence[str], source: str, found: Found) -> None:
    given = table(raw, "tools")
    lists = {"allowed": ("allow", given.get("allowed")), "exclude": ("deny", given.get("exclude"))}
    lists["excludeTools"] = ("deny", raw.get("excludeTools"))
    for kind, rules in lists.values():
        for rule in texts(rules) if kind in kinds else ():
            found.rule(kind, rule, source, _rule(rule))
    taken = [name for name, (kind, _) in lists.items() if kind in kinds]
    found.skip_others(given, taken, f"{source}: tools")


def _rule(rule: str) -> str:
    """Return our rule for one of Gemini CLI, whose commands are prefixes; empty if we have no such tool."""
    name, paren, rest = rule.partition("(")
    own = GEMINI_CLI[name][0] if name in GEMINI_CLI else name if "__" in name else ""
    if not own or not paren:
        return own
    return f"{own}({rest.removesuffix(')')}:*)" if own == "bash" else f"{own}({rest}"
