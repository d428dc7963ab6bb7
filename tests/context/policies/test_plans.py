"""Plans at their limits: the newest messages that stay, where a history splits, which outputs are cut."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from agentcli.context.policies.auto import split
from agentcli.context.policies.plans import (
    Plan,
    compactable,
    keep_all,
    opens_step,
    opens_turn,
    pinned,
    recent_from,
    seqs,
    without_current,
)
from agentcli.context.settings import ContextSettings
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.tokens.estimators import Chars4
from agentcli.context.view import View, view
from agentcli.context.window import Window, limits_of
from agentcli.core.history import fold
from agentcli.core.model import ModelSpec
from agentcli.core.record import Compaction, Pin
from agentcli.tools.registry import TRAITS
from tests.context.story import Story
from tests.tables import each_row


def seen(story: Story) -> View:
    return view(fold(story.records))


def window(story: Story, usable: int, **settings: Any) -> Window:
    chosen = ContextSettings(**settings)
    limits = limits_of(ModelSpec("m", "m", window=10 * usable, max_output=1_000), chosen)
    marks = replace(limits, usable=usable, soft=int(usable * chosen.soft), hard=int(usable * chosen.hard))
    return Window(seen(story), marks, TokenCounter(Chars4()), chosen, TRAITS)


def talk(*turns: str) -> Story:
    """Messages by a letter each: the user's, an answer, a call with its result."""
    story = Story()
    for each in "".join(turns):
        match each:
            case "u":
                story.user("x" * 40)
            case "a":
                story.says("y" * 40)
            case "c":
                story.reads("f", "z" * 40)
    return story


@each_row(
    ("messages", "tokens", "at_most", "first"),
    [
        ("uu", 0, False, 0),  # joined in one message of the user, which waits
        ("uaua", 0, False, 3),
        ("uaua", 1, False, 3),
        ("uaua", 10, False, 3),
        ("uaua", 11, False, 2),
        ("uaua", 20, False, 2),
        ("uaua", 21, False, 1),
        ("uaua", 99, False, 0),
        ("uaua", 10, True, 3),
        ("uaua", 19, True, 3),
        ("uaua", 20, True, 2),
        ("uaua", 9, True, 3),  # the newest answer stays in any case
        ("uauau", 0, False, 3),
        ("uauccu", 0, False, 1),
        ("uaucc", 0, False, 1),
        ("ucc", 0, False, 5),
        ("ucc", 10, False, 4),
        ("ucc", 10, True, 4),
        ("ucc", 9, True, 5),
    ],
)
def test_the_newest_tokens_and_the_newest_answer_stay(messages: str, tokens: int, at_most: bool, first: int) -> None:
    shown = seen(talk(messages)).messages
    assert recent_from(shown, [10] * len(shown), tokens, at_most=at_most) == first


def test_nothing_stays_of_nothing() -> None:
    assert recent_from((), (), 10) == 0
    assert split((), (), 0.5, 0) == 0
    assert without_current(()) == ()


def test_a_turn_opens_with_words_and_a_step_with_a_reply() -> None:
    shown = seen(talk("uca")).messages
    assert [opens_turn(message) for message in shown] == [True, False, False, False]
    assert [opens_step(message) for message in shown] == [False, True, False, True]
    assert without_current(shown) == shown
    assert without_current(shown[:3]) == shown[:2]


def test_a_compactor_s_blocks_are_no_part_of_what_can_be_compacted() -> None:
    story = talk("uaua")
    story.add(Compaction("auto", "compressed", "sliding", (2, 2), 3, "short", kept=(1,)))
    shown = seen(story)
    ours = shown.compaction
    assert ours is not None
    left = compactable(shown)
    assert [(message.seq, [block.seq for block in message.blocks]) for message in left] == [
        (1, [1]),
        (3, [3]),
        (4, [4]),
    ]
    assert seqs(shown.messages) == (1, 3, 4, 5)
    assert compactable(seen(talk("ua"))) == seen(talk("ua")).messages


def test_a_plan_that_keeps_all_names_what_is_kept_and_pinned() -> None:
    story = talk("uaua")
    story.add(Pin(2))
    now = window(story, 1_000)
    made = keep_all("auto", now, "why", trigger="soft")
    assert (made.kept, made.pinned, made.trigger, made.reasons) == ((1, 2, 3, 4), (2,), "soft", ("why",))
    assert made.tokens_before == made.tokens_after_estimate == now.tokens == 40
    assert not made.does_something
    assert pinned(now.view.messages) == (2,)


@each_row(
    ("trigger", "boundary", "phase", "due"),
    [
        (None, True, "x", False),
        ("soft", True, "", True),
        ("soft", False, "", False),
        ("soft", False, "x", True),
        ("hard", False, "", True),
        ("manual", False, "", True),
    ],
)
def test_a_plan_is_due_at_a_boundary_or_above_the_hard_mark(
    trigger: Any, boundary: bool, phase: str, due: bool
) -> None:
    assert Plan("auto", trigger, phase=phase).is_due(boundary) is due
