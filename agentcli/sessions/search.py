"""Search of sessions by words: in messages, in the tools' input and output, and in names and texts of files."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

from agentcli.core.codec.encode import Damaged, decode, dumps
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import InputError
from agentcli.core.message import File, Image, Message, Part, Text, Thinking, ToolCall, ToolResult
from agentcli.core.record import Body, Compaction, Failure, InnerCall, Record, Title, Todo
from agentcli.sessions.info import SessionInfo, local_minute
from agentcli.sessions.recovery import read_info, retrace
from agentcli.sessions.storage.records import number_in

EXCERPT = 160
"""Maximum length of a hit's excerpt, in characters."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A place with matching words. `where` is user, assistant, tool, file, summary, title, todo or error.

    `text` is a line or an excerpt of it; `marks` are the start and end of each word in `text`.
    """

    seq: int
    time: str
    where: str
    text: str
    marks: tuple[tuple[int, int], ...]

    def marked(self, begin: str, end: str) -> str:
        """Return the text with each of its words between two marks."""
        pieces, at = [], 0
        for start, stop in self.marks:
            pieces += [self.text[at:start], begin, self.text[start:stop], end]
            at = stop
        return "".join((*pieces, self.text[at:]))


@dataclass(frozen=True, slots=True)
class Found:
    """A session that contains all the words, with its best hits, oldest first, and the `total` number of hits."""

    info: SessionInfo
    hits: tuple[Hit, ...]
    total: int

    def report(self, begin: str = "", end: str = "") -> str:
        """Describe the session and its hits for people, one line each, the words between two marks."""
        info = self.info
        head = f"{info.id}  {local_minute(info.time.updated)}  {info.name or info.title}"
        lines = [f"  {hit.seq:>6} {hit.where:9} {hit.marked(begin, end)}" for hit in self.hits]
        more = self.total - len(self.hits)
        return "\n".join([head, *lines, *([f"         and {more:,} more"] if more else [])])

    def __str__(self) -> str:
        return self.report()

    def to_json(self) -> dict[str, Any]:
        """Return the JSON data that `sessions search --json` prints."""
        info = self.info
        return {
            "id": info.id,
            "name": info.name,
            "title": info.title,
            "directory": info.directory,
            "updated": info.time.updated,
            "total": self.total,
            "hits": [asdict(hit) for hit in self.hits],
        }


def search(
    root: Path,
    words: str | Sequence[str],
    projects: Sequence[str] = (),
    *,
    limit: int = 0,
    hits: int = 3,
    through: Callable[[Iterable[tuple[str, bytes]]], Iterable[tuple[str, bytes]]] = iter,
) -> list[Found]:
    """Find the sessions under `root` in which every word occurs, ignoring case, last written first.

    `projects` are the store folders to search, by default all. Returns at most `limit` sessions (0: all), the most
    recently changed, each with at most `hits` hits. Records that are read pass `through`, a callback that may show
    progress.

    There is no index: each search reads the records' bytes and decodes only those that may match. Raises InputError
    without words.
    """
    given = words if isinstance(words, str) else " ".join(words)
    wanted = tuple(dict.fromkeys(word.casefold() for word in given.split()))
    if not wanted:
        raise InputError("Give the words to look for.")
    sieve = _Sieve(wanted)
    sifted = (_sifted(folder, through(_files(folder)), sieve, len(wanted)) for folder in _sessions(root, projects))
    promising = [each for each in sifted if each is not None]
    # A close look costs far more than sifting, so it ends as soon as enough is found. It starts with the last written
    # sessions.
    promising.sort(key=lambda each: _written(each.folder), reverse=True)
    looked_at = (_looked_at(each.folder, through(_files(each.folder, each.names)), wanted, hits) for each in promising)
    sure = islice((found for found in looked_at if found is not None), limit or None)
    return sorted(sure, key=lambda each: (each.info.time.updated, each.info.id), reverse=True)


def passages_after(records: Iterable[Record], starts: Sequence[int], words: str) -> Mapping[int, str]:
    """Return an excerpt with the words for each start.

    A start counts if all words occur in the records between it and the next start.
    """
    wanted = tuple(dict.fromkeys(word.casefold() for word in words.split()))
    held: dict[int, set[str]] = {}
    found: dict[int, str] = {}
    for record in records:
        start = max((seq for seq in starts if seq <= record.seq), default=0)
        for hit, here in _hits(record, wanted):
            more = here - held.setdefault(start, set())
            held[start] |= here
            if more:
                found[start] = hit.text
    return {start: text for start, text in found.items() if held[start] == set(wanted)}


@dataclass(frozen=True, slots=True)
class _Promising:
    """A session that may contain all the words, and the names of its records that may contain some."""

    folder: str
    names: tuple[str, ...]


class _Sieve:
    """Finder of the words that may be in a record's bytes; it may report too many words, never too few."""

    def __init__(self, words: Sequence[str]) -> None:
        self.plain = {word: dumps(word)[1:-1].encode("utf-8", "surrogatepass") for word in words if word.isascii()}
        self.others = [word for word in words if not word.isascii()]

    def words_in(self, data: bytes) -> set[str]:
        small = data.lower()
        found = {word for word, needle in self.plain.items() if needle in small}
        if self.others or not data.isascii():
            # İ, ẞ and similar letters change their length when folded, so bytes alone cannot decide.
            text = data.decode("utf-8", "replace").casefold()
            found |= {word for word in self.others if dumps(word)[1:-1] in text}
            found |= {word for word, needle in self.plain.items() if needle.decode() in text}
        return found


