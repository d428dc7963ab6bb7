"""Messages of a session that are in force, including messages compacted out of the window."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from agentcli.core.history import in_force
from agentcli.core.journal import Journal
from agentcli.core.message import Message, ToolResult
from agentcli.core.record import Record

LOOKED = 25
"""Records read per message to show: most of a session's records are messages."""


def prompts(journal: Journal) -> list[tuple[int, str]]:
    """Return the user's prompts with their numbers, oldest first."""
    return [
        (record.seq, body.typed)
        for record in in_force(list(journal.records()))
        if isinstance(body := record.body, Message) and body.role == "user" and body.text.strip()
    ]


def newest_answer(journal: Journal) -> str:
    """Return the text of the newest answer; empty without one."""
    records = reversed(in_force(list(journal.records())))
    answers = (body.text for record in records if isinstance(body := record.body, Message) and body.role == "assistant")
    return next((answer for answer in answers if answer.strip()), "")


def newest(journal: Journal, count: int) -> Sequence[Record]:
    """Return the last messages and results, oldest first, reading only the session's end."""
    if not count:
        return []
    ending = list(islice(journal.records(newest_first=True), count * LOOKED))[::-1]
    return [record for record in in_force(ending) if isinstance(record.body, Message | ToolResult)][-count:]
