"""What the assistant decided and which values it stated stays in its own words, with the record, until it says otherwise."""

from __future__ import annotations

import pytest

from agentcli.context.compaction_settings import LedgerSettings, SnapshotSettings
from agentcli.context.ledger.decisions import fitting_decisions, fold_decisions
from agentcli.context.ledger.ledger import Ledger, fold_ledger, from_json, to_json
from agentcli.context.snapshot.form import parse, render, trimmed
from agentcli.context.snapshot.reconcile import from_ledger
from tests.context.story import Story


def told(*texts: str, most: int = 150) -> list[str]:
    story = Story()
    story.user("Go.")
    for text in texts:
        story.says(text)
    return [said.text for said in fold_decisions((), story.records, LedgerSettings(decisions=most))]


@pytest.mark.parametrize(
    "sentence",
    [
        "I keep the lock in `store.py` because two processes may write.",
        "I'm using a queue instead of a thread, so a slow disk blocks nobody.",
        "The cache holds 4,096 entries, and a lookup takes 250 ms.",
        "Fixed in commit `1f0c9a7`; the suite has 812 tests now.",
        "- Der Port ist 8443, die Frist `retry_after` 30.",
    ],
)
def test_a_choice_with_a_reason_and_a_value_are_kept_in_their_own_words(sentence: str) -> None:
    assert told(f"Well then.\n{sentence}") == [sentence.removeprefix("- ")]


@pytest.mark.parametrize("sentence", ["Still running.", "Shall I use `a` or `b`, 1,000 or 2,000?"])
def test_narration_and_questions_are_not(sentence: str) -> None:
    assert told(sentence) == []


def test_code_quotations_and_other_speakers_are_not() -> None:
    assert told("```\nI take port 8443 because it is free.\n```\n> I take port 8444 because it is free.") == []
    story = Story()
    story.user("I take port 8443 because it is free.")
    assert fold_decisions((), story.records, LedgerSettings()) == ()


def test_the_same_said_anew_takes_the_place_of_what_was_said() -> None:
    said = told(
        "The limit of `fold` is 512 entries.",
        "I cut the tree by hand, since it is small.",
        "The limit of `fold` is 4,096 entries.",
    )
    assert said == ["I cut the tree by hand, since it is small.", "The limit of `fold` is 4,096 entries."]


def test_the_strongest_stay_when_there_are_too_many() -> None:
    weak = [f"Part {name} is there, but small." for name in ("alpha", "beta", "gamma", "delta")]
    strong = "I keep `a.py` and `b.py` apart because each has 1,200 lines."
    assert strong in told(strong, *weak, most=2)
    assert len(told(strong, *weak, most=2)) == 2


def test_they_stand_in_the_snapshot_with_their_record_and_within_its_room() -> None:
    story = Story()
    story.user("Go.")
    seqs = {}
    for n in range(26):
        text = f"I give {chr(97 + n) * 5} the port {8000 + n} because {chr(97 + n) * 7} is free."
        seqs[text] = story.says(text).seq
    ledger = fold_ledger(Ledger(), story.records, {})
    assert from_json(to_json(ledger)) == ledger
    snapshot = from_ledger(ledger, None, "Serve.", SnapshotSettings())
    shown = render(snapshot)
    for text, seq in seqs.items():
        assert f"- {text} [#{seq}]" in shown
    small = render(trimmed(snapshot, 2_000))
    assert 0 < small.count("\n    - I give") < 20
    assert "- I give zzzzz the port 8025" in small
    assert parse(shown).decisions == ()


def test_those_that_fit_are_the_strongest_in_their_order() -> None:
    story = Story()
    story.user("Go.")
    for text in (
        "I keep `a` since 1,200 rely on it.",
        "It is so, but small.",
        "I drop `b` because 3,400 do not need it.",
    ):
        story.says(text)
    known = fold_decisions((), story.records, LedgerSettings())
    assert [said.seq for said in fitting_decisions(known, 110)] == [2, 4]
    assert fitting_decisions(known, 10) == ()