def _sessions(root: Path, projects: Sequence[str]) -> Iterator[str]:
    for project in [str(root / each) for each in projects] or _folders(str(root)):
        yield from _folders(project)


def _folders(folder: str) -> list[str]:
    try:
        return [f"{folder}/{name}" for name in os.listdir(folder) if not name.startswith(".")]
    except OSError:
        return []


def _sifted(folder: str, files: Iterable[tuple[str, bytes]], sieve: _Sieve, wanted: int) -> _Promising | None:
    names: list[str] = []
    found: set[str] = set()
    for name, data in files:
        if here := sieve.words_in(data):
            found |= here
            names.append(name)
    return _Promising(folder, tuple(names)) if len(found) == wanted else None


def _looked_at(folder: str, files: Iterable[tuple[str, bytes]], words: Sequence[str], most: int) -> Found | None:
    hits = [hit for record in _records(data for _, data in files) for hit in _hits(record, words)]
    if {word for _, held in hits for word in held} < set(words):
        return None
    path = Path(folder)
    best = sorted(hits, key=lambda each: (-len(each[1]), each[0].where == "tool", each[0].seq))[:most]
    listed = tuple(sorted((hit for hit, _ in best), key=lambda hit: hit.seq))
    return Found(read_info(path) or retrace(path), listed, len(hits))


def _written(folder: str) -> float:
    for name in ("session.json", "records"):
        try:
            return os.stat(f"{folder}/{name}").st_mtime
        except OSError:
            continue
    return 0.0


def _files(folder: str, names: Sequence[str] | None = None) -> Iterator[tuple[str, bytes]]:
    """Yield the record files of a session, all or the listed ones, in no order."""
    try:
        shelf = os.open(f"{folder}/records", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return
    try:
        # Opened relative to the folder: resolving the whole path for each of a hundred thousand records is slow.
        for name in os.listdir(shelf) if names is None else names:
            if (data := _all(name, shelf)) is not None:
                yield name, data
    finally:
        os.close(shelf)


def _all(name: str, shelf: int) -> bytes | None:
    """Read a whole record file, usually in one piece; None if it is not a record or unreadable."""
    if number_in(name) is None:
        return None
    try:
        file = os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=shelf)
    except OSError:
        return None
    try:
        pieces = [os.read(file, _PIECE)]
        while len(pieces[-1]) == _PIECE:
            pieces.append(os.read(file, _PIECE))
        return b"".join(pieces)
    except OSError:
        return None
    finally:
        os.close(file)


def _records(files: Iterable[bytes]) -> Iterator[Record]:
    for data in files:
        try:
            yield decode(data)
        except Damaged:
            continue


def _hits(record: Record, words: Sequence[str]) -> Iterator[tuple[Hit, frozenset[str]]]:
    """Yield one hit for each passage, at the line that contains most of the words."""
    for where, text in _passages(record.body):
        folded = text.casefold()
        if not any(word in folded for word in words):
            continue
        lines = ((line, frozenset(word for word in words if word in line.casefold())) for line in text.split("\n"))
        line, held = max(lines, key=lambda each: len(each[1]))
        excerpt, marks = _excerpt(line, words)
        held |= frozenset(word for word in words if word in folded)
        yield Hit(record.seq, record.time, where, excerpt, marks), held


def _excerpt(line: str, words: Sequence[str]) -> tuple[str, tuple[tuple[int, int], ...]]:
    pattern = re.compile("|".join(re.escape(word) for word in sorted(words, key=len, reverse=True)), re.IGNORECASE)
    first = pattern.search(line)
    start = max(0, (first.start() if first else 0) - EXCERPT // 3)
    piece = line[start : start + EXCERPT]
    text = ("…" if start else "") + piece.rstrip() + ("…" if start + EXCERPT < len(line) else "")
    text = "".join(letter if letter.isprintable() else " " for letter in text)
    return text, tuple(match.span() for match in pattern.finditer(text))


def _passages(body: Body) -> Iterator[tuple[str, str]]:
    """Yield every text in a record whose words a person may remember."""
    match body:
        case Message(role, parts):
            for part in parts:
                yield from _in_part(role, part)
        case ToolResult(_, _, _, output, metadata=metadata):
            yield "tool", output
            if metadata.get("path"):
                yield "file", str(metadata["path"])
        case InnerCall(_, call, result):
            yield "tool", f"{call.name} {_flat(call.input)}"
            yield from _passages(result)
        case Compaction(snapshot=snapshot):
            yield "summary", snapshot
        case Title(title, name):
            yield "title", f"{title} {name}"
        case Todo(items):
            yield from (("todo", item.content) for item in items)
        case Failure(message):
            yield "error", message
        case _:
            return


def _in_part(role: str, part: Part) -> Iterator[tuple[str, str]]:
    match part:
        case Text(text) | Thinking(text):
            yield role, text
        case File(_, path, text):
            yield "file", path
            yield "file", text
        case Image(path=path) if path:
            yield "file", path
        case ToolCall(_, name, given):
            yield "tool", f"{name} {_flat(given)}"
        case _:
            return


def _flat(given: Mapping[str, Any]) -> str:
    return " ".join(value if isinstance(value, str) else dumps(value) for value in given.values())


_PIECE = 1 << 16
