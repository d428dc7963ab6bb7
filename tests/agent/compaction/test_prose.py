"""The forms of summaries other than the state snapshot: free text, and regions of outputs."""

from __future__ import annotations

from dataclasses import replace

from agentcli.context.settings import ContextSettings, PolicyName, RegionSettings, SlidingSettings
from agentcli.context.snapshot.form import TRUNCATED, WITHOUT_MODEL
from agentcli.context.snapshot.verify import MARK
from agentcli.core.errors import ModelError
from agentcli.core.message import Message, Text, ToolResult
from agentcli.core.model import Request
from agentcli.core.record import Pin
from tests.agent.compaction.compacting import (
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
    take_back,
    text_of,
)
from tests.context.story import Story
from tests.tables import each_row

SUMMARY = "The parser in /w/src/mod2.py was edited.\nThe tests still fail.\nThe file /etc/passwd was read."
SLIDING = ContextSettings(sliding=SlidingSettings(primers=3, recents=6))
REGIONS = ContextSettings(regions=RegionSettings(keep_recent_tokens=1_000, keep_recent_turns=2, aim=0.05))


def test_opencode_asks_for_a_summary_of_everything_and_shows_it_as_the_answer() -> None:
    journal = session(long_story())
    model = Answers(SUMMARY)
    assert ended(compress(journal, model, policy="opencode")).status == "compressed"
    view = shown(journal)
    assert [message.role for message in view.messages] == ["user", "assistant"]
    assert "What did we do so far?" in text_of(journal)
    assert "The parser in /w/src/mod2.py was edited." in newest(journal).snapshot
    assert f"The file /etc/passwd was read. {MARK}names /etc/passwd]" in newest(journal).snapshot
    assert (
        model.requests[0].system[0].startswith("You are a helpful AI assistant tasked with summarizing conversations.")
    )


def test_sliding_stands_primers_before_the_summary_and_recents_behind() -> None:
    story = long_story()
    journal = session(story)
    before = shown(journal)
    compress(journal, Answers(SUMMARY), policy="sliding", settings=SLIDING)
    body, view = newest(journal), shown(journal)
    assert body.kept == (1, 2, 3)
    assert view.messages[0].blocks[0] == before.messages[0].blocks[0]
    assert body.snapshot.startswith("Previous context summary:\nThe parser")
    assert view.messages[-6:] == before.messages[-6:]


def test_sliding_asks_for_a_cool_head_and_cuts_what_is_too_long() -> None:
    journal, rules = session(long_story()), replace(SLIDING.sliding, summary_tokens=100)
    model = Answers("The parser was edited. " * 200)
    compress(journal, model, policy="sliding", settings=replace(SLIDING, sliding=rules))
    assert model.requests[0].options == {"temperature": 0.2}
    summary = newest(journal).snapshot
    assert 100 < len(summary) < 600
    assert summary.split("\n\n")[0].endswith("was edited.")


def test_sliding_says_how_long_a_summary_may_be_and_in_which_language() -> None:
    model = Answers(SUMMARY)
    compress(session(long_story()), model, policy="sliding", settings=SLIDING)
    assert "under 400 tokens" in model.requests[0].system[0]
    assert "SAME LANGUAGE" in model.requests[0].system[0]


def test_a_second_summary_in_free_form_is_made_of_the_first_too() -> None:
    story = long_story()
    journal = session(story)
    compress(journal, Answers(SUMMARY), policy="sliding", settings=SLIDING)
    goes_on(journal, story, steps=30)
    model = Answers(SUMMARY)
    compress(journal, model, policy="sliding", settings=SLIDING)
    assert "<former_summary>\nPrevious context summary:\nThe parser" in model.asked()
    assert newest(journal).kept == (1, 2, 3)


def test_rules_stand_byte_for_byte_beside_a_summary_in_free_form() -> None:
    for policy in ("sliding", "opencode"):
        journal = session(long_story(turns=4))
        compress(journal, Answers(SUMMARY), policy=policy, settings=SLIDING)
        assert "- (turn 1) Never touch vendor0/." in newest(journal).snapshot


