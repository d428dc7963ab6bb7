"""Configuration of pi: `~/.pi/agent` with `settings.json`, `mcp.json` and `AGENTS.md`; its skills and prompts are read in place."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from agentcli.core.sanitise import display_path
from agentcli.extras.importers.config import home_of
from agentcli.extras.importers.config.found import Found, read_json, table, texts
from agentcli.system import probe

SOURCE = "~/.pi/agent/settings.json"
_KNOWN = frozenset(
    {"defaultProvider", "defaultModel", "defaultThinkingLevel", "packages", "mcpServers", "lastChangelogVersion"}
    | {"theme", "hideThinkingBlock", "skills", "prompts", "extensions", "themes"}
)
_PROVIDERS = {"openai-codex": "openai", "google-gemini-cli": "google", "google-antigravity": "google"}
"""Subscriptions of pi with the provider of the same models."""
_SCREEN = ("quietStartup", "collapseChangelog", "editorPaddingX", "autocompleteMaxVisible", "showHardwareCursor")
_INSTEAD: Mapping[str, str] = {
    **dict.fromkeys((*_SCREEN, "markdown", "terminal", "images", "tuiMode"), "/config changes the screen"),
    **dict.fromkeys(("doubleEscapeAction", "treeFilterMode"), "Esc twice opens /rewind"),
    "enabledModels": "/model lists all models",
    "defaultProjectTrust": "each folder is asked about once",
    "compaction": "agentcli decides by the price; see `agentcli help context`",
    "branchSummary": "/rewind keeps the other branch whole",
    "retry": "retries follow what the server says",
    **dict.fromkeys(("steeringMode", "followUpMode"), "each message is sent in its turn"),
    "enableInstallTelemetry": "agentcli sends no telemetry",
    "enableSkillCommands": "a skill is a command of its name",
    "transport": "the provider decides",
    "thinkingBudgets": "the setting agent.thinking_budget is one for all levels",
    **dict.fromkeys(("shellPath", "shellCommandPrefix"), "commands run in bash"),
}


def read(home: Path, cwd: Path, env: Mapping[str, str]) -> Found:
    """Read all settings of pi for this user."""
    found = Found()
    folder = home_of("pi", home, env)
    raw = read_json(folder / "settings.json", found)
    for source, servers in ((SOURCE, raw), ("~/.pi/agent/mcp.json", read_json(folder / "mcp.json", found))):
        for name, server in table(servers, "mcpServers").items():
            found.server(name, server, source)
    provider = str(raw.get("defaultProvider", "google"))
    found.model(_PROVIDERS.get(provider, provider), raw.get("defaultModel"), SOURCE)
    if (level := raw.get("defaultThinkingLevel")) == "off":
        found.setting("agent.thinking", False, SOURCE)
    else:
        found.effort(level, SOURCE)
    packages = raw.get("packages")
    for package in packages if isinstance(packages, list) else ():
        found.skip(SOURCE, f"package {package}", "it is written for pi; see `agentcli help extensions`")
    theme = raw.get("theme")
    if theme in ("dark", "light"):
        found.setting("ui.theme", theme, SOURCE)
    elif theme:
        found.skip(SOURCE, f"theme {theme}", "/theme switches the colours")
    if isinstance(hidden := raw.get("hideThinkingBlock"), bool):
        found.setting("ui.thinking", not hidden, SOURCE)
    _resources(raw, folder, found)
    found.skip_others(raw, _KNOWN, SOURCE, _INSTEAD)
    found.file("AGENTS.md", folder / "AGENTS.md")
    return found


def _resources(raw: Mapping[str, object], folder: Path, found: Found) -> None:
    """List what pi loads from other places, and what is written for pi alone."""
    for path in texts(raw.get("skills")):
        found.skip(SOURCE, f"skills {path}", "link them into ~/.agents/skills, unless agentcli reads them there")
    for path in texts(raw.get("prompts")):
        found.skip(SOURCE, f"prompts {path}", f"link them into {display_path(folder / 'prompts')}")
    for kind in ("extensions", "themes"):
        for path in texts(raw.get(kind)):
            found.skip(SOURCE, f"{kind} {path}", "they are written for pi; see `agentcli help extensions`")
    for name, why in _FILES.items():
        if probe.exists(folder / name):
            found.skip("~/.pi/agent", name, why)


_FILES: Mapping[str, str] = {
    "extensions": "they are written for pi; see `agentcli help extensions`",
    "themes": "/theme switches the colours",
    "keybindings.json": "the setting ui.keys has yours; see `agentcli help keys`",
    "models.json": "`agentcli help models` says how to set up other servers",
    "SYSTEM.md": "--system-prompt-file uses it",
    "APPEND_SYSTEM.md": "--append-system-prompt-file uses it",
    "auth.json": "`agentcli auth set` stores keys",
}
"""What there is in place of pi's other files."""
