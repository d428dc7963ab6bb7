"""Tool results since a goal was set: shown to the judging model, and compared with its quotations."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from itertools import islice, takewhile
from typing import Any

from agentcli.context.inject import wrap
from agentcli.core.dataclass import dataclass
from agentcli.core.history import in_force
from agentcli.core.journal import Journal
from agentcli.core.message import Message, ToolCall, ToolResult
from agentcli.core.record import InnerCall
from agentcli.core.text.truncate import truncate_middle
from agentcli.core.tool import Traits

MOST = 2_000
"""Records, at most, that are looked through for results."""
QUOTE = 8
"""Characters, blanks left out, that a quotation has at least."""
INPUT = 300
OUTPUT = 3_000
"""Characters of a call and of its output that the model sees."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A tool's result with its record's number and its call."""

    seq: int
    result: ToolResult
    given: Mapping[str, Any]

    @property
    def call(self) -> str:
        """The input of the call as text."""
        return " ".join(value if isinstance(value, str) else json.dumps(value) for value in self.given.values())

    @property
    def told(self) -> bool:
        """True if the call ran: a denied one proves nothing."""
        return self.result.status in ("success", "error")

    @property
    def digest(self) -> bytes:
        """A hash of the result's content."""
        said = f"{self.result.name}\0{self.result.status}\0{self.call}\0{self.result.output}"
        return hashlib.sha256(said.encode("utf-8", "surrogatepass")).digest()

    def wrapped(self) -> str:
        """Return the result as the judging model sees it."""
        text = truncate_middle(self.result.output, OUTPUT)
        call = truncate_middle(self.call, INPUT)
        return wrap("result", text, number=self.seq, tool=self.result.name, call=call, status=self.result.status)


def results_since(journal: Journal, seq: int) -> Sequence[Shown]:
    """Return the results recorded after a record, oldest first, including results that a compaction removed from the view."""
    newest = takewhile(lambda record: record.seq > seq, journal.records(newest_first=True))
    records = in_force([*islice(newest, MOST)][::-1])
    calls: dict[str, ToolCall] = {}
    found = []
    for record in records:
        match record.body:
            case Message() as message:
                calls |= {call.call_id: call for call in message.calls}
            case ToolResult(call_id) as result:
                found.append(Shown(record.seq, result, calls[call_id].input if call_id in calls else {}))
            case InnerCall(_, call, result):
                found.append(Shown(record.seq, result, call.input))
            case _:
                pass
    return found


def has_news(results: Sequence[Shown], since: int) -> bool:
    """Return True if a result after the record `since` differs from all before it."""
    known = {shown.digest for shown in results if shown.seq <= since}
    return any(shown.told and shown.digest not in known for shown in results if shown.seq > since)


def objection(quotes: Sequence[tuple[int, str]], results: Sequence[Shown], traits: Mapping[str, Traits]) -> str:
    """Return why these quotations do not prove that a goal is reached; empty if they do. Each has a result's number."""
    by_seq = {shown.seq: shown for shown in results}
    if not quotes:
        return "it quotes no result"
    for number, quote in quotes:
        shown, words = by_seq.get(number), _plain(quote)
        if shown is None:
            return f"there is no result {number}"
        if shown.result.status != "success":
            return f"result {number} is of a call that failed"
        if len(words.replace(" ", "")) < QUOTE:
            return f"the quotation “{quote}” is too short"
        if words not in _plain(shown.result.output):
            return f"“{quote}” is not in result {number}"
        if words in _plain(shown.call):
            return f"“{quote}” only repeats the call of result {number}"
    changes = [shown.seq for shown in results if _changed(shown, traits)]
    newest = max(changes, default=0)
    if max(number for number, _ in quotes) < newest:
        return f"its evidence is older than the newest edit, result {newest}"
    return ""


def excerpt(results: Sequence[Shown], room: int) -> str:
    """Return the newest results, oldest first, in at most `room` characters."""
    chosen: list[str] = []
    for shown in reversed(results):
        text = shown.wrapped()
        room -= len(text)
        if room < 0:
            break
        chosen.insert(0, text)
    left_out = len(results) - len(chosen)
    return "\n".join([*([f"[{left_out} older results left out]"] if left_out else []), *chosen])


def _changed(shown: Shown, traits: Mapping[str, Traits]) -> bool:
    known = traits.get(shown.result.name)
    return known is not None and known.edits_files and shown.result.status == "success"


def _plain(text: str) -> str:
    return " ".join(text.split())
