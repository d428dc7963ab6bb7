"""The window is shown as it is filled, and each message with its fate."""

from __future__ import annotations

from dataclasses import replace

from agentcli.context.policies.plans import Plan
from agentcli.context.settings import ContextSettings
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.tokens.estimators import Chars4
from agentcli.context.view import view
from agentcli.context.window import Window, limits_of
from agentcli.context.window_report import WindowReport, plan_json, show
from agentcli.core.history import fold
from agentcli.core.message import File, Image, Message, Text, Thinking, ToolCall, ToolResult, Usage
from agentcli.core.model import ModelSpec
from agentcli.core.record import Body, Compaction, Pin, Prune, Record, VerbatimText
from agentcli.tools.registry import TRAITS
from tests.tables import each_row

IDLE = Plan("auto")
LIMITS = limits_of(ModelSpec("anthropic", "m", window=100_000, max_output=20_000), ContextSettings())


def window(*bodies: Body, plan: Plan = IDLE, system: int = 300, tools: int = 200):
    history = fold([Record(n, "", "2026-01-01T00:00:00Z", "", body) for n, body in enumerate(bodies, 1)])
    counter = TokenCounter()
    counter.head = 500
    return show(Window(view(history), LIMITS, counter, ContextSettings(), TRAITS), plan, system=system, tools=tools)


SESSION = (
    Message("user", (Text("word " * 1_000),), 1),
    Message("assistant", (Text("Looking."), ToolCall("c1", "read", {"file_path": "a.py"}), ToolCall("c2", "read", {"file_path": "b.py"})), 1, "anthropic", "m", Usage(1_410, 5, 0, 900, 100)),
    ToolResult("c1", "read", "success", "x" * 4_000),
    ToolResult("c2", "read", "error", "no\x1b[31m such file"),
    Message("user", (Text("remember me"),), 2),
)  # fmt: skip


def test_the_shares_add_up_to_the_window():
    shown = window(*SESSION)
    assert (shown.shares["system"], shown.shares["tools"], shown.cached) == (300, 200, 1_000)
    assert sum(shown.shares.values()) == shown.usable == LIMITS.usable
    assert shown.shares["user"] > shown.shares["assistant"] > 0
    assert shown.shares["tool results"] > 1_000


def test_snapshot_pins_and_cleared_outputs_have_their_own_share():
    cut = Compaction("auto", "compressed", "auto", (1, 1), 2, "snapshot " * 200)
    shown = window(*SESSION, Pin(5), Prune(("c1",), 900, ""), cut)
    assert shown.shares["snapshot"] > 300
    assert shown.shares["pinned"] > 0
    assert shown.shares["tool results"] < 200


def test_each_message_has_tokens_tier_and_fate():
    plan = Plan("auto", "soft", split=5, summarised=(1, 2), cleared=("c1",))
    rows = window(*SESSION, plan=plan).rows
    assert [(row.seq, row.role, row.turn) for row in rows] == [(1, "user", 1), (2, "assistant", 1), (3, "user", 2)]
    assert [row.fate for row in rows] == ["summarised", "summarised", "to clear"]
    assert [row.tier for row in rows] == [1, 2, 3]
    assert rows[0].tokens > 1_000


def test_an_empty_session_is_shown_too():
    shown = window()
    assert shown.used == 500
    assert shown.rows == ()


def test_a_plan_as_json_has_exactly_the_fields_that_scripts_know():
    plan = Plan("auto", None, 7, (1, 2), (7, 8), ("c1",), (8,), 100, 50, ("why",), regions=(("c1",),), primers=(1,))
    assert plan_json(plan) == {
        "policy": "auto", "trigger": None, "split": 7, "summarised": [1, 2], "kept": [7, 8], "cleared": ["c1"], "pinned": [8],
        "tokens_before": 100, "tokens_after_estimate": 50, "reasons": ["why"],
    }  # fmt: skip
    assert window(*SESSION).to_json()["messages"][0]["fate"] == "kept"


