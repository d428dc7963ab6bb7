"""Configuration of Claude Code: `~/.claude.json`, `~/.claude/settings.json`, `~/.claude/CLAUDE.md`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentcli.agent.project import frontmatter
from agentcli.extras.importers.config import home_of
from agentcli.extras.importers.config.found import (
    NEVER_ASKS,
    OF_PROJECT,
    Found,
    Item,
    hook_groups,
    read_json,
    read_text,
    table,
    texts,
)
from agentcli.features.hooks.files import EVENTS
from agentcli.system import probe
from agentcli.system.regular_file import Missing, Unusable

_CONFIG = "/config searches and changes how the screen looks"
_SETTINGS: Mapping[str, tuple[str, Mapping[Any, Any]]] = {
    "alwaysThinkingEnabled": ("agent.thinking", {True: True, False: False}),
    "autoCompactEnabled": ("context.autocompact", {True: True, False: False}),
    "editorMode": ("ui.vi", {"vim": True, "normal": False}),
    "preferredNotifChannel": (
        "ui.notify",
        {"terminal_bell": "bell", "iterm2": "osc9", "notifications_disabled": "off"},
    ),
    "theme": (
        "ui.theme",
        {f"{tone}{kind}": tone for tone in ("dark", "light") for kind in ("", "-daltonized", "-ansi")},
    ),
}
"""Settings with ours, and our values for theirs."""
_INSTEAD: Mapping[str, str] = {
    **dict.fromkeys(("skipDangerousModePermissionPrompt", "skipAutoPermissionPrompt"), "no mode asks before it begins"),
    **dict.fromkeys(
        ("enableAllProjectMcpServers", "enabledMcpjsonServers"), "you are asked about a project's servers once"
    ),
    "disabledMcpjsonServers": "/mcp switches servers off",
    **dict.fromkeys(("includeCoAuthoredBy", "attribution"), "agentcli adds nothing to commits"),
    **dict.fromkeys(
        ("extraKnownMarketplaces", "strictKnownMarketplaces"), "`agentcli plugins add URL` adds a plugin by its address"
    ),
    **dict.fromkeys(("voice", "voiceEnabled"), "there is no input by voice here"),
    **dict.fromkeys(("remoteControlAtStartup", "agentPushNotifEnabled"), "the setting ui.remote shares sessions"),
    **dict.fromkeys(("tui", "verbose", "spinnerTipsEnabled", "spinnerVerbs", "terminalProgressBarEnabled"), _CONFIG),
    **dict.fromkeys(("showTurnDuration", "prefersReducedMotion", "awaySummaryEnabled", "outputStyle"), _CONFIG),
    **dict.fromkeys(("apiKeyHelper", "forceLoginMethod", "awsAuthRefresh"), "`agentcli auth set` stores keys"),
    **dict.fromkeys(("autoUpdates", "autoUpdatesChannel"), "`agentcli update` updates, and nothing else does"),
    "cleanupPeriodDays": "the setting retention.days moves old sessions to the trash",
    "sandbox": "commands run in a sandbox in mode auto; see `agentcli help permissions`",
    "language": "write it into AGENTS.md",
    "fallbackModel": "the setting agent.fallback_model names one",
    "worktree": "see `agentcli help sessions`",
}
"""What there is in place of other settings."""
_MODES = {"default": "ask", "acceptEdits": "auto-edit", "plan": "plan", "auto": "auto"}
_FILE_TOOLS = ("Read", "Edit", "Write", "MultiEdit", "Grep", "Glob", "LS", "NotebookEdit")


def read(home: Path, cwd: Path, env: Mapping[str, str]) -> Found:
    """Read all settings of Claude Code for this user and this folder."""
    found = Found()
    folder = home_of("claude", home, env)
    state = read_json((folder if env.get("CLAUDE_CONFIG_DIR") else home) / ".claude.json", found)
    for name, server in table(state, "mcpServers").items():
        found.server(name, server, "~/.claude.json")
    for name, server in table(state, "projects", str(cwd), "mcpServers").items():
        found.server(name, server, f"~/.claude.json ({cwd.name})")
    settings = read_json(folder / "settings.json", found)
    _settings(settings, "~/.claude/settings.json", home, found)
    _plugins(settings, folder, found)
    rules = [f"@{path}" for path in _standing_rules(folder, found)]
    text = _with_imports(folder)
    if text is None and not rules:
        found.file("AGENTS.md", folder / "CLAUDE.md")
    else:
        whole = "\n\n".join(filter(None, [(text or "").rstrip("\n"), "\n".join(rules)]))
        found.file("AGENTS.md", folder / "CLAUDE.md", f"{whole}\n" if rules else text)
    return found


def _standing_rules(folder: Path, found: Found) -> Iterator[Path]:
    """Yield the user's rules for all files, and list the others."""
    for path in sorted((folder / "rules").glob("**/*.md")):
        try:
            only = frontmatter.read(read_text(path)).fields.get("paths")
        except (Missing, Unusable, UnicodeDecodeError) as why:
            found.skip(f"~/.claude/rules/{path.name}", "the file", str(why))
            continue
        if only:
            found.skip(
                f"~/.claude/rules/{path.name}", "the file", "it applies to some paths; put it into .claude/rules there"
            )
        else:
            yield path


