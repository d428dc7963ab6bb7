"""Options and commands of other coding agents.

Those with the same meaning here are rewritten to ours. The others are answered with what there is instead.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set

from agentcli.frontends.cli.arguments import OWN, TAKES_VALUE

_VALUES = {
    **dict.fromkeys(("default", "manual", "untrusted", "on-request", "interactive"), "ask"),
    **dict.fromkeys(("acceptEdits", "auto_edit", "accept-edits"), "auto-edit"),
    **dict.fromkeys(("bypassPermissions", "autopilot"), "yolo"),
    **dict.fromkeys(("off", "none"), "minimal"),
}
"""Permission modes and efforts of other agents, with ours."""
VALUE, MAYBE = "{value}", "{maybe}"
"""Places of a value, and of one that may be missing, in what an option means here."""
_SAME: Mapping[str, str] = {
    **dict.fromkeys(("--dangerously-skip-permissions", "--allow-dangerously-skip-permissions"), "--mode yolo"),
    **dict.fromkeys(("--yolo", "-y", "--allow-all", "--allow-all-tools"), "--mode yolo"),
    "--dangerously-bypass-approvals-and-sandbox": "--mode yolo",
    **dict.fromkeys(("--full-auto", "--approve-for-me", "--assisted-approval"), "--mode auto"),
    "--plan": "--mode plan",
    **dict.fromkeys(("--permission-mode", "--approval-mode", "--ask-for-approval", "-a"), "--mode {value}"),
    **dict.fromkeys(("--allowedTools", "--allowed-tools", "--allow-tool"), "--allow {value}"),
    **dict.fromkeys(("--disallowedTools", "--disallowed-tools", "--deny-tool"), "--deny {value}"),
    "--include-directories": "--add-dir {value}",
    **dict.fromkeys(("--cd", "--directory"), "--cwd {value}"),
    **dict.fromkeys(("--thinking", "--reasoning-effort", "--variant"), "--effort {value}"),
    "--max-budget-usd": "--max-cost {value}",
    "--additional-mcp-config": "--mcp-config {value}",
    "--format": "--output-format {value}",
    "--config": "--set {value}",
    **dict.fromkeys(("--no-session-persistence", "--ephemeral"), "--no-session"),
    **dict.fromkeys(("--trust-folder", "--skip-trust"), "--trust"),
    **dict.fromkeys(("--screen-reader", "--ax-screen-reader", "--no-color", "--no-alt-screen"), "--plain"),
    "--fork-session": "--fork",
    **dict.fromkeys(("--prompt-interactive", "--interactive"), "{value}"),
    **dict.fromkeys(("--resume", "-r", "--session"), "resume {maybe}"),
    "--conversation": "resume {value}",
    "--list-sessions": "sessions list",
    "--delete-session": "sessions delete {value}",
    "--export": "sessions export {value}",
    "--list-models": "models",
    **dict.fromkeys(("--list-extensions", "-l"), "extensions list"),
    **dict.fromkeys(("--acp", "--experimental-acp", "--experimental-zed-integration"), "acp"),
    "-v": "--version",
}
"""Options with the words that mean the same here; a command comes first on the line."""
_COMMANDS: Mapping[str, str] = {
    **dict.fromkeys(("exec", "e", "run"), "-p"),
    **dict.fromkeys(("plugin", "marketplace"), "plugins"),
    **dict.fromkeys(("session", "history", "conversations"), "sessions"),
    **dict.fromkeys(("extension", "ext"), "extensions"),
    **dict.fromkeys(("permission", "policies", "policy"), "permissions"),
    "agent": "agents",
    "skill": "skills",
    "hook": "hooks",
    "export": "sessions export",
    "search": "sessions search",
    "fork": "resume --fork",
    "settings": "config",
    **dict.fromkeys(("upgrade", "self-update"), "update"),
    **dict.fromkeys(("usage", "cost"), "stats"),
    "web": "serve",
}
"""Commands of other agents with ours, if more words follow or the command needs none."""
_ALONE = {"plugins", "sessions", "extensions", "permissions", "agents", "skills", "hooks", "update", "stats", "serve"}
"""Our commands for which a lone word of another agent may stand."""
_ATTACHED = "@path in the prompt attaches a file or an image."
_SETTINGS = "`--set KEY=VALUE` changes a setting for a run; `agentcli help configuration` lists them."
_LOGS = "The log is always written; `agentcli help troubleshooting` says where."
_LOCAL = "`-m PROVIDER/MODEL` names both; `agentcli help models` says how to add a local server."
_SHARING = "`/remote on` shares a session with a browser, `agentcli serve`, and terminals, `agentcli attach`."
_FILES = "Files define them; see `agentcli help plugins` and `agentcli help skills`."
_SERVERS = "`--mcp-config` adds servers, `/mcp` switches one off; see `agentcli help mcp`."
_TOOLS = "`--deny TOOL` forbids a tool; `agentcli tools` lists them."
_INSTEAD: Mapping[str, str] = {
    **dict.fromkeys(("--image", "-i", "--file", "-f", "--attach", "--attachment"), _ATTACHED),
    **dict.fromkeys(("--settings", "--setting-sources", "--profile", "--enable", "--disable", "--strict-config"), _SETTINGS),
    **dict.fromkeys(("--experimental", "--no-experimental", "--safe-mode", "--bare", "--betas"), _SETTINGS),
    **dict.fromkeys(("--debug", "-d", "--debug-file", "--verbose", "--print-logs"), _LOGS),
    **dict.fromkeys(("--log-level", "--log-file", "--log-dir"), _LOGS),
    **dict.fromkeys(("--provider", "--oss", "--local-provider"), _LOCAL),
    **dict.fromkeys(("--api-key", "--key"), "`agentcli auth set PROVIDER` stores a key; the provider's variable works too."),
    "--models": "`agentcli models` lists models, `-m MODEL` takes one.",
    "--fallback-model": "The setting agent.fallback_model names one: --set agent.fallback_model=MODEL.",
    **dict.fromkeys(("--sandbox", "-s"), "Commands run in a sandbox in mode `auto`; the setting `sandbox` decides; see `agentcli help permissions`."),
    "--search": "The setting tools.web_search sets it; see `agentcli help web`.",
    **dict.fromkeys(("--tools", "-t", "--no-tools", "-nt", "--no-builtin-tools", "-nbt"), _TOOLS),
    **dict.fromkeys(("--available-tools", "--excluded-tools"), _TOOLS),
    **dict.fromkeys(("--remote", "--no-remote", "--remote-control", "--remote-export", "--no-remote-export"), _SHARING),
    **dict.fromkeys(("--remote-auth-token-env", "--remote-control-session-name-prefix", "--connect"), _SHARING),
    **dict.fromkeys(("--port", "--hostname", "--mdns", "--cors"), "`agentcli serve` takes it; see `agentcli serve --help`."),
    **dict.fromkeys(("--share", "--share-gist"), "`agentcli sessions export SESSION` writes a file that you can share."),
    **dict.fromkeys(("--plugin-dir", "--plugin-url"), "`agentcli plugins add SOURCE` adds one."),
    **dict.fromkeys(("--skill", "--no-skills", "-ns", "--prompt-template", "--no-prompt-templates", "-np"), _FILES),
    "--extensions": "`-e FILE` loads an extension, `--no-extensions` none; see `agentcli help extensions`.",
    "--append-subagent-system-prompt": "An agent's file has its own prompt; see `agentcli help agents`.",
    **dict.fromkeys(("--agents",), "`agentcli agents list` lists those of files, `--agent NAME` uses one; see `agentcli help agents`."),
    **dict.fromkeys(("--theme", "--no-themes"), "`/config theme` switches the colours; the setting ui.theme keeps them."),
    **dict.fromkeys(("--no-context-files", "-nc", "--no-custom-instructions"), "AGENTS.md is always read; `--system-prompt` replaces the rest."),
    **dict.fromkeys(("--session-dir", "--session-file"), "XDG_DATA_HOME moves the sessions; `agentcli sessions import` reads files."),
    **dict.fromkeys(("--name", "--title"), "`/rename` and `agentcli sessions rename` name a session."),
    **dict.fromkeys(("--json", "--output-last-message"), "`-p PROMPT -o json` prints one object, `-o stream-json` a line an event."),
    "--json-schema": "`--output-schema FILE` takes the schema from a file.",
    **dict.fromkeys(("--input-format", "--replay-user-messages"), "`-p -` reads the prompt from stdin; `agentcli acp` serves programs."),
    **dict.fromkeys(("--include-partial-messages", "--include-hook-events", "--stream"), "`-o stream-json` has every event."),
    **dict.fromkeys(("--silent", "--quiet"), "`-p PROMPT` prints only the answer on stdout."),
    **dict.fromkeys(("--no-ask-user", "--non-interactive"), "`-p PROMPT` asks nobody."),
    **dict.fromkeys(("--autopilot", "--max-autopilot-continues"), "`--goal TEXT` works until it is reached."),
    **dict.fromkeys(("--max-ai-credits",), "`--max-cost USD` and `--max-tokens N` set a limit."),
    "--print-timeout": "`--max-time SECONDS` sets a limit.",
    **dict.fromkeys(("--mcp-debug", "--strict-mcp-config", "--allowed-mcp-server-names"), _SERVERS),
    **dict.fromkeys(("--disable-mcp-server", "--enable-mcp-server", "--disable-builtin-mcps"), _SERVERS),
    **dict.fromkeys(("--policy", "--admin-policy", "--allow-url", "--deny-url", "--allow-all-urls"), "Rules decide: `--allow RULE`, `--deny RULE`; see `agentcli help rules`."),
    **dict.fromkeys(("--allow-all-paths", "--disallow-temp-dir"), "`--add-dir DIR` adds a folder; see `agentcli help permissions`."),
    **dict.fromkeys(("--ide", "--chrome", "--no-chrome"), "`agentcli acp` connects editors; a browser comes as an MCP server."),
    **dict.fromkeys(("--command", "--disable-slash-commands"), "A prompt may begin with a command: `agentcli -p /NAME`."),
    **dict.fromkeys(("--project",), "`-C DIR` works in another folder."),
    **dict.fromkeys(("--usage-output-file",), "`-o json` has the usage; `agentcli stats --json` sums it up."),
    **dict.fromkeys(("--secret-env-vars", "--bash-env", "--no-bash-env"), "The settings of commands decide; see `agentcli help secrets`."),
    **dict.fromkeys(("--no-auto-update",), "agentcli never updates itself; `agentcli update` does."),
    **dict.fromkeys(("--skip-git-repo-check",), "agentcli needs no git repository."),
    **dict.fromkeys(("--background",), "`agentcli --bg PROMPT` starts a session in the background."),
    "--fleet": "`agentcli batch` runs many tasks at once.",
}  # fmt: skip
"""What there is in place of an option of another agent."""


def instead_of(option: str) -> str:
    """Return what there is in place of another agent's option; empty for any other option."""
    return _INSTEAD.get(option.partition("=")[0], "")


