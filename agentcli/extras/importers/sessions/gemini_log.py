"""Session log of Gemini CLI: the messages in force after all its lines, and summaries that replaced others.

A line adds or rewrites a message, or removes all messages from one on (`$rewindTo`). It may also contain the whole new
history (`$set.messages`). The last happens at the start, on resuming, after a compression, and after a failed request.
Here, such a rewritten history never removes a message; a summary at its beginning stays a summary.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from json import dumps
from typing import Any

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import InputError
from agentcli.extras.importers.sessions.jsonl import Json, reading

SNAPSHOT = "<state_snapshot>"
ACKNOWLEDGED = "Got it. Thanks for the additional context!"
"""The reply that Gemini CLI adds after a summary in the model's name."""
CONTEXTS = ("<session_context>", "<hook_context>")
"""Beginnings of texts that Gemini CLI wrote in the user's name."""

_UNSEEN = re.compile("<!--.*?-->|[\u200b-\u200f\ufeff]", re.DOTALL)
"""Characters that Gemini CLI removes when it first writes a reply, but not when it rewrites the history."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A message and its place in the file. A summary contains the first entry that it did not replace, if any."""

    raw: Json
    place: str
    summary: bool = False
    kept_from: str = ""


@dataclass(slots=True)
class Log:
    """The messages so far by id, oldest first. `_same` maps further ids of a message to its first one."""

    head: Json = field(default_factory=dict)
    entries: dict[str, Entry] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    damaged: list[InputError] = field(default_factory=list)
    _same: dict[str, str] = field(default_factory=dict)
    _in_force: set[str] = field(default_factory=set)

    def line(self, raw: Json, place: str) -> None:
        """Add one line."""
        if "$rewindTo" in raw:
            self._rewind(str(raw["$rewindTo"]), place)
        elif "id" in raw and "type" in raw:
            if self._is_message(raw, place):
                self._add(raw, place)
        else:
            changed = raw.get("$set", raw)
            began = self.head.get("startTime")
            self.head |= {key: value for key, value in changed.items() if key != "messages"}
            if began:  # resuming within the minute writes a second head into the file
                self.head["startTime"] = began
            if "messages" in changed:
                self.rewrite([(place, message) for message in changed["messages"]])

    def rewrite(self, messages: Sequence[tuple[str, Json]]) -> None:
        """Add a whole history, each message with its place. Missing messages stay, new ones are added."""
        messages = [(place, raw) for place, raw in messages if self._is_message(raw, place)]
        matched = self._matched([raw for _, raw in messages])
        former = set(self.entries)
        self._in_force = set()
        summary, following = "", [*(raw for _, raw in messages[1:]), {}]
        for (place, raw), after in zip(messages, following, strict=False):  # an empty history has no following either
            name = str(raw["id"])
            held = self._same.get(name, matched.get(name, name))
            if held in self.entries:
                self._same[name] = held
                self._amend(held, raw)
                if summary and held in former and units(raw):
                    self._keep(summary, held)
                    summary = ""
            elif _is_summary(raw, after):
                self.entries[name] = Entry(raw, place, summary=True)
                summary = name
            elif summary and message_text(raw) == ACKNOWLEDGED:
                self._same[name] = held = summary
            else:
                self.entries[name] = Entry(raw, place)
            self._in_force.add(held)

    def closed(self) -> None:
        """Note how many messages are kept that were no longer in Gemini CLI's final history."""
        first_kept, dropped = "", 0
        for entry in self.entries.values():
            first_kept = entry.kept_from if entry.summary else first_kept
        first = list(self.entries).index(first_kept) if first_kept else 0
        for name, entry in [*self.entries.items()][first:]:
            if entry.summary and not entry.kept_from:
                dropped = 0
            elif name not in self._in_force and entry.raw.get("type") == "user" and units(entry.raw):
                dropped += 1
        if dropped:
            self.notes.append(
                f"{dropped} {'prompt' if dropped == 1 else 'prompts'} that Gemini CLI took out of its history, as it "
                "does after a failed or cancelled request, stayed in"
            )

    def _is_message(self, raw: Any, place: str) -> bool:
        """Return True if it has the form of a message; otherwise note that it was skipped."""
        try:
            with reading(place):
                raw["id"], raw["type"], units(raw), message_text(raw)
        except InputError as error:
            self.damaged.append(error)
            return False
        return True

    def _add(self, raw: Json, place: str) -> None:
        name = self._same.get(str(raw["id"]), str(raw["id"]))
        known = self.entries.get(name)
        if known and known.summary:
            return
        old = known.raw if known else {}
        self.entries[name] = Entry(
            {**old, **{key: value for key, value in raw.items() if value or key not in old}}, place
        )
        self._in_force.add(name)

    def _amend(self, name: str, raw: Json) -> None:
        """Add new facts about a message that is written again; use its calls only if no line contained them."""
        known = self.entries[name]
        if known.summary:
            return
        whole = {**raw, **{key: value for key, value in known.raw.items() if value}}
        if any("functionCall" in part for part in parts(raw.get("content"))):
            whole["content"] = raw["content"]
        self.entries[name] = replace(known, raw=whole)

    def _keep(self, summary: str, name: str) -> None:
        names = list(self.entries)
        at = names.index(name)
        while at and is_context(self.entries[names[at - 1]].raw):
            at -= 1
        self.entries[summary] = replace(self.entries[summary], kept_from=names[at])

    def _rewind(self, to: str, place: str) -> None:
        names = list(self.entries)
        to = self._same.get(to, to)
        if to not in self.entries:
            self.notes.append(f"{place} rewinds to a message that is not there and was left out")
            return
        gone = names[names.index(to) :]
        for name in gone:
            del self.entries[name]
        self.notes.append(f"{len(gone)} messages that were rewound were left out")

    def _matched(self, messages: Sequence[Json]) -> Mapping[str, str]:
        """Match messages to known ones under other ids. A compression keeps the end of the history."""
        if all(self._same.get(str(raw["id"]), str(raw["id"])) in self.entries for raw in messages):
            return {}
        names = list(self.entries)
        known = [frozenset() if entry.summary else units(entry.raw) for entry in self.entries.values()]
        where = {name: at for at, name in enumerate(names)}
        index: dict[tuple[str, str], list[int]] = {}
        for at, those in enumerate(known):
            for unit in those:
                index.setdefault(unit, []).append(at)
        matched: dict[str, str] = {}
        end = len(names)
        for raw in reversed(messages):
            name = str(raw["id"])
            held = self._same.get(name, name)
            if held in where:
                end = min(end, where[held])
                continue
            mine = units(raw)
            latest = {_before(index.get(unit, ()), end) for unit in mine}
            if latest and -1 not in latest and all(known[at] <= mine for at in latest):
                end = min(latest)
                matched[name] = names[end]
        return matched


