from __future__ import annotations

from dataclasses import replace

import pytest

from agentcli.core.event import (
    CallDelta,
    CompactionEnded,
    Event,
    Noticed,
    PermissionDecided,
    Pruned,
    Recorded,
    ReplyRestarted,
    Retrying,
    TextDelta,
    ThinkingDelta,
    ToolProgress,
    ToolStarted,
    TurnEnded,
    UsageReported,
    Warned,
)
from agentcli.core.message import Message, Text, ToolCall, ToolResult, Usage
from agentcli.core.record import Body, Prune, Record, Todo, TodoItem
from agentcli.frontends.terminal.render.pieces import Called, CalledTogether, Note, Reply, Thought, UserMessage, each
from agentcli.frontends.terminal.render.state import State, update

CALL = ToolCall("c1", "bash", {"command": "make"})


def recorded(body: Body) -> Recorded:
    return Recorded(Record(1, "1", "2026-01-01T00:00:00Z", "", body))


def after(*events: Event, state: State | None = None) -> State:
    state = state or State().begin("Working", 0.0)
    for n, event in enumerate(events):
        state = update(state, event, float(n))
    return state


def replies(state: State) -> list[str]:
    return [piece.block.source for piece in each(state.finished) if isinstance(piece, Reply)]


def test_text_that_waits_in_thousands_of_blocks_is_printed_as_the_same_blocks() -> None:
    text = "".join(
        f"Paragraph {n}.\n\n- item\n\n  more of it\n\n```\n{n}\n\n```\n| a |\n|---|\n| {n} |\n" for n in range(500)
    )
    begun = after(TextDelta("One.\n\nTw"))
    for size in (7, 400, 5_000, len(text)):
        pieces = [TextDelta(text[start : start + size]) for start in range(0, len(text), size)]
        note = Warned("beware")
        state = after(
            *pieces, note, *pieces, recorded(Message("assistant", (Text("…"),))), TextDelta("L\n\nast"), state=begun
        )
        reply, blocks = begun.reply.feed(text + text)
        expected = ["One.", *(block.source for block in (*blocks, *reply.end())), "L"]
        assert replies(state) == expected
        assert [type(piece) for piece in each(state.finished)].index(Note) < len(expected) - 2
        assert len(state.finished) < 400
        assert (state.printed, state.reply.rest) == (Reply, "ast")


def test_a_reply_is_printed_block_by_block_and_whole_when_it_is_recorded() -> None:
    state = after(TextDelta("one\n\ntw"))
    assert replies(state) == ["one"]
    state = after(TextDelta("o"), recorded(Message("assistant", (Text("one\n\ntwo"),))), state=state)
    assert replies(state) == ["one", "two"]
    assert state.reply.tail is None


def test_a_reply_that_was_never_streamed_is_printed_from_its_record() -> None:
    assert replies(after(recorded(Message("assistant", (Text("hello"),))))) == ["hello"]


def test_nothing_is_remembered_of_a_call_that_has_its_result() -> None:
    state = State()
    for n in range(50):
        call = ToolCall(f"c{n}", "bash", {"command": "ls"})
        state = after(
            recorded(Message("assistant", (call,))),
            PermissionDecided(call.call_id, "bash", "allow", "read-only"),
            ToolStarted(call, "$ ls"),
            state=replace(state, displayed=state.displayed | {call.call_id}),
        )
        assert (state.harmless, state.displayed) == ({call.call_id}, {call.call_id})
        state = after(recorded(ToolResult(call.call_id, "bash", "success", "a")), state=state)
    assert [*state.calls, *state.titles, *state.running, *state.harmless, *state.displayed] == []


def test_what_the_user_said_is_printed_and_what_was_injected_is_not() -> None:
    parts = (Text("a reminder", synthetic=True, source="reminder"), Text("do it"))
    state = after(recorded(Message("user", parts)))
    assert state.finished == (UserMessage("do it"),)
    assert after(recorded(Message("user", parts[:1]))).finished == ()


def test_thinking_ends_where_the_answer_begins() -> None:
    state = after(ThinkingDelta("hm "), ThinkingDelta("yes"), TextDelta("Answer"))
    assert state.finished == (Thought("hm yes", 2.0),)
    assert state.thought == ""


def test_a_call_is_running_until_its_result_is_recorded() -> None:
    state = after(
        recorded(Message("assistant", (CALL,))), ToolStarted(CALL, "$ make"), ToolProgress("c1", "compiling\n")
    )  # fmt: skip
    assert [(one.title, one.last) for one in state.running] == [("$ make", "compiling\n")]
    result = ToolResult("c1", "bash", "success", "ok")
    state = after(recorded(result), state=state)
    assert state.running == ()
    assert state.settle().finished[-1] == CalledTogether((Called("$ make", result, gap=True),))


def test_a_denied_call_is_named_by_what_it_wanted() -> None:
    state = after(recorded(Message("assistant", (CALL,))), recorded(ToolResult("c1", "bash", "denied", "no")))
    assert state.finished[-1] == Called("$ make", ToolResult("c1", "bash", "denied", "no"), gap=True)


def test_a_restarted_reply_begins_anew() -> None:
    state = after(TextDelta("half a sen"), ReplyRestarted(), TextDelta("whole\n\n"))
    assert replies(state) == ["whole"]
    assert "starts again" in state.acts[-1]


