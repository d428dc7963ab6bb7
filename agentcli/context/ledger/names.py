"""Names of symbols and paths in a session, found by rules.

They are an index of the parts that a snapshot omits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

from agentcli.context.compaction_settings import LedgerSettings
from agentcli.core.dataclass import dataclass
from agentcli.core.message import Message, ToolResult
from agentcli.core.record import Record


@dataclass(frozen=True, slots=True)
class NameFact:
    """A name and the seq of the newest record that mentions it."""

    text: str
    last: int = 0


def fold_names(start: Iterable[NameFact], records: Sequence[Record], keep: LedgerSettings) -> tuple[NameFact, ...]:
    """Return the newest names after more records, in the order of their newest mention, oldest first."""
    newest: dict[str, NameFact] = {}
    # Start at the newest record and stop at the limit, because searching for names is slow.
    for fact in chain(_newest_first(records, keep), reversed(tuple(start))):
        if len(newest) >= keep.names:
            break
        newest.setdefault(fact.text, fact)
    return tuple(newest.values())[::-1]


def _newest_first(records: Sequence[Record], keep: LedgerSettings) -> Iterator[NameFact]:
    for record in reversed(records):
        names = tuple(_names(record.body, keep.names_each))
        yield from (NameFact(text, record.seq) for text in reversed(names))


def _names(body: object, most: int) -> Iterator[str]:
    match body:
        case Message():
            # Code in fences is shown, not named.
            yield from _first(_QUOTED.findall(_FENCE.sub("", body.text)), most)
        case ToolResult() if not body.failed and not body.metadata.get("exit_code"):
            yield from _first(_PATH.findall(body.output), most)
            yield from _first(_DEFINED.findall(body.output), most)
        case _:
            return


def _first(found: Iterable[str], most: int) -> Iterator[str]:
    return islice(dict.fromkeys(found), most)


_FENCE = re.compile(r"```.*?```", re.DOTALL)
_QUOTED = re.compile(r"`([A-Za-z_][\w.]{3,60}(?:\(\))?)`")
_DEFINED = re.compile(r"\b(?:def|class|function|interface|struct|enum|trait|fn|func|type) ([A-Za-z_]\w{3,60})")
_PATH = re.compile(r"(?<![\w/.:-])(?:[\w.-]{1,60}/){1,12}[\w-]{1,60}\.\w{1,5}\b")
