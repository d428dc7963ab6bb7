"""Names of slash commands in other coding agents: our command of the same effect, or what there is instead."""

from __future__ import annotations

from collections.abc import Mapping

SAME: Mapping[str, str] = {
    **dict.fromkeys(("usage", "quota", "credits"), "cost"),
    **dict.fromkeys(("settings", "debug-config"), "config"),
    **dict.fromkeys(("thinking", "think", "variants"), "effort"),
    **dict.fromkeys(("branch", "clone"), "fork"),
    **dict.fromkeys(("bashes", "ps", "shells", "jobs"), "tasks"),
    **dict.fromkeys(("side", "aside"), "btw"),
    **dict.fromkeys(("remote-control", "rc"), "remote"),
    **dict.fromkeys(("keybindings", "hotkeys", "shortcuts", "keymap"), "keys"),
    **dict.fromkeys(("allowed-tools", "approvals", "policies"), "permissions"),
    **dict.fromkeys(("models", "scoped-models"), "model"),
    **dict.fromkeys(("session", "about", "info"), "status"),
    **dict.fromkeys(("checkpoint", "restore", "timeline", "tree"), "rewind"),
    **dict.fromkeys(("plugin",), "plugins"),
    **dict.fromkeys(("agent", "subagents"), "agents"),
    **dict.fromkeys(("memories", "instructions"), "memory"),
    **dict.fromkeys(("todos", "todo-list"), "todo"),
    **dict.fromkeys(("continue", "switch", "conversation"), "resume"),
    **dict.fromkeys(("schedule", "routines"), "every"),
    **dict.fromkeys(("directory", "dir", "list-dirs"), "add-dir"),
    **dict.fromkeys(("cwd", "move"), "cd"),
    **dict.fromkeys(("restart", "reload-plugins"), "reload"),
    "themes": "theme",
    **dict.fromkeys(("plan", "planning"), "mode plan"),
    **dict.fromkeys(("allow-all", "yolo"), "mode yolo"),
    "summarize": "compress",
    "name": "rename",
    "reset": "new",
    "share": "export",
    "mcps": "mcp",
    "skill": "skills",
    "q": "quit",
    "insights": "stats",
    "proactive": "loop",
    "docs": "help",
}
"""Our command for a name that means the same elsewhere."""

_KEYS = "`agentcli auth set` stores a key, `agentcli auth remove` removes it."
_UPDATES = "Update agentcli with what installed it, such as `pip install -U agentcli`."
_FOLDERS = "/add-dir adds a folder to the workspace."
_EDITORS = "`agentcli acp` connects editors; see /help editors."
INSTEAD: Mapping[str, str] = {
    **dict.fromkeys(("login", "logout", "auth", "connect", "user", "setup-bedrock", "setup-vertex"), _KEYS),
    **dict.fromkeys(("update", "upgrade"), _UPDATES),
    **dict.fromkeys(("sandbox-add-read-dir",), _FOLDERS),
    **dict.fromkeys(("ide", "desktop"), _EDITORS),
    **dict.fromkeys(("statusline", "footer"), "The setting ui.status_command sets it: /config ui.status_command."),
    **dict.fromkeys(("sandbox", "setup-default-sandbox"), "The setting sandbox sets it: /config sandbox."),
    **dict.fromkeys(("output-style", "personality"), "`agentcli --append-system-prompt TEXT` changes the style."),
    **dict.fromkeys(("version", "release-notes", "changelog"), "`agentcli --version` prints the version."),
    **dict.fromkeys(("mention", "file", "files"), "@path in a prompt attaches a file."),
    **dict.fromkeys(("shell", "bash", "run"), "!cmd runs a command."),
    **dict.fromkeys(("chat", "save"), "Sessions are stored by themselves; /rename names one, /resume continues one."),
    **dict.fromkeys(("security-review", "ultrareview"), "/review reviews changes; text after it says what to look for."),
    **dict.fromkeys(("stop", "clean"), "/tasks lists background commands."),
}  # fmt: skip
"""What there is in place of a command of another agent."""


def hint(name: str) -> str:
    """Return a sentence about a name that other agents know; empty for any other."""
    return f"It is /{SAME[name]} here." if name in SAME else INSTEAD.get(name, "")
