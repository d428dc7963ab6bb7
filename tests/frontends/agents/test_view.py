from __future__ import annotations

from agentcli.frontends.agents.view import Act, View, press
from tests.frontends.agents.rows import approval, questions, row

WAITS = row("first", "waits", questions=[approval()])
OTHER = row("second", "waits", questions=[questions("Which colour?", "And the other?")])
DONE = row("third", "done", shared=False, background=True, worktree="third", changes="1 file +1 −0")
ALL = View().listed([WAITS, OTHER, DONE])


def typed(view: View, *keys: str) -> tuple[View, list[Act]]:
    acts = []
    for key in keys:
        view, act = press(view, key)
        acts += [act] if act is not None else []
    return view, acts


def test_a_question_is_answered_by_one_key_and_another_ones_by_two() -> None:
    assert typed(ALL, "1")[1] == [Act("answer", "first", {"hash": "h1", "choice": "once"})]
    _, acts = typed(ALL, "down", "2", "1")
    assert acts == [Act("answer", "second", {"hash": "h2", "answers": ["blue", "red"]})]
    assert ALL.next_waiting().chosen == "second"


def test_a_no_takes_a_reason_and_words_answer_a_question() -> None:
    _, acts = typed(ALL, "3", "u", "s", "e", " ", "x", "backspace", "p", "enter")
    assert acts == [Act("answer", "first", {"hash": "h1", "choice": "no", "reason": "use p"})]
    _, acts = typed(ALL, "down", "t", "r", "enter", "t", "q", "enter")
    assert acts == [Act("answer", "second", {"hash": "h2", "answers": ["r", "q"]})]
    assert typed(ALL, "3", "escape", "9", "0")[1] == []


def test_what_is_typed_for_one_question_never_answers_the_next() -> None:
    begun, _ = typed(ALL, "3", "n", "o")
    after = begun.listed([row("first", "waits", questions=[approval("other")]), OTHER, DONE])
    assert after.entry is None
    assert begun.listed(ALL.rows).entry == begun.entry
    half, _ = typed(ALL, "down", "1")
    assert half.listed([WAITS, row("second", "works"), DONE]).answers == ()


def test_the_chosen_session_stays_chosen_wherever_it_moves_and_a_neighbour_takes_its_place() -> None:
    view = ALL.moved(1)
    assert view.listed([DONE, WAITS, OTHER]).chosen == "second"
    assert view.listed([WAITS, DONE]).chosen == "third"
    assert view.listed([]).row is None
    assert typed(View(), "1", "d", "enter", "x", "down")[1] == []


def test_changes_are_discarded_by_two_keys_and_nothing_else_between() -> None:
    view = ALL.moved(2)
    asked, acts = typed(view, "x")
    assert (acts, asked.notice) == ([], "x again discards third (1 file +1 −0)")
    assert typed(asked, "x")[1] == [Act("discard", "third")]
    assert typed(asked, "up", "down", "x")[1] == []
    plain = View().listed([row("plain", "done", shared=False, background=True)])
    assert typed(plain, "x")[1] == [Act("discard", "plain")]


def test_a_session_is_merged_and_resumed_only_once_it_has_ended() -> None:
    assert typed(ALL, "m", "r", "x")[1] == []
    assert typed(ALL.moved(2), "m", "r", "d", "enter")[1] == [
        Act(kind, "third") for kind in ("merge", "resume", "diff", "open")
    ]
    idle = View().listed([row("idle", "idle")])
    assert typed(idle, "m", "r", "x", "s", "q")[1] == [Act("quit")]