def test_a_restart_is_printed_only_where_a_part_of_the_reply_is() -> None:
    unseen, seen = (after(TextDelta(text), ReplyRestarted()) for text in ("half a sen", "One.\n\nhalf a sen"))
    assert [piece for piece in unseen.finished if isinstance(piece, Note)] == []
    assert [piece.text for piece in seen.finished if isinstance(piece, Note)] == [
        "The reply was cut off; it starts again below."
    ]


def test_a_retry_is_listed_but_prints_nothing() -> None:
    state = after(Retrying(1, 3.0, "Overloaded"), Retrying(2, 6.0, "Overloaded"))
    assert state.finished == ()
    assert state.acts == ("Overloaded. Retrying in 3 s (attempt 1)", "Overloaded. Retrying in 6 s (attempt 2)")


def test_every_automatic_act_is_told_once_and_kept() -> None:
    state = after(
        Pruned(("c1",), 30, "Cold."), CompactionEnded("auto", "compressed", "auto", 1000, 200, "Too full."), Noticed("Fell back.")
    )  # fmt: skip
    assert [piece.text for piece in state.finished if isinstance(piece, Note)] == list(state.acts)
    assert state.acts[0] == "Cleared 1 old tool output (30 tokens) · Cold."
    assert "1k → 200 tokens" in state.acts[1]


def test_tokens_are_counted_as_reported_and_guessed_meanwhile() -> None:
    state = after(TextDelta("x" * 400))
    assert state.work is not None
    assert state.work.characters == 400
    state = after(UsageReported(Usage(input=10, cache_read=90, output=50), 0.1, 150), state=state)
    assert state.work is not None
    assert (state.work.sent, state.work.received, state.work.characters) == (100, 50, 0)
    assert state.status.used == 150


def test_a_reply_that_was_cut_off_counts_what_came_of_it_where_its_report_is_less() -> None:
    for reported, received in ((1, 100), (250, 250)):
        state = after(
            TextDelta("x" * 400),
            recorded(Message("assistant", (Text("x" * 400),), stop="interrupted")),
            UsageReported(Usage(input=10, output=reported), 0.1, 11),
            TextDelta("x" * 4000),
            recorded(Message("assistant", (Text("x" * 4000),), stop="end_turn")),
            UsageReported(Usage(input=10, output=7), 0.1, 11),
        )
        assert state.work is not None
        assert (state.work.received, state.work.estimated) == (received + 7, reported < received)


def test_the_end_of_a_turn_leaves_nothing_running() -> None:
    state = after(
        TextDelta("cut"),
        CallDelta("c", "edit", "{"),
        ToolStarted(CALL, "x"),
        TurnEnded("failed", error=ValueError("broken")),
    )
    assert (state.work, state.running, state.writing) == (None, (), "")
    assert replies(state) == ["cut"]
    assert state.finished[-1] == Note("error", "broken. Enter resends", gap=True)


def test_a_turn_without_a_whole_answer_shows_what_came_and_says_so() -> None:
    state = after(TextDelta("half"), TurnEnded("incomplete", text="half", error=ValueError("ran into its limit")))
    assert replies(state) == ["half"]
    assert state.finished[-1] == Note("error", "ran into its limit. Enter resends", gap=True)


@pytest.mark.parametrize(
    "ended", [TurnEnded("failed", error=ValueError("broken")), TurnEnded("interrupted")], ids=["failed", "interrupted"]
)
def test_the_reason_for_an_end_is_apart_from_the_prompt(ended: TurnEnded) -> None:
    note = after(recorded(Message("user", (Text("go"),))), ended).finished[-1]
    assert isinstance(note, Note)
    assert note.gap


def test_the_todo_list_follows_its_records() -> None:
    items = (TodoItem("one"),)
    assert after(recorded(Todo(items))).todo == items


def test_nothing_from_outside_reaches_the_terminal_raw() -> None:
    evil = "\x1b]0;owned\x07\u202etxt"
    state = after(
        TextDelta(evil + "\n\n"), ThinkingDelta(evil), recorded(Message("user", (Text(evil),))), Warned(evil), Noticed(evil),
        ToolStarted(CALL, evil), ToolProgress("c1", evil), recorded(ToolResult("c1", "bash", "success", "", title=evil)), TurnEnded("failed", error=ValueError(evil)),
    )  # fmt: skip
    shown = [
        getattr(piece, "text", "")
        or getattr(piece, "title", "")
        or getattr(getattr(piece, "block", None), "source", "")
        for piece in state.finished
    ]
    assert shown
    for text in (*shown, *state.acts):
        assert "\x1b" not in text
        assert "\u202e" not in text


def test_thinking_that_had_to_be_dropped_is_told_and_kept() -> None:
    prune = Prune((), 0, "thinking dropped: the provider refused it", drop_thinking_before=4)
    state = after(recorded(prune))
    assert state.acts == ("thinking dropped: the provider refused it",)


def test_a_compaction_that_was_asked_for_is_told_and_none_of_what_was_done_unasked() -> None:
    state = update(
        State(), CompactionEnded("manual", "noop", "auto", 9, 9, "Not enough to compact yet (9 tokens)."), 0.0
    )
    assert state.finished == (Note("act", "Not enough to compact yet (9 tokens)."),)
    assert state.acts == ()
    state = update(State(), CompactionEnded("auto", "compressed", "auto", 9_000, 2_000, "Why."), 0.0)
    assert state.acts == ("Compacted 9k → 2k tokens · Why · /uncompress",)
