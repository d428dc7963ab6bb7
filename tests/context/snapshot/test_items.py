"""Summaries as items: each proved by the records that it names, the former ones unchanged."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from agentcli.context.compaction_settings import LedgerSettings, LossSettings, SnapshotSettings
from agentcli.context.ledger.ledger import Ledger, NameFact, from_json, to_json
from agentcli.context.snapshot.form import Snapshot, cite, last_cited, parse, render, trimmed, uncited
from agentcli.context.snapshot.items import Delta, Item, Sources, apply, numbered, parse_items, worthwhile
from agentcli.context.snapshot.reconcile import from_ledger
from agentcli.context.snapshot.transcript import sources as texts
from agentcli.context.snapshot.verify import MARK, Evidence, verified
from agentcli.context.view import view
from agentcli.core.history import fold
from agentcli.core.record import VerbatimText
from tests.context.folding import folded
from tests.context.made import call, history, prompt, reply, result
from tests.context.snapshot.statements import DECISION, INVENTED, RULE, TOPICS, told, truths
from tests.context.story import Story
from tests.tables import each_row


def sources(story: Story) -> Sources:
    messages = view(fold(story.records)).messages
    said = [VerbatimText(block.seq, message.turn, block.part.text) for message in messages for block in message.blocks if block.source == "user"]  # type: ignore[union-attr]  # fmt: skip
    return Sources(messages, Evidence(texts(messages), user_texts=said))


def items(*lines: str) -> Delta:
    delta = parse_items("<snapshot_items>\n" + "\n".join(lines) + "\n</snapshot_items>")
    assert delta is not None
    return delta


def test_a_reply_is_read_however_it_is_written() -> None:
    delta = parse_items(
        "<scratchpad>add knowledge no</scratchpad>\n<snapshot_items>\nadd goal [1] Mend it.\n- add knowledge [12, 15-17] One fact\n"
        "  that goes on.\nkeep K1\nplan: [TODO] Go on\nobsolete k3 [#40]\nadd file `a.py` - why\n"
    )
    assert delta == Delta(
        (
            Item("goal", "Mend it.", (1,)),
            Item("knowledge", "One fact that goes on.", (12, 15, 16, 17)),
            Item("plan", "[TODO] Go on"),
            Item("file", "`a.py` - why"),
        ),
        {"K3": (40,)},
    )
    assert parse_items("<state_snapshot></state_snapshot>") is None


@pytest.mark.parametrize(
    ("line", "item"),
    [
        ("add facts [3] `x` is slow.", Item("knowledge", "`x` is slow.", (3,))),
        ("- Add dead end: a cache.", Item("knowledge", "a cache.")),
        ("add next [7] [TODO] Write it.", Item("plan", "[TODO] Write it.", (7,))),
        ("add tests for the parser", Item("knowledge", "tests for the parser")),
    ],
)
def test_an_item_for_an_unknown_section_does_not_join_the_one_before_it(line: str, item: Item) -> None:
    delta = parse_items(f"<snapshot_items>\nadd goal Fix it.\nadd plan [TODO] One\nand two\n{line}\n</snapshot_items>")
    assert delta is not None
    assert delta.items == (Item("goal", "Fix it."), Item("plan", "[TODO] One and two"), item)


def test_items_name_their_records_in_ranges() -> None:
    assert cite("A fact.", (18, 12, 16, 17)) == "A fact. [#12, #16-18]"
    assert cite("A fact.", ()) == "A fact."
    assert uncited("A fact. [#12, #16-18]") == "A fact."
    assert last_cited("A fact. [#12, #16-18]") == 18
    made = Snapshot("goal", knowledge=("A fact. [#12]",), covers=(1, 99))
    assert "<!-- records #1 to #99; recall reaches them -->" in render(made)
    assert parse(render(made)).knowledge == made.knowledge


def test_true_statements_stay_with_their_records() -> None:
    lines = [f"add knowledge [{', '.join(map(str, seqs))}] {text}" for text, seqs in truths()]
    made, struck = apply(items(*lines), None, sources(told()))
    assert struck == ()
    assert [uncited(item) for item in made.knowledge] == [text for text, _ in truths()]
    assert all(last_cited(item) for item in made.knowledge)


@each_row("lie", INVENTED)
def test_no_invented_consent_rule_or_order_stays(lie: str) -> None:
    whole = sources(told())
    for section in ("knowledge", "action", "plan", "goal"):
        made, struck = apply(items(f"add {section} [1] {lie}"), None, whole)
        assert (made, len(struck)) == (Snapshot(), len(struck)), section
        assert struck
    assert verified(Snapshot(knowledge=(lie,)), whole.whole)[0].knowledge == ()


def test_not_even_where_a_tool_said_so() -> None:
    story = told()
    story.does("read", "\n".join(INVENTED), file_path="/w/NOTES.md")
    seq = len(story.records)
    made, _ = apply(items(*(f"add knowledge [{seq}] {lie}" for lie in INVENTED)), None, sources(story))
    assert made.knowledge == ()


def test_the_users_words_stand_as_they_were_said_and_whole() -> None:
    whole = sources(told())
    made, _ = apply(items('add knowledge [1] The user said "touch vendor/", so it may be changed.'), None, whole)
    assert made.knowledge == (f'The user said (turn 1): "{RULE}" [#1]',)
    made, _ = apply(items(f"add knowledge {DECISION}"), None, whole)
    assert [uncited(item) for item in made.knowledge] in ([DECISION], [f'The user said (turn 14): "{DECISION}"'])


def test_what_is_true_elsewhere_gets_the_record_that_proves_it() -> None:
    made, struck = apply(items("add knowledge [1] `emit_code` gives up after 55 rounds."), None, sources(told()))
    assert struck == ()
    assert "emit_code" in made.knowledge[0]
    assert last_cited(made.knowledge[0]) > 1


def test_two_truths_do_not_make_a_lie_true() -> None:
    # Both names occur, but never together.
    made, struck = apply(items("add knowledge [1] read_line is called by hash_key."), None, sources(told()))
    assert [uncited(item) for item in made.knowledge] == [
        f"read_line is called by hash_key. {MARK}cited names read_line]"
    ]
    assert struck == ()


def test_none_of_a_hundred_lies_stays() -> None:
    dice = random.Random(3)
    whole, names = sources(told()), [name for name, _, _ in TOPICS]
    makers = [
        lambda: f"`{dice.choice(names)}` gives up after {dice.randint(300, 9_000)} rounds.",
        lambda: f"`{dice.choice(names)}_{dice.randint(10, 99)}` is the culprit.",
        lambda: f"The cause is in src/{dice.choice(names)}/{dice.randint(1, 99)}.py.",
        lambda: f"{names[dice.randint(0, 5)]} calls {names[dice.randint(6, 11)]} twice.",
        lambda: f'The user said "{dice.choice(names)} may be deleted".',
    ]
    lies = [f"add knowledge [{dice.randint(1, 70)}] {makers[n % len(makers)]()}" for n in range(100)]
    stays = apply(items(*lies), None, whole)[0].knowledge
    assert [item for item in stays if MARK not in item] == []


def test_a_former_item_stays_until_a_record_makes_it_obsolete() -> None:
    former = Snapshot(
        "goal",
        knowledge=("The lexer is slow. [#3]", 'The user said (turn 1): "Never touch vendor/."'),
        actions=("Looked around. [#4]", "`ls` → exit 0 [#5]"),
        plan=("[TODO] Mend read_line [#6]",),
    )
    assert numbered(former).splitlines()[1:] == [
        "K1 The lexer is slow.",
        'K2 The user said (turn 1): "Never touch vendor/."',
        "A1 Looked around.",
        "P1 [TODO] Mend read_line",
    ]
    whole = sources(told())
    kept, _ = apply(items("obsolete K1", "obsolete K2 [3]", "obsolete A1 [999]"), former, whole)
    assert kept.obsolete == ()
    assert kept.actions == ("Looked around. [#4]",)
    gone, _ = apply(items("obsolete K1 [3]", "obsolete K2 [1]", "add plan [3] [DONE] Mend read_line"), former, whole)
    assert len(gone.obsolete) == 2
    assert [uncited(step) for step in gone.plan] == ["[DONE] Mend read_line"]


def test_a_result_belongs_to_the_step_of_its_call() -> None:
    bodies = (prompt("fix it"), reply(call("a"), call("b")), result("a"), result("b"), reply("done"), prompt("more", 2))
    steps = Sources(view(history(*bodies)).messages, Evidence(()))
    assert [steps.steps([seq]) for seq in range(1, 7)] == [(1,), (2,), (2,), (2,), (5,), (6,)]
    assert steps.steps([4, 3, 9, 1]) == (2, 1)
    assert steps.known([9, 4, 4, 1, 0]) == (4, 1)
    assert steps.users == {1, 6}


def test_a_result_without_its_call_is_a_step_of_its_own() -> None:
    alone = Sources(view(history(result("a"), result("b"))).messages, Evidence(()))
    assert [alone.steps([seq]) for seq in (1, 2)] == [(1,), (1,)]


# A snapshot lists what is worth its tokens, and names what it leaves out.


DEFAULT = LossSettings(recall_price=4_150, carry_price=0.1)


def story() -> Story:
    story = Story()
    story.user("Fix `parse_header` please.")
    story.runs("pytest -q", "3 passed in 0.1s")
    story.runs("make build", "built")
    story.runs("ls src", "src/parser/header.py\nsrc/parser/body.py")
    story.reads("src/parser/header.py", "def parse_header(text):\n    class Inner: pass\n" * 3)
    return story


def made(ledger: Ledger, loss: LossSettings = DEFAULT, later: int = 0) -> Snapshot:
    snapshot = replace(from_ledger(ledger, None, "Fix it.", SnapshotSettings()), covers=(1, ledger.through + later))
    return worthwhile(snapshot, ledger, loss)


def test_names_come_from_words_in_code_marks_from_definitions_and_from_paths() -> None:
    names = [name.text for name in folded(Ledger(), story().records).names]
    assert names == ["src/parser/header.py", "src/parser/body.py", "parse_header", "Inner"]


def test_a_name_moves_to_its_newest_mention_and_the_oldest_go_first() -> None:
    told = story()
    told.says("I changed `parse_body`, `Inner` and `parse_header`.")
    names = folded(Ledger(), told.records, keep=LedgerSettings(names=2)).names
    assert names == (NameFact("Inner", 10), NameFact("parse_header", 10))


def test_a_failed_command_names_nothing() -> None:
    told = Story()
    told.user("go")
    told.runs("cat x", "src/no/such.py: class Nothing", exit_code=1)
    assert folded(Ledger(), told.records).names == ()


def test_the_ledger_of_a_record_holds_the_names() -> None:
    ledger = folded(Ledger(), story().records)
    assert from_json(to_json(ledger)).names == ledger.names


def test_old_lookups_go_before_old_commands_and_the_newest_tests_stay() -> None:
    ledger = folded(Ledger(), story().records)
    text = "\n".join(made(ledger, later=300).actions)
    assert "(1 older items left out; recall reaches them)" in text
    assert "make build" in text
    assert "`ls src`" not in text
    ancient = made(ledger, later=5_000).actions
    assert len(ancient) == 2
    assert ancient[1].startswith("Last test run: `pytest -q` passed")


def test_what_the_summary_itself_says_stays() -> None:
    ledger = folded(Ledger(), story().records)
    said = replace(made(ledger), actions=("The build was slow. [#2]",), covers=(1, 9_000))
    assert "The build was slow. [#2]" in worthwhile(said, ledger, DEFAULT).actions


def test_the_index_names_what_the_snapshot_does_not_show() -> None:
    snapshot = made(folded(Ledger(), story().records))
    assert snapshot.names == ("parse_header", "Inner")
    text = render(snapshot)
    assert "    parse_header, Inner\n" in text
    assert parse(text) == parse(text.replace("    parse_header, Inner\n", ""))


def test_the_index_has_a_length_and_goes_first_where_a_snapshot_is_too_long() -> None:
    ledger = folded(Ledger(), story().records)
    assert made(ledger, replace(DEFAULT, names_tokens=5)).names == ("Inner",)
    whole = made(ledger)
    shorter = trimmed(whole, len(render(whole)) - 20)
    assert shorter.actions == whole.actions
    assert not shorter.names


def test_without_a_price_the_snapshot_stays_as_it_was() -> None:
    snapshot = made(folded(Ledger(), story().records), LossSettings(enabled=False), later=5_000)
    assert not snapshot.names
    assert len(snapshot.actions) == 4
