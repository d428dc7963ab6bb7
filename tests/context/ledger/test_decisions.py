"""What the assistant decided and which values it stated stays in its own words, with the record, until it says otherwise."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentcli.context.compaction_settings import LedgerSettings, SnapshotSettings
from agentcli.context.ledger.decisions import fitting_decisions, fold_decisions, score
from agentcli.context.ledger.ledger import Ledger, fold_ledger, from_json, to_json
from agentcli.context.snapshot.form import parse, render, trimmed
from agentcli.context.snapshot.reconcile import from_ledger
from agentcli.core.record import VerbatimText
from tests.context.story import Story
from tests.tables import each_row


def told(*texts: str, most: int = 150) -> list[str]:
    story = Story()
    story.user("Go.")
    for text in texts:
        story.says(text)
    return [said.text for said in fold_decisions((), story.records, LedgerSettings(decisions=most))]


@each_row(
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


def test_the_sentences_of_one_decision_stay_together_and_come_before_numbers() -> None:
    labelled = "**Decision**: A.\n**Rejected**: B, as `fold` would read it twice.\n- **Reason**: the lock is held."
    assert told(labelled) == [
        "**Decision**: A. **Rejected**: B, as `fold` would read it twice. **Reason**: the lock is held."
    ]
    told_once = "We take `append` because the file may grow. The other way would copy it."
    many = "6 of 700 tests fail after 12.5 s and 4,096 bytes in `a.py`."
    assert told(told_once, many) == [told_once, many]
    assert told(told_once, many, most=1) == [told_once]


@pytest.mark.parametrize(
    "sentence",
    [
        "Chose Postgres advisory locks over Redis, as Redis restarts nightly.",
        "The root cause is the double flush in PaintBroker.commit.",
        "Entwurf A mit `Sperre`, weil zwei Prozesse schreiben.",
        "On garde `verrou.py` parce que deux processus y écrivent.",
        "因为两个进程都会写，所以保留 store.py 里的锁。",
    ],
)
def test_a_reason_a_cause_and_a_choice_are_kept_in_any_of_the_languages(sentence: str) -> None:
    story = Story()
    story.user("Go.")
    story.does("read", "x", text=sentence, file_path="a.py")
    assert [said.text for said in fold_decisions((), story.records, LedgerSettings())] == [sentence]


def test_an_announcement_of_a_call_is_no_decision() -> None:
    story = Story()
    story.user("Go.")
    for text in ("Now I read `a.py` and `b.py` with 1,200 lines.", "Let me add `one` and `two` before `three`:"):
        story.does("read", "x", text=text, file_path="a.py")
    assert fold_decisions((), story.records, LedgerSettings()) == ()


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
    weak = [f"Part {name} has 12 of them now." for name in ("alpha", "beta", "gamma", "delta")]
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


@each_row(
    ("sentence", "points"),
    [
        ("The sky is blue.", 0.0),
        ("I like it.", 0.0),
        ("I like it because it is small.", 1.0),
        ("I like Redis because it is small.", 5.0),
        ("This is `one`.", 0.5),
        ("`one`, `two`, `two` and `three`.", 1.5),
        ("`one`, `two`, `three` and `four`.", 1.5),
        ("Here are 10 of 20.", 2.0),
        ("Here are 10, 20, 30 and 30.", 3.0),
        ("Here are 10, 20, 30 and 40.", 3.0),
        ("Is 5 of it.", 0.0),
        ("I set `one` to 10 because it fits.", 6.5),
    ],
)
def test_names_and_values_and_a_choice_with_a_reason_count(sentence: str, points: float) -> None:
    assert score(sentence) == points


@each_row(
    ("sentence", "kept"),
    [
        ("It is 12 of them now", True),
        ("It is 12 of it now.", False),
        ("Both `one` and `two`.", True),
        ("It is only `one` of them.", False),
        ("I saw 10 " + "x" * 391, True),
        ("I saw 10 " + "x" * 392, False),
    ],
)
def test_a_sentence_is_neither_short_nor_long_and_says_enough(sentence: str, kept: bool) -> None:
    assert told(sentence) == [sentence] * kept


@each_row(
    ("first", "then", "stays"),
    [
        ("alpha beta gamma delta 1,000", "alpha beta gamma delta 2,000", False),
        ("alpha beta gamma delta 1,000", "alpha beta gamma is 2,000 ms", False),
        ("alpha beta gamma delta 1,000", "alpha beta gamma other 2,000", True),
        ("alpha beta gamma is 1,000 ms", "alpha beta gamma delta 2,000", False),
        ("alpha beta gamma is 1,000 ms", "alpha beta is to be at 2,000 ms", True),
        ("alpha beta gamma delta 1,000", "alpha beta is to be at 2,000 ms", True),
    ],
)
def test_three_quarters_of_the_same_words_are_the_same(first: str, then: str, stays: bool) -> None:
    assert told(first, then) == [*([first] if stays else []), then]


WORDS = ("two", "beta", "gamma", "epsilon", "decision", "different", "statements", "conversation")


@example([{"beta", "gamma", "epsilon"}, {"beta", "gamma", "epsilon", "conversation"}])
@given(st.lists(st.sets(st.sampled_from(WORDS), min_size=1), max_size=12))
def test_of_any_sentences_each_stays_until_a_later_one_shares_three_quarters_of_the_words(said: list[set[str]]) -> None:
    def same(one: set[str], other: set[str]) -> bool:
        return len(one & other) >= 0.75 * len(one | other)

    sentences = [f"1,234 {' '.join(sorted(words))} 5,678 9,012." for words in said]
    stays = [
        sentence
        for number, sentence in enumerate(sentences)
        if not any(same(said[number], later) for later in said[number + 1 :])
    ]
    assert told(*sentences) == stays


def test_among_equals_the_newer_stay() -> None:
    said = [f"The {name} takes 1,000 of it." for name in ("alpha one", "beta two", "gamma three", "delta four")]
    assert told(*said, most=3) == said[1:]
    assert told(*said, most=0) == []


def test_what_fits_is_counted_with_a_bullet_and_the_number_of_the_record() -> None:
    known = tuple(VerbatimText(n, 1, f"I hold {n}0 of `x`.") for n in (1, 2, 3))
    room = sum(len(said.text) + 12 for said in known)
    fitting = [fitting_decisions(known, characters) for characters in (room, room - 1, room // 3, room // 3 - 1)]
    assert fitting == [known, known[1:], known[2:], ()]


@given(
    st.lists(
        st.sampled_from(
            [
                "Because",
                "SINCE",
                "as",
                "It",
                "the",
                "due",
                "to",
                "so",
                "that",
                "cause",
                "in",
                "favour",
                "of",
                "a.py",
                "is",
                "turned",
                "out",
                "DA",
                "chosen",
            ]
        ),
        max_size=8,
    ).map(" ".join)
)
def test_a_reason_in_ascii_is_found_as_in_any_other_text(text: str) -> None:
    assert score(text) == score(f"{text} é")


@given(
    st.lists(
        st.sampled_from(
            [
                "I open `a.py`",
                "because",
                "so",
                "that",
                "due",
                "to",
                "is wrong.",
                "Why?",
                "\n",
                "- ",
                "> ",
                "  ",
                "Cause:",
            ]
        ),
        max_size=10,
    ).map(" ".join)
)
def test_the_words_beside_a_call_give_the_same_reasons_in_one_line_or_with_a_line_below(text: str) -> None:
    def reasons(said: str) -> list[str]:
        story = Story()
        story.user("Go.")
        story.says(said, story.call("read", file_path="a.py"))
        return [kept.text for kept in fold_decisions((), story.records, LedgerSettings())]

    assert reasons(text) == reasons(f"{text}\n\nOn.")
