"""Names that came up in a session."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from agentcli.context.compaction_settings import LedgerSettings
from agentcli.context.ledger.names import NameFact, fold_names
from agentcli.core.message import Message, Text, ToolResult
from agentcli.core.record import Record

NAMES = ("load", "save_all", "parse", "read_file", "make_room")
RECORDS = st.lists(st.lists(st.sampled_from(NAMES), max_size=4), max_size=6)


def recorded(said: Sequence[Sequence[str]], first: int) -> list[Record]:
    """Messages of the model and outputs in turns, each with these names."""
    return [
        Record(
            seq, "", "", "", _body("".join(f"`{name}` " for name in names), "\n".join(f"def {n}" for n in names), seq)
        )
        for seq, names in enumerate(said, first)
    ]


def _body(prose: str, code: str, seq: int) -> Message | ToolResult:
    return ToolResult("c", "read", "success", code) if seq % 2 else Message("assistant", (Text(prose),))


@given(RECORDS, RECORDS, st.integers(0, 5))
def test_the_newest_names_are_kept_in_the_order_of_their_newest_mention(
    former: list[list[str]], later: list[list[str]], most: int
) -> None:
    keep = LedgerSettings(names=most, names_each=3)
    expected: dict[str, NameFact] = {}
    for seq, names in enumerate([*former, *later], 1):
        for name in list(dict.fromkeys(names))[:3]:
            expected.pop(name, None)
            expected[name] = NameFact(name, seq)
    start = fold_names((), recorded(former, 1), LedgerSettings(names=5, names_each=3))
    found = fold_names(start, recorded(later, len(former) + 1), keep)
    assert found == tuple(expected.values())[max(0, len(expected) - most) :]
