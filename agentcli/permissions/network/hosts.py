"""Hosts that sandboxed commands may reach.

They come from rules, the remotes of the repository, and the registries of package managers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from agentcli.core.dataclass import dataclass
from agentcli.permissions.rules import NETWORK, Rule, Rules, kind_of_place, wildcard

Verdict = Literal["allow", "ask", "deny"]
_VERDICTS: dict[str, Verdict] = {"allow": "allow", "ask": "ask", "deny": "deny"}
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})+")
_INWARD = ("localhost", "local", "internal", "intranet", "lan", "home", "corp", "private", "arpa", "onion", "test", "invalid")  # fmt: skip
"""Last labels of names for this machine and private networks."""
PORTS = (443, 80)
_URL = re.compile(r"(?:https?://|ssh://|git://)(?:[^\s/@\"']*@)?([A-Za-z0-9.-]+)")
_SCP = re.compile(r"(?m)^\s*url\s*=\s*(?:[\w.-]+@)?([\w.-]+\.[\w-]+):(?!//)")


def host_name(text: str) -> str:
    """Return a host in the form that rules and checks use.

    Return an empty text for an address in any notation and for a private name.
    """
    host = text.strip().lower().removesuffix(".")
    last = host.rpartition(".")[2]
    if not _NAME.fullmatch(host) or len(host) > 253 or last in _INWARD or not any(letter.isalpha() for letter in last):
        return ""
    # Hexadecimal and octal forms of addresses have a last label of digits, or begin with 0x.
    return "" if re.fullmatch(r"0x[0-9a-f]+", last) else host


@dataclass(frozen=True, slots=True)
class Hosts:
    """Known hosts: in rules, in the remotes of the repository, and as registries of package managers."""

    rules: Rules = Rules()
    remotes: frozenset[str] = frozenset()
    registries: frozenset[str] = frozenset()

    def verdict(self, host: str) -> tuple[Verdict, str]:
        """Return the decision on a host, and the reason."""
        for kind, rule in self.rules.listed():
            if rule.tool == NETWORK and covers_host(rule.pattern, host):
                return _VERDICTS[kind], f"the rule {rule}"
        if host in self.remotes or host.removeprefix("api.") in self.remotes:
            return "allow", "a remote of this repository"
        if host in self.registries:
            return "allow", "a package manager is set to it"
        return "ask", ""


@dataclass(frozen=True, slots=True)
class DeniedHost:
    """A host that a command may not reach, and the reason. The rule that denies it is empty if nobody could allow it."""

    host: str
    rule: str
    why: str


@dataclass(frozen=True, slots=True)
class KeptHost:
    """A rule with which a person let a host through for longer, and where it is saved."""

    rule: Rule
    saved: bool = False
    everywhere: bool = False
    error: str = ""
    """The reason why it could not be saved."""


def opened(rules: Rules) -> bool:
    """Return True if a rule lets a host through. Then any command may reach it, such as a test."""
    return any(rule.tool == NETWORK and not kind_of_place(rule.pattern) for rule in rules.allow)


def covers_host(pattern: str, host: str) -> bool:
    """Return True if a rule's pattern covers a host. `*.example.org` covers names below it, `example.org` only itself."""
    return not pattern or bool(wildcard(pattern.lower().removesuffix(".")).fullmatch(host))


def hosts_in(texts: Iterable[str]) -> frozenset[str]:
    """Return the public hosts of all addresses in these texts, such as git settings or output of package managers."""
    found = (host for text in texts for host in (*_URL.findall(text), *_SCP.findall(text)))
    return frozenset(filter(None, map(host_name, found)))