def command_for(word: str) -> str:
    """Return our command that another agent calls by this word; empty if there is none."""
    return _COMMANDS.get(word, "")


def are_foreign(arguments: Sequence[str]) -> bool:
    """Return True if the arguments may contain names of other agents."""
    first = "".join(arguments[:1])
    return first in _COMMANDS or any(argument.partition("=")[0] in _SAME for argument in arguments)


def translated(arguments: Sequence[str], commands: Set[str]) -> tuple[list[str], list[str]]:
    """Return the arguments in our names, and a sentence for each name that is another one here.

    Our own names always win, and what follows `--` is a prompt.
    """
    if not arguments or arguments[0] in commands - {"run", "resume"}:
        return [*arguments], []
    command = _command(arguments)
    notes = [f"`{arguments[0]}` is {_said(command)} here."] if command else []
    front, words, rest = command.split(), list[str](), [*arguments[bool(command) :]]
    while rest and rest[0] != "--" and front[:1] in ([], ["-p"], ["resume"]):
        count, meant, note = _first(rest)
        rest = rest[count:]
        if note and not meant[0].startswith("-") and "agentcli" in note:
            front = meant
        else:
            words += meant
        notes += [note] * bool(note)
    return [*front, *words, *rest], notes


def _command(arguments: Sequence[str]) -> str:
    """Return our command for the first word, if it is another agent's and means one here."""
    command = command_for(arguments[0])
    return command if len(arguments) > 1 or command in _ALONE else ""


