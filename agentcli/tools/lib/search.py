"""Search for files and matching lines: with ripgrep if it is installed, otherwise with the same results in Python."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import IO
from unicodedata import normalize

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ToolError
from agentcli.core.sanitise import replace_surrogates
from agentcli.core.text.encodings import decode, decode_beginning, is_binary
from agentcli.core.text.path_pattern import matching
from agentcli.core.text.secrets import is_secret_file
from agentcli.system.programs import find_program
from agentcli.tools.lib import gitignore
from agentcli.tools.lib.openat import DirHandle

_BATCH = 60_000
"""Maximum bytes of file names for one run of ripgrep: well below every system's limit."""
_LONGEST = 1 << 20
"""Maximum length of a line in a result.

In a file above `_WHOLE`, the rest of a longer line is not searched.
"""
_HEAD = 8_000
"""Bytes of a file that decide whether it is text or binary."""
_HELD = 100
"""Maximum open files at a time: well below every system's limit for a process."""
_LISTING = ["--no-config", "--files", "--hidden", "--null", "--no-messages", "--no-ignore-global", "--no-ignore-dot"]
_SEARCHING = [
    "--no-config",
    "--no-messages",
    "--no-heading",
    "--null",
    "--text",
    "--threads=1",
    "--crlf",
    "--color=never",
]
_FOREIGN = r"(?-u:\x00|[\xc0-\xff](?:[\x00-\x7f\xc0-\xff]|$)|(?:^|[\x00-\x7f])[\x80-\xbf])"
"""Bytes that no UTF-8 text has; ripgrep itself decodes UTF-16 with a byte order mark."""
_WHOLE = 16_000_000
"""Maximum bytes of a file in another encoding than UTF-8 to search as a whole.

A larger one is searched line by line.
"""
_BASIC_OPERATOR = r"\\[|(){}]"
"""An operator of basic regular expressions, which is text in all others."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file that matches, or is near a match. `number` counts from 1."""

    file: str
    number: int
    text: str
    matches: bool


@dataclass(frozen=True, slots=True)
class Wanted:
    """A query: a regular expression, and the numbers of context lines."""

    pattern: str
    ignore_case: bool = False
    before: int = 0
    after: int = 0


def ripgrep(workspace: Iterable[Path] = ()) -> str:
    """Return the path of ripgrep, or an empty text; a program inside the workspace is ignored."""
    return find_program("rg", workspace)


def files(base: Path, pattern: str = "", rg: str = "") -> list[str]:
    """Return the regular files below a folder, as sorted relative paths, without ignored ones, `.git` and `.env`
    secrets.

    `pattern` is a glob; without a slash it applies at any depth. Its brackets and braces are literal if a file has such
    a name. After `!` it excludes files, as in ripgrep.
    """
    found = _files_by_ripgrep(base, rg) if rg else gitignore.walk(base)
    readable = [path for path in found if not is_secret_file(path)]
    if not pattern:
        return sorted(readable)
    matched = matching(pattern.removeprefix("!").removeprefix("./").lstrip("/"), readable)
    return sorted(set(readable).difference(matched) if pattern.startswith("!") else matched)


def lines(top: DirHandle, names: Sequence[str], wanted: Wanted, rg: str = "") -> Iterator[Line]:
    """Yield matching lines with context, file by file in the given order. Raises ToolError for a bad pattern.

    Every line comes from a file that was opened below the open folder, even if links change meanwhile.
    """
    if "\0" in wanted.pattern or wanted.pattern != replace_surrogates(wanted.pattern):
        raise ToolError("The pattern has a character in it that no text has.")
    wanted = replace(wanted, pattern=_in_both_forms(wanted.pattern))
    regex = compiled(wanted)
    if rg and regex_is_plain(rg, wanted):
        yield from _lines_of_ripgrep(top, names, wanted, regex, rg)
        return
    if regex is None:
        raise ToolError(f"{wanted.pattern!r} is not a regular expression that can be searched for here.")
    for name in names:
        yield from _lines_of_python(top, name, regex, wanted)


