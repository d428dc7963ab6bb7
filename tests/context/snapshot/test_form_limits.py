"""The form of a snapshot at its limits: citations, rules that fit, sections that are cut."""

from __future__ import annotations

import pytest

from agentcli.context.snapshot.form import (
    LEFT_OUT,
    Snapshot,
    cite,
    fitting_rules,
    flaws,
    items,
    last_cited,
    parse,
    render,
    renumbered,
    trimmed,
    uncited,
)
from agentcli.core.record import VerbatimText
from tests.tables import each_row


@each_row(
    ("seqs", "cited"),
    [
        ((), "x"),
        ((3,), "x [#3]"),
        ((3, 3), "x [#3]"),
        ((4, 3), "x [#3-4]"),
        ((3, 5), "x [#3, #5]"),
        ((1, 2, 3, 5, 7, 8), "x [#1-3, #5, #7-8]"),
        ((-3, -2), "x [#-3 to -2]"),
        ((-2, -1, 0, 1), "x [#-2 to 1]"),
        ((0, 1), "x [#0 to 1]"),
        ((1, 2), "x [#1-2]"),
    ],
)
def test_an_item_cites_its_records_in_runs(seqs: tuple[int, ...], cited: str) -> None:
    assert cite("x", seqs) == cited
    assert uncited(cited) == "x"
    assert last_cited(cited) == max(seqs, default=0)
    assert renumbered(cited, lambda seq: seq) == cited
    assert renumbered(cited, lambda seq: seq + 10) == cite("x", [seq + 10 for seq in seqs])


@each_row("text", ["x [#3] y", "x [3]", "x[#3]", "x [#3, 4]", "x [#a]"])
def test_other_brackets_cite_nothing(text: str) -> None:
    assert (uncited(text), last_cited(text), renumbered(text, lambda seq: seq + 1)) == (text, 0, text)


RULES = tuple(VerbatimText(n, 1, f"rule {n}") for n in (1, 2, 3))


@each_row(("characters", "left"), [(63, 3), (62, 2), (42, 2), (41, 1), (21, 1), (20, 0), (0, 0)])
def test_the_newest_rules_fit_with_fifteen_characters_each(characters: int, left: int) -> None:
    found = fitting_rules(RULES, characters)
    assert [rule for rule in found if rule.seq] == list(RULES[3 - left :])
    notices = [rule.text for rule in found if not rule.seq]
    gone = 3 - left
    assert notices == ([f"({gone} older rules do not fit; the session's records hold them)"] if gone else [])
    assert found[:1] == (fitting_rules(RULES, characters)[:1])


def shorter(name: str, excess: int, count: int = 20) -> list[str]:
    """Return the rest of a section of items of ten characters if the snapshot is so many characters too long."""
    made = Snapshot(goal="g", **{name: tuple(f"item {n:05}" for n in range(count))})  # type: ignore[arg-type]
    return list(getattr(trimmed(made, len(render(made)) - excess), name))


@pytest.mark.parametrize("name", ["unverified", "actions", "plan", "knowledge", "files"])
@each_row(("excess", "gone"), [(0, 0), (1, 5), (15, 5), (16, 6), (30, 6), (31, 7)])
def test_a_section_loses_its_oldest_items_and_says_how_many_but_files_their_last(
    name: str, excess: int, gone: int
) -> None:
    whole = [f"item {n:05}" for n in range(20)]
    if not gone:
        assert shorter(name, excess) == whole
    elif name == "files":
        assert shorter(name, excess) == [*whole[:-gone], LEFT_OUT.format(gone)]
    else:
        assert shorter(name, excess) == [LEFT_OUT.format(gone), *whole[gone:]]


def test_the_least_needed_section_is_cut_first() -> None:
    many = tuple(f"item {n:05}" for n in range(20))
    made = Snapshot("g", knowledge=many, files=many, actions=many, plan=many, unverified=many)
    whole = len(render(made))
    order = []
    for excess in range(1, 2_000, 100):
        left = trimmed(made, whole - excess)
        cut = [name for name in ("unverified", "files", "actions", "plan", "knowledge") if getattr(left, name) != many]
        order += [name for name in cut if name not in order]
    assert order == ["unverified", "files", "actions", "plan", "knowledge"]


