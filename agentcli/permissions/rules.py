"""Rules that people write, `TOOL` or `TOOL(pattern)`, to allow, to ask, to deny; and which of them match a command, path or URL."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from agentcli.core.aliases import known_as, like_tool
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import AgentError, ConfigError, UsageError
from agentcli.core.servers import PREFIX
from agentcli.core.text.near import did_you_mean, near_names
from agentcli.permissions.paths import Workspace, canonical, impossible, resolved
from agentcli.permissions.shell.known_programs import bounded, starts_others

if TYPE_CHECKING:
    from agentcli.permissions.shell.command_line import CommandLine

Origin = Literal["config", "project", "session", "flag", "skill"]
_RULE = re.compile(r"([A-Za-z*][A-Za-z0-9_*.:-]*)(?:\((.*)\))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. An empty `pattern` matches every call of the tool; in `tool` a `*` stands for any letters.

    For `bash` the pattern is a command, where `*` is any text and a trailing ` *` or `:*` any arguments or none; `\\*` is a star.
    For file tools it is a path as in .gitignore: relative to the workspace, absolute, or from `~/`. For `web_fetch` it is a URL,
    or `domain:example.org`.
    """

    tool: str
    pattern: str = ""
    origin: Origin = "config"

    def __str__(self) -> str:
        return f"{self.tool}({self.pattern})" if self.pattern else self.tool

    def is_for(self, tool: str) -> bool:
        """True if the rule applies to this tool; `mcp__git` to every tool of the server git, `edit` to `multi_edit` as well."""
        if self.tool.startswith(PREFIX) and "__" not in self.tool[len(PREFIX) :] and tool.startswith(f"{self.tool}__"):
            return True
        return self.tool in (tool, like_tool(tool)) or ("*" in self.tool and bool(wildcard(self.tool).fullmatch(tool)))


@dataclass(frozen=True, slots=True)
class Rules:
    """All rules in force; deny goes before ask, ask before allow."""

    allow: tuple[Rule, ...] = ()
    ask: tuple[Rule, ...] = ()
    deny: tuple[Rule, ...] = ()

    def __add__(self, other: Rules) -> Rules:
        return Rules(self.allow + other.allow, self.ask + other.ask, self.deny + other.deny)

    def listed(self) -> list[tuple[str, Rule]]:
        """Each rule with the decision that it makes, the strongest first."""
        kinds = {"deny": self.deny, "ask": self.ask, "allow": self.allow}
        return [(kind, rule) for kind, rules in kinds.items() for rule in rules]


def parse_rule(text: str, origin: Origin = "config") -> Rule:
    """A rule from its text. Raises UsageError for nonsense in a flag, ConfigError for nonsense anywhere else."""
    match = _RULE.fullmatch(text.strip())
    if not match or (match[2] is not None and not match[2].strip()):
        raise _nonsense(origin)(f"{text!r} is not a rule. Write TOOL or TOOL(pattern), for example bash(npm test).")
    return Rule(match[1].lower() if match[1].isalpha() else match[1], (match[2] or "").strip(), origin)


def parse_rules(
    allow: Iterable[str] = (), ask: Iterable[str] = (), deny: Iterable[str] = (), origin: Origin = "config"
) -> Rules:
    """Rules from lists of texts that all have one origin. Raises like `parse_rule`."""
    read = [tuple(parse_rule(text, origin) for text in texts) for texts in (allow, ask, deny)]
    return Rules(*read)


def in_own_names(rules: Rules, known: Iterable[str]) -> Rules:
    """The rules with our names of the tools that they are about: `WebFetch(domain:example.org)` is `web_fetch(…)`.

    Raises ConfigError, or UsageError for a flag, for a rule about a tool that does not exist: it would protect nothing. The tools of
    servers (`server__tool`) are known only once a server runs, so their names are taken as they are.
    """
    names = list(known)
    allow, ask, deny = (
        tuple(_named(kind, rule, names) for rule in each)
        for kind, each in (("allow", rules.allow), ("ask", rules.ask), ("deny", rules.deny))
    )
    return Rules(allow, ask, deny)


