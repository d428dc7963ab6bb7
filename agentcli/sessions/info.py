"""`session.json`: the summary of a session, computed from its records and rebuilt if lost; its id and its times."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import field
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Literal, get_args

from agentcli.core.codec.encode import usage_from_json, usage_to_json
from agentcli.core.codec.fields import amount, items, table, text, whole
from agentcli.core.dataclass import dataclass, replace
from agentcli.core.errors import InputError
from agentcli.core.message import File, Message, ToolResult, Usage
from agentcli.core.record import (
    SCHEMA,
    Checkpoint,
    Compaction,
    Failure,
    FeatureState,
    InnerCall,
    Record,
    Settings,
    Title,
)
from agentcli.core.sanitise import harmful
from agentcli.core.subagent_result import FILES, SPENT, changed_files, spent
from agentcli.core.text.words import ago as in_words
from agentcli.core.text.words import labelled

PENDING = "pending.json"
"""File in a session's `checkpoints` folder that describes an unfinished change of files."""
_DIGITS = "0123456789abcdefghijklmnopqrstuv"  # ascending in ASCII, so that ids sort as the numbers do

_GIVEN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{7,63}")


def new_id(now: datetime | None = None) -> str:
    """Create an id of 23 characters: UTC date and time to the microsecond, then 15 random bits against collisions."""
    now = now or datetime.now(UTC)
    return f"{now:%Y%m%d-%H%M%S}-{_base32(now.microsecond << 15 | int.from_bytes(os.urandom(2), 'big') >> 1, 7)}"


def checked_id(given: str) -> str:
    """Return an external id, such as a UUID. Raises InputError unless it is a safe file name and not an option."""
    if not _GIVEN.fullmatch(given):
        raise InputError(
            f"{given!r} cannot be a session's id. Use 8 to 64 letters, digits, `-` and `_`, the first a letter or digit."
        )
    return given


