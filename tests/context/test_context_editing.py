"""Context editing: what is foreseen is what the server does, and what it reports is what the view shows."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentcli.context.assemble import assemble
from agentcli.context.compaction_settings import NativeSettings
from agentcli.context.context_editing import as_shown, context_edits_of, held, reported
from agentcli.context.policies import plan, plan_prune, prunes_from
from agentcli.context.pruning.plan import Pressure
from agentcli.context.room import forecast
from agentcli.context.settings import ContextSettings, PruneSettings
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.tokens.estimators import Calibrated
from agentcli.context.view import HIDDEN, view
from agentcli.context.window import Window, window_of
from agentcli.core.codec.encode import decode, encode
from agentcli.core.history import History, evolve, fold
from agentcli.core.message import ToolCall, ToolResult
from agentcli.core.model import EditsApplied, Request
from agentcli.core.record import Compaction, Pin, Prune, Record, Undo
from agentcli.providers.anthropic.request import to_wire
from agentcli.providers.settings import BUILT_IN
from agentcli.tools.registry import TRAITS
from tests.agent.compaction.compacting import busy_sessions
from tests.context.made import history as history_of
from tests.context.made import prompt, reply, thought
from tests.context.story import Story
from tests.context.transcripts import MODEL, Session, sessions
from tests.loopback.anthropic_edits import PLACEHOLDER, edited

CLAUDE = replace(MODEL, context_editing=True, thinking="adaptive", max_output=8_000)
RULES = ContextSettings(
    policy="native", keep_recent=100, native=NativeSettings(trigger=1_500, keep=2, clear_at_least=200)
)
SETTINGS = BUILT_IN["anthropic"]


def seen(history: History, rules: ContextSettings = RULES, **more: Any) -> Window:
    return window_of(view(history), replace(CLAUDE, **more), TokenCounter(Calibrated()), rules, TRAITS)


def asked(window: Window) -> Request:
    request = assemble(window.view, ("Be brief.",), (), CLAUDE, counter=window.counter)
    edits = context_edits_of(window.view, window.usable, window.counter, window.settings, window.traits)
    return replace(request, context_edits=edits)


def edits_of(window: Window) -> Any:
    """The request as the server edits it, and its report."""
    wire = to_wire(asked(window), SETTINGS)
    return edited({**wire, "context_management": wire["extra_body"]["context_management"]})


def applied(report: list[dict[str, Any]]) -> EditsApplied:
    found = {edit["type"]: edit for edit in report}
    uses, thoughts = (found.get(kind, {}) for kind in ("clear_tool_uses_20250919", "clear_thinking_20251015"))
    return EditsApplied(
        uses.get("cleared_tool_uses", 0),
        uses.get("cleared_input_tokens", 0),
        thoughts.get("cleared_thinking_turns", 0),
        thoughts.get("cleared_input_tokens", 0),
    )


def answered(history: History, window: Window) -> History:
    """The history after the server's report on a request."""
    made = reported(window.view, applied(edits_of(window).applied), history, window.settings, window.traits)
    return history if made is None else evolve(history, Record(history.last_seq + 1, "", "", "", made))


def cleared_by_server(window: Window) -> set[str]:
    blocks = [block for message in edits_of(window).body["messages"] for block in message["content"]]
    results = [block for block in blocks if block["type"] == "tool_result"]
    answered_calls = {block.tool_use_id for block in window.view.blocks}  # other results are made up for the request
    return {block["tool_use_id"] for block in results if block["content"] == PLACEHOLDER} & answered_calls


def held_in(window: Window) -> set[str]:
    return {block.tool_use_id for block in window.view.blocks if block.held and isinstance(block.part, ToolResult)}


def reads(count: int, size: int = 100) -> Story:
    story = Story()
    story.user("Read them.")
    for n in range(count):
        story.reads(f"f{n}.py", f"line of f{n}\n" * size)
    return story


EVERY = {"max_examples": 20, "deadline": None, "suppress_health_check": list(HealthCheck)}