def parts(content: Any) -> Iterator[Json]:
    """Yield the parts of a message or of a result; a bare string is a text."""
    for part in content if isinstance(content, list) else [content] if content else []:
        if isinstance(part, str):
            yield {"text": part}
        elif isinstance(part, dict):
            yield part
        else:
            raise ValueError("a part that is not an object")


def message_text(raw: Json) -> str:
    """Return a message's text, without thoughts, calls and results."""
    return "".join(
        str(part["text"]) for part in parts(raw.get("content")) if part.get("text") and not part.get("thought")
    )


def is_context(raw: Json) -> bool:
    """Return True for information that Gemini CLI sends in the user's name, such as the folder and the date."""
    texts = [part.get("text") for part in parts(raw.get("content"))]
    return raw.get("type") == "user" and bool(texts) and all(str(text).lstrip().startswith(CONTEXTS) for text in texts)


def units(raw: Json) -> frozenset[tuple[str, str]]:
    """Return a message's identity apart from its id: its calls, or else its texts; empty for contexts and results."""
    kind = str(raw.get("type"))
    if kind not in ("user", "gemini") or is_context(raw):
        return frozenset()
    content = [part for part in parts(raw.get("content")) if not part.get("thought")]
    if any("functionResponse" in part for part in content):
        return frozenset()
    asked = [part["functionCall"] for part in content if "functionCall" in part]
    calls = {
        call_name(call) + ("" if call.get("id") else dumps(call.get("args")))
        for call in (*asked, *(raw.get("toolCalls") or ()))
    }
    if calls:
        return frozenset(("call", call) for call in calls)
    texts = (_UNSEEN.sub("", str(part["text"])).strip() for part in content if part.get("text"))
    return frozenset((kind, text) for text in texts if text)


def call_name(raw: Json) -> str:
    """Return the id of a call or its answer. The API omits some ids: then return the tool's name. Their order
    distinguishes them.
    """
    return str(raw.get("id") or raw["name"])


def _is_summary(raw: Json, after: Json) -> bool:
    if raw.get("type") != "user":
        return False
    return SNAPSHOT in message_text(raw) or (after.get("type") == "gemini" and message_text(after) == ACKNOWLEDGED)


def _before(places: Sequence[int], end: int) -> int:
    at = bisect_left(places, end) - 1
    return places[at] if at >= 0 else -1


def folders(entries: Iterable[Entry]) -> list[str]:
    """Return the workspace's folders from the first context that lists them."""
    for entry in entries:
        found = _WORKSPACE.search(message_text(entry.raw)) if is_context(entry.raw) else None
        if found:
            return [line.strip().removeprefix("- ") for line in found[1].splitlines()]
    return []


_WORKSPACE = re.compile(r"Workspace Directories:\*\*\n((?:[ \t]*- .+\n?)+)")
