"""The state of a session after each kind of record: what is in force, what was spent, and what an undo or a compaction leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from agentcli.core.history import History, NeedsReplay, added, common, evolve, evolve_all, fold, in_force
from agentcli.core.message import Text, ToolCall, ToolResult, Usage
from agentcli.core.record import (
    Body,
    Carry,
    Checkpoint,
    Compaction,
    CompactionStatus,
    Failure,
    FeatureState,
    Kept,
    Pin,
    Prune,
    Record,
    Retry,
    Settings,
    Title,
    Todo,
    TodoItem,
    Undo,
    Unknown,
    Unpin,
    VerbatimText,
)
from agentcli.core.subagent_result import spending
from tests.context.made import call, history, prompt, records, reply, result
from tests.tables import each_row

SPENT = Usage(5, 2, 1, 3, 4)


def compaction(kept_from: int = 1, status: CompactionStatus = "compressed", **more: Any) -> Compaction:
    return Compaction("auto", status, "auto", kept_from=kept_from, **more)


def seqs(found: Sequence[Record]) -> list[int]:
    return [record.seq for record in found]


@each_row(
    ("bodies", "open_calls"),
    [
        ((), []),
        ((prompt("go"),), []),
        ((prompt("go"), reply("done")), []),
        ((prompt("go"), reply(call("a"), call("b"))), ["a", "b"]),
        ((prompt("go"), reply(call("a"), call("b")), result("b")), ["a"]),
        ((prompt("go"), reply(call("a"), call("b")), result("b"), result("a")), []),
        ((prompt("go"), reply(call("a")), result("a"), reply(call("a"))), ["a"]),
        ((prompt("go"), reply(call("a")), prompt("other")), []),
    ],
)
def test_calls_of_the_newest_message_stay_open_until_a_later_result(
    bodies: Sequence[Body], open_calls: list[str]
) -> None:
    assert [each.call_id for each in history(*bodies).open_calls] == open_calls


def test_entries_that_were_added_are_those_behind_the_former_ones() -> None:
    made = records(prompt("one"), reply("yes"), prompt("two", 2))
    former = evolve_all(History(), made[:2])
    now = evolve_all(former, made[2:])
    assert added(now, former) == (made[2],)
    assert added(now, now) == ()
    assert added(now, History()) == tuple(made)
    assert added(former, now) is None, "shorter, as after an undo"
    assert added(fold([*made[:1], *records(prompt("one"), reply("no"))[1:]]), former) is None, "another entry there"


TODO = (TodoItem("tidy up"),)
TOOLS: tuple[Mapping[str, Any], ...] = ({"name": "read"},)
SWITCHED = Settings("a/m", "plan", "native", ("be brief",), TOOLS, "", "/src")


@each_row(
    ("bodies", "state"),
    [
        ((Pin(1), Pin(2), Unpin(1), Unpin(7)), {"pins": {2}}),
        ((Title("first"), Title(name="mine"), Title("second")), {"title": "second", "name": "mine"}),
        ((Todo(TODO),), {"todo": TODO}),
        ((Todo(TODO), Todo(())), {"todo": ()}),
        (
            (SWITCHED,),
            {
                "model": "a/m", "mode": "plan", "policy": "native", "system": ("be brief",), "tools": TOOLS, "folder": "/src",
            },
        ),
        (
            (SWITCHED, Settings()),
            {
                "model": "a/m", "mode": "plan", "policy": "native", "system": ("be brief",), "tools": TOOLS, "folder": "/src",
            },
        ),
        ((SWITCHED, Settings(mode="ask")), {"model": "a/m", "mode": "ask", "folder": "/src"}),
        ((prompt("a", 1), prompt("b", 2)), {"turn": 2}),
        ((prompt("b", 2), prompt("a", 1)), {"turn": 2}),
        ((reply("a", usage=SPENT), reply("b", usage=SPENT)), {"usage": Usage(10, 4, 2, 6, 8), "cost": None}),
        ((reply("a"), Retry(1, 2.0, "busy"), Checkpoint({}), Unknown("new", {})), {"usage": Usage(), "last_seq": 4}),
        ((Title("t", usage=SPENT, cost=0.25), Failure("no", "", SPENT, 0.5)), {"usage": SPENT + SPENT, "cost": 0.75}),
        ((Failure("no", "", Usage(-5, 2, -1, 3, 4), -1.0),), {"usage": Usage(0, 2, 0, 3, 4), "cost": 0.0}),
        ((Failure("no", "", Usage(1), 1.0), Failure("no", "", Usage(-5), -1.0)), {"usage": Usage(1), "cost": 1.0}),
        ((compaction(status="noop", usage=SPENT, cost=0.5),), {"usage": SPENT, "cost": 0.5, "compaction": None}),
        ((compaction(status="failed_summary", kept_from=9),), {"compaction": None}),
        ((prompt("a"), compaction(9, "failed_inflated")), {"turn": 1}),
    ],
)  # fmt: skip
def test_each_record_changes_its_part_of_the_state(bodies: Sequence[Body], state: Mapping[str, Any]) -> None:
    """At once, and record by record."""
    step = History()
    for record in records(*bodies):
        step = evolve(step, record)
    assert step == history(*bodies)
    assert {name: getattr(step, name) for name in state} == dict(state)
    assert step.last_seq == len(bodies)


def test_what_a_subagent_spent_counts_with_its_result() -> None:
    paid = ToolResult("a", "agent", "success", "done", metadata=spending("m", SPENT, 0.5))
    assert (history(reply(call("a")), paid).usage, history(reply(call("a")), paid).cost) == (SPENT, 0.5)
    other = ToolResult("b", "agent", "success", "done", metadata={"exit_code": 0})
    assert history(reply(call("b")), other).usage == Usage()
    refund = ToolResult("c", "agent", "success", "done", metadata=spending("m", Usage(-1, -1), -9.0))
    assert history(reply(call("a")), paid, reply(call("c")), refund).usage == SPENT
    assert history(reply(call("a")), paid, reply(call("c")), refund).cost == 0.5


def test_records_out_of_order_leave_the_highest_number() -> None:
    assert evolve(History(last_seq=7), Record(3, "", "", "", prompt("x"))).last_seq == 7
    assert evolve(History(last_seq=7), Record(9, "", "", "", Pin(1))).last_seq == 9
    assert evolve_all(History(last_seq=7), [Record(3, "", "", "", prompt("x"))]).last_seq == 7
    assert evolve_all(History(last_seq=2), [Record(3, "", "", "", prompt("x"))]).last_seq == 3


def test_a_history_that_goes_on_is_the_one_of_the_whole() -> None:
    bodies = (
        prompt("one"), reply(call("a"), usage=SPENT), result("a"), Prune(("a",), 5, "old"), reply("yes"), prompt("two", 2),
        compaction(6, carry=Carry(turn=2, usage=SPENT)), reply(call("b"), turn=2, usage=SPENT), result("b"), Pin(8),
    )  # fmt: skip
    made = records(*bodies)
    for cut in range(len(made)):
        assert evolve_all(evolve_all(History(), made[:cut]), made[cut:]) == fold(made)
    assert seqs(fold(made).entries) == [6, 8, 9]


def test_no_record_changes_nothing() -> None:
    for found in (History(), history(*TALK), history(*TALK, compaction(3, usage=SPENT))):
        assert evolve_all(found, []) == found


def test_the_tokens_of_a_rewound_part_stay_spent() -> None:
    with pytest.raises(NeedsReplay):
        evolve(History(), Record(2, "", "", "", Undo(1)))
    found = history(prompt("a"), reply("b", usage=Usage(1, 1)), prompt("c", 2), Undo(1, "rewind", SPENT, 0.5))
    assert (seqs(found.entries), found.usage, found.cost, found.last_seq, found.turn) == ([1], SPENT, 0.5, 4, 1)


@each_row(
    ("bodies", "kept"),
    [
        ((prompt("a"), reply("b"), Undo(1, "rewind")), [1]),
        ((prompt("a"), reply("b"), Undo(2, "rewind")), [1, 2]),
        ((prompt("a"), reply("b"), Undo(0, "rewind"), prompt("c")), [4]),
        ((prompt("a"), Prune((), 0, ""), Undo(2, "prune"), reply("b")), [1, 4]),
        ((prompt("a"), compaction(2), reply("b"), Undo(2)), [1, 3]),
        ((prompt("a"), compaction(2), Undo(2), Undo(3, "undo"), reply("b")), [1, 2, 5]),
        ((prompt("a"), prompt("b"), Undo(1, "rewind"), Undo(3, "undo")), [1, 2]),
        ((prompt("a"), Undo(0, "rewind"), prompt("b"), Undo(1, "rewind")), [1]),
    ],
)
def test_an_undo_takes_back_its_record_or_all_behind_one(bodies: Sequence[Body], kept: list[int]) -> None:
    assert seqs(in_force(records(*bodies))) == kept


def test_a_stretch_between_an_edit_and_its_undo_is_known_if_something_was_said_in_it() -> None:
    talk = (prompt("a"), reply("b"))
    assert history(*talk, Prune((), 0, ""), reply("c"), Undo(3, "prune"), reply("d")).undone == ((3, 5),)
    assert history(*talk, Prune((), 0, ""), Undo(3, "prune"), reply("d")).undone == ()
    twice = (Prune((), 0, ""), reply("c"), Undo(3, "prune"), Prune((), 0, ""), reply("d"), Undo(6, "prune"))
    assert history(*talk, *twice).undone == ((3, 5), (6, 8))
    gone = history(*talk, *twice, compaction(7))
    assert (seqs(gone.entries), gone.undone) == ([7], ((6, 8),))
    assert history(*talk, *twice, compaction(9)).undone == ()
    kept = history(*talk, *twice, compaction(7, kept=(4,)))
    assert (seqs(kept.entries), kept.undone) == ([4, 7], ((6, 8),)), "only what follows the summary counts"


TALK = (
    prompt("one"),  # 1
    reply(call("a"), call("b")),  # 2
    result("a"),  # 3
    result("b"),  # 4
    reply(call("c")),  # 5
    result("c"),  # 6
)


def test_a_prune_marks_outputs_and_inputs_with_its_number() -> None:
    found = history(*TALK, Prune(("a", "b"), 5, "old", inputs=("c",)), Prune(("c",), 5, "old"))
    assert dict(found.cleared) == {"a": 7, "b": 7, "c": 8}
    assert dict(found.cleared_inputs) == {"c": 7}
    assert (seqs(found.prunes), found.held, found.held_thinking) == ([7, 8], frozenset(), 0)


def test_a_provider_drops_what_it_clears_until_it_shows_it_or_we_clear_it() -> None:
    theirs = Prune(("a", "b"), 5, "", 4, ("c",), by="provider")
    found = history(*TALK, theirs)
    assert (found.held, found.held_thinking) == ({"a", "b", "c"}, 4)
    shown = history(*TALK, theirs, Prune((), 0, "", 6, by="provider", restored=("b", "c")))
    assert (shown.held, shown.held_thinking) == ({"a"}, 6)
    assert (dict(shown.cleared), dict(shown.cleared_inputs)) == ({"a": 7}, {})
    ours = history(*TALK, theirs, Prune(("a",), 5, "old"))
    assert (ours.held, ours.held_thinking, ours.cleared["a"]) == ({"b", "c"}, 4, 8)
    whole = history(*TALK, theirs, Prune(("a", "b"), 5, "old", inputs=("c",)))
    assert (whole.held, whole.held_thinking) == (frozenset(), 0)


def test_a_compaction_keeps_what_it_names_and_forgets_cleared_calls_whose_results_are_gone() -> None:
    before = (*TALK, Prune(("a", "c"), 5, "old", 3, ("a", "c"), by="provider"))
    found = history(*before, compaction(5, carry=Carry(cleared={"a": 7, "c": 7}, cleared_inputs={"a": 7, "c": 7})))
    assert seqs(found.entries) == [5, 6]
    assert (dict(found.cleared), dict(found.cleared_inputs)) == ({"c": 7}, {"c": 7}), "servers reuse the ids of calls"
    assert (found.held, found.held_thinking, found.prunes) == (frozenset(), 0, ())
    assert found.compaction is not None
    assert found.compaction.seq == 8
    some = history(*before, compaction(5, kept=(1, 3), cleared=("a",), cleared_inputs=("c", "b")))
    assert seqs(some.entries) == [1, 3, 5, 6]
    assert (dict(some.cleared), dict(some.cleared_inputs)) == ({"a": 8, "c": 7}, {"c": 8})


CARRIED = Carry(
    SPENT, 0.5, 4, "a/m", "plan", "native", "title", "name", TODO, ("be brief",), TOOLS, pins=(2,), cleared={}, folder="/src"
)  # fmt: skip


def test_a_compaction_carries_the_state_for_a_session_that_begins_with_it() -> None:
    found = history(compaction(carry=CARRIED))
    again = Carry(
        **{
            name: getattr(found.carry, name)
            for name in Carry.__dataclass_fields__
            if name not in ("calibration", "cleared_inputs")
        }
    )
    assert again == CARRIED
    later = history(Todo(()), Title("other"), SWITCHED, Pin(9), compaction(carry=Carry(pins=())))
    assert (later.todo, later.title, later.model, later.folder, later.pins) == ((), "", "", "", frozenset())


def test_a_compaction_adds_what_it_spent_to_what_it_carries() -> None:
    found = history(compaction(usage=Usage(1), cost=0.25, carry=CARRIED))
    assert (found.usage, found.cost) == (SPENT + Usage(1), 0.75)
    assert history(compaction(carry=Carry(Usage(-1, 2), -5.0))).usage == Usage(0, 2)
    assert history(compaction(carry=Carry(Usage(-1, 2), -5.0))).cost == 0.0
    assert history(compaction(carry=Carry())).cost is None


def test_a_compaction_older_than_carried_pins_keeps_the_known_ones_and_those_of_its_texts() -> None:
    found = history(
        prompt("a"), Pin(1), Prune(("x",), 1, ""), compaction(pins=(VerbatimText(5, 1, "t"),), carry=Carry())
    )
    assert found.pins == {1, 5}
    cleared = history(*TALK, Prune(("a",), 1, ""), compaction(carry=Carry(cleared=None)))
    assert dict(cleared.cleared) == {"a": 7}


def test_settings_of_a_file_from_outside_count_for_nothing_and_later_ones_do() -> None:
    made = records(prompt("a"), SWITCHED, compaction(carry=CARRIED), Settings(mode="ask"))
    outside = fold(made, 3)
    assert (outside.model, outside.mode, outside.policy, outside.system, outside.tools, outside.folder) == (
        "", "ask", "", (), (), "",
    )  # fmt: skip
    assert (outside.title, outside.turn, outside.usage) == ("title", 4, SPENT), "its text and its sums stay"
    assert fold(made, 2).model == "a/m", "the compaction is ours"
    assert fold(made, 1).folder == "/src"
    assert fold(made[:2], 2).folder == ""
    assert fold(made[:2], 1).folder == "/src"


@each_row(
    ("first", "second", "count"),
    [
        ([], [], 0),
        ([1], [], 0),
        ([], [1], 0),
        ([1, 2], [1, 2], 2),
        ([1, 2, 3], [1, 2], 2),
        ([1, 2], [1, 2, 3], 2),
        ([1, 2, 3], [1, 5, 3], 1),
        ([5, 2], [1, 2], 0),
        ([Text("a"), ToolCall("c", "read", {})], [Text("a"), ToolCall("d", "read", {})], 1),
    ],
)
def test_the_number_of_equal_leading_elements_is_counted(first: list[Any], second: list[Any], count: int) -> None:
    assert common(first, second) == count


def test_a_body_of_no_known_kind_is_a_fault_of_the_program() -> None:
    odd: Any = object()
    with pytest.raises(AssertionError):
        evolve(History(), Record(1, "", "", "", odd))


@each_row(("foreign", "own"), [(0, True), (3, True), (4, False), (5, False)])
def test_settings_and_states_of_a_file_from_outside_do_not_count(foreign: int, own: bool) -> None:
    """Its last record is `foreign`; what it spent and its title count."""
    start = History(foreign=foreign)
    settings = evolve(start, Record(4, "", "", "", SWITCHED))
    assert (settings.model, settings.folder) == (("a/m", "/src") if own else ("", ""))
    state = evolve(start, Record(4, "", "", "", FeatureState("goal", {"a": 1}, "m", SPENT, 0.5)))
    assert dict(state.features) == ({"goal": Kept(4, {"a": 1})} if own else {})
    assert (state.usage, state.cost) == (SPENT, 0.5)
    carry = Carry(SPENT, 0.5, 7, "a/m", "plan", title="t", folder="/src", features={"goal": Kept(2, {})})
    carried = evolve(start, Record(4, "", "", "", compaction(5, carry=carry)))
    assert (carried.model, carried.mode, carried.folder, set(carried.features)) == (
        ("a/m", "plan", "/src", {"goal"}) if own else ("", "", "", set())
    )
    assert (carried.usage, carried.cost, carried.turn, carried.title) == (SPENT, 0.5, 7, "t")


def test_the_newest_state_of_each_feature_counts() -> None:
    states = FeatureState("goal", {"a": 1}), FeatureState("timers", {}), FeatureState("goal", {"a": 2})
    assert dict(history(*states).features) == {"goal": Kept(3, {"a": 2}), "timers": Kept(2, {})}


# The common beginning of two sequences is found without looking into what is the same object in both.


class Unlooked:
    """An object that must not be compared."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise AssertionError("it was compared")


ONE, TWO = Unlooked(), Unlooked()


@each_row(
    ("first", "second", "count"),
    [
        ((), (ONE,), 0),
        ((ONE, TWO), (ONE, TWO), 2),
        ((ONE, TWO, 3), (ONE, TWO), 2),
        ((ONE, TWO), [ONE, TWO, 3], 2),
        ((ONE, 2, TWO), (ONE, 3, TWO), 1),
        ((ONE, [2], 3), (ONE, [2], 4), 2),
        ((1, ONE), (2, ONE), 0),
    ],
)
def test_the_common_beginning_ends_with_the_first_difference(
    first: tuple[object, ...], second: tuple[object, ...] | list[object], count: int
) -> None:
    assert common(first, second) == count