def stamp(now: datetime | None = None) -> str:
    """Return a time as ISO 8601 in UTC, to the millisecond: `2026-01-31T09:30:00.000Z`."""
    now = now or datetime.now(UTC)
    return now.astimezone(UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


def local_minute(stamped: str) -> str:
    """Return a record's time for people, in the local time zone: `2026-01-31 10:30`."""
    try:
        # Lists show thousands, many of a day: a conversion of each takes longer than the rest of its row.
        day, minute = stamped[:10], stamped[11:16]
        if len(stamped) == _STAMP and stamped[-1] == "Z" and (offset := _minutes_ahead(day, time.tzname)) is not None:
            if not offset:
                return f"{day} {minute}"
            minutes = int(minute[:2]) * 60 + int(minute[3:]) + offset
            if 0 <= minutes < 1_440:
                return f"{day} {minutes // 60:02}:{minutes % 60:02}"
        return _local(stamped).isoformat(" ", "minutes")
    except (ValueError, OverflowError, OSError):
        return stamped[:16].replace("T", " ")


_STAMP = len("2026-01-31T09:30:00.000Z")


@lru_cache(maxsize=4_096)
def _minutes_ahead(day: str, _zone: tuple[str, str]) -> int | None:
    """Return how far local time is ahead of UTC on a day in UTC; None if that changes in it."""
    begin, end = (_local(f"{day}T{hour}Z") - datetime.fromisoformat(f"{day}T{hour}") for hour in ("00:00", "23:59"))
    return int(begin.total_seconds()) // 60 if begin == end else None


def _local(stamped: str) -> datetime:
    return datetime.fromtimestamp(datetime.fromisoformat(stamped).timestamp())


def ago(stamped: str, now: datetime | None = None) -> str:
    """Return the age of a record briefly, such as `5 min ago`.

    If it is older than a week, return its day.
    """
    try:
        seconds = ((now or datetime.now(UTC)) - datetime.fromisoformat(stamped)).total_seconds()
    except (ValueError, TypeError):
        return local_minute(stamped)
    return in_words(seconds) if seconds < 8 * 86_400 else local_day(stamped)


def local_day(stamped: str) -> str:
    """Return the day of a record's time in the local time zone: `2026-01-31`."""
    return local_minute(stamped)[:10]


def _base32(number: int, width: int) -> str:
    text = ""
    for _ in range(width):
        number, digit = divmod(number, 32)
        text = _DIGITS[digit] + text
    return text


_FORK = " (fork)"
_NOTHING = Usage()
TITLE_LENGTH = 60
"""Length in characters of a title made from the first prompt."""
FILES_REMEMBERED = 1_000
"""Maximum changed paths that are remembered, so that each counts once; beyond that, counting stops."""


def name_of(given: str) -> str:
    """Return a session's name, stripped.

    Raises InputError for an empty name or one with control characters.
    """
    name = given.strip()
    if not name:
        raise InputError("A session's name needs at least one letter.")
    if found := harmful(name):
        raise InputError(f"A session's name cannot contain control or invisible characters ({found}). Remove them.")
    return name


ParentKind = Literal["fork", "subagent", "handoff"]


@dataclass(frozen=True, slots=True)
class Parent:
    """The source of a fork, a handoff or a subagent's session."""

    session: str
    seq: int
    """Number of the source's last record at that moment."""
    kind: ParentKind = "fork"


@dataclass(frozen=True, slots=True)
class Times:
    """Times in ISO 8601, UTC; `compacting` is the time of the last compaction, or None."""

    created: str = ""
    updated: str = ""
    compacting: str | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """Lines added and deleted by the session's edits, and the number of distinct files that edits and commands changed."""

    additions: int = 0
    deletions: int = 0
    files: int = 0


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """Summary of a session. `records` is the number of its newest record, `head` that file's SHA-256.

    `usage` and `cost` (USD, None if no price is known) count everything ever spent, including rewound records. A fork's
    `inherited` and `inherited_cost` are the part spent in its source.

    `shelf` is the modification time of the records folder in nanoseconds: while it is unchanged, `records` is up to
    date.
    """

    id: str
    project_id: str
    directory: str
    parent: Parent | None = None
    title: str = ""
    name: str = ""
    version: str = ""
    model: str = ""
    mode: str = ""
    time: Times = Times()
    summary: Summary = Summary()
    usage: Usage = Usage()
    cost: float | None = None
    records: int = 0
    schema: int = SCHEMA
    head: str = ""
    shelf: int = 0
    touched: tuple[str, ...] = ()
    inherited: Usage = Usage()
    inherited_cost: float | None = None
    branch: str = ""
    """The branch checked out at the newest prompt; lost with `session.json`."""
    last: str = ""
    """The beginning of the newest prompt."""
    prompts: int = 0
    """Number of prompts."""
    imported: Mapping[str, str] = field(default_factory=dict)
    """Source of an imported session: the `program` that wrote it, its `id` there, the `sha256` of the imported file."""
    foreign: int = 0
    """Number of the last record from an imported file, 0 for none.

    Its texts count, but not its settings and file states.
    """
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Fields that this version does not know; written back unchanged."""


def note(info: SessionInfo, record: Record, head: str) -> SessionInfo:
    """Add one record to the summary; `head` is the SHA-256 of its file."""
    return note_all(info, ((record, head),))


def note_all(info: SessionInfo, records: Iterable[tuple[Record, str]]) -> SessionInfo:
    """Add records to the summary, each with the SHA-256 of its file."""
    created, last = info.time.created, None
    for last in records:
        record, _ = last
        created = created or record.time
        noted = _noted(info, record)
        info = _inherited(info, noted) if _comes_from_source(info, record) else noted
    if last is None:
        return info
    record, head = last
    return replace(info, time=Times(created, record.time, info.time.compacting), records=record.seq, head=head)


def _comes_from_source(info: SessionInfo, record: Record) -> bool:
    """Return True if a record of a fork was written in the fork's source."""
    return info.parent is not None and info.parent.kind == "fork" and record.seq <= info.parent.seq


def _inherited(info: SessionInfo, noted: SessionInfo) -> SessionInfo:
    title = noted.title if noted.title == info.title else title_of_fork(noted.title)
    return replace(noted, title=title, inherited=noted.usage, inherited_cost=noted.cost)


def _noted(info: SessionInfo, record: Record) -> SessionInfo:
    """Add a record's content to the summary."""
    match record.body:
        case Message(role="user") as message if message.is_prompt or not info.title:
            last = first_title(message)
            return replace(info, title=info.title or last, last=last, prompts=info.prompts + message.is_prompt)
        case Message(role="assistant") as message:
            info = info if info.model else replace(info, model=full_name(message))
            return _spent(info, message.usage or Usage(), message.cost)
        case ToolResult(metadata=metadata) as result if SPENT in metadata or FILES in metadata:
            _, usage, cost = spent(result)
            return _spent(_delegated(_changed(info, metadata), metadata), usage, cost)
        case ToolResult(metadata=metadata):
            return _changed(info, metadata)
        case InnerCall(result=result):
            return _noted(info, replace(record, body=result))
        case Checkpoint(data) if data.get("cause") == "command":
            sides = [side for side in (data.get("before"), data.get("after")) if isinstance(side, dict)]
            folders = {path for side in sides for path, state in side.items() if _is_folder(state)}
            return _touched(info, [path for side in sides for path in side if path not in folders])
        case Compaction(usage=usage, cost=cost):
            return _spent(replace(info, time=replace(info.time, compacting=record.time)), usage, cost)
        case Failure(usage=usage, cost=cost) | FeatureState(usage=usage, cost=cost):
            return _spent(info, usage, cost)
        case Title(title, name, _, usage, cost):
            return _spent(replace(info, title=title or info.title, name=name or info.name), usage, cost)
        case Settings(model, mode):
            own = record.seq > info.foreign
            return replace(info, model=model or info.model, mode=mode if mode and own else info.mode)
        case _:
            return info


def title_of_fork(title: str) -> str:
    """Return the title for a fork: its source's title with a mark, so that people can tell them apart."""
    return f"{title}{_FORK}" if title and not title.endswith(_FORK) else title


def first_title(message: Message) -> str:
    """Make a title from a prompt: its first line, cut at a word."""
    text = message.text or " ".join(part.path for part in message.parts if isinstance(part, File))
    line = labelled(next((line for line in text.splitlines() if line.strip()), ""))
    title = " ".join("".join(letter if letter.isprintable() else " " for letter in line).split())
    if len(title) <= TITLE_LENGTH:
        return title
    cut = title[:TITLE_LENGTH]
    return (cut.rsplit(" ", 1)[0] if " " in cut else cut) + "…"


def info_to_json(info: SessionInfo) -> dict[str, Any]:
    """Return the fields of `session.json`: the contract's, then internal ones."""
    parent = info.parent
    return {
        "schema": info.schema,
        "id": info.id,
        "project_id": info.project_id,
        "directory": info.directory,
        "parent": parent and {"session": parent.session, "seq": parent.seq, "kind": parent.kind},
        "title": info.title,
        "name": info.name,
        "version": info.version,
        "model": info.model,
        "mode": info.mode,
        "time": {"created": info.time.created, "updated": info.time.updated, "compacting": info.time.compacting},
        "summary": {
            "additions": info.summary.additions,
            "deletions": info.summary.deletions,
            "files": info.summary.files,
        },
        "usage": usage_to_json(info.usage),
        "cost": info.cost,
        "records": info.records,
        "head": info.head,
        "shelf": info.shelf,
        "touched": list(info.touched),
        "inherited": {"usage": usage_to_json(info.inherited), "cost": info.inherited_cost},
        **({"branch": info.branch} if info.branch else {}),
        "last": info.last,
        "prompts": info.prompts,
        **({"imported": dict(info.imported)} if info.imported else {}),
        **({"foreign": info.foreign} if info.foreign else {}),
        **info.extra,
    }


def encode_info(info: SessionInfo) -> bytes:
    """Encode `session.json`."""
    return (json.dumps(info_to_json(info), indent=1) + "\n").encode("ascii")


def encode_origin(info: SessionInfo) -> bytes:
    """Encode `origin.json`: facts that are in no record, written once in case `session.json` is lost."""
    parent = info.parent
    raw = {
        "id": info.id,
        "project_id": info.project_id,
        "directory": info.directory,
        "parent": parent and {"session": parent.session, "seq": parent.seq, "kind": parent.kind},
        "version": info.version,
        "created": info.time.created,
        **({"imported": dict(info.imported)} if info.imported else {}),
        **({"foreign": info.foreign} if info.foreign else {}),
    }
    return (json.dumps(raw) + "\n").encode("ascii")


def decode_info(data: bytes) -> SessionInfo:
    """Decode `session.json`. Raises ValueError if the bytes are not one."""
    try:
        return _info(json.loads(data.decode("utf-8")))
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"not a session.json: {error}") from error


