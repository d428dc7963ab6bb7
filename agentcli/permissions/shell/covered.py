"""Coverage of command rules with wildcards: words of the approved kind, and no word that names another program or place.

A rule `make *` was saved for `make test`. It covers other targets, and options that are known to be harmless. An option
that takes a program, a path or a configuration asks again, unless the rule itself names it: an unknown word is not
covered.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from agentcli.core.dataclass import dataclass
from agentcli.permissions import word_set
from agentcli.permissions.paths import Workspace, judge_path
from agentcli.permissions.shell.harmless_options import AFTER_MARK, RUNNERS, harmless_options, table_name
from agentcli.permissions.shell.known_programs import is_interpreter

_SWITCH = r"\d+(?:\.\d+)?%?|true|false|yes|no|on|off|auto|always|never|all|none"
_KINDS = {
    "number": re.compile(r"[+-]?\d+(?:\.\d+)?%?"),
    "word": re.compile(r"(?!\.)[\w.,:+%@^~-]+(?:/(?!\.)[\w.,:+%@-]+)*|\.{3}|\./\.{3}"),
    "off": re.compile(r"no:[\w-]+"),
    "share": re.compile(r"\d+/\d+"),
    "mod": re.compile(r"mod|readonly|vendor"),
    "strategy": re.compile(r"ours|ort|recursive|resolve|octopus|subtree"),
    "reporter": re.compile(r"[a-z]+(?:-[a-z]+)?"),
    "tag": re.compile(r"[a-z0-9][\w.-]*(?:/[\w.-]+)*(?::[\w.-]+)?"),
    "text": re.compile(r".*", re.DOTALL),
    "inert": re.compile(r"(?!@).*", re.DOTALL),
}
_SWITCHED = re.compile(_SWITCH, re.IGNORECASE)
_FLAG = re.compile(r"--[A-Za-z][A-Za-z0-9-]*|-[A-Za-z]")
_ASSIGNMENT = re.compile(r"[\w.:\[\]-]+[:+?!]?=(?!=)", re.DOTALL)
_STARTING = word_set("exec dlx shell eval foreach env runner console x repl")
"""Subcommands that start the program named after them."""
_SCOPED = re.compile(r"@[a-z0-9][\w.-]*/[a-z0-9][\w.-]*(?:@[\w.^~-]+)?")
_URL = re.compile(r"(?:[a-z][a-z0-9+.-]*)://|[\w.-]+@[\w.-]+:", re.IGNORECASE)
_ASKING_THE_WEB = word_set("curl wget http https xh")
_HELPER = re.compile(r"[a-z0-9+.-]+::", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Place:
    """Place of the judged words: the folders that they are relative to, and the workspace."""

    folders: Sequence[Path]
    workspace: Workspace


def uncovered(pattern: str, words: Sequence[str], folders: Sequence[Path], workspace: Workspace) -> str:
    """Return the reason why a rule does not cover a command that its pattern matches; empty if it does.

    `folders` are the folders that the command may run in.
    """
    if "*" not in pattern.replace("\\*", ""):
        return ""
    if is_interpreter(words[0]) and pattern in (f"{words[0]} *", f"{words[0]}:*"):
        return ""  # a person wrote this rule, as none is ever offered: it allows any script
    place = _Place(folders, workspace)
    given = _given(pattern)
    fixed = _fixed(pattern, words)
    table, marked, index = _table(words[:fixed]), "--" in words[:fixed], fixed
    operands = [word for word in words[1:fixed] if not word.startswith("-")]
    while index < len(words):
        word = words[index]
        index += 1
        if word == "--":
            program = os.path.basename(words[0])
            table, marked = table_name(AFTER_MARK.get(program, ""), "") or table, True
            if program not in AFTER_MARK and program not in ("cargo", "git") and _table(words):
                continue
        elif word in given:
            continue
        elif word.startswith("-") and word != "-":
            after = words[index] if index < len(words) else None
            taken = _option(word, after, harmless_options(table), bool(table), place)
            if isinstance(taken, str):
                return taken
            index += taken
        else:
            if why := _operand(word, words, operands, place):
                return why
            operands.append(word)
            table = table if marked else (_table(words[:index]) or table)
    return ""


def _given(pattern: str) -> frozenset[str]:
    """Return the words that a pattern names in full."""
    return frozenset(word.replace("\\*", "*") for word in pattern.split() if "*" not in word.replace("\\*", ""))


def _fixed(pattern: str, words: Sequence[str]) -> int:
    """Return the number of words of a command that the pattern names, in full or in part, before its first wildcard."""
    text = pattern[:-2] + " *" if pattern.endswith(":*") else pattern
    before = re.split(r"(?<!\\)\*", text, maxsplit=1)[0].replace("\\*", "*").replace("\\\\", "\\")
    count = max(len(before.split()), 1)
    climbs = count <= len(words) and not before.endswith(" ") and ".." in words[count - 1].split("/")
    return count - 1 if climbs else count


def _table(words: Sequence[str]) -> str:
    """Return the name of the option table for a command that begins with these words."""
    plain = [os.path.basename(word) for word in words if not word.startswith("-")]
    if not plain:
        return ""
    own = table_name(plain[0], plain[1] if len(plain) > 1 else "")
    inner = (table_name(word, "") for word in reversed(plain[1:])) if plain[0] in RUNNERS else iter(())
    return next(filter(None, inner), "") or own


def _option(word: str, after: str | None, known: Mapping[str, str], complete: bool, place: _Place) -> int | str:
    """Return how many of the words after an option are its value, or the reason why the option is not covered.

    `complete` is true if the program's options are known.
    """
    name, equals, value = word.partition("=")
    kind = _kind(name, known)
    if kind is not None:
        return _known(name, kind, value if equals else None, after, place)
    if equals:
        return (
            0 if _SWITCHED.fullmatch(value) else f"the rule does not cover {name}, which may name a program or a file"
        )
    if not word.startswith("--") and (bundle := _bundle(word, after, known, place)) is not None:
        return bundle
    alone = after is None or after.startswith("-")
    if _FLAG.fullmatch(word) and alone and (not complete or word.startswith("--")):
        return 0
    if _FLAG.fullmatch(word) and after is not None and _KINDS["number"].fullmatch(after) and word.startswith("--"):
        return 1
    return f"the rule does not cover {word}, which may name a program or a file"


def _kind(name: str, known: Mapping[str, str]) -> str | None:
    if name in known:
        return known[name]
    wild = (entry for entry in known if entry.endswith("*") and name.startswith(entry[:-1]))
    found = next(wild, None)
    return None if found is None else known[found]


def _known(name: str, kind: str, value: str | None, after: str | None, place: _Place) -> int | str:
    problem = f"the rule does not cover {name} with this value"
    if not kind:
        return 0 if value is None or _SWITCHED.fullmatch(value) else problem
    if kind.startswith("?"):
        if value is None:
            return int(after is not None and bool(_KINDS["number"].fullmatch(after)))
        return 0 if _fits(kind[1:], value, place) else problem
    if value is not None:
        return 0 if _fits(kind, value, place) else problem
    return 1 if after is not None and _fits(kind, after, place) else problem


def _bundle(word: str, after: str | None, known: Mapping[str, str], place: _Place) -> int | str | None:
    """Judge several letters after one dash as `_option` does; the last may take a value. Return None if they are unknown."""
    for index, letter in enumerate(word[1:], 2):
        kind = known.get(f"-{letter}")
        if kind is None:
            return None
        if kind:
            return _known(f"-{letter}", kind, word[index:] or None, after, place)
    return 0


def _fits(kind: str, value: str, place: _Place) -> bool:
    if kind == "path":
        return not _leads_away(value, place)
    return bool(_KINDS[kind].fullmatch(value)) and (kind in ("text", "inert") or not _leads_away(value, place))


def _operand(word: str, words: Sequence[str], before: Sequence[str], place: _Place) -> str:
    """Return the reason why a plain word is not covered, or the empty string."""
    program = os.path.basename(words[0])
    if not _STARTING.isdisjoint(re.split(r"[:]", word)):
        return f"{word} may start other programs"
    if _ASSIGNMENT.match(word) and not _SWITCHED.fullmatch(word.partition("=")[2]):
        return f"the rule does not cover {word.partition('=')[0]}=…"
    if word.startswith("@") and not (program in RUNNERS and _SCOPED.fullmatch(word)):
        return f"the rule does not cover {word}"
    if program == "git" and _HELPER.match(word):
        return f"{word.partition('::')[0]}:: starts a program"
    if _URL.search(word):
        web = program in _ASKING_THE_WEB and word.startswith(("http://", "https://"))
        return "" if web else f"{word} is an address"
    return f"{word} is outside the workspace" if _leads_away(word, place) else ""


def _leads_away(word: str, place: _Place) -> bool:
    """Return True if a word may be a path that needs permission to read."""
    path = word.partition("::")[0]
    climbing = path.startswith(("/", "~", "$HOME")) or ".." in path.split("/")
    if not climbing and not any(os.path.lexists(folder / path) for folder in place.folders if len(path) < 1_000):
        return False
    return any(judge_path(path, place.workspace, write=False, cwd=folder).verdict != "free" for folder in place.folders)