def _first(rest: Sequence[str]) -> tuple[int, list[str], str]:
    """Return how many arguments the first option or word takes, its words here, and a sentence if they are others."""
    name, equals, value = rest[0].partition("=")
    meaning = "" if name in OWN else _SAME.get(name, "")
    follows = bool(rest[1:]) and not equals and (VALUE in meaning or not rest[1].startswith("-"))
    if not meaning or (VALUE in meaning and not equals and not follows):
        count = 1 + (rest[0] in TAKES_VALUE)
        return count, [*rest[:count]], ""
    takes = follows and "{" in meaning
    given = rest[1] if takes else value
    return 1 + takes, _filled(meaning, given), f"{name} is {_said(meaning)} here."


def _filled(meaning: str, value: str) -> list[str]:
    """Return the words of a meaning with the value in its place, in our terms."""
    option, *_ = words = meaning.split()
    if option in ("--allow", "--deny"):
        return [part for rule in _rules(value) for part in (option, rule)]
    if option == "resume" and value in ("", "latest"):
        return ["resume", *(["--last"] if value else [])]
    value = _VALUES.get(value, value) if option in ("--mode", "--effort") else value
    return [value if word in (VALUE, MAYBE) else word for word in words]


def _rules(value: str) -> list[str]:
    """Return the rules of a list: commas and spaces separate them, except in parentheses."""
    return re.findall(r"(?:[^\s,(]|\([^)]*\)?)+", value)


def _said(meaning: str) -> str:
    words = " ".join(word for word in meaning.split() if word not in (VALUE, MAYBE))
    return (words if words.startswith("-") else f"`agentcli {words}`") if words else "not needed"