def _named(kind: str, rule: Rule, names: Sequence[str]) -> Rule:
    if "__" in rule.tool or any(rule.is_for(name) for name in names):
        return rule
    own = known_as(rule.tool)
    if own in names:
        return replace(rule, tool=own)
    near = did_you_mean(near_names(rule.tool, names))
    place = f"--{kind}" if rule.origin == "flag" else f"permissions.{kind}"
    raise _nonsense(rule.origin)(
        f"{place}: {str(rule)!r} is about a tool that does not exist: {rule.tool}.{near or ' `agentcli tools` lists them.'}"
    )


def exact(text: str) -> str:
    """The pattern that matches this text and nothing else."""
    return re.sub(r"([*\\])", r"\\\1", text)


@lru_cache(maxsize=1024)
def wildcard(pattern: str) -> re.Pattern[str]:
    """A pattern where `*` is any text and a backslash makes `*` and itself literal."""
    parts = re.findall(r"\\[*\\]|\*|[^*\\]+|\\", pattern)
    return re.compile("".join(".*" if part == "*" else re.escape(_unescaped(part)) for part in parts), re.DOTALL)


@lru_cache(maxsize=1024)
def command_pattern(pattern: str) -> re.Pattern[str]:
    """The pattern of a `bash` rule: like `wildcard`, and a trailing ` *` or `:*` stands for any arguments or none."""
    text = " ".join(pattern.split()) if "\n" not in pattern else pattern
    for ending in (":*", " *"):
        if text.endswith(ending) and not text.endswith("\\" + ending[1:]):
            return re.compile(f"{wildcard(text[: -len(ending)]).pattern}(?: .*)?", re.DOTALL)
    return wildcard(text)


def command_rule(rules: Iterable[Rule], line: CommandLine) -> Rule | None:
    """The first rule about commands that matches any command of the line, however it is wrapped."""
    for rule in rules:
        if not rule.pattern or any(command_pattern(rule.pattern).fullmatch(text) for text in line.spellings):
            return rule
    return None


def may_hide_from(rules: Iterable[Rule], line: CommandLine) -> bool:
    """True if a command that a rule names may run in a part of the line that cannot be analysed.

    Something of the line is unknown, or a program that is not known by trade gets the command's name among its arguments:
    in the text of a script, behind an option, as the value of a variable.
    """
    patterns = [rule.pattern for rule in rules]
    if not patterns or line.harmless:
        return False
    heads = [pattern.split("*")[0] for pattern in patterns]
    if not line.whole or any(head.startswith(known) for known in line.beginnings for head in heads):
        return True
    names = "|".join(re.escape(words[0]) for head in heads if (words := head.split()))
    mention = re.compile(rf"(?<![\w.-])(?:{names})(?![\w-])")
    return bool(names) and any(mention.search(text) for text in line.unseen)


def allowing_rule(rules: Sequence[Rule], line: CommandLine) -> Rule | None:
    """The rule about commands that allows the line: its exact text, or all commands that do not merely read match some rule.

    A rule with a wildcard about a command that changes files (`cp *`) holds inside the workspace, and none covers an option that
    starts another program.
    """
    for rule in rules:
        if rule.pattern in ("", "*") or rule.pattern == exact(line.text.strip()):
            return rule
    used: Rule | None = None
    for command, reading, inside in zip(line.commands, line.readings, line.inside, strict=True):
        narrow = (bounded(command.words) and not inside) or starts_others(command.words)
        narrow = narrow or (command.loop is not None and not inside)
        fitting = (rule for rule in rules if command_pattern(rule.pattern).fullmatch(command.text))
        match = next((rule for rule in fitting if not narrow or rule.pattern == exact(command.text)), None)
        if match is None and reading.why:
            return None
        used = match or used
    return used