@settings(**EVERY)  # type: ignore[arg-type]
@given(story=st.one_of(sessions(most=16), busy_sessions(6)), turns=st.integers(0, 2))
def test_the_server_clears_what_was_foreseen_and_its_report_changes_nothing_in_the_view(
    story: Session, turns: int
) -> None:
    agree(story, turns)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_server_clears_what_was_foreseen_in_many_sessions() -> None:
    @settings(**{**EVERY, "max_examples": 1_500})  # type: ignore[arg-type]
    @given(story=st.one_of(sessions(most=30), busy_sessions(12)), turns=st.integers(0, 2))
    def check(story: Session, turns: int) -> None:
        agree(story, turns)

    check()


def agree(story: Session, turns: int) -> None:
    rules = replace(RULES, native=replace(RULES.native, thinking_turns=turns))
    history = story.history
    if any(call.call_id for call in history.open_calls):
        return
    window = seen(history, rules)
    foreseen = held_in(window)
    after = answered(history, window)
    told = seen(after, rules)
    assert cleared_by_server(window) >= foreseen
    own = {block.tool_use_id for block in window.view.blocks if block.cleared and not block.held}
    assert held_in(told) == cleared_by_server(told) - own
    if told.view.foreseen is None:
        assert answered(after, told).last_seq == after.last_seq, "nothing is new in a second report"


def test_below_the_trigger_the_provider_is_asked_to_decide_by_its_own_count() -> None:
    window = seen(fold(reads(3, 10).records))
    made = asked(window).context_edits
    assert made is not None
    assert (made.trigger, made.counts_uses, made.at_least) == (1_500, False, 200)
    assert made.keep >= 2
    assert made.exclude == ("todo", "skill")
    assert set(made.inputs) == {"apply_patch", "edit", "multi_edit", "write"}
    assert window.view.foreseen is None


def test_once_outputs_are_cleared_the_boundary_stays_where_it_is() -> None:
    rules = replace(RULES, native=replace(RULES.native, trigger=4_000))
    history = fold(reads(12).records)
    first = answered(history, seen(history, rules))
    held = held_in(seen(first, rules))
    assert 0 < len(held) < 12
    more = reads(13).records[-2:]
    for record in more:
        first = evolve(first, replace(record, seq=first.last_seq + 1))
    window = seen(first, rules)
    made = asked(window).context_edits
    assert made is not None
    assert (made.counts_uses, made.keep) == (True, 13 - len(held))
    assert cleared_by_server(window) == held


def test_a_small_gain_does_not_break_the_cache() -> None:
    story = reads(6)
    rules = replace(RULES, native=replace(RULES.native, clear_at_least=400, trigger=1_600))
    assert seen(fold(story.records), rules).view.foreseen is not None
    story = reads(2, 60)
    for _ in range(6):
        story.says("x" * 2_000)
        story.user("and?")
    assert seen(fold(story.records), rules).view.foreseen is None


def test_what_the_model_has_not_seen_yet_is_never_cleared() -> None:
    story = Story()
    story.user("Read them at once.")
    calls = [story.call("read", file_path=f"f{n}.py") for n in range(9)]
    story.says("", *calls)
    for call in calls:
        story.result(call, "line\n" * 400)
    window = seen(fold(story.records))
    assert window.tokens > 1_500
    assert window.view.foreseen is None
    assert not cleared_by_server(window)


def test_nothing_is_cleared_from_the_oldest_pinned_output_on() -> None:
    story = reads(12)
    results = [record for record in story.records if isinstance(record.body, ToolResult)]
    story.add(Pin(results[3].seq))
    window = seen(fold(story.records))
    assert held_in(window) == {record.body.call_id for record in results[:3]}  # type: ignore[union-attr]
    assert cleared_by_server(window) == held_in(window)


def test_results_of_protected_tools_and_of_none_but_edits_lose_their_inputs() -> None:
    story = Story()
    story.user("Write them.")
    for n in range(8):
        story.does("write", "Wrote it. " * 40, file_path=f"f{n}.py", content="x = 1\n" * 200)
        story.does("todo", "[x] done " * 40, todos=[])
    window = seen(fold(story.records))
    held = [block for block in window.view.blocks if block.held]
    assert held
    assert {block.original.name for block in held if isinstance(block.original, ToolCall | ToolResult)} == {"write"}
    calls = [block for block in held if isinstance(block.original, ToolCall)]
    assert all("cleared" in block.part.input for block in calls if isinstance(block.part, ToolCall))
    assert all(block.sent is block.original for block in held)
    bare = seen(fold(story.records), replace(RULES, prune=PruneSettings(inputs=False)))
    assert not [block for block in bare.view.blocks if block.held and isinstance(block.original, ToolCall)]


