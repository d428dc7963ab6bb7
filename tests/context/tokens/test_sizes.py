"""Sums over the messages of a request, which are measured once."""

from __future__ import annotations

from agentcli.context.tokens.counter import RequestSizes, RunningSizes
from agentcli.core.message import Text, ToolResult
from agentcli.core.model import RequestMessage


def result(call_id: str, output: str) -> ToolResult:
    return ToolResult(call_id, "read", "success", output)


def size(part: object) -> float:
    return len(part.output if isinstance(part, ToolResult) else part.text)  # type: ignore[attr-defined]


MESSAGES = (
    RequestMessage("user", (Text("abc", True, "compactor"), Text("de"))),
    RequestMessage("assistant", (Text("fghi"),)),
    RequestMessage("user", (result("a", "x" * 10), result("b", "y" * 7))),
    RequestMessage("assistant", (Text("j"),)),
    RequestMessage("user", (result("c", "z" * 5), Text("k"))),
)


def test_sums_run_through_each_message() -> None:
    sizes = RunningSizes(size).of(MESSAGES)
    assert [sizes.through(number) for number in range(-1, 5)] == [(0.0, 0), (5, 2), (9, 3), (26, 5), (27, 6), (33, 8)]
    assert sizes.snapshot == 0


def test_the_newest_result_of_a_size_is_found_before_an_end() -> None:
    sizes = RunningSizes(size).of(MESSAGES)
    assert [sizes.newest_result(least, 5) for least in (1, 5, 6, 10, 11)] == [4, 4, 2, 2, -1]
    assert [sizes.newest_result(5, end) for end in (5, 4, 3, 2, 0)] == [4, 2, 2, -1, -1]


def test_only_new_messages_are_measured_and_sums_follow_a_change() -> None:
    measured = []

    def counted(part: object) -> float:
        measured.append(part)
        return size(part)

    sizes = RunningSizes(counted).of(MESSAGES[:3])
    measured.clear()
    assert sizes.of(MESSAGES).through(4) == (33, 8)
    assert len(measured) == 3
    other = (RequestMessage("user", (Text("new"),)), *MESSAGES[1:])
    assert sizes.of(other).through(0) == (3, 1)
    assert sizes.through(4) == (31, 7)
    assert sizes.snapshot == -1


def test_a_snapshot_may_stand_behind_primers() -> None:
    assert RunningSizes(size).of((MESSAGES[1], MESSAGES[0])).snapshot == 1
    assert RunningSizes(size).of(MESSAGES[1:]).snapshot == -1


def test_tokens_are_units_by_the_rate_and_an_amount_for_each_part() -> None:
    sizes = RequestSizes(RunningSizes(size).of(MESSAGES), rate=2.0, per_block=3.0)
    assert [sizes.through(number) for number in range(5)] == [16, 27, 67, 72, 90]
    assert [sizes.newest_result(least, 5) for least in (13, 14, 23, 24)] == [4, 2, 2, -1]
    assert sizes.snapshot == 0
