"""Whether a line, understood or not, touches what must be asked for in every mode."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from agentcli.agent.permissions.commands import Reading, read_only
from agentcli.agent.permissions.nested import Contents
from agentcli.agent.permissions.ordinary import INTERPRETERS
from agentcli.agent.permissions.paths import could_name_protected, judge_path, names_protected
from agentcli.agent.permissions.place import Place, impossible
from agentcli.agent.permissions.scripts import words
from agentcli.agent.permissions.shell import UNKNOWN, Command, Part

_READING = words("""
ls dir cat tac nl head tail wc stat du df realpath readlink strings od hexdump cksum sum md5sum sha1sum sha224sum sha256sum
sha384sum sha512sum b2sum shasum grep egrep fgrep rg cut tr comm join paste column fold fmt expand unexpand rev diff cmp jq basename
dirname echo printf test which type
""")
"""Programs that write no file, whatever their options: a protected name among their words is only read."""

_FOLDERS = 8
_IN_SCRIPTS = re.compile(r"[\s'\"`()\[\]{},;=:<>|&!+]+")
_PROCESS_SECRETS = re.compile(r"/proc/[^/]+/(?:task/[^/]+/)?(?:environ|mem|root|cwd|fd)(?:/|\Z)")


def why_protected(plain: Sequence[Command], readings: Sequence[Reading], inside: Contents, place: Place) -> str:
    """Why the line must ask in every mode, or the empty string. `plain` and `readings` are empty for a line that is not understood."""
    if plain and not any(reading.why for reading in readings):
        return ""
    for reading in readings:
        if reading.protected:
            return reading.why
    folders = _folders(inside, place)
    for part in inside.parts:
        if why := _part_protected(part, folders, place):
            return why
    return ""


def _folders(inside: Contents, place: Place) -> list[Path]:
    """Where the commands of a line may find themselves: each `cd` may have worked or not."""
    folders = [place.cwd]
    for part in inside.parts:
        values = [piece.text for piece in part.words if piece.known and not piece.text.startswith("-")]
        if len(values) == 2 and values[0] in ("cd", "pushd") and not impossible(values[1]):
            target = values[1].replace("$HOME", str(place.home))
            target = str(place.home) + target[1:] if target == "~" or target.startswith("~/") else target
            folders += [folder / target for folder in folders]
    return list(dict.fromkeys(folders))[:_FOLDERS]


def _part_protected(part: Part, folders: Sequence[Path], place: Place) -> str:
    values = [piece.text for piece in part.words]
    for piece in (*part.words[1:], *part.reads, *part.writes):
        if piece.loose and could_name_protected(piece.text):
            return f"{piece.text} may stand for a protected file"
    if values and len(folders) == 1 and not part.writes and not part.reads and all(piece.known for piece in part.words):
        (reading,) = read_only((Command(tuple(values), "", True),), place)
        if not reading.why or reading.protected:
            return reading.why
    name = os.path.basename(values[0]) if values else ""
    reads = name in _READING
    targets = [(word, not reads) for word in values[1:]] + [(piece.text, True) for piece in part.writes]
    for word, write in [*targets, *((piece.text, False) for piece in part.reads)]:
        for candidate in {*paths_in(word), *_quoted_in(name, word)}:
            for folder in folders:
                if why := _word_protected(candidate, write, folder, place):
                    return why
    return ""


def _quoted_in(name: str, word: str) -> Iterator[str]:
    """What a script for an interpreter may name: `python -c 'open(".env")'`."""
    if name.rstrip("0123456789.") in INTERPRETERS:
        yield from (token for token in _IN_SCRIPTS.split(word) if token and token != word)


def paths_in(word: str) -> Iterator[str]:
    """The paths that a word of an unknown command may name: itself, or what follows `=`, `:`, `@` or an option's letter."""
    forms = {word, word.partition("=")[2], word.rpartition(":")[2], word.rpartition("@")[2], word.lstrip("@<>")}
    if len(word) > 2 and word[0] == "-" and word[1] != "-":
        forms.add(word[2:])
    return (form for form in forms if form and len(form) < 4096 and "\n" not in form)


def _word_protected(text: str, write: bool, folder: Path, place: Place) -> str:
    if named := names_protected(text, write=write):
        return f"{named} is protected"
    if UNKNOWN in text or text.startswith("-"):
        return ""
    verdict = judge_path(text, place, write=write, cwd=folder)
    secret = verdict.verdict == "refused" and _PROCESS_SECRETS.match(os.path.normpath(folder / text))
    return verdict.why if secret or verdict.verdict == "protected" else ""