def test_the_plan_and_the_window_say_what_the_provider_will_clear() -> None:
    history = fold(reads(12).records)
    window = seen(history)
    made = forecast(history, window, datetime(2026, 1, 1, tzinfo=UTC))
    assert set(made.cleared) == held_in(window)
    assert made.policy == "native"
    assert made.tokens_before == window.tokens < seen(history, replace(RULES, policy="auto")).tokens
    assert "The provider will clear" in made.reasons[0]
    assert prunes_from(window) == 1_500
    assert "The provider will clear" in plan_prune(window)[1]
    assert plan_prune(seen(fold(reads(3, 10).records)))[1] == "The provider clears nothing before 1,500 tokens."
    calm = seen(fold(reads(30).records), ContextSettings(policy="native", prune=PruneSettings(auto_protect=1_000)))
    by_hand, _ = plan_prune(calm, Pressure(forced=True))
    assert by_hand is not None


def test_where_clearing_is_not_enough_it_is_compacted_at_the_marks_and_what_was_cleared_stays_so() -> None:
    story = Story()
    story.user("Think about them.")
    for n in range(8):
        story.reads(f"f{n}.py", "line\n" * 100)
    for n in range(30):
        story.says(f"{n} " + "word " * 400)
        story.user("and?")
    for n in range(4):
        story.reads(f"g{n}.py", "line\n" * 100)
    window = seen(fold(story.records), window=16_000, max_output=2_000)
    made = plan(window)
    assert made.trigger in ("soft", "hard")
    assert made.does_something
    assert made.policy == "native"
    early = plan(seen(fold(story.records), window=120_000))
    assert early.trigger is None, "nothing is summarised for its price alone"


def test_a_compaction_takes_over_what_the_provider_cleared() -> None:
    history = fold(reads(12).records)
    history = answered(history, seen(history))
    held = history.held
    kept = next(entry.seq for entry in history.entries if isinstance(entry.body, ToolResult)) + 3
    body = Compaction("manual", "compressed", "native", (1, kept - 1), kept, "<state_snapshot/>", carry=history.carry)
    history = evolve(history, Record(history.last_seq + 1, "", "", "", body))
    assert held
    assert not history.held
    blocks = [block for block in view(history).blocks if isinstance(block.part, ToolResult) and block.cleared]
    assert blocks
    assert all(block.sent is block.part for block in blocks)


def test_a_prune_by_the_provider_is_written_and_read_like_any_record() -> None:
    body = Prune(("a",), 5, "Cleared by the provider.", 7, ("a",), by="provider", restored=("b",))
    record = Record(1, "r1", "2026-01-01T00:00:00Z", "", body)
    assert decode(encode(record)) == record
    plain = Record(1, "r1", "2026-01-01T00:00:00Z", "", Prune(("a",), 5, "x"))
    assert b"restored" not in encode(plain)
    assert b'"by"' not in encode(plain)


def test_what_the_provider_shows_again_is_no_longer_cleared() -> None:
    story = reads(3)
    story.add(Prune(("call_1", "call_2"), 50, "", by="provider"))
    story.add(Prune((), 0, "", by="provider", restored=("call_2",)))
    history = fold(story.records)
    assert history.held == {"call_1"}
    assert set(history.cleared) == {"call_1"}
    story.add(Undo(story.records[-1].seq, "prune"))
    assert fold(story.records).held == {"call_1", "call_2"}


def test_hidden_thoughts_are_no_part_of_the_prompt_that_the_model_gets() -> None:
    story = Story()
    for n in range(4):
        story.user(f"Question {n}.")
        story.says("Answer.", thinking="hm " * 100)
    rules = replace(RULES, native=replace(RULES.native, thinking_turns=1))
    window = seen(fold(story.records), rules)
    hidden = [block for block in window.view.blocks if block.part == HIDDEN]
    assert len(hidden) == 3
    assert not [block for block in as_shown(window.view).blocks if block.part == HIDDEN]


