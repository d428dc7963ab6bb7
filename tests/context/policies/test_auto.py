"""The default policy: gemini's split, counted in tokens."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from agentcli.context.compaction.record import Summary, prepare, to_record
from agentcli.context.compaction_settings import LossSettings
from agentcli.context.policies import compacts_early_from
from agentcli.context.policies.auto import OPEN_QUESTION, plan, split
from agentcli.context.settings import AutoSettings, PruneSettings
from agentcli.context.view import after
from agentcli.core.history import fold
from agentcli.core.message import Text, ToolCall
from agentcli.core.record import Pin
from tests.context.policies.test_plans import seen, talk, window
from tests.context.story import Story
from tests.context.test_loss import due, long_work
from tests.tables import each_row


@each_row(
    ("messages", "share", "latest", "at"),
    [
        ("uauaua", 0.5, 9, 4),  # half is three messages: the next of the user is the fifth
        ("uauaua", 1 / 3, 9, 2),
        ("uauaua", 0.34, 9, 4),
        ("uauaua", 0.5, 4, 4),
        ("uauaua", 0.5, 3, 3),
        ("uauaua", 0.5, 2, 2),
        ("uauaua", 0.9, 9, 5),
        ("uauaua", 1.0, 9, 5),
        ("uauauau", 0.6, 9, 4),
        ("uauauau", 0.99, 9, 6),
        ("uccc", 0.5, 9, 5),
        ("uccc", 0.5, 4, 3),
        ("uccc", 0.5, 0, 0),
        ("u", 0.5, 9, 0),
    ],
)
def test_a_history_splits_before_a_message_of_the_user_or_else_between_two_steps(
    messages: str, share: float, latest: int, at: int
) -> None:
    shown = seen(talk(messages)).messages
    assert split(shown, [10] * len(shown), share, latest) == at


def test_outputs_that_must_stay_are_cut_the_largest_first_until_it_fits() -> None:
    story = Story()
    story.user("Read them.")
    for name, size in (("a", 4_000), ("b", 2_000), ("c", 3_000), ("d", 500)):
        story.reads(name, "z" * 4 * size)

    def cut(usable: int, records: Story = story, clipped: int = 200) -> tuple[str, ...]:
        auto, prune = AutoSettings(clipped=clipped, summary_least=100_000), PruneSettings(enabled=False)
        return plan(window(records, usable, auto=auto, prune=prune, min_shrink=0.0), forced=True).clipped

    # They hold 9 527 tokens; above nine tenths of what is usable they are cut to 0.56 of it, each to 200 tokens.
    assert [cut(usable) for usable in (10_586, 10_585, 7_000, 5_000)] == [
        (), ("call_1",), ("call_1", "call_3"), ("call_1", "call_3", "call_2"),
    ]  # fmt: skip
    assert cut(2_000, clipped=249) == ("call_1", "call_3", "call_2", "call_4")
    assert cut(2_000, clipped=250) == ("call_1", "call_3", "call_2"), "it would free no more than stays of it"
    story.add(Pin(3))
    assert cut(7_000) == ("call_3", "call_2", "call_4")


def test_below_its_floor_and_the_least_that_it_frees_nothing_is_compacted_early() -> None:
    story = talk("ua")
    at = [
        compacts_early_from(window(story, usable, compact_floor=0.2, compact_least=2_000))
        for usable in (10_000, 10_001, 10_006, 2_858, 2_859)
    ]
    assert at == [2_000, 2_001, 2_002, 0, 2_000]


def test_a_note_of_the_shell_is_a_place_to_split() -> None:
    story = talk("ua")
    story.user("", Text("the shell said so", True, "shell"))
    shown = seen(story).messages
    assert split(shown, [10] * len(shown), 0.5, 9) == 2


@each_row(("least", "helps"), [(0.10, False), (0.05, False), (0.04, True), (0.0, True)])
def test_a_compaction_must_free_its_share_of_the_prompt(least: float, helps: bool) -> None:
    story = Story()
    for prompt, answer in ((7_000, 700), (6_900, 100)):
        story.user("x" * 4 * prompt)
        story.says("y" * 4 * answer)
    whole = {"keep_user_tokens": 100_000, "keep_user_share": 1.0, "keep_piece_share": 1.0, "whole_user_share": 1.0}
    now = window(story, 16_200, min_shrink=least, prune=PruneSettings(enabled=False), **whole)
    made = plan(now, forced=True)
    assert now.tokens == 14_700
    assert made.does_something is helps
    assert helps or made.reasons[0].startswith("Compacting would not help: 14,0")


def test_a_question_of_the_model_keeps_the_window_as_it_is() -> None:
    assert due(long_work(answer="Done.")).optional
    waits = due(long_work(answer="(A) or (B)?"))
    assert waits.trigger is None
    assert OPEN_QUESTION in waits.reasons
    assert due(long_work(answer="(A) or (B)?"), LossSettings(questions=False)).optional


WORK = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["read", "edit", "todo"]), st.sampled_from("abc")),
        st.tuples(st.sampled_from(["passes", "fails", "looks", "asks"]), st.just("")),
    ),
    min_size=1,
    max_size=14,
)


def worked(steps: Sequence[tuple[str, str]]) -> tuple[Story, Sequence[ToolCall]]:
    """A session, and the calls that show the file of its last edit, its failing tests and the file of its open todo item."""
    story, touched = Story(), dict[str, ToolCall]()
    failing, edited, named = None, "", ""
    story.user("Begin.")
    for n, (kind, name) in enumerate(steps):
        path = f"/w/{name}.py"
        match kind:
            case "read":
                touched[path] = story.reads(path, f"text {n} of {name}\n" * 20)
            case "edit":
                edited, touched[path] = path, story.edits(path, f"old {n}", f"new {n}\n" * 20)
            case "todo":
                named = path
                story.does("todo", "ok", todos=[{"content": f"Mend {name}.py", "status": "pending"}])
            case "passes" | "fails":
                run = story.runs("pytest -q", f"run {n}\n" * 20 + "1 failed", int(kind == "fails"))
                failing = run if kind == "fails" else None
            case "looks":
                story.runs(f"ls {n}", "file\n" * 200)
            case _:
                story.says("Well. " * 20)
                story.user(f"Go on with {n}.")
    story.says("Done so far.")
    for n in range(4):
        story.user(f"Next {n}?")
        story.says("Further on. " * 100)
    return story, [call for call in (failing, touched.get(edited), touched.get(named)) if call]


@given(WORK)
@settings(max_examples=40, deadline=None)
def test_what_an_edit_failing_tests_and_an_open_todo_touch_is_in_view_after_a_compaction(
    steps: list[tuple[str, str]],
) -> None:
    story, needed = worked(steps)
    history, now = fold(story.records), window(story, 60_000, auto=AutoSettings(summary_least=0), min_shrink=0.0)
    made = plan(now, forced=True)
    assert made.summarised
    left = after(history, to_record(prepare(made, history, now), Summary("<state_snapshot/>"), "manual"))
    shown = [block.part for block in left.blocks]
    for call in needed:
        assert call in shown
        assert (
            next(body for record in story.records if getattr(body := record.body, "call_id", "") == call.call_id)
            in shown
        )
    roles = [message.role for message in left.messages]
    assert roles == [("user", "assistant")[n % 2] for n in range(len(roles))]
