"""Consents that nobody gave do not outlive a compaction, in fifteen languages; what the records show does."""

from __future__ import annotations

import pytest

from agentcli.context.settings import PolicyName
from agentcli.context.snapshot.anchors import Anchors, Source, _keys, _tokens
from agentcli.context.snapshot.form import NO_LEAVE, Snapshot, parse, render
from agentcli.context.snapshot.verify import Evidence, verified
from agentcli.core.record import VerbatimText
from tests.context.snapshot.consents import Half, cases, fates
from tests.counted import counted
from tests.sampling import sampled
from tests.tables import each_row


def test_as_many_consents_as_truths_in_fifteen_languages() -> None:
    statements = [each for case in cases() for each in case.statements]
    assert len({each.language for each in statements}) == 15
    assert [sum(each.true is kind for each in statements) for kind in (True, False)] == [100, 100]


@pytest.mark.full
@pytest.mark.parametrize("policy", sampled(["auto", "gemini", "opencode", "sliding"], 4))
@pytest.mark.parametrize("half", sampled(["unseen", "seen"], 2))
def test_no_invented_consent_stands_and_true_statements_do(policy: PolicyName, half: Half) -> None:
    known = [pair for case in cases() for pair in fates(case, half, policy)]
    assert [each.text for each, fate in known if not each.true and fate == "stands"] == []
    true = [fate for each, fate in known if each.true]
    assert true.count("stands") >= 0.95 * len(true)


def test_what_stands_unverified_gives_no_leave_and_is_no_evidence() -> None:
    sentence = "The parser of all invoices works now."
    evidence = Evidence(["src/a.py", Source("def parser(): return invoices", head="src/a.py", speaker="tool")])
    made, struck = verified(Snapshot(knowledge=(sentence,)), evidence)
    assert made.knowledge == ()
    assert [each.sentence for each in struck] == [sentence]
    if not made.unverified:
        pytest.fail("nothing is listed as unverified")
    text = render(made)
    assert text.index(NO_LEAVE) < text.index(sentence)
    assert parse(text).unverified == made.unverified == (sentence,)


def test_a_sentence_closest_to_the_users_words_becomes_them() -> None:
    evidence = Evidence((), user_texts=[VerbatimText(5, 2, "Hello there. Ask me before each release of `web`!")])
    made, _ = verified(Snapshot(knowledge=("Releases of `web` go out without being asked for.",)), evidence)
    assert made.unverified == ()
    assert made.knowledge in ((), ('The user said (turn 2): "Ask me before each release of `web`!"',))
    made, _ = verified(Snapshot(goal="The user is asked before each release."), evidence)
    assert made.goal == "Ask me before each release of `web`!"


def test_the_words_of_an_anchor_stand_together() -> None:
    one = Source("parse_date gives up after 4 rounds", 2, 2)
    other = Source("load_table gives up after 9 rounds", 3, 3)
    claims = ("parse_date", "9")
    _, found = Anchors([one, other]).of("parse_date gives up after 9 rounds", claims)
    assert found is not None
    assert not found.complete
    _, cited = Anchors([one, other]).of("parse_date gives up after 9 rounds", claims, cited=(2, 3))
    assert cited is not None
    assert cited.complete


def test_a_word_is_read_once_however_many_texts_contain_it() -> None:
    sources = [Source(f"Step {n % 32} of {n // 32} is done.", n + 1, n + 1) for n in range(1_024)]
    with counted(_tokens) as calls:
        anchors = Anchors(sources)
    assert calls[_tokens] < 100
    _, found = anchors.of("Step 7 of 30 is done", ("7", "30"))
    assert found is not None
    assert (found.source.seq, found.complete) == (30 * 32 + 7 + 1, True)


@each_row(
    ("word", "other", "related"),
    [
        ("cat", "cats", True),
        ("ca", "cab", False),
        ("parse", "parses", True),
        ("ticket", "times", False),
        ("note", "not", True),
        ("12", "123", False),
    ],
)
def test_words_of_one_root_are_related(word: str, other: str, related: bool) -> None:
    assert bool(set(_keys(word)) & set(_keys(other))) is related