def _info(raw: Mapping[str, Any]) -> SessionInfo:
    summary, time, inherited = table(raw, "summary"), table(raw, "time"), table(raw, "inherited")
    return SessionInfo(
        id=text(raw, "id", None),
        project_id=text(raw, "project_id", None),
        directory=text(raw, "directory", None),
        parent=_parent(table(raw, "parent")),
        title=text(raw, "title"),
        name=text(raw, "name"),
        version=text(raw, "version"),
        model=text(raw, "model"),
        mode=text(raw, "mode"),
        time=Times(text(time, "created"), text(time, "updated"), text(time, "compacting") or None),
        summary=Summary(whole(summary, "additions"), whole(summary, "deletions"), whole(summary, "files")),
        usage=usage_from_json(table(raw, "usage")),
        cost=amount(raw, "cost"),
        records=whole(raw, "records"),
        schema=whole(raw, "schema"),
        head=text(raw, "head"),
        shelf=whole(raw, "shelf"),
        touched=items(raw, "touched", str),
        inherited=usage_from_json(table(inherited, "usage")),
        inherited_cost=amount(inherited, "cost"),
        branch=text(raw, "branch"),
        last=text(raw, "last"),
        prompts=whole(raw, "prompts"),
        imported=source_of(raw),
        foreign=foreign_of(raw, whole(raw, "records")),
        extra={key: raw[key] for key in raw.keys() - _KNOWN},
    )


