"""Configuration of Codex: `~/.codex/config.toml`, `hooks.json`, `AGENTS.md`, `prompts/*.md`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentcli.extras.importers.config import home_of
from agentcli.extras.importers.config.found import (
    NEVER_ASKS,
    OF_PROJECT,
    Found,
    Item,
    hook_groups,
    read_json,
    read_toml,
    table,
    texts,
)
from agentcli.features.hooks.files import EVENTS

SOURCE = "~/.codex/config.toml"
_KNOWN = (
    "mcp_servers",
    "hooks",
    "model",
    "model_reasoning_effort",
    "model_provider",
    "model_providers",
    "approval_policy",
    "sandbox_mode",
    "sandbox_workspace_write",
    "projects",
)
"""Settings that are imported or reported, and the folders that Codex trusts."""
_SAME = ("command", "args", "env", "cwd", "url")
_RENAMED = {
    "http_headers": "headers",
    "enabled_tools": "includeTools",
    "disabled_tools": "excludeTools",
    "startup_timeout_sec": "startupTimeout",
    "tool_timeout_sec": "timeout",
}


def read(home: Path, cwd: Path, env: Mapping[str, str]) -> Found:
    """Read all settings of Codex for this user."""
    found = Found()
    folder = home_of("codex", home, env)
    raw = read_toml(folder / "config.toml", found)
    for name, server in table(raw, "mcp_servers").items():
        found.server(name, _server(server) if isinstance(server, Mapping) else server, SOURCE)
    events = {name: name for name in EVENTS}
    found.items += hook_groups(raw.get("hooks"), SOURCE, found, events)
    own = read_json(folder / "hooks.json", found)
    found.items += hook_groups(own.get("hooks"), "~/.codex/hooks.json", found, events)
    if isinstance(model := raw.get("model"), str):
        if (provider := raw.get("model_provider", "openai")) == "openai":
            found.items.append(Item("config.toml", "model", f"openai/{model}", SOURCE))
        else:
            found.skip(
                SOURCE, f"model {model} of {provider}", "`agentcli help models` says how to set up other servers"
            )
    found.effort(raw.get("model_reasoning_effort"), SOURCE)
    _approval(raw, found)
    found.file("AGENTS.md", folder / "AGENTS.md")
    found.skip_others(raw, _KNOWN, SOURCE)
    for path in sorted(folder.glob("prompts/*.md")):
        found.file(f"commands/{path.name}", path)
    return found


def restrictions(path: Path, source: str, top: str) -> Found:
    """Return the settings in a project's file, none of which has an effect."""
    found = Found(otherwise=OF_PROJECT)
    found.skip_others(read_toml(path, found), (), source)
    return found


def _server(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    server = {key: raw[key] for key in _SAME if key in raw}
    server |= {ours: raw[theirs] for theirs, ours in _RENAMED.items() if theirs in raw}
    headers = dict(table(server, "headers"))
    headers |= {name: f"${{{variable}}}" for name, variable in table(raw, "env_http_headers").items()}
    if isinstance(variable := raw.get("bearer_token_env_var"), str):
        headers["Authorization"] = f"Bearer ${{{variable}}}"
    passed = {name: f"${{{name}}}" for name in texts(raw.get("env_vars"))}
    if passed:
        server["env"] = {**passed, **table(server, "env")}
    if headers:
        server["headers"] = headers
    if raw.get("enabled") is False:
        server["disabled"] = True
    return server


def _approval(raw: Mapping[str, Any], found: Found) -> None:
    approval, sandbox = raw.get("approval_policy"), raw.get("sandbox_mode")
    if approval == "never" or sandbox == "danger-full-access":
        about = f"approval_policy {approval}, sandbox_mode {sandbox}"
        found.skip(SOURCE, about, NEVER_ASKS)
        return
    if approval in ("on-request", "on-failure") and sandbox == "workspace-write":
        found.items.append(Item("config.toml", "mode", "auto", SOURCE))
    elif approval or sandbox:
        found.items.append(Item("config.toml", "mode", "ask", SOURCE))
    if table(raw, "sandbox_workspace_write").get("network_access") is True:
        found.items.append(Item("config.toml", "sandbox_network", True, SOURCE))