def test_the_whole_is_the_size_that_every_plan_goes_by() -> None:
    history = fold([Record(n, "", "2026-01-01T00:00:00Z", "", body) for n, body in enumerate(SESSION, 1)])
    counter = TokenCounter()
    counter.learn(history)
    whole = Window(view(history), LIMITS, counter, ContextSettings(), TRAITS)
    assert show(whole, IDLE).used == whole.tokens


def test_the_whole_is_what_was_reported_though_system_and_tools_are_estimated_at_more() -> None:
    reply = Message("assistant", (Text("Yes."),), 1, "anthropic", "m", Usage(390, 10))
    shown = window(Message("user", (Text("Is it?"),), 1), reply)
    assert shown.used < 500
    assert shown.shares["system"] > shown.shares["tools"] > shown.shares["user"] > 0


class Compared(str):
    """A text that counts how often it is compared."""

    times = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        Compared.times += 1
        return str.__eq__(self, other)


def test_a_message_is_not_compared_with_each_call_that_a_plan_changes() -> None:
    calls = [f"call {number}" for number in range(200)]
    asked = Message("assistant", tuple(ToolCall(call, "read", {}) for call in calls), 1)
    results = [ToolResult(call, "read", "success", call) for call in calls]
    many = tuple(map(Compared, calls))
    plan = Plan("auto", clipped=many[:100], cleared=many[100:150], cleared_inputs=many[150:])
    Compared.times = 0
    rows = window(Message("user", (Text("Go."),), 1), asked, *results, plan=plan).rows
    assert [row.fate for row in rows] == ["kept", "to clear", "to clip"]
    assert Compared.times < 10 * len(calls)


def test_the_most_notable_fate_is_told_of_a_message() -> None:
    asked = Message("assistant", (Text("Look."), ToolCall("c1", "read", {})), 1)
    bodies = (Message("user", (Text("Go."),), 1), asked, ToolResult("c1", "read", "success", "x"))
    clears, clips = Plan("auto", cleared_inputs=("c1",)), Plan("auto", clipped=("c1",), cleared=("c1",))
    assert [row.fate for row in window(*bodies, plan=clears).rows] == ["kept", "to clear", "kept"]
    assert [row.fate for row in window(*bodies, plan=clips).rows] == ["kept", "kept", "to clip"]
    summarised = Plan("auto", summarised=(1, 2, 3), cleared=("c1",))
    assert [row.fate for row in window(*bodies, Pin(1), plan=summarised).rows] == ["pinned", "summarised", "summarised"]


def test_a_message_is_summarised_by_its_parts_the_persons_words_first() -> None:
    long = Message("user", (Text("x" * 400),), 1)
    parts = (
        Text("note", True, "reminder"),
        Text("about it", True, "skill"),
        File("text/plain", "a.py", "x = 1"),
        Image("image/png", ""),
        Text("fix\n  it"),
    )
    called = ToolCall("c1", "bash", {"command": "y" * 300})
    said = Message("assistant", (Thinking("hm", "s"), Text("so"), called), 1, "anthropic", "m", Usage(10, 5))
    rows = window(long, said, ToolResult("c1", "bash", "success", "z" * 300), Message("user", parts, 2)).rows
    assert rows[0].text == "x" * 300
    assert rows[1].text == f'(thinking) · so · bash {{"command":"{"y" * 188}'
    assert rows[2].text.startswith(f"bash → {'z' * 200} · ")
    assert rows[2].text.endswith("@a.py · (image/png) · fix it · about it")


def test_what_only_the_model_needs_is_not_shown() -> None:
    output = 'Found.\n[task(resume="s") goes on]'
    hint = {"for_model": '\n[task(resume="s") goes on]'}
    rows = window(
        Message("user", (Text("Today is Monday.", True, "reminder"),), 1),
        Message("assistant", (ToolCall("c1", "task", {}),), 1, "anthropic", "m", Usage(10, 5)),
        ToolResult("c1", "task", "success", output, metadata=hint),
    ).rows
    assert (rows[0].text, rows[2].text) == ("Added by agentcli", "task → Found.")