def source_of(raw: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the source of an imported session, from the content of `session.json` or `origin.json`."""
    return {str(key): str(value) for key, value in table(raw, "imported").items()}


def foreign_of(raw: Mapping[str, Any], every: int) -> int:
    """Return the number of the last imported record, from `session.json` or `origin.json`; `every` if an import lacks it."""
    return whole(raw, "foreign") if "foreign" in raw else every if source_of(raw) else 0


def _parent(raw: Mapping[str, Any]) -> Parent | None:
    if not raw:
        return None
    kinds: Mapping[Any, ParentKind] = {kind: kind for kind in get_args(ParentKind)}
    known = kinds.get(raw.get("kind"), "fork")
    return Parent(text(raw, "session", None), whole(raw, "seq"), known)


def full_name(message: Message) -> str:
    """Return the name of the model of a reply: `provider/model`, or what is known of it."""
    return f"{message.provider}/{message.model}" if message.provider and message.model else message.model


def _spent(info: SessionInfo, usage: Usage, cost: float | None) -> SessionInfo:
    if usage == _NOTHING and cost is None:
        return info
    total = info.cost if cost is None else (info.cost or 0.0) + cost
    return replace(info, usage=info.usage + usage, cost=total)


def _changed(info: SessionInfo, metadata: Mapping[str, Any]) -> SessionInfo:
    additions, deletions = (_count(metadata.get(name)) for name in ("additions", "deletions"))
    path = metadata.get("path")
    if not (additions or deletions or metadata.get("created")):
        return info
    summary = replace(
        info.summary, additions=info.summary.additions + additions, deletions=info.summary.deletions + deletions
    )
    return _touched(replace(info, summary=summary), [path] if isinstance(path, str) else [])


def _delegated(info: SessionInfo, metadata: Mapping[str, Any]) -> SessionInfo:
    """Add the changes that a subagent made."""
    for change in changed_files(metadata):
        info = _changed(info, change)
    return info


def _touched(info: SessionInfo, paths: Iterable[str]) -> SessionInfo:
    """Count each of these files once, up to `FILES_REMEMBERED`."""
    new = [path for path in dict.fromkeys(paths) if path not in info.touched]
    new = new[: max(0, FILES_REMEMBERED - len(info.touched))]
    if not new:
        return info
    summary = replace(info.summary, files=info.summary.files + len(new))
    return replace(info, summary=summary, touched=(*info.touched, *new))


def _is_folder(state: Any) -> bool:
    return isinstance(state, dict) and "folder" in state


def _count(value: Any) -> int:
    return value if isinstance(value, int) else 0


_KNOWN = frozenset(info_to_json(SessionInfo("", "", "", branch="main", imported={"program": ""}, foreign=1)))