def test_a_model_whose_provider_clears_nothing_falls_back_to_auto() -> None:
    history = fold(reads(12).records)
    window = seen(history, context_editing=False)
    assert window.settings.policy == "auto"
    assert window.view.foreseen is None


def test_what_frees_just_enough_is_cleared_and_one_token_less_is_not() -> None:
    history = fold(reads(12).records)

    def held(at_least: int) -> set[str]:
        native = NativeSettings(trigger=4_000, keep=10, clear_at_least=at_least)
        return held_in(seen(history, replace(RULES, native=native)))

    window = seen(history, replace(RULES, policy="auto"))
    results = [block for block in window.view.blocks if isinstance(block.part, ToolResult)]
    freed = sum(map(window.counter.block, results[:2]))
    assert freed <= 1_000, "a quarter of the trigger is always enough"
    assert held(freed) == {block.tool_use_id for block in results[:2]}
    assert held(freed + 1) == set()


def test_a_report_counts_the_tokens_of_new_outputs_and_of_thoughts_that_are_newly_hidden() -> None:
    story = Story()
    for n in range(3):
        story.user(f"Question {n}.")
        story.says("Looking.", thinking="hm " * 100)
        story.reads(f"f{n}.py", "line\n" * 400)
    history = fold(story.records)
    window = seen(history, replace(RULES, native=NativeSettings(trigger=100_000)))

    def told(report: EditsApplied, before: History = history) -> Prune | None:
        return reported(window.view, report, before, window.settings, window.traits)

    first = told(EditsApplied(2, 800, 1, 90))
    assert first is not None
    assert (len(first.call_ids), first.tokens) == (2, 890)
    after = evolve(history, Record(history.last_seq + 1, "", "", "", first))
    assert told(EditsApplied(2, 800, 1, 90), after) is None
    more = told(EditsApplied(3, 1_200, 1, 90), after)
    assert more is not None
    assert (len(more.call_ids), more.tokens) == (1, 400), "a third of the outputs is new, and no thought"
    fewer = told(EditsApplied(1, 400, 1, 90), after)
    assert fewer is not None
    assert (fewer.call_ids, fewer.restored, fewer.tokens) == ((), first.call_ids[1:], 0)
    assert told(EditsApplied(0, 0, 0, 0)) is None


def test_what_the_provider_drops_is_marked_and_the_whole_is_kept_beside_it() -> None:
    story = reads(2)
    story.edits("a.py", "new text")
    whole = view(fold(story.records))
    calls = {call.name: call.call_id for message in whole.messages for call in message.calls}
    chosen = [block.tool_use_id for block in whole.blocks if isinstance(block.part, ToolResult)]
    shown = held(whole, chosen[:1], [calls["edit"]], 0)
    changed = [
        (type(was.part).__name__, block.tool_use_id, block.cleared, block.held, block.original is was.part)
        for was, block in zip(whole.blocks, shown.blocks, strict=True)
        if block is not was
    ]
    assert changed == [
        ("ToolResult", chosen[0], True, True, True),
        ("ToolCall", "", True, True, True),
    ]
    assert not any(block.held for block in as_shown(shown).blocks)
    assert held(shown, chosen[:1], [calls["edit"]], 0).messages == shown.messages, "no more than once"
    untouched = [one is other for one, other in zip(whole.messages, shown.messages, strict=True)]
    assert untouched.count(False) == 2, "the other messages stay the same objects"


def test_hidden_thoughts_are_those_before_a_record() -> None:
    talk = history_of(prompt("a"), reply(thought("one"), "b"), prompt("c", 2), reply(thought("two"), "d", turn=2))
    whole = view(talk)
    marks = [
        [
            (block.held, block.cleared, block.part == HIDDEN)
            for block in held(whole, (), (), before).blocks
            if block.original
        ]
        for before in (0, 2, 3, 4, 5)
    ]
    gone = (True, True, True)
    assert marks == [[], [], [gone], [gone], [gone, gone]]
    assert [held(whole, (), (), before).held_thinking for before in (0, 3)] == [0, 3]
