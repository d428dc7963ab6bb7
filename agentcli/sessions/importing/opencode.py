"""Sessions of opencode: the output of `opencode export`, or its whole database."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote_to_bytes

from agentcli.core.aliases import OPENCODE
from agentcli.core.errors import InputError
from agentcli.core.message import File, Image, Message, Part, Status, Stop, Text, Thinking, ToolCall, ToolResult, Usage
from agentcli.core.record import Failure, Trigger
from agentcli.sessions.importing.imported import Foreign, Imported, Item, Summary, sound
from agentcli.sessions.importing.jsonl import Json, reading, skipping, utc
from agentcli.sessions.importing.normalise import settle
from agentcli.sessions.importing.patch import as_edit
from agentcli.sessions.importing.tools import ours

if TYPE_CHECKING:
    import sqlite3

_STOPS: dict[str, Stop] = {
    "stop": "end_turn",
    "tool-calls": "tool_use",
    "length": "max_tokens",
    "content-filter": "refusal",
}
_ABORTED = "MessageAbortedError"
_REJECTED = "The user rejected permission"
_DATA = re.compile(r"data:([\w.+/-]+)(;base64)?,(.*)", re.DOTALL)
_UNTITLED = re.compile(r"(?:New|Child) session - \d{4}-")
_TABLES = {"session", "message", "part"}
NOTHING_SAID = "it holds no session in which anything was said"
NAMED = 20
"""The number of sessions of a database that are named where none fits."""


def read(lines: Iterable[str]) -> Imported:
    """The session in an export. Raises InputError naming what is wrong with it."""
    try:
        whole = json.loads("\n".join(lines))
    except (ValueError, RecursionError) as error:
        raise InputError(f"line {getattr(error, 'lineno', 1)}: not JSON ({error})") from error
    with reading("the export"):
        return _session(whole["info"], [(message["info"], message["parts"]) for message in whole["messages"]])


def is_database(path: Path) -> bool:
    """True if an SQLite file has the tables of opencode. Raises InputError when it cannot be read."""
    with _opened(path) as database:
        return {row["name"] for row in database.execute("SELECT name FROM sqlite_master")} >= _TABLES


@dataclass(frozen=True, slots=True)
class Row:
    """A session of a database at a glance. `updated` changes whenever something is said in it."""

    id: str
    title: str
    folder: str
    updated: str
    subagent: bool


def rows_of(path: Path) -> Sequence[Row]:
    """The sessions of a database in which something was said, oldest first. Raises InputError when it cannot be read."""
    spoken = "EXISTS (SELECT 1 FROM message WHERE session_id = session.id)"
    with _opened(path) as database:
        rows = [
            dict(row) for row in database.execute(f"SELECT * FROM session WHERE {spoken} ORDER BY time_created, id")
        ]
    return [
        Row(
            str(row["id"]),
            str(row.get("title") or ""),
            str(row.get("directory") or ""),
            str(row.get("time_updated")),
            bool(row.get("parent_id")),
        )
        for row in rows
    ]


def nothing_found(path: Path, chosen: str) -> str:
    """The reason why a database has no session to import, or not the one that is `chosen`."""
    if not chosen:
        return NOTHING_SAID
    with _opened(path) as database:
        rows = [dict(row) for row in database.execute("SELECT * FROM session ORDER BY time_created, id")]
    return f"there is no session {chosen!r} in it. {_listed(rows)}"


def read_database(path: Path, chosen: str = "") -> Iterator[Imported]:
    """The sessions in a database, oldest first, without those of subagents; or the one whose id or title is `chosen`.

    The database is only read, and may be in use. Raises InputError when it cannot be read, when nothing is `chosen`, and, after
    all others, for a session that cannot be taken over.
    """
    failures: list[str] = []
    found = 0
    with _opened(path) as database:
        database.execute("BEGIN")  # what is read belongs together, even while opencode goes on writing
        rows = [dict(row) for row in database.execute("SELECT * FROM session ORDER BY time_created, id")]
        for row in rows:
            if chosen not in (row["id"], row["title"]) if chosen else row.get("parent_id"):
                continue
            messages = _messages(database, row["id"])
            if not (messages or chosen):
                continue  # opened, and left before anything was said
            found += 1
            try:
                with reading("its row"):
                    imported = _session(_info(row), messages)
            except InputError as error:
                failures.append(f"session {row['id']}: {error}")
            else:
                yield imported
    if chosen and not found:
        raise InputError(f"there is no session {chosen!r} in it. {_listed(rows)}")
    if failures or not found:
        raise InputError("; ".join(failures) or NOTHING_SAID)


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """The database, for reading only; with its write-ahead log where that lies beside it."""
    import sqlite3

    try:
        database = sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro", uri=True)
        try:
            database.row_factory = sqlite3.Row
            yield database
        finally:
            database.close()
    except sqlite3.Error as error:
        raise InputError(f"the database cannot be read: {error}") from error


def _listed(rows: Sequence[Json]) -> str:
    names = [f"{row['id']} ({row['title']})" for row in rows if not row.get("parent_id")]
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"It holds: {', '.join(names[:NAMED])}{more}." if names else "It holds none."


def _info(row: Json) -> Json:
    """The row of a session as an export words it."""
    reverted = json.loads(row["revert"]) if row.get("revert") else None
    return {**row, "time": {"created": row["time_created"]}, "revert": reverted}


def _messages(database: sqlite3.Connection, session: str) -> list[tuple[Any, list[Any]]]:
    parts: dict[str, list[Any]] = {}
    for row in database.execute("SELECT id, message_id, data FROM part WHERE session_id = ? ORDER BY id", (session,)):
        parts.setdefault(row["message_id"], []).append(_data(row))
    query = "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id"
    return [(_data(row), parts.get(row["id"], [])) for row in database.execute(query, (session,))]


def _data(row: sqlite3.Row) -> Any:
    """The JSON of a row, or None where it is damaged."""
    try:
        return {**json.loads(row["data"]), "id": row["id"]}
    except (ValueError, TypeError, RecursionError):
        return None


def _session(info: Json, messages: Sequence[tuple[Any, Any]]) -> Imported:
    notes: list[str] = []
    messages = _standing(info.get("revert"), messages, notes)
    reader = _Reader()
    for number, (message, parts) in enumerate(messages, 1):
        with skipping(f"message {number}", notes):
            reader.add(message, parts)
    title = "" if _UNTITLED.match(str(info["title"])) else str(info["title"])
    began, items = utc(info["time"]["created"]), tuple(reader.items)
    return settle(Foreign("opencode", items, str(info["directory"]), began, title=title, notes=tuple(notes)))


def _standing(revert: Any, messages: Sequence[tuple[Any, Any]], notes: list[str]) -> Sequence[tuple[Any, Any]]:
    """The messages before the one to which the session was taken back."""
    to = revert.get("messageID") if isinstance(revert, dict) else None
    for index, (message, _) in enumerate(messages):
        if to and isinstance(message, dict) and message.get("id") == to:
            notes.append(f"{len(messages) - index} messages that were taken back were left out")
            return messages[:index]
    return messages


class _Reader:
    """Collects items. A compaction is asked for in a message of the user's, and the reply to it is the summary."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.compactions: dict[str, Json] = {}
        self.calls: set[str] = set()

    def add(self, message: Json, parts: Sequence[Json]) -> None:
        time, key = utc(message["time"]["created"]), str(message["id"])
        if message["role"] == "user":
            if compaction := next((part for part in parts if part["type"] == "compaction"), None):
                self.compactions[key] = compaction
            content = tuple(_spoken(parts))
            found = [Item(time, Message("user", content), key)] if content else []
        elif message.get("summary"):
            found = [self._summary(message, parts, time, key)]
        else:
            found = list(self._reply(message, parts, time, key))
        self.items.extend(map(sound, found))

    def _summary(self, message: Json, parts: Sequence[Json], time: str, key: str) -> Item:
        asked = self.compactions.get(str(message.get("parentID")), {})
        text = "\n\n".join(part["text"] for part in parts if part["type"] == "text" and part["text"])
        usage, cost = _usage(message)
        if message.get("error") or not text:
            why = _error(message) or "The summary was empty."
            return Item(time, Failure(why, "model", usage or Usage(), cost), key)
        first = str(asked.get("tail_start_id") or "")
        trigger: Trigger = "auto" if asked.get("auto") else "manual"
        model = f"{message['providerID']}/{message['modelID']}"
        return Item(time, Summary(text, first, 0, trigger, (), model, usage or Usage(), cost), key)

    def _reply(self, message: Json, parts: Sequence[Json], time: str, key: str) -> Iterable[Item]:
        content: list[Part] = []
        results: list[Item] = []
        for part in parts:
            if part["type"] == "tool":
                # A call whose input had not all arrived yet never became one.
                if part["state"]["status"] != "pending":
                    call = self._call(part)
                    content.append(call)
                    results.extend(_result(call, part))
            else:
                content.extend(_reply_parts(part))
        usage, cost = _usage(message)
        error = _error(message)
        if content:
            stop: Stop = "error" if error else _STOPS.get(message.get("finish") or "", "interrupted")
            if (message.get("error") or {}).get("name") == _ABORTED:
                stop, error = "interrupted", ""
            model = (message["providerID"], message["modelID"])
            yield Item(time, Message("assistant", tuple(content), 0, *model, usage, cost, stop, error), key)
            yield from results
        elif error:
            yield Item(time, Failure(error, "model", usage or Usage(), cost), key)

    def _call(self, part: Json) -> ToolCall:
        """The call, under the name of its part where another has its id already."""
        call_id = part["callID"] if part["callID"] not in self.calls else part["id"]
        self.calls.add(call_id)
        given = part["state"].get("input") or {}
        if part["tool"] in ("apply_patch", "patch") and (edit := as_edit(str(given.get("patchText")))):
            return ToolCall(call_id, *edit)
        return ToolCall(call_id, *ours(OPENCODE, part["tool"], given))