@each_row(("excess", "names"), [(0, 4), (1, 3), (7, 3), (8, 2), (14, 2), (15, 1), (22, 0)])
def test_names_go_before_any_section(excess: int, names: int) -> None:
    known = ("alpha", "bravo", "delta", "gamma")
    made = Snapshot("g", knowledge=("one fact",), names=known)
    left = trimmed(made, len(render(made)) - excess)
    assert (left.names, left.knowledge) == (known[4 - names :], ("one fact",))


def test_decisions_take_half_of_a_snapshot_at_most() -> None:
    said = tuple(VerbatimText(n, 1, f"I take {n}0 of `x`.") for n in (1, 2))
    made = Snapshot("g", decisions=said)
    each = len(said[0].text) + 12
    assert [
        len(trimmed(made, characters).decisions) for characters in (2 * 2 * each, 2 * 2 * each - 1, 2 * each - 1)
    ] == [2, 1, 0]


WHOLE = render(Snapshot("goal", knowledge=("a",)))


@each_row(
    ("reply", "found"),
    [
        (WHOLE, ()),
        (f"Here it is:\n{WHOLE}\nDone.", ()),
        (WHOLE.replace("</state_snapshot>", ""), ("<state_snapshot> is not closed",)),
        (WHOLE.replace("state_snapshot", "snapshot"), ("no <state_snapshot>",)),
        (WHOLE.replace("</recent_actions>", ""), ("<recent_actions> is not closed",)),
        (WHOLE.replace("recent_actions", "x"), ("no <recent_actions>",)),
        (WHOLE.replace("goal<", "<"), ("<overall_goal> is empty",)),
        (f"<scratchpad>{WHOLE}</scratchpad>", ("no <state_snapshot>", *(f"no <{name}>" for name in ("overall_goal", "key_knowledge", "file_system_state", "recent_actions", "current_plan")))),
    ],
)  # fmt: skip
def test_a_reply_in_another_form_is_told_what_is_wrong(reply: str, found: tuple[str, ...]) -> None:
    assert flaws(reply) == found


@each_row(
    ("section", "found"),
    [
        ("", ()),
        ("a\nb", ("a", "b")),
        ("- a\n- b", ("a", "b")),
        ("- a\n  more\n- b", ("a more", "b")),
        ("first\n- a", ("first", "a")),
        ("1. a\n2) b\n• c\n* d\n– e", ("a", "b", "c", "d", "e")),
        ("-a", ("-a",)),
        ("- a\n\n- (3 older items left out; recall reaches them)\n- b", ("a", "b")),
        ("- &lt;key_knowledge>", ("<key_knowledge>",)),
    ],
)
def test_items_are_read_line_by_line(section: str, found: tuple[str, ...]) -> None:
    assert items(section) == found


def test_what_a_model_writes_around_a_snapshot_is_dropped() -> None:
    body = render(
        Snapshot(
            "goal",
            knowledge=("a", "[OBSOLETE] b"),
            unverified=("c",),
            note="made from the session's ledger, without a model: x",
        )
    )
    read = parse(f"<thinking>no</thinking><!-- not <overall_goal>this</overall_goal> -->{body}<analysis>cut")
    assert (read.goal, read.knowledge, read.obsolete, read.unverified) == ("goal", ("a",), ("b",), ("c",))
    assert read.note == "made from the session's ledger, without a model: x"
    assert parse("<overall_goal>bare</overall_goal>").goal == "bare"
    assert parse("<state_snapshot><overall_goal>cut <key_knowledge>- a").knowledge == ("a",)
    assert parse("<state_snapshot><overall_goal>cut <key_knowledge>- a").goal == "cut"
    assert parse("x <!-- a <!-- b --> <overall_goal>c</overall_goal>").goal == "c"
    assert parse("<!-- <overall_goal>c</overall_goal>").goal == "c", "a comment that is not closed is none"