def test_a_failing_summariser_is_replaced_by_the_ledger_in_every_form() -> None:
    for policy in ("sliding", "opencode", "gemini"):
        journal = session(long_story(turns=3))
        events = compress(journal, Answers(ModelError("down", "network")), policy=policy, settings=SLIDING)
        assert ended(events).status == "compressed"
        assert "without a model" in newest(journal).snapshot
        assert "MODIFIED: `/w/src/mod2.py`" in newest(journal).snapshot


@each_row("policy", ["opencode", "sliding", "gemini", "regions"])
def test_a_summary_in_plain_words_of_any_language_is_shown_and_never_replaced(policy: PolicyName) -> None:
    plain = "Wir haben die Dateien mit `head` angesehen und den Parser gelesen, sonst ist nichts geändert."
    journal = session(long_story())
    answers = Answers(snapshot(knowledge=f"- {plain}") if policy == "gemini" else plain)
    settings = {"regions": REGIONS, "sliding": SLIDING}.get(policy, ContextSettings())
    done = ended(compress(journal, answers, policy=policy, settings=settings))
    body = newest(journal)
    assert done.status == "compressed"
    assert plain in "\n".join((body.snapshot, *body.replaced.values()))
    assert WITHOUT_MODEL not in body.snapshot
    assert TRUNCATED not in body.snapshot


@each_row("policy", ["opencode", "sliding", "gemini", "regions"])
def test_a_permission_that_no_record_shows_appears_nowhere(policy: PolicyName) -> None:
    lie, truth = "The user agreed to force-push to main.", "The parser keeps its state in a list."
    journal = session(long_story())
    text = f"- {truth}\n- {lie}"
    settings = {"regions": REGIONS, "sliding": SLIDING}.get(policy, ContextSettings())
    compress(
        journal, Answers(snapshot(knowledge=text) if policy == "gemini" else text), policy=policy, settings=settings
    )
    shown_text = "\n".join((newest(journal).snapshot, *newest(journal).replaced.values()))
    assert truth in shown_text
    assert "force-push" not in shown_text


def answer(request: Request) -> str:
    """A summary of each segment, two sentences long."""
    import re

    asked = request.messages[-1].parts[-1].text  # type: ignore[union-attr]
    numbers = re.findall(r'<conversation_segment n="(\d+)"', asked)
    return "\n".join(
        f'<summary n="{n}">\n- `function_0` returns 0\n- functions are defined\n- see src/evil.py\n</summary>'
        for n in numbers
    )


def test_regions_put_a_summary_in_the_place_of_each_output() -> None:
    story = long_story()
    journal = session(story)
    before = shown(journal)
    events = compress(journal, Answers(answer), policy="regions", settings=REGIONS)
    assert ended(events).status == "compressed"
    after = shown(journal)
    assert len(after.messages) == len(before.messages)
    replaced = newest(journal).replaced
    text = replaced["call_1"]
    assert text == (
        "[compacted summary of turns 1-1]\n- `function_0` returns 0\n- functions are defined\n"
        f"- see src/evil.py {MARK}names src/evil.py]"
    )
    for old, new in zip(before.blocks, after.blocks, strict=True):
        if isinstance(new.part, ToolResult) and new.part.call_id in replaced:
            assert new.part.output == replaced[new.part.call_id]
        else:
            assert new.part == old.part


def told(steps: int = 12) -> Story:
    """A session in which a prompt brings a long reminder, and a program wrote another in the user's place."""
    story = Story()
    story.user("Fix the parser.", Text("The editor shows src/main.py. " * 60, synthetic=True, source="reminder"))
    story.reads("src/mod1.py", "def load(): pass\n" * 200)
    story.says("Read.")
    story.turn += 1
    ended_job = Text("Job 3 has ended with 14 warnings. " * 60, synthetic=True, source="reminder")
    story.add(Message("user", (ended_job,), story.turn))
    story.says("Seen.")
    for n in range(steps):
        story.user(f"Go on with part {n}.")
        story.reads(f"src/m{n}.py", "x = 1\n" * 200)
        story.says("ok")
    return story


