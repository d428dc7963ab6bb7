"""Rules that people write: `TOOL` or `TOOL(pattern)`, to allow, to ask, to deny."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal
from urllib.parse import urlsplit

from agentcli.core.errors import AgentError, ConfigError, UsageError

Origin = Literal["config", "project", "session", "flag"]
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
        """Whether the rule speaks of this tool."""
        return self.tool == tool or ("*" in self.tool and bool(wildcard(self.tool).fullmatch(tool)))


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


def url_matches(pattern: str, url: str) -> bool:
    """Whether a URL fits a `web_fetch` pattern. Host and path are compared apart, so that no host hides in a path."""
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
