"""What is kept from one request to the next gives the same as if it were made anew, whatever happens to the session between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcli.context.assemble import Assembler, assemble
from agentcli.context.invariants import Passed, check
from agentcli.context.pruning.blocks import ViewBlocks
from agentcli.context.pruning.plan import TokenLayout, candidates
from agentcli.context.pruning.superseded import Supersession
from agentcli.context.settings import ContextSettings, PruneSettings
from agentcli.context.tokens.calibration import calibrate
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.view import Lens, grown, view
from agentcli.context.window import Window, limits_of
from agentcli.core.history import History, NeedsReplay, evolve, fold
from agentcli.core.message import ToolCall
from agentcli.core.model import RequestMessage
from agentcli.core.record import Compaction, Editor, Prune, Record
from agentcli.tools.registry import TRAITS
from tests.context.made import prompt, records, reply
from tests.context.transcripts import MODEL, OTHER, Session, sessions
from tests.counted import counted

LOOKS = st.lists(st.booleans(), min_size=60, max_size=60)


def live(records: Sequence[Record]) -> Iterator[History]:
    """The history after each record, as an open session has it."""
    history = History()
    for count, record in enumerate(records, 1):
        try:
            history = evolve(history, record)
        except NeedsReplay:
            history = fold(records[:count])
        yield history


@pytest.mark.full
@settings(max_examples=100)
@given(sessions(), LOOKS, st.sampled_from([None, "", "provider"]))
def test_a_view_that_grew_is_the_view_of_the_whole(session: Session, looks: list[bool], by: Editor | None) -> None:
    former = History()
    seen = view(former)
    records = session.records if by is None else [_with_prunes_by(by, record) for record in session.records]
    for history, looked in zip(live(records), looks * 9, strict=False):
        if looked:
            seen, former = grown(history, former, seen), history
            assert seen == view(history)


def _with_prunes_by(by: Editor, record: Record) -> Record:
    """The record; a prune is one that leaves all thoughts, and the provider's restores some of the calls that it clears."""
    body = record.body
    if not isinstance(body, Prune):
        return record
    restored = body.call_ids[::2] if by else ()
    outcomes = dict.fromkeys(body.call_ids[:1], "exit code 1")
    return replace(record, body=Prune(body.call_ids, 10, "test", 0, body.inputs, outcomes, by, restored))


@settings(max_examples=100)
@given(sessions(), LOOKS)
def test_a_calibration_that_went_on_is_that_of_the_whole(session: Session, looks: list[bool]) -> None:
    counter, learned = TokenCounter(), None
    for history, looked in zip(live(session.records), looks * 9, strict=False):
        if looked:
            learned = calibrate(history, counter._added, learned)
            assert learned == calibrate(history, counter._added)


@pytest.mark.full
@settings(max_examples=100)
@given(sessions(), LOOKS, st.booleans())
def test_a_request_that_went_on_from_the_one_before_is_that_of_the_whole(
    session: Session, looks: list[bool], bound: bool
) -> None:
    counter, assembler, passed = TokenCounter(), Assembler(), Passed()
    for number, (history, looked) in enumerate(zip(live(session.records), looks * 9, strict=False)):
        if not looked:
            continue
        model = OTHER if number % 7 == 6 else replace(MODEL, preserved_thinking=bound)
        counter.learn(history)
        seen = view(history)
        more = {"options": {}, "max_output": 1_000, "counter": counter, "milestone": 700}
        request = assembler.assemble(seen, ("system",), (), model, **more)  # type: ignore[arg-type]
        assert request == assemble(seen, ("system",), (), model, **more)  # type: ignore[arg-type]
        assert check(request, seen, passed=passed) == check(request, seen) == ()
        assert counter.prompt(seen) == same_counter(history).prompt(seen)


@settings(max_examples=100)
@given(sessions(), LOOKS)
def test_what_is_out_of_date_is_the_same_in_a_view_that_grew(session: Session, looks: list[bool]) -> None:
    known = Supersession()
    for history, looked in zip(live(session.records), looks * 9, strict=False):
        if looked:
            seen = view(history)
            known.of(seen, TRAITS)
            whole = Supersession().of(seen, TRAITS)
            assert (known.outputs, known.edits) == (whole.outputs, whole.edits)


@pytest.mark.full
@settings(max_examples=100)
@given(sessions(), LOOKS, st.integers(0, 2))
def test_what_could_be_cleared_is_the_same_in_a_view_that_grew(session: Session, looks: list[bool], turns: int) -> None:
    rules = PruneSettings(auto_protect=40, smallest=1, input_least=1, auto_turns=turns)
    limits = limits_of(replace(MODEL, preserved_thinking=turns == 1), ContextSettings())
    counter, known = TokenCounter(), ViewBlocks()
    for history, looked in zip(live(session.records), looks * 9, strict=False):
        if looked:
            counter.learn(history)
            window = Window(view(history), limits, counter, ContextSettings(prune=rules), TRAITS)
            grown_layout, whole = TokenLayout(replace(window, laid_out=known)), TokenLayout(window)
            could_go = candidates(whole)
            assert candidates(grown_layout) == could_go
            assert [*map(grown_layout.carried, could_go)] == [*map(whole.carried, could_go)]
            places = (grown_layout.total, grown_layout.thoughts, grown_layout.first_thought)
            assert places == (whole.total, whole.thoughts, whole.first_thought)


def same_counter(history: History) -> TokenCounter:
    counter = TokenCounter()
    counter.learn(history)
    return counter


def test_a_request_that_is_broken_later_is_found_though_its_beginning_passed() -> None:
    seen = view(fold([Record(1, "r1", "2026-01-01T00:00:01Z", "", prompt("hi"))]))
    passed, good = Passed(), assemble(seen, (), (), MODEL)
    assert check(good, seen, passed=passed) == ()
    more = replace(good, messages=(*good.messages, RequestMessage("assistant", (ToolCall("a", "read", {}),))))
    longer = replace(seen, messages=(*seen.messages, seen.messages[0]))
    assert {found.invariant for found in check(more, longer, passed=passed)} == {"pairing", "roles"}


def test_a_view_without_new_records_stays_the_same_object() -> None:
    history = next(live([Record(1, "r1", "2026-01-01T00:00:01Z", "", prompt("hi"))]))
    seen = view(history)
    assert grown(history, history, seen) is seen


def test_a_view_grows_from_a_compaction_on_that_kept_something() -> None:
    bodies = (prompt("hi"), reply("ho"), prompt("more", 2), reply("ok", turn=2))
    summary = Compaction("auto", "compressed", "auto", (1, 2), 3, "<state_snapshot>s</state_snapshot>")
    kept, answered = list(live(records(*bodies, summary, reply("again", turn=2))))[-2:]
    seen = view(kept)
    with counted(Lens.message) as calls:
        assert grown(answered, kept, seen).messages[: len(seen.messages)] == seen.messages
    assert calls[Lens.message] == 2  # that of the newest record, which must not be empty, and that of the new one