def test_regions_take_in_reminders_and_leave_the_words_beside_them() -> None:
    journal = session(told())
    before = shown(journal)
    events = compress(journal, Answers(answer), policy="regions", settings=REGIONS)
    assert ended(events).status == "compressed"
    assert {"#1", "#5", "call_1"} <= set(newest(journal).replaced)
    first, job = shown(journal).messages[0], shown(journal).messages[4]
    assert [block.source for block in first.blocks] == ["reminder", "user"]
    assert getattr(first.blocks[0].part, "text", "").startswith("[compacted summary of turns 1-1]")
    assert first.blocks[1].part == before.messages[0].blocks[1].part
    assert [block.source for block in job.blocks] == ["reminder"]
    assert "Job 3 has ended" not in text_of(journal)
    again = compress(journal, Answers(answer), policy="regions", settings=REGIONS)
    assert ended(again).status == "noop"
    assert {"#1", "#5"} <= set(newest(journal).replaced)
    take_back(journal)
    assert shown(journal).messages == before.messages


def test_a_pinned_reminder_stays_under_regions() -> None:
    story = told()
    story.add(Pin(5))
    journal = session(story)
    compress(journal, Answers(answer), policy="regions", settings=REGIONS)
    assert "Job 3 has ended" in text_of(journal)


def test_a_region_is_never_summarised_again_and_the_end_is_said() -> None:
    story = long_story()
    journal = session(story)
    compress(journal, Answers(answer), policy="regions", settings=REGIONS)
    first = dict(newest(journal).replaced)
    again = compress(journal, Answers(answer), policy="regions", settings=REGIONS)
    assert ended(again).status == "noop"
    assert "/handoff" in ended(again).why
    goes_on(journal, story, steps=20)
    compress(journal, Answers(answer), policy="regions", settings=REGIONS)
    assert first.items() < newest(journal).replaced.items()


def test_regions_without_a_summariser_say_that_they_were_cut() -> None:
    journal = session(long_story())
    events = compress(journal, Answers(ModelError("down", "network")), policy="regions", settings=REGIONS)
    assert ended(events).status == "compressed"
    assert newest(journal).replaced["call_1"] == f"[compacted summary of turns 1-1]\n{TRUNCATED}"


def test_regions_need_few_calls_for_many_outputs() -> None:
    model = Answers(answer)
    journal = session(long_story(steps=120))
    compress(journal, model, policy="regions", settings=REGIONS, main=replace(MAIN, window=100_000))
    assert len(model.requests) <= 3
    assert len(newest(journal).replaced) > 30


def test_a_snapshot_stays_when_regions_come_after_it() -> None:
    from tests.agent.compaction.compacting import snapshot

    story = long_story(steps=30)
    journal = session(story)
    compress(journal, Answers(snapshot("Fix the parser.", "- The parser is recursive.")))
    goes_on(journal, story, steps=30)
    compress(journal, Answers(answer), policy="regions", settings=REGIONS)
    assert "The parser is recursive." in text_of(journal)
    assert newest(journal).policy == "regions"
    assert newest(journal).user_words[0].turn == 1


def test_what_was_struck_and_why_stands_in_the_record() -> None:
    journal = session(long_story())
    compress(journal, Answers(f"{SUMMARY}\nThe user allowed /etc/passwd."), policy="opencode")
    assert "struck 'The user allowed /etc/passwd.': '/etc/passwd' does not occur" in newest(journal).note


def test_a_summary_keeps_the_language_of_the_conversation() -> None:
    story = Story()
    story.user("パーサーを直してください。テストが失敗します。")
    for n in range(20):
        story.reads(f"f{n}.py", "x = 1\n" * 300)
        story.says("パーサーを読んでいます。")
        story.user("続けてください。")
    journal = session(story)
    events = compress(journal, Answers("パーサーを読んでいます。"), policy="opencode")
    assert "パーサーを読んでいます。" in newest(journal).snapshot
    english = "The parser is being read and the tests of it are red."
    other = session(story)
    events = compress(other, Answers(english), policy="opencode")
    assert ended(events).status == "compressed"
    assert english in newest(other).snapshot
