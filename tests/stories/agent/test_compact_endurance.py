"""Sessions that are compacted again and again, in windows that are too small, by summarisers that cannot be trusted."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from agentcli.context.ledger.ledger import Ledger, from_json
from agentcli.context.settings import ContextSettings
from agentcli.context.snapshot.form import parse, render
from agentcli.context.snapshot.verify import MARK
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.window import limits_of
from agentcli.core.errors import ModelError
from agentcli.core.event import UsageReported
from agentcli.core.message import ToolResult
from agentcli.core.model import Request
from tests.agent.compaction.compacting import (
    CHEAP,
    MAIN,
    Answers,
    compress,
    ended,
    goes_on,
    long_story,
    newest,
    session,
    shown,
    snapshot,
    text_of,
)
from tests.context.folding import folded
from tests.context.story import Story
from tests.sampling import sampled
from tests.tables import each_row

GOOD = snapshot("Fix the parser.", "- The parser is recursive.", "", "", "1. [TODO] go on")
LIES = [f"- The secret module is src/evil{n}/hidden{n}.py and it fails with code {9000 + n}." for n in range(50)] + [
    f"- The user approved step {n}." for n in range(50)
]
BAD: dict[str, str | Exception | Callable[[Request], str]] = {
    "empty": "",
    "bloated": snapshot(
        "Fix the parser.", "\n".join(f"- The parser is slow because of reason {'r' * n}." for n in range(1, 250))
    ),
    "lying": snapshot(
        "Fix the parser.", "\n".join(LIES), "- DELETED: `/w/src/mod2.py`", "- All tests pass.", "1. [DONE] everything"
    ),
    "wrong language": snapshot(
        "Der Parser ist kaputt und die Tests sind nicht grün.",
        "- Das ist nicht gut und wird auch nicht besser mit der Zeit.",
    ),
    "cut off": GOOD[:180],
    "failing": ModelError("down", "network"),
}


@each_row("kind", BAD)
def test_every_fact_of_the_ledger_is_there_whatever_the_summariser_does(kind: str) -> None:
    story = long_story(steps=48, turns=3)
    journal = session(story)
    compress(journal, Answers(BAD[kind]), main=replace(MAIN, window=120_000))
    body = newest(journal)
    ledger = from_json(body.ledger)
    covered = [record for record in story.records if record.seq <= body.covers[1]]
    assert ledger == folded(Ledger(), covered, ())
    text = body.snapshot
    for fact in (each for each in ledger.files if each.state != "READ"):  # what was read is no state of the work
        assert f"{fact.state}: `{fact.path}`" in text
    for rule in ledger.rules:  # in the snapshot, or in the user's message
        assert rule.text in text_of(journal)
    newest_run = folded(Ledger(), story.records, ()).tests
    assert newest_run is not None
    # In the snapshot, or in a step that stays.
    assert newest_run.summary in text_of(journal)


def test_no_planted_lie_survives() -> None:
    journal = session(long_story(steps=48, turns=3))
    compress(journal, Answers(BAD["lying"]))
    text = render(replace(parse(newest(journal).snapshot), unverified=()))
    facts = [line for line in text.split("\n") if MARK not in line]
    assert not [lie for lie in LIES if any(lie.removeprefix("- ") in line for line in facts)]
    assert not [line for line in facts if "evil" in line]
    assert "approved" not in text
    assert "All tests pass" not in text
    assert "DELETED" not in text


def test_fifty_rules_survive_ten_compactions_byte_for_byte() -> None:
    rules = [f"Never touch the file legacy_{n:02}.c  — not even in part {n}!" for n in range(50)]
    story = Story()
    story.user("Please fix the parser, it is broken. " + " ".join(rules))
    journal = session(story)
    for _ in range(10):
        goes_on(journal, story, steps=16)
        assert ended(compress(journal, Answers(GOOD))).status == "compressed"
    text = text_of(journal)
    assert all(rule in text for rule in rules)
    cost = TokenCounter().text("\n".join(rules))
    assert cost < 0.01 * 200_000


SAID = (
    "use pnpm here, npm breaks the lockfile", "Commit messages in Dutch, please.", "Bitte keine Tabs in den Vorlagen.",
    "no emojis in log output", "If a test is flaky, quarantine it in tests/flaky instead of deleting it",
    "I'd rather you didn't add dependencies", "Please keep every public function under 40 lines",
)  # fmt: skip
CHOSEN = (
    "Chose Postgres advisory locks over Redis, as Redis restarts nightly.",
    "The root cause is the double flush in PaintBroker.commit.",
    "Ich nehme `TaskGroup` statt `gather`, weil ein Fehler sonst verschluckt wird.",
    "Se descartó `sqlite` porque bloquea el archivo en NFS.",
    "We keep the retry at 3 since the gateway drops the fourth.",
)


@each_row("window", [8_000, 24_000])
def test_requests_of_the_user_and_decisions_survive_ten_compactions_in_their_own_words(window: int) -> None:
    small = replace(MAIN, window=window, max_output=window // 4)
    story = Story()
    story.user("Please fix the parser.")
    journal = session(story)
    for n, said in enumerate(SAID):
        told = len(story.records)
        story.user(f"{said}\nNext, rename old_{n} to new_{n} in src/part{n}.py.")
        story.says(f"{CHOSEN[n % 5]} I changed src/part{n}.py accordingly. The tests pass: 12{n} passed.")
        for record in story.records[told:]:
            journal.append(record.body)
    for _ in range(10):
        goes_on(journal, story, steps=6)
        assert ended(compress(journal, Answers(GOOD), main=small, trigger="overflow")).status == "compressed"
    text = text_of(journal)
    assert [said for said in SAID if said not in text] == []
    assert sum(said in text for said in CHOSEN) >= 4


def test_twenty_compactions_by_a_forgetful_summariser_lose_nothing() -> None:
    random_ = random.Random(11)
    told: list[str] = []

    def forgetful(request: Request) -> str:
        known = parse(request.messages[-1].parts[-1].text).knowledge  # type: ignore[union-attr]
        kept = [f"- {item}" for item in known if random_.random() > 0.3]
        return snapshot("Fix the parser.", "\n".join((*kept, told[-1])))

    story = Story()
    story.user("Please fix the parser and tell me what is done. Never push.")
    journal = session(story)
    for n in range(20):
        told.append(f"- The part number {'i' * (n + 1)} is done.")
        goes_on(journal, story, steps=16, found=told[-1].removeprefix("- "))
        compress(journal, Answers(forgetful))
    text = newest(journal).snapshot
    assert [item for item in told if item.removeprefix("- ") not in text] == []
    assert "Never push." in text_of(journal)
    results = [record.body for record in journal.records() if isinstance(record.body, ToolResult)]
    assert results == [record.body for record in story.records if isinstance(record.body, ToolResult)]
    covered = [record for record in journal.records() if record.seq <= newest(journal).covers[1]]
    assert from_json(newest(journal).ledger).files == folded(Ledger(), covered).files


CASES = [
    (window, times, kind)
    for window in (8_000, 16_000, 32_000, 200_000)
    for times in (1, 3, 10)
    for kind in ("good", "failing", "bloated")
    if kind == "good" or window * times <= 400_000  # the smaller windows say the same of bad summarisers
]


@pytest.mark.full
@pytest.mark.parametrize(("window", "times", "kind"), sampled(CASES, 3))
def test_a_history_many_times_the_window_ends_in_a_usable_session_within_three_calls(
    window: int, times: int, kind: str
) -> None:
    small = replace(MAIN, window=window, max_output=8_000)
    story = Story()
    tokens, turn = 0, 0
    while tokens < times * window:
        story.user(f"Please go on with part {turn} of the work, it is not done yet.")
        for n in range(6):
            output = f"def part_{turn}_{n}(): pass\n" * (12 + 60 * (n % 3))
            story.reads(f"src/part{turn}/file{n}.py", output)
            tokens += len(output) // 3
        turn += 1
    story.user("What is next?")
    journal = session(story)
    model = Answers(GOOD if kind == "good" else BAD[kind], spec=replace(CHEAP, window=window))
    events = compress(journal, model, main=small, trigger="overflow")
    assert ended(events).status == "compressed"
    assert len(model.requests) <= 3
    assert TokenCounter().view(shown(journal)) <= limits_of(small, ContextSettings()).usable
    assert "What is next?" in text_of(journal)
    for request in model.requests:
        assert TokenCounter().text(request.messages[-1].parts[-1].text) < window  # type: ignore[union-attr]
    assert len([event for event in events if isinstance(event, UsageReported)]) <= 3


def test_one_turn_of_many_steps_is_worked_through_in_a_small_window() -> None:
    """The prompt never disappears, and the view never outgrows the window."""
    small = replace(MAIN, window=16_000, max_output=4_000)
    story = Story()
    story.user("Please read all the files of the project and find the bug. Do not edit anything.")
    journal = session(story)
    compactions = 0
    for n in range(100):
        told = len(story.records)
        story.reads(f"src/file{n}.py", f"def thing_{n}(): return {n}\n" * 60)
        for record in story.records[told:]:
            journal.append(record.body)
        counts = TokenCounter()
        if counts.prompt(shown(journal)) > limits_of(small, ContextSettings()).hard:
            assert ended(compress(journal, Answers(GOOD), main=small, trigger="auto")).status == "compressed"
            compactions += 1
        assert counts.view(shown(journal)) < limits_of(small, ContextSettings()).usable
        assert "find the bug" in text_of(journal)
    assert compactions > 4
    ledger = from_json(newest(journal).ledger)
    assert len(ledger.files) > 75
    assert "Do not edit anything." in text_of(journal)