def _with_imports(folder: Path) -> str | None:
    """Return the text of CLAUDE.md whose relative imports have whole paths; None if it is unreadable or missing."""
    try:
        text = read_text(folder / "CLAUDE.md")
    except (Missing, Unusable, UnicodeDecodeError):
        return None

    def whole(found: re.Match[str]) -> str:
        path = folder / found[1]
        return f"@{path}" if not found[1].startswith(("/", "~")) and probe.is_file(path) else found[0]

    return re.sub(r"(?<![^\s])@([\w~./-]*\w)", whole, text)


def restrictions(path: Path, source: str, top: str) -> Found:
    """Return a project's rules, and its settings without effect; `top` is the pattern of the project's folder."""
    found = Found(otherwise=OF_PROJECT)
    raw = read_json(path, found)
    permissions = table(raw, "permissions")
    for kind in ("allow", "ask", "deny"):
        for rule in texts(permissions.get(kind)):
            _rule(kind, rule, source, found, top)
    found.skip_others(permissions, ("allow", "ask", "deny"), f"{source}: permissions")
    found.skip_others(raw, ("permissions", "hooks"), source)
    return found


def _settings(raw: Mapping[str, Any], source: str, home: Path, found: Found) -> None:
    found.items += hook_groups(raw.get("hooks"), source, found, {name: name for name in EVENTS})
    permissions = table(raw, "permissions")
    for kind in ("allow", "ask", "deny"):
        for rule in texts(permissions.get(kind)):
            _rule(kind, rule, source, found)
    _folders(texts(permissions.get("additionalDirectories")), source, home, found)
    mode = permissions.get("defaultMode")
    if isinstance(mode, str) and mode in _MODES:
        found.items.append(Item("config.toml", "mode", _MODES[mode], source))
    elif mode:
        found.skip(source, f"defaultMode {mode}", NEVER_ASKS)
    if isinstance(model := raw.get("model"), str):
        found.items.append(Item("config.toml", "model", model, source))
    found.effort(raw.get("effortLevel"), source)
    for name in table(raw, "env"):
        found.skip(source, f"variable {name}", "set it in your shell")
    line = table(raw, "statusLine")
    if line.get("type", "command") == "command" and isinstance(command := line.get("command"), str):
        found.items.append(Item("config.toml", "ui.status_command", command, source))
    known = {"hooks", "permissions", "model", "effortLevel", "env", "enabledPlugins", *(["statusLine"] if line else [])}
    for name, (own, values) in _SETTINGS.items():
        value = raw.get(name)
        if isinstance(value, str | bool) and value in values:
            found.setting(own, values[value], source)
            known.add(name)
    found.skip_others(permissions, ("allow", "ask", "deny", "defaultMode", "additionalDirectories"), source)
    found.skip_others(raw, known, source, _INSTEAD)


def _folders(names: Sequence[str], source: str, home: Path, found: Found) -> None:
    """Add the folders that belong to every workspace: existing ones whose path does not depend on the session's folder."""
    paths = [home / name.removeprefix("~/") if name.startswith("~/") else Path(name) for name in names]
    for path in paths:
        if not path.is_absolute():
            found.skip(source, f"folder {path}", "it counts from each project; use --add-dir there")
        elif not probe.is_dir(path):
            found.skip(source, f"folder {path}", "it does not exist")
    if usable := [str(path) for path in paths if path.is_absolute() and probe.is_dir(path)]:
        found.items.append(Item("config.toml", "add_dirs", usable, source))


def _plugins(settings: Mapping[str, Any], folder: Path, found: Found) -> None:
    """List the enabled plugins, each with the command that adds it."""
    installed = table(read_json(folder / "plugins" / "installed_plugins.json", found), "plugins")
    for name, on in table(settings, "enabledPlugins").items():
        given = installed.get(name)
        copies = given if isinstance(given, list) else [given]
        paths = [copy["installPath"] for copy in copies if isinstance(copy, Mapping) and copy.get("installPath")]
        place, which = (paths[0], "") if paths else ("PATH|URL", ", from its folder or git repository")
        if on:
            found.skip(
                "~/.claude/settings.json", f"plugin {name}", f"add it with `agentcli plugins add {place}`{which}"
            )


def _rule(kind: str, rule: str, source: str, found: Found, top: str = "") -> None:
    """Add a rule. Its path is relative to the disk's root (`//`), a project's `top` (`/`), or the home (`~/`). Any
    other is relative to the workspace.
    """
    tool, paren, rest = rule.partition("(")
    if tool == "Edit" and kind != "allow":  # its rules cover all tools that change files
        _rule(kind, f"Write{paren}{rest}", source, found, top)
    path = rest.removesuffix(")")
    if not paren or tool not in _FILE_TOOLS:
        found.rule(kind, rule, source)
    elif path.startswith("//"):
        found.rule(kind, f"{tool}({path[1:]})", source)
    elif path.startswith("/") and top:
        found.rule(kind, f"{tool}({top}{path})", source)
    elif path.startswith("/"):
        found.skip(source, f"{kind} {rule}", "its path counts from the folder of that file")
    else:
        found.rule(kind, rule, source)