def test_a_summary_is_one_printable_line_of_500_characters_at_most() -> None:
    parts = (Text("a" * 300), Text("b" * 300))
    (row,) = window(Message("user", parts, 1)).rows
    assert row.text == f"{'a' * 300} · {'b' * 197}"
    assert window(*SESSION).rows[2].text.startswith("read → " + "x" * 200 + " · read → error: no[31m such file")


def shares(
    total: int, *, head: int = 500, system: int = 300, tools: int = 200, cached: int | None = None
) -> WindowReport:
    """A window that is counted as so many tokens: ten of the user, 21 of the model and thirty of a tool are estimated."""
    said = Message("assistant", (Text("y" * 80), ToolCall("c1", "", {})), 1, "anthropic", "m")
    bodies = (Message("user", (Text("x" * 40),), 1), said, ToolResult("c1", "read", "success", "z" * 120))
    history = fold([Record(n, "", "2026-01-01T00:00:00Z", "", body) for n, body in enumerate(bodies, 1)])
    counter, seen = TokenCounter(Chars4()), view(history)
    counter.head = head
    counter.set_exact(seen, total)
    whole = Window(seen, LIMITS, counter, ContextSettings(), TRAITS)
    return show(whole, IDLE, system=system, tools=tools, cached=cached)


@each_row(
    ("total", "parts"),
    [
        (561, (300, 200, 10, 21, 30)),
        (562, (300, 200, 10, 21, 31)),
        (560, (300, 200, 9, 20, 31)),
        (622, (300, 200, 20, 42, 60)),
        (500, (300, 200, 0, 0, 0)),
        (499, (270, 177, 8, 18, 26)),
    ],
)
def test_the_messages_are_scaled_to_the_count_and_the_largest_takes_the_difference(
    total: int, parts: tuple[int, ...]
) -> None:
    shown = shares(total).shares
    assert tuple(shown[kind] for kind in ("system", "tools", "user", "assistant", "tool results")) == parts
    assert sum(parts) == total


def test_what_is_free_or_cached_is_never_less_than_nothing_or_more_than_is_used() -> None:
    assert shares(LIMITS.usable - 1).shares["free"] == 1
    assert shares(LIMITS.usable + 1).shares["free"] == 0
    assert [shares(600, cached=cached).cached for cached in (0, 599, 601)] == [0, 599, 600]


def test_all_that_precedes_the_messages_counts_as_system_or_tools() -> None:
    known = [shares(900, head=head, system=300, tools=200).shares["system"] for head in (0, 500, 501)]
    assert known == [300, 300, 301]


def test_the_cache_is_that_of_the_newest_report() -> None:
    asked = Message("user", (Text("hi"),), 1)
    old = Message("assistant", (Text("a"),), 1, "anthropic", "m", Usage(1_000, 5, 0, 70, 7))
    new = Message("assistant", (Text("a"),), 1, "anthropic", "m", Usage(1_000, 5, 0, 30, 3))
    assert window(asked, old, asked, new, asked).cached == 33
    assert window(asked, old, asked, replace(new, usage=None)).cached == 77
    assert window(asked, old, asked, replace(new, usage=Usage(0, 5))).cached == 77
    assert window(asked).cached == 0


def test_a_part_of_the_compactor_is_the_snapshot_unless_it_is_an_output() -> None:
    summary = Compaction("auto", "compressed", "regions", replaced={"c1": "short"})
    rows = window(*SESSION[:4], summary).rows
    assert [row.fate for row in rows] == ["kept", "kept", "kept"]
    snapshot = Compaction("auto", "compressed", "auto", (1, 4), 5, "all of it", pins=(VerbatimText(1, 1, "x"),))
    fates = [row.fate for row in window(*SESSION[:4], snapshot, SESSION[4]).rows]
    assert fates == ["pinned", "snapshot", "kept"]
