"""Single words that would start a paid session as a prompt: commands of other agents, and our own subcommands."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set

from agentcli.core.errors import UsageError
from agentcli.core.text.words import is_slip
from agentcli.frontends.cli.completion import command_paths
from agentcli.frontends.cli.other_names import command_for

_KEYS = "`agentcli auth set` stores a key, `agentcli auth login openrouter` gets one in the browser, `agentcli auth remove` removes it."
_INSTALLED = "`agentcli update` updates it; `agentcli help start` says how to install and remove it."
_PARTS = "`agentcli plugins` and `agentcli extensions` add, list and remove them. " + _INSTALLED
_ONE_PROMPT = "`agentcli -p PROMPT` answers one prompt."
_RUNNING = "`agentcli serve` shows sessions in a browser, `agentcli attach` in a terminal."
_EDITORS = "`agentcli acp` connects editors; see `agentcli help editors`."
_SESSIONS = "`agentcli sessions` lists, renames and deletes sessions, `agentcli resume` continues one."
_IN_A_SESSION = "`/{word}` is a command of the session: agentcli /{word}."
_SETTINGS = "`agentcli config show` lists the settings, `agentcli help start` the first steps."
_MANY = "`agentcli batch` runs many tasks, each in its own worktree."
_CHECKS = "`agentcli doctor` checks keys, endpoints, folders and tools."
_GITHUB = "`agentcli help ci` shows how to work with GitHub."
_ELSEWHERE: Mapping[str, str] = {
    **dict.fromkeys(("login", "logout", "signin", "signout", "whoami", "account", "setup-token"), _KEYS),
    **dict.fromkeys(("provider", "providers", "connect", "credentials"), f"{_KEYS} `agentcli models` lists models."),
    **dict.fromkeys(("downgrade", "rollback"), _INSTALLED),
    **dict.fromkeys(("install", "uninstall", "reinstall", "remove", "list"), _PARTS),
    **dict.fromkeys(("exec", "run", "prompt", "ask", "chat", "print", "e"), _ONE_PROMPT),
    **dict.fromkeys(("ui", "tui", "app", "remote", "remote-control", "gateway", "daemon", "server"), _RUNNING),
    **dict.fromkeys(("app-server", "exec-server", "mcp-server"), f"{_RUNNING} {_EDITORS}"),
    **dict.fromkeys(("ide", "desktop"), _EDITORS),
    **dict.fromkeys(("archive", "unarchive", "delete", "rename", "fork", "migrate-rollouts", "project"), _SESSIONS),
    **dict.fromkeys(("ls", "logs"), _SESSIONS),
    **dict.fromkeys(("review", "init", "memory", "compact", "clear", "status", "diff", "rewind", "queue"), _IN_A_SESSION),
    **dict.fromkeys(("goal", "theme", "budget"), _IN_A_SESSION),
    **dict.fromkeys(("ultrareview", "security-review"), "/review reviews changes: agentcli /review."),
    **dict.fromkeys(("memories", "instruction", "instructions"), "AGENTS.md has the instructions, /memory shows them; see `agentcli help instructions`."),
    **dict.fromkeys(("lsp",), "`agentcli help checks` says how to add language servers."),
    **dict.fromkeys(("workflow", "workflows", "cloud", "tasks", "fleet"), _MANY),
    **dict.fromkeys(("pr", "github", "apply", "a"), f"{_GITHUB} `agentcli batch merge` takes the changes of a task."),
    **dict.fromkeys(("debug", "features", "auto-mode"), f"{_CHECKS} `agentcli config show` lists the settings."),
    **dict.fromkeys(("sandbox", "execpolicy"), "`agentcli permissions explain 'COMMAND'` says how a command would run."),
    **dict.fromkeys(("telemetry",), "`agentcli help otel` says what is sent, and where."),
    **dict.fromkeys(("token-caching", "cache"), "/usage cache shows the savings: agentcli '/usage cache'."),
    **dict.fromkeys(("generate", "db", "proto"), ""),
    **dict.fromkeys(("setup", "configure", "onboard"), _SETTINGS),
    **dict.fromkeys(("import",), "`agentcli import-config` reads settings of other agents, `agentcli sessions import` sessions."),
    **dict.fromkeys(("version", "changelog", "release-notes"), "`agentcli --version` prints the version."),
    "worktree": "`agentcli --worktree NAME` works in one.",
}  # fmt: skip
"""Commands of other coding agents, with our equivalent; `{word}` is the command."""
_COMPOUND = re.compile(r"[a-z]+(-[a-z0-9]+)+")
"""A word such as `setup-token`, which is never a prompt by itself."""


def refuse_other(word: str, commands: Set[str]) -> None:
    """Raise UsageError for a lone word that is another program's command, not a prompt."""
    if said := _objection(word, commands - {"run"}):
        raise UsageError(said)


def _objection(word: str, commands: Set[str]) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9-]*", word):
        return ""
    if word in _ELSEWHERE:
        said = f"{word!r} is not a command of agentcli. {_ELSEWHERE[word].format(word=word)}".strip()
    elif ours := command_for(word):
        said = f"{word!r} is not a command of agentcli. Here it is `agentcli {ours}`."
    elif near := [command for command in sorted(commands) if is_slip(word, command)]:  # prompts may be near to one
        said = f"Unknown command {word!r}. Did you mean `agentcli {near[0]}`?"
    elif below := [path for path in command_paths() if path.rpartition(" ")[2] == word]:
        said = f"{word!r} is a command of a group: {_listed(below)}."
    elif _COMPOUND.fullmatch(word):
        said = f"Unknown command {word!r}. `agentcli --help` lists the commands."
    else:
        return ""
    return f"{said} To send it as a prompt: agentcli -- {word}"


def _listed(paths: Sequence[str]) -> str:
    return ", ".join(f"`agentcli {path}`" for path in paths[:4])