def _spoken(parts: Sequence[Json]) -> Iterable[Part]:
    """A user message: text and attachments. The text of an attached file is a part of its own, added by the program."""
    for part in parts:
        match part["type"]:
            case "text" if part["text"] and not part.get("ignored"):
                synthetic = bool(part.get("synthetic"))
                yield Text(part["text"], synthetic, "reminder" if synthetic else "")
            case "file":
                yield from _attached(part)
            case "subtask":
                yield Text(part["prompt"])
            case _:
                pass


def _attached(part: Json) -> Iterable[Image | File]:
    found = _DATA.fullmatch(str(part.get("url")))
    name = str(part.get("filename") or "")
    if found and found[1].startswith("image/") and found[2]:
        yield Image(found[1], found[3], name)
    elif found and found[1].startswith("text/"):
        data = base64.b64decode(found[3]) if found[2] else unquote_to_bytes(found[3])
        yield File(found[1], name, data.decode("utf-8", "replace"))


def _reply_parts(part: Json) -> Iterable[Part]:
    match part["type"]:
        case "text" if part["text"]:
            yield Text(part["text"])
        case "reasoning" if part["text"]:
            yield Thinking(part["text"])
        case _:
            pass  # where steps begin and end, snapshots of the files, patches, retries


def _result(call: ToolCall, part: Json) -> Iterable[Item]:
    """The answer to a call; none where the call was running when the program ended."""
    state = part["state"]
    if state["status"] not in ("completed", "error"):
        return
    time = state.get("time") or {}
    metadata = state.get("metadata") or {}
    images = [image for file in state.get("attachments") or () for image in _attached(file) if isinstance(image, Image)]
    result = ToolResult(
        call.call_id,
        call.name,
        _status(state, metadata),
        state["output"] if state["status"] == "completed" else state["error"],
        truncated=bool(metadata.get("truncated")),
        title=state.get("title") or "",
        started=(time.get("start") or 0) / 1000,
        ended=(time.get("end") or 0) / 1000,
        metadata=_metadata(call, metadata),
        images=tuple(images),
    )
    yield Item(utc(time.get("end")), result)


