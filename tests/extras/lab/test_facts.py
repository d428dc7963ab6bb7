"""Facts are taken from a session by rule, and looked for in a view."""

from __future__ import annotations

from agentcli.context.view import view
from agentcli.core.history import fold
from agentcli.core.message import Message, Text, ToolCall, ToolResult
from agentcli.core.record import Body, Compaction, Record
from agentcli.extras.lab.facts import Fact, Retention, count_retained, facts
from agentcli.tools.registry import TRAITS


def records(*bodies: Body) -> list[Record]:
    return [Record(n, "", "2026-01-01T00:00:00Z", "", body) for n, body in enumerate(bodies, 1)]


def user(text: str) -> Message:
    return Message("user", (Text(text),), 1)


def called(call_id: str, name: str = "bash", **given: str) -> Message:
    return Message("assistant", (ToolCall(call_id, name, given),), 1)


SESSION = (
    user("Fix it. Never touch src/old.py."),
    called("c1", command="pytest"),
    ToolResult("c1", "bash", "error", "noise\nE   ValueError: 17 is odd\n3 failed, 21 passed in 2s", metadata={"exit_code": 1}),
    called("c2", "read", file_path="src/new.py"),
    ToolResult("c2", "read", "success", "1\tdef halve_number(x):\n2\t    return x // 2\n"),
    Message("assistant", (Text("I will change `halve_number` only.\n```\n`not_this_one`\n```"),), 1),
)  # fmt: skip


def test_paths_identifiers_errors_numbers_and_constraints_are_facts():
    found = facts(records(*SESSION), TRAITS)
    assert set(found) == {
        Fact("constraint", "Never touch src/old.py."),
        Fact("error", "E   ValueError: 17 is odd"),
        Fact("number", "3 failed"),
        Fact("number", "21 passed"),
        Fact("path", "src/new.py"),
        Fact("identifier", "halve_number"),
    }


def test_a_fact_is_retained_where_the_view_says_it_and_recoverable_where_any_record_says_it():
    all_of_it = records(
        *SESSION, Compaction("auto", "compressed", "auto", (1, 6), 7, "knows src/new.py and   3\nfailed")
    )
    shown = view(fold(all_of_it))
    assert count_retained(facts(all_of_it, TRAITS), shown, all_of_it) == Retention(6, 2, 6)
    without = [record for record in all_of_it if record.seq != 1]
    assert count_retained(facts(all_of_it, TRAITS), shown, without).recoverable < 6
    assert count_retained((), shown, all_of_it).retention == 1.0
