"""Single words that would start a paid session as a prompt: commands of other agents, and our own subcommands."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set

from agentcli.core.errors import UsageError
from agentcli.core.text.words import near_names
from agentcli.frontends.cli.completion import command_paths

_KEYS = "`agentcli auth set` stores a key, `agentcli auth remove` removes it."
_INSTALLED = "`agentcli update` updates it; `agentcli help start` says how to install and remove it."
_ONE_PROMPT = "`agentcli -p PROMPT` answers one prompt."
_RUNNING = "`agentcli serve` shows sessions in a browser, `agentcli attach` in a terminal."
_IN_A_SESSION = "`/{word}` is a command of the session: agentcli /{word}."
_ELSEWHERE: Mapping[str, str] = {
    **dict.fromkeys(("login", "logout", "signin", "signout", "whoami", "account"), _KEYS),
    **dict.fromkeys(("upgrade", "install", "uninstall", "reinstall", "downgrade", "rollback"), _INSTALLED),
    **dict.fromkeys(("exec", "run", "prompt", "ask", "chat", "print", "e"), _ONE_PROMPT),
    **dict.fromkeys(("web", "ui", "tui", "app", "remote", "gateway", "daemon", "server"), _RUNNING),
    **dict.fromkeys(("review", "init", "memory", "compact", "clear", "status", "diff"), _IN_A_SESSION),
    **dict.fromkeys(("apply", "cloud", "github", "pr", "debug", "sandbox", "generate", "features", "db", "proto", "execpolicy", "a"), ""),
    **dict.fromkeys(("marketplace",), "`agentcli plugins` adds and removes them."),
    **dict.fromkeys(("session", "history", "ls", "logs"), "`agentcli sessions list` lists sessions."),
    **dict.fromkeys(("settings", "setup", "configure", "onboard"), "`agentcli config show` lists the settings, `agentcli help start` the first steps."),
    "version": "`agentcli --version` prints it.",
    "usage": "`agentcli stats` shows tokens and costs.",
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
    if near := near_names(word, sorted(commands)):
        said = f"Unknown command {word!r}. Did you mean `agentcli {near[0]}`?"
    elif word in _ELSEWHERE:
        said = f"{word!r} is not a command of agentcli. {_ELSEWHERE[word].format(word=word)}".strip()
    elif below := [path for path in command_paths() if path.rpartition(" ")[2] == word]:
        said = f"{word!r} is a command of a group: {_listed(below)}."
    elif _COMPOUND.fullmatch(word):
        said = f"Unknown command {word!r}. `agentcli --help` lists the commands."
    else:
        return ""
    return f"{said} To send it as a prompt: agentcli -- {word}"


def _listed(paths: Sequence[str]) -> str:
    return ", ".join(f"`agentcli {path}`" for path in paths[:4])