def compiled(wanted: Wanted) -> re.Pattern[str] | None:
    """Compile the pattern for Python; None if only ripgrep understands it."""
    try:
        return re.compile(wanted.pattern, re.IGNORECASE if wanted.ignore_case else 0)
    except re.error:
        return None


def basic_readings(pattern: str) -> tuple[str, ...]:
    """Return the readings of a pattern as a basic regular expression (POSIX), whose operators have a backslash.

    In the first reading only the operators change: models mix the dialects. In the second, the bare characters also
    become text. Escaped brackets with nothing between them remain text in the first: an empty group is meaningless.
    """
    operators = r"\\\|" if r"\(\)" in pattern else _BASIC_OPERATOR
    if not re.search(operators, re.sub(r"\\\\", "", pattern)):
        return ()
    mixed = re.sub(rf"\\\\|{operators}", _swapped, pattern)
    basic = re.sub(r"\\?[|(){}+?]|\\.", _swapped, pattern)
    return mixed, basic


def _swapped(found: re.Match[str]) -> str:
    """Remove a character's backslash, or add one if it has none; leave any other escape unchanged."""
    sign = found.group()
    if sign[-1] not in "|(){}+?":
        return sign
    return sign[1:] if sign.startswith("\\") else "\\" + sign


def regex_is_plain(rg: str, wanted: Wanted) -> bool:
    """Return True if ripgrep understands the pattern; it has no look-around and no bare braces.

    Raises ToolError if neither ripgrep nor Python understands it.
    """
    done = subprocess.run(
        [rg, "--no-config", "--quiet", "-e", wanted.pattern, "-"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    if done.returncode == 2 and compiled(wanted) is None:
        why = done.stderr.decode(errors="replace").rpartition("error: ")[2].strip()[-300:]
        raise ToolError(f"{wanted.pattern!r} is not a regular expression: {why}.")
    return done.returncode != 2


def _files_by_ripgrep(base: Path, rg: str) -> Iterator[str]:
    options = [*_LISTING, "--no-require-git", "--glob=!**/.git"]
    if gitignore.is_ignored(base):
        options.append("--no-ignore-parent")
    done = subprocess.run([rg, *options], cwd=base, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return (os.fsdecode(name).removeprefix("./") for name in done.stdout.split(b"\0") if name)


def _batches(names: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for name in names:
        batch.append(name)
        size += len(os.fsencode(name)) + 1
        if size > _BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _case(wanted: Wanted) -> list[str]:
    return ["--ignore-case" if wanted.ignore_case else "--case-sensitive"]


def _in_both_forms(pattern: str) -> str:
    """Return a pattern that matches accented letters both as one character and as a letter with its marks."""
    if pattern.isascii():
        return pattern
    flags, rest = re.match(r"((?:\(\?[a-zA-Z]+\))?)(.*)", pattern, re.DOTALL).groups()  # type: ignore[union-attr]
    forms = dict.fromkeys((rest, normalize("NFC", rest), normalize("NFD", rest)))
    return flags + "|".join(f"(?:{form})" for form in forms) if len(forms) > 1 else pattern


def _lines_of_ripgrep(
    top: DirHandle, names: Sequence[str], wanted: Wanted, regex: re.Pattern[str] | None, rg: str
) -> Iterator[Line]:
    options = [*_SEARCHING, *_case(wanted), "-e", wanted.pattern]
    around = [f"-B{wanted.before}", f"-A{wanted.after}", "--line-number", "--with-filename"]
    for part in _batches(names):
        # Names only tell ripgrep where to look; the lines come from descriptors opened below the folder.
        foreign = ["-e", _FOREIGN] if regex is not None else []
        command = [rg, *options, *foreign, "--files-with-matches", "--", *part]
        done = subprocess.run(command, cwd=top.path, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        hits = [os.fsdecode(name) for name in done.stdout.split(b"\0") if name]
        for start in range(0, len(hits), _HELD):
            with _opened(top, hits[start : start + _HELD]) as held:
                for is_foreign, group in groupby(held, _is_foreign):
                    if is_foreign and regex is not None:
                        for fd in group:
                            yield from _matching(held[fd], _lines_in(fd), regex, wanted)
                    else:
                        yield from _printed([rg, *options, *around], {fd: held[fd] for fd in group})


@contextmanager
def _opened(top: DirHandle, names: Sequence[str]) -> Iterator[dict[int, str]]:
    """Open text files; yield their names by descriptor, skipping files that can no longer be opened."""
    held: dict[int, str] = {}
    try:
        for name in names:
            with suppress(OSError):
                held[top.open(name)] = name
        yield {fd: name for fd, name in held.items() if not is_binary(os.pread(fd, _HEAD, 0))}
    finally:
        for fd in held:
            os.close(fd)


def _printed(command: list[str], held: dict[int, str]) -> Iterator[Line]:
    """Yield the lines that ripgrep prints, reading one at a time so that no amount of output fills the memory."""
    if not held:
        return
    doors = [f"/dev/fd/{fd}" for fd in held]
    with subprocess.Popen(
        [*command, "--", *doors],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        pass_fds=tuple(held),
    ) as process:
        assert process.stdout is not None
        try:
            for raw in bounded_lines(process.stdout):
                door, mark, rest = raw.partition(b"\0")
                if mark:  # the `--` between groups has none
                    yield _line(held[int(door.rpartition(b"/")[2])], rest)
        finally:
            process.kill()


def _line(file: str, rest: bytes) -> Line:
    found = re.match(rb"(\d+)([:-])", rest)
    assert found is not None
    text = rest[found.end() :].decode("utf-8", "replace")
    return Line(file, int(found.group(1)), text.removesuffix("\r"), found.group(2) == b":")


def bounded_lines(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield lines without their newline, each cut at `_LONGEST` bytes."""
    while line := stream.readline(_LONGEST):
        ended = line.endswith(b"\n")
        while not ended and (more := stream.readline(_LONGEST)):
            ended = more.endswith(b"\n")
        yield line.removesuffix(b"\n")


def _is_foreign(fd: int) -> bool:
    """Return True if an open file that fits into memory is not in UTF-8, and ripgrep does not decode it."""
    data = os.pread(fd, _WHOLE + 1, 0)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or len(data) > _WHOLE:
        return False
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return True
    return b"\0" in data[:_HEAD]


def _lines_of_python(top: DirHandle, name: str, regex: re.Pattern[str], wanted: Wanted) -> Iterator[Line]:
    with suppress(OSError):  # gone or unreadable meanwhile: as in ripgrep, it has no matches
        fd = top.open(name)
        try:
            yield from _matching(name, _lines_in(fd), regex, wanted)
        finally:
            os.close(fd)


def _matching(name: str, texts: Iterable[str], regex: re.Pattern[str], wanted: Wanted) -> Iterator[Line]:
    waiting: list[Line] = []
    after = 0
    for number, text in enumerate(texts, 1):
        matches = regex.search(text) is not None
        line = Line(name, number, text[:_LONGEST], matches)
        if matches:
            yield from waiting
            waiting.clear()
            after = wanted.after
            yield line
        elif after:
            after -= 1
            yield line
        elif wanted.before:
            waiting = [*waiting, line][-wanted.before :]


def _lines_in(fd: int) -> Iterator[str]:
    """Yield the lines of an open text file, as the read tool decodes them; none of a binary file."""
    with open(fd, "rb", closefd=False) as stream:
        data = stream.read(_WHOLE + 1)
        decoded = decode(data) if len(data) <= _WHOLE else decode_beginning(data[:_HEAD])
        if decoded is None:
            return
        text, encoding = decoded
        if len(data) <= _WHOLE:
            rows = iter(replace_surrogates(text).removesuffix("\n").split("\n") if text else ())
        else:
            stream.seek(len(encoding.bom))
            rows = (line.decode(encoding.name, "replace") for line in bounded_lines(stream))
        yield from (line.removesuffix("\r") for line in rows)