def url_matches(pattern: str, url: str) -> bool:
    """True if a URL fits a `web_fetch` pattern. Host and path are compared apart, so that no host hides in a path."""
    try:
        there = urlsplit(url)
        host = there.hostname or ""
    except ValueError:
        return False
    if pattern.startswith("domain:"):
        domain = pattern.removeprefix("domain:").lower().removeprefix("*.")
        return host == domain or host.endswith("." + domain)
    wanted = urlsplit(pattern)
    if not wanted.netloc:
        return False
    places = (wanted.scheme, there.scheme), (wanted.netloc.lower(), there.netloc.lower())
    if not all(wildcard(want).fullmatch(have) and "@" not in have for want, have in places):
        return False
    return bool(wildcard(wanted.path or "*").fullmatch(there.path or "/"))


def _nonsense(origin: Origin) -> type[AgentError]:
    return UsageError if origin == "flag" else ConfigError


def _unescaped(part: str) -> str:
    return part[1:] if len(part) == 2 and part.startswith("\\") else part


def path_rule(
    rules: Iterable[Rule], path: str, workspace: Workspace, *, strict: bool, target: Path | None = None
) -> Rule | None:
    """The first rule whose pattern fits the path as its links lead; unless `strict`, also as it is written, in any case.

    `target` is where they led when the path was judged; without it they are followed now.
    """
    rules = tuple(rules)
    if not rules or impossible(path):
        return None
    forms = {target or resolved(workspace.cwd / path)}
    if not strict:
        forms.add(Path(os.path.normpath(workspace.cwd / os.path.expanduser(path))))
    for rule in rules:
        if not rule.pattern or any(_fits(rule.pattern, form, workspace, strict) for form in forms):
            return rule
    return None


def exact_path(target: Path, workspace: Workspace) -> str:
    """The pattern that fits one resolved path alone: from the workspace's top where it lies inside."""
    text = str(target)
    tops = (f"{str(root).rstrip('/')}/" for root in workspace.resolved_roots)
    inside = next((text.removeprefix(top) for top in tops if text.startswith(top)), "")
    return literal(f"./{inside}" if inside else text)


def literal(path: str) -> str:
    """The pattern of paths that fits this text alone."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in path)


@lru_cache(maxsize=1024)
def path_pattern(pattern: str) -> re.Pattern[str]:
    """A .gitignore-like path pattern: `*` and `?` stay within a folder, `**` crosses, a trailing slash means all below.

    A pattern with a slash before its end counts from the workspace's top, one without fits at any depth.
    """
    text = pattern.removeprefix("./")
    if "/" not in pattern.rstrip("/"):
        text = f"**/{text}"
    if text.endswith("/"):
        text += "**"
    parts = re.findall(r"\*\*/|\*\*|\*|\?|\[[^\]/]+\]|.", text, re.DOTALL)
    return re.compile("".join(map(_piece, parts)), re.DOTALL)


def _fits(pattern: str, path: Path, workspace: Workspace, strict: bool) -> bool:
    wanted = os.path.join(workspace.home, pattern[2:]) if pattern.startswith("~/") else pattern
    texts = [str(path)]
    if not wanted.startswith("/"):
        texts = [str(path.relative_to(root)) for root in workspace.resolved_roots if root in (path, *path.parents)]
        texts = texts or ([] if strict else [path.name])
    if strict:
        return any(path_pattern(wanted).fullmatch(text) for text in texts)
    folded = path_pattern("/".join(part.casefold() for part in wanted.split("/")))
    return any(
        folded.fullmatch("/".join(map(canonical, text.split("/")))) or path_pattern(wanted).fullmatch(text)
        for text in texts
    )


def _piece(part: str) -> str:
    match part:
        case "**/":
            return "(?:[^/]+/)*"
        case "**":
            return ".*"
        case "*":
            return "[^/]*"
        case "?":
            return "[^/]"
        case _:
            return _set(part) if len(part) > 1 else re.escape(part)


def _set(part: str) -> str:
    inside = part[1:-1]
    negated = len(inside) > 1 and inside[0] in "!^"
    listed = re.sub(r"([\\\[&~|])", r"\\\1", inside[1:] if negated else inside)
    return f"[{'^' if negated else ''}{listed}]" if listed != "^" else re.escape("^")
