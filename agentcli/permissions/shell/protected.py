"""Lines that must ask in every mode: they may show a protected file, or change one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from agentcli.permissions.paths import (
    Workspace,
    could_name_protected,
    impossible,
    judge_entry,
    judge_path,
    names_protected,
)
from agentcli.permissions.readonly.commands import Reader, Reading, fits_reading, shows_no_content
from agentcli.permissions.shell.known_programs import is_interpreter, word_set
from agentcli.permissions.shell.parse import UNKNOWN, Command, Part
from agentcli.permissions.shell.values import BELOW, spread

_READING = word_set("""
ls dir cat tac nl head tail wc stat du df realpath readlink strings od hexdump cksum sum md5sum sha1sum sha224sum sha256sum
sha384sum sha512sum b2sum shasum grep egrep fgrep rg cut tr comm join paste column fold fmt expand unexpand rev diff cmp jq basename
dirname echo printf test which type
""")
"""Programs that write no file, whatever their options: a protected name among their words is only read."""

_READING_GIT = word_set("add commit diff log show blame status grep ls-files check-ignore")
"""Commands of git that change no file of the workspace, whatever their options."""

MOST_FOLDERS = 8
"""Largest number of folders in which the commands of a line are looked at."""
_IN_SCRIPTS = re.compile(r"[\s'\"`()\[\]{},;=:<>|&!+]+")
_PROCESS_SECRETS = re.compile(r"/proc/[^/]+/(?:task/[^/]+/)?(?:environ|mem|root|cwd|fd)(?:/|\Z)")


def why_protected(
    text: str, readings: Sequence[Reading], parts: Sequence[Part], workspace: Workspace, reader: Reader
) -> str:
    """Return the reason why the line must ask in every mode, or the empty string. `readings` is empty if the line is not understood."""
    if readings and not any(reading.why for reading in readings):
        return ""
    for reading in readings:
        if reading.protected:
            return reading.why
    folders, feeds = folders_of(parts, workspace), _feeds(text, parts)
    for part in parts:
        if why := _part_protected(part, folders, workspace, reader, feeds=feeds):
            return why
    return ""


def _feeds(text: str, parts: Sequence[Part]) -> bool:
    """Return True if a command may take the names that another one prints, and read those files."""
    if not all(piece.known for part in parts for piece in part.words):
        return True
    if "|" not in text.replace("||", ""):
        return False
    commands = ([piece.text for piece in part.words] for part in parts)
    return not all(words and (fits_reading(words[0], words) or shows_no_content(words)) for words in commands)


def folders_of(parts: Sequence[Part], workspace: Workspace) -> list[Path]:
    """Return the folders that the commands of a line may run in: each `cd` may fail."""
    folders = [workspace.cwd]
    for part in parts:
        values = [piece.text for piece in part.words if piece.known and not piece.text.startswith("-")]
        if len(values) == 2 and values[0] in ("cd", "pushd") and not impossible(values[1]):
            target = values[1].replace("$HOME", str(workspace.home))
            target = str(workspace.home) + target[1:] if target == "~" or target.startswith("~/") else target
            folders += [folder / target for folder in folders]
    return list(dict.fromkeys(folders))[:MOST_FOLDERS]


def _part_protected(part: Part, folders: Sequence[Path], workspace: Workspace, reader: Reader, *, feeds: bool) -> str:
    values = [piece.text for piece in part.words]
    entries = bool(values) and shows_no_content(values)
    words = () if entries and not feeds else part.words[1:]
    for piece in (*words, *part.reads, *part.writes):
        if piece.loose and _could_stand_for_protected(piece.text):
            return f"{piece.text} may match a protected file"
    alone = len(folders) == 1 and not part.writes and not part.reads
    if values and not entries and alone and all(piece.known for piece in part.words):
        ((reading, _),) = reader.in_turn((Command(tuple(values), "", True),))
        if not reading.why or reading.protected:
            return reading.why
    name = os.path.basename(values[0]) if values else ""
    reads = (
        name in _READING or (name == "git" and values[1:2] and values[1] in _READING_GIT) or fits_reading(name, values)
    )
    targets = [(piece.text, not reads) for piece in words] + [(piece.text, True) for piece in part.writes]
    if entries and not feeds and (why := _entry_protected(values, folders, workspace)):
        return why
    for word, write in [*targets, *((piece.text, False) for piece in part.reads)]:
        for candidate in dict.fromkeys((*paths_in(word), *_quoted_in(name, word))):
            for folder in folders:
                if why := _word_protected(candidate, write, folder, workspace):
                    return why
    return ""


def _entry_protected(values: Sequence[str], folders: Sequence[Path], workspace: Workspace) -> str:
    """Return the reason why a command that shows no content must ask for a name that it shows."""
    named = (word for word in values[1:] if not word.startswith("-"))
    shown = (judge_entry(word, workspace, cwd=folder) for word in named for folder in folders)
    return next((verdict.why for verdict in shown if verdict.verdict == "protected"), "")


def _could_stand_for_protected(text: str) -> bool:
    """Return True if the shell may put a protected name in place of a word with wildcards or braces."""
    words = spread((text,))
    if any(BELOW in word for word in words):
        return True
    return any(could_name_protected(word) or (len(words) > 1 and names_protected(word, write=True)) for word in words)


def _quoted_in(name: str, word: str) -> Iterator[str]:
    """Yield the words that a script for an interpreter may name: `python -c 'open(".env")'`."""
    if is_interpreter(name):
        yield from (token for token in _IN_SCRIPTS.split(word) if token and token != word)


def paths_in(word: str) -> Iterator[str]:
    """Yield the paths that a word of an unknown command may name: the word, or its part after `=`, `:`, `@` or an option's letter."""
    forms = [word, word.partition("=")[2], word.rpartition(":")[2], word.rpartition("@")[2], word.lstrip("@<>")]
    if len(word) > 2 and word[0] == "-" and word[1] != "-":
        forms.append(word[2:])
    return (form for form in dict.fromkeys(forms) if form and len(form) < 4096 and "\n" not in form)


def _word_protected(text: str, write: bool, folder: Path, workspace: Workspace) -> str:
    if named := names_protected(text, write=write):
        return f"{named} is protected"
    if UNKNOWN in text or text.startswith("-"):
        return ""
    verdict = judge_path(text, workspace, write=write, cwd=folder)
    secret = verdict.verdict == "refused" and _PROCESS_SECRETS.match(os.path.normpath(folder / text))
    return verdict.why if secret or verdict.verdict == "protected" else ""