def _status(state: Json, metadata: Json) -> Status:
    if state["status"] == "completed":
        return "error" if metadata.get("exit") else "success"
    if metadata.get("interrupted"):
        return "interrupted"
    return "denied" if str(state["error"]).startswith(_REJECTED) else "error"


def _metadata(call: ToolCall, details: Json) -> Json:
    known: Json = {}
    if call.name == "bash" and isinstance(details.get("exit"), int):
        known["exit_code"] = details["exit"]
    if call.name in ("edit", "write", "multi_edit") and call.input.get("file_path"):
        known["path"] = call.input["file_path"]
    if isinstance(details.get("diff"), str):
        known["diff"] = details["diff"]
    counted = details.get("filediff")
    if isinstance(counted, dict):
        known |= {"additions": int(counted.get("additions") or 0), "deletions": int(counted.get("deletions") or 0)}
    if details.get("exists") is False:
        known["created"] = True
    return known


def _usage(message: Json) -> tuple[Usage | None, float | None]:
    """A reply's usage; zero for one that was cut off before its end."""
    raw = message.get("tokens") or {}
    cache = raw.get("cache") or {}
    fresh, output, reasoning = (int(raw.get(name) or 0) for name in ("input", "output", "reasoning"))
    cached, written = int(cache.get("read") or 0), int(cache.get("write") or 0)
    if raw.get("total") == fresh + cached + written + output + reasoning:
        output += reasoning  # counted beside the reply, where it is counted within elsewhere
    usage = Usage(fresh, output, reasoning, cached, written)
    return (usage, message.get("cost")) if usage.total else (None, None)


def _error(message: Json) -> str:
    error = message.get("error")
    if not error:
        return ""
    return str((error.get("data") or {}).get("message") or error["name"])
