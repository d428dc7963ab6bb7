"""Configuration of GitHub Copilot CLI: `~/.copilot` with settings, servers, instructions; its skills and agents are read in place."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from agentcli.agent.project import frontmatter
from agentcli.extras.importers.config import home_of
from agentcli.extras.importers.config.found import Found, hook_groups, read_json, read_text, table, texts
from agentcli.features.hooks.files import EVENTS
from agentcli.system.regular_file import Missing, Unusable

SETTINGS, SERVERS, RULES = (
    f"~/.copilot/{name}" for name in ("settings.json", "mcp-config.json", "permissions-config.json")
)
_STATE = frozenset(
    {"trusted_folders", "trustedFolders", "loggedInUsers", "lastLoggedInUser", "installedPlugins", "firstLaunchAt"}
    | {"staff", "firstLaunch", "launchCount", "copilotTokens", "askedSetupTerminals"}
)
"""Entries that Copilot writes itself."""
_KNOWN = frozenset({"model", "reasoning_effort", "effortLevel", "allowedUrls", "deniedUrls", "editorMode", "hooks"})
_INSTEAD: Mapping[str, str] = {
    **dict.fromkeys(("theme", "colorMode"), "/theme switches the colours"),
    **dict.fromkeys(
        ("banner", "beep", "mouse", "renderMarkdown", "screenReader", "footer"), "/config changes the screen"
    ),
    **dict.fromkeys(
        ("enabledPlugins", "extraKnownMarketplaces"), "`agentcli plugins add URL` adds a plugin by its address"
    ),
    **dict.fromkeys(("disabledMcpServers", "enabledMcpServers"), "/mcp switches servers off"),
    "autoUpdate": "`agentcli update` updates, and nothing else does",
    "includeCoAuthoredBy": "agentcli adds nothing to commits",
    "sandbox": "commands run in a sandbox in mode auto; see `agentcli help permissions`",
}


def read(home: Path, cwd: Path, env: Mapping[str, str]) -> Found:
    """Read all settings of Copilot CLI for this user."""
    found = Found()
    folder = home_of("copilot", home, env)
    for name, server in table(read_json(folder / "mcp-config.json", found), "mcpServers").items():
        found.server(name, _server(server) if isinstance(server, Mapping) else server, SERVERS)
    raw = {
        **read_json(folder / "config.json", found, comments=True),
        **read_json(folder / "settings.json", found, comments=True),
    }
    _settings(raw, found)
    if count := len(table(read_json(folder / "permissions-config.json", found), "locations")):
        found.skip(RULES, f"approvals in {count} folders", "each folder is asked about here once")
    _instructions(folder, found)
    return found


def _settings(raw: Mapping[str, object], found: Found) -> None:
    if (model := raw.get("model")) and model != "auto":
        found.skip(SETTINGS, f"model {model}", "Copilot serves it; choose one with /model")
    found.effort(raw.get("effortLevel", raw.get("reasoning_effort")), SETTINGS)
    for key, kind in (("allowedUrls", "allow"), ("deniedUrls", "deny")):
        for address in texts(raw.get(key)):
            found.rule(kind, f"WebFetch(domain:{_domain(address)})", SETTINGS)
    if raw.get("editorMode") == "vim":
        found.setting("ui.vi", True, SETTINGS)
    found.items += hook_groups(raw.get("hooks"), SETTINGS, found, {name: name for name in EVENTS})
    found.skip_others(raw, _KNOWN | _STATE, SETTINGS, _INSTEAD)


def _domain(address: str) -> str:
    """Return the host in an address."""
    return address.partition("://")[2].partition("/")[0] or address.partition("/")[0]


def _instructions(folder: Path, found: Found) -> None:
    """Import the instructions of all projects as one file; those of some files only are listed."""
    pieces = []
    for path in (folder / "copilot-instructions.md", *sorted((folder / "instructions").glob("**/*.instructions.md"))):
        try:
            head = frontmatter.read(read_text(path))
        except Missing:
            continue
        except (Unusable, UnicodeDecodeError):
            found.file("AGENTS.md", path)
            continue
        if (only := head.text("applyTo")) not in ("", "**", "**/*"):
            found.skip(f"~/.copilot/instructions/{path.name}", "the file", f"it applies only to {only}")
        else:
            pieces.append(head.body.strip())
    if any(pieces):
        found.file("AGENTS.md", folder / "copilot-instructions.md", "\n\n".join(filter(None, pieces)) + "\n")


def _server(raw: Mapping[str, object]) -> Mapping[str, object]:
    """Return a server's definition with our names: a list of tools replaces `*` for all of them."""
    tools = texts(raw.get("tools"))
    kinds = {"type": "stdio"} if raw.get("type") == "local" else {}
    return {
        **{key: value for key, value in raw.items() if key != "tools"},
        **kinds,
        **({"includeTools": tools} if tools and tools != ["*"] else {}),
    }
