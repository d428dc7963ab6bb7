"""A snapshot lists what is worth its tokens, and names what it leaves out."""

from __future__ import annotations

from dataclasses import replace

from agentcli.context.compaction_settings import LedgerSettings, SnapshotSettings
from agentcli.context.ledger.ledger import Ledger, from_json, to_json
from agentcli.context.ledger.names import NameFact
from agentcli.context.loss.settings import LossSettings
from agentcli.context.snapshot.form import Snapshot, parse, render, trimmed
from agentcli.context.snapshot.items import worthwhile
from agentcli.context.snapshot.reconcile import from_ledger
from tests.context.folding import folded
from tests.context.story import Story

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
