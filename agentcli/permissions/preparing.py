"""Statements that prepare the shell for the rest of a line, such as `eval "$(mise activate bash)"`.

What they change decides which programs the rest finds, so a person allows the exact statement. Then the rest is judged
as a line of its own. Only the first statements of a line count.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from agentcli.core.dataclass import dataclass
from agentcli.permissions.allowing import allowing_rule
from agentcli.permissions.any_code import allowing_code
from agentcli.permissions.paths import Workspace, below, resolved
from agentcli.permissions.rules import Rule
from agentcli.permissions.shell.command_line import CommandLine, analyse
from agentcli.permissions.shell.effects.prefixes import runs_code
from agentcli.permissions.shell.effects.reaching import is_temporary
from agentcli.permissions.shell.effects.whole_programs import whole_program_of

_HOME = r"(?:~|\$HOME|\$\{HOME\})"
_PLACE = r"(?:/|\$HOME/|\$\{HOME\}/)[\w.+@-]+(?:/[\w.+@-]+)*/?"
_PATH = r"\$PATH|\$\{PATH\}"
_FIRST = re.compile(
    rf"""(?x) \s* (?:
    eval [ ]+ (?P<quote>"?) \$\( (?P<prints>[\w./~+:=@-]+(?:[ ][\w./~+:=@-]+)*) (?:[ ]*2>[ ]*/dev/null)? \) (?P=quote)
    | (?:export[ ]+)? PATH= (?P<mark>"?) (?P<places>(?:{_PLACE}|{_PATH})(?::(?:{_PLACE}|{_PATH}))*) (?P=mark)
    | (?:source|\.) [ ]+ (?P<around>"?) (?P<file>{_HOME}?/[\w.+@-]+(?:/[\w.+@-]+)*) (?P=around)
    ) [ ]* (?:&&|;|\n) (?=\s*[\w./"'($\[{{!-])"""
)
_OF_SYSTEM = re.compile(r"/(?:usr|bin|sbin|opt)(?:/(?!\.)[\w.+-]+)*/?")


@dataclass(frozen=True, slots=True)
class Prepared:
    """A line after its first statements, and the patterns of the rules that allow these."""

    rest: CommandLine
    patterns: tuple[str, ...]


def prepared(line: CommandLine) -> Prepared | None:
    """Return a line without the first statements that prepare its shell.

    Return None if it has none, or one that no rule may be about.
    """
    workspace, index, patterns = line.workspace, 0, list[str]()
    if workspace is None or workspace.sandboxed:
        return None
    while (found := _FIRST.match(line.text, index)) is not None:
        pattern = _pattern(found, workspace)
        if pattern is None:
            return None
        patterns += [pattern] if pattern else []
        index = found.end()
    if not index:
        return None
    return Prepared(analyse(line.text[index:], workspace), tuple(dict.fromkeys(patterns)))


def _pattern(found: re.Match[str], workspace: Workspace) -> str | None:
    """Return the pattern of the rule about a statement; empty if it needs none, None if none is offered."""
    if found["prints"]:
        words = found["prints"].split(" ")
        whole = whole_program_of([*words, "x"], (workspace.cwd,), workspace)
        own = "/" in words[0] and not _is_away(words[0], workspace)
        if whole is None or not whole.code or whole.pattern != f"{words[0]} *" or own or runs_code(words):
            return None
        return f'eval "$({found["prints"]})"'
    if found["file"]:
        there = _is_away(found["file"], workspace) and os.path.isfile(_expanded(found["file"], workspace))
        return f"source {found['file']}" if there else None
    places = [place for place in found["places"].split(":") if not re.fullmatch(_PATH, place)]
    if len(places) == found["places"].count(":") + 1 or not all(_is_away(place, workspace) for place in places):
        return None
    return "" if all(map(_OF_SYSTEM.fullmatch, places)) else f'export PATH="{found["places"]}"'


def _expanded(path: str, workspace: Workspace) -> str:
    return re.sub(rf"\A{_HOME}(?=/)", lambda _: str(workspace.home), path)


def _is_away(path: str, workspace: Workspace) -> bool:
    """Return True for a path that lies neither in the workspace nor among temporary files."""
    text = _expanded(path, workspace)
    if not text.startswith("/") or ".." in text.split("/"):
        return False
    roots = (*workspace.roots, *workspace.resolved_roots, workspace.cwd)
    return not below(text, roots) and not below(resolved(Path(text)), roots) and not is_temporary(text, workspace)


def allowing_prepared(rules: Sequence[Rule], line: CommandLine, reads: Sequence[Rule] = ()) -> Rule | None:
    """Return the rule under which a line runs that prepares its shell; None if one is missing."""
    whole = {rule.pattern: rule for rule in rules if rule.whole}
    found = prepared(line) if whole else None
    if found is None or not whole.keys() >= set(found.patterns):
        return None
    used = next((whole[pattern] for pattern in found.patterns), next(iter(whole.values())))
    if found.rest.harmless:
        return used
    by_rule = allowing_rule(rules, found.rest, reads)
    return by_rule if isinstance(by_rule, Rule) else allowing_code(rules, found.rest, reads)
