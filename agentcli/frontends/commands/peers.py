"""Names of slash commands in other coding agents: our command of the same effect, or what there is instead."""

from __future__ import annotations

from collections.abc import Mapping

SAME: Mapping[str, str] = {
    **dict.fromkeys(("quota", "credits"), "usage"),
    **dict.fromkeys(("settings", "debug-config"), "config"),
    **dict.fromkeys(("thinking", "think", "variants"), "effort"),
    **dict.fromkeys(("branch", "clone"), "fork"),
    **dict.fromkeys(("bashes", "ps", "shells", "jobs"), "tasks"),
    **dict.fromkeys(("side", "aside", "ask"), "btw"),
    **dict.fromkeys(("remote-control", "rc"), "remote"),
    **dict.fromkeys(("keybindings", "hotkeys", "shortcuts", "keymap"), "help keys"),
    **dict.fromkeys(("allowed-tools", "approvals", "policies"), "permissions"),
    **dict.fromkeys(("models", "scoped-models"), "model"),
    **dict.fromkeys(("session", "about", "info", "env"), "status"),
    **dict.fromkeys(("checkpoint", "restore", "timeline", "tree"), "rewind"),
    **dict.fromkeys(("plugin",), "extensions plugins"),
    **dict.fromkeys(("agent", "subagents"), "extensions agents"),
    **dict.fromkeys(("memories", "instructions"), "memory"),
    **dict.fromkeys(("todos", "todo-list"), "tasks todo"),
    **dict.fromkeys(("continue", "switch", "conversation"), "resume"),
    **dict.fromkeys(("schedule", "routines"), "loop every"),
    **dict.fromkeys(("directory", "dir", "list-dirs"), "add-dir"),
    **dict.fromkeys(("cwd", "move"), "cd"),
    **dict.fromkeys(("restart", "reload-plugins", "reload-skills"), "extensions reload"),
    "themes": "config theme",
    "background": "bg",
    **dict.fromkeys(("plan", "planning"), "mode plan"),
    **dict.fromkeys(("allow-all", "yolo"), "mode yolo"),
    "summarize": "compress",
    "name": "rename",
    "reset": "clear",
    "share": "export",
    "mcps": "mcp",
    "skill": "extensions skills",
    "q": "quit",
    "insights": "usage day",
    "proactive": "loop",
    **dict.fromkeys(("docs", "commands"), "help"),
    **dict.fromkeys(("token-caching",), "usage cache"),
    **dict.fromkeys(("limits",), "usage"),
    **dict.fromkeys(("autopilot",), "goal"),
    **dict.fromkeys(("approve", "reset-allowed-tools"), "permissions"),
    **dict.fromkeys(("loops",), "loop"),
    **dict.fromkeys(("code-review", "simplify", "verify"), "review"),
    "checkup": "status checks",
    "list-agents": "extensions agents",
    "use": "extensions skills",
    "fewer-permission-prompts": "permissions",
}
"""Our command for a name that means the same elsewhere."""

