"""Configuration of Antigravity, the CLI and the app: `~/.gemini` with `config`, `antigravity-cli`, `antigravity`.

Its skills and workflows are read in place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from agentcli.extras.importers.config import home_of
from agentcli.extras.importers.config.found import NEVER_ASKS, Found, read_json, table, texts

SETTINGS = "~/.gemini/antigravity-cli/settings.json"
_MODES = {"request-review": "ask", "strict": "ask", "proceed-in-sandbox": "auto"}
_KNOWN = frozenset({"permissions", "toolPermission", "model", "statusLine", "trustedWorkspaces", "colorScheme"})
_INSTEAD = {
    **dict.fromkeys(("altScreenMode", "notifications", "showFeedbackSurvey", "title"), "/config changes the screen"),
    "editor": "the variable EDITOR names it",
    "enableTerminalSandbox": "commands run in a sandbox in mode auto; see `agentcli help permissions`",
    "gcp": "`agentcli help models` says how to use Vertex",
}
_FOLDERS = ("config", "antigravity-cli", "antigravity")
"""Folders below the home with `mcp_config.json`: shared by all, of the CLI, of the app."""


def read(home: Path, cwd: Path, env: Mapping[str, str]) -> Found:
    """Read all settings of Antigravity for this user."""
    found = Found()
    folder = home_of("antigravity", home, env)
    for inner in _FOLDERS:
        source = f"~/.gemini/{inner}/mcp_config.json"
        servers = table(read_json(folder / inner / "mcp_config.json", found, comments=True), "mcpServers")
        for name, server in servers.items():
            found.server(name, _server(server) if isinstance(server, Mapping) else server, source)
        if hooks := read_json(folder / inner / "hooks.json", found):
            found.skip(
                f"~/.gemini/{inner}/hooks.json",
                ", ".join(hooks),
                "its hooks get and give other JSON; see `agentcli help hooks`",
            )
    _settings(read_json(folder / "antigravity-cli" / "settings.json", found, comments=True), found)
    for name in ("GEMINI.md", "AGENTS.md"):
        found.file("AGENTS.md", folder / name)
    return found


def _settings(raw: Mapping[str, Any], found: Found) -> None:
    permissions = table(raw, "permissions")
    for kind in ("allow", "ask", "deny"):
        for rule in texts(permissions.get(kind)):
            own = [*_rules(rule)]
            for one in own:
                found.rule(kind, one, SETTINGS)
            if not own:
                found.skip(SETTINGS, f"{kind} {rule}", "there is no such rule here")
    mode = raw.get("toolPermission")
    if isinstance(mode, str) and mode in _MODES:
        found.setting("mode", _MODES[mode], SETTINGS)
    elif mode:
        found.skip(SETTINGS, f"toolPermission {mode}", NEVER_ASKS)
    _model(raw.get("model"), found)
    line = table(raw, "statusLine")
    if line.get("enabled", True) and (command := line.get("command")):
        found.setting("ui.status_command", str(command), SETTINGS)
    if tone := re.search(r"dark|light", str(raw.get("colorScheme", ""))):
        found.setting("ui.theme", tone[0], SETTINGS)
    elif scheme := raw.get("colorScheme"):
        found.skip(SETTINGS, f"colorScheme {scheme}", "/theme switches the colours")
    found.skip_others(raw, _KNOWN, SETTINGS, _INSTEAD)


def _model(name: Any, found: Found) -> None:
    """Import a model such as `Gemini 3.5 Flash (High)`, with its effort."""
    named = re.fullmatch(r"Gemini ([\d.]+) ([A-Za-z-]+)(?: \((\w+)\))?", name) if isinstance(name, str) else None
    if named:
        found.setting("model", f"google/gemini-{named[1]}-{named[2].lower()}", SETTINGS)
        found.effort((named[3] or "").lower(), SETTINGS)
    elif name:
        found.skip(SETTINGS, f"model {name}", "choose one with /model")


def _rules(rule: str) -> Iterator[str]:
    """Yield the rules, in Claude Code's form, that mean the same: commands match by their first words."""
    kind, _, rest = rule.partition("(")
    text = rest.removesuffix(")").strip()
    match kind:
        case "command" | "unsandboxed" if text not in ("", "*"):
            yield f"Bash({text}:*)"
        case "read_file" if text:
            yield f"Read({text})"
        case "write_file" if text:
            yield from (f"Edit({text})", f"Write({text})")
        case "read_url" if text:
            yield f"WebFetch(domain:{text})"
        case "mcp" if text:
            server, _, tool = text.partition("/")
            yield f"mcp__{server}" + (f"__{tool}" if tool not in ("", "*") else "")
        case _:
            pass


def _server(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a server's definition with our names of its fields."""
    renamed = {"serverUrl": "url", "disabledTools": "excludeTools"}
    return {renamed.get(key, key): value for key, value in raw.items()}