_KEYS = "`agentcli auth set` stores a key, `agentcli auth remove` removes it."
_UPDATES = "`agentcli update` updates agentcli."
_FOLDERS = "/add-dir adds a folder to the workspace."
_EDITORS = "`agentcli acp` connects editors; see /help editors."
_SHARING = "/remote on shares the session with a browser, `agentcli serve`, and terminals, `agentcli attach`."
_CHECKS = "/status checks looks at the installation, /export writes the session to a file."
_MANY = "`agentcli batch` runs tasks side by side, each in a worktree of its own; see /help batch."
_GITHUB = "The model uses `gh` in a command if it is installed; see /help ci."
_SETTINGS = "/config searches and changes the settings."
_LIMITS = "/usage shows the limits; --max-cost sets one."
_WITH_SERVERS = "An MCP server can do that; see /help mcp."
INSTEAD: Mapping[str, str] = {
    **dict.fromkeys(("login", "logout", "auth", "connect", "user", "setup-bedrock", "setup-vertex"), _KEYS),
    **dict.fromkeys(("update", "upgrade"), _UPDATES),
    **dict.fromkeys(("sandbox-add-read-dir",), _FOLDERS),
    **dict.fromkeys(("ide", "desktop"), _EDITORS),
    **dict.fromkeys(("app", "mobile", "ios", "android", "teleport", "tp", "remote-env", "web-setup", "collab"), _SHARING),
    **dict.fromkeys(("unshare",), _SHARING),
    **dict.fromkeys(("statusline", "footer"), "The setting ui.status_command sets it: /config ui.status_command."),
    **dict.fromkeys(("sandbox", "setup-default-sandbox"), "The setting sandbox sets it: /config sandbox."),
    **dict.fromkeys(("output-style", "personality", "brief"), "`agentcli --append-system-prompt TEXT` changes the style."),
    **dict.fromkeys(("version", "release-notes", "changelog"), "`agentcli --version` prints the version."),
    **dict.fromkeys(("mention", "file", "files"), "@path in a prompt attaches a file."),
    **dict.fromkeys(("shell", "bash", "run"), "!cmd runs a command."),
    **dict.fromkeys(("chat", "save", "archive", "rollout"), "Sessions are stored by themselves; /rename names one, /resume continues one."),
    **dict.fromkeys(("search", "chronicle", "find"), "/resume WORDS searches sessions, Ctrl-O the open one."),
    **dict.fromkeys(("security-review", "ultrareview"), "/review reviews changes; text after it says what to look for."),
    **dict.fromkeys(("advisor", "rubber-duck"), "/review reviews changes, /btw asks beside the conversation."),
    **dict.fromkeys(("details", "transcript"), "Ctrl-O opens the transcript with everything unfolded."),
    **dict.fromkeys(("stop", "clean"), "/tasks lists background commands."),
    **dict.fromkeys(("title", "color"), "/rename names the session."),
    **dict.fromkeys(("fast",), "/effort minimal thinks least, /model switches to a faster model."),
    **dict.fromkeys(("feedback", "bug", "diagnose", "collect-debug-logs", "heapdump", "debug"), _CHECKS),
    **dict.fromkeys(("privacy", "privacy-settings", "telemetry"), "agentcli sends no telemetry unless you set a collector; see /help otel."),
    **dict.fromkeys(("extra-usage", "usage-credits", "rate-limit-options"), _LIMITS),
    **dict.fromkeys(("passes", "profile"), "/model account shows and switches the account whose key pays."),
    **dict.fromkeys(("terminal-setup",), "Ctrl-J or Alt-Enter begins a new line in every terminal; ? lists the keys."),
    **dict.fromkeys(("pause-memory", "toggle-memory", "memory-pause"), "Only instruction files are remembered: /memory."),
    **dict.fromkeys(("recap", "artifact", "artifacts"), "/export page shows the whole session, /diff its changes."),
    **dict.fromkeys(("batch", "workflows", "delegate", "fleet", "ultraplan", "teamwork-preview"), _MANY),
    **dict.fromkeys(("pr", "pr-comments", "pr_comments", "autofix-pr", "install-github-app", "setup-github"), _GITHUB),
    **dict.fromkeys(("experimental", "autocompact", "focus", "tui", "scroll-speed"), _SETTINGS),
    **dict.fromkeys(("computer", "chrome", "install-slack-app", "apps"), _WITH_SERVERS),
    **dict.fromkeys(("research", "deep-research"), "Ask for it in a prompt: the model searches the web; see /help web."),
    **dict.fromkeys(("refine", "grill-me"), "Write the prompt in /editor; mode plan asks before it works: /mode plan."),
    **dict.fromkeys(("keep-alive", "caffeinate"), "Nothing here keeps the machine awake; `!caffeinate -i` or `!systemd-inhibit` does."),
    "subtask": "The model starts subagents itself, @NAME at the start of a prompt names one; see /help agents.",
    "voice": "There is no input by voice here.",
    **dict.fromkeys(("lsp",), "/extensions checks lists checks and language servers."),
    **dict.fromkeys(("trust",), "`agentcli --trust` trusts the folder for one run."),
    **dict.fromkeys(("team-onboarding",), "/init writes AGENTS.md from the project."),
    **dict.fromkeys(("gemma", "oss"), "Local servers are providers; see /help models."),
    **dict.fromkeys(("open",), "/export page opens the session in a browser, @path attaches a file."),
}  # fmt: skip
"""What there is in place of a command of another agent."""


def hint(name: str) -> str:
    """Return a sentence about a name that other agents know; empty for any other."""
    return f"It is /{SAME[name]} here." if name in SAME else INSTEAD.get(name, "")
