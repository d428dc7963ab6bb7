"""Pieces of outputs: what nothing has used for its life goes, what something points at stays word for word."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from agentcli.context.assemble import assemble
from agentcli.context.invariants import check
from agentcli.context.pruning.plan import Pressure, by_price
from agentcli.context.pruning.uses import Piece, Uses, keys, leaves, pieces_of, staying
from agentcli.context.settings import ContextSettings, PruneSettings
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.tokens.estimators import Chars4
from agentcli.context.view import view
from agentcli.context.window import Window, limits_of
from agentcli.core.codec.encode import decode, encode
from agentcli.core.history import History, evolve, fold
from agentcli.core.message import ToolResult
from agentcli.core.model import ModelSpec, Prices
from agentcli.core.record import Carry, Compaction, Prune, Record
from agentcli.tools.registry import TRAITS
from tests.context.story import Story

MODEL = ModelSpec("demo", "demo", window=200_000, max_output=32_000, prices=Prices(5, 25, 0.5, 6.25))
FREE = Pressure(free="the cache is cold")


def window(story: Story, **prune: Any) -> Window:
    rules = PruneSettings(**{"auto_protect": 0, "least": 1, **prune})
    chosen = ContextSettings(prune=rules)
    seen = view(fold(story.records))
    return Window(seen, limits_of(MODEL, chosen), TokenCounter(Chars4()), chosen, TRAITS)


def code(name: str, count: int = 200) -> str:
    """The text of a file: a function a line, each with a name of its own."""
    return "\n".join(f"def {name}_{n}(order_list): return order_list[{n}]" for n in range(count))


def shown(history: History) -> dict[str, str]:
    return {
        block.tool_use_id: block.part.output for block in view(history).blocks if isinstance(block.part, ToolResult)
    }


def pruned(story: Story, pressure: Pressure = FREE, **prune: Any) -> tuple[Prune | None, dict[str, str]]:
    made, _ = by_price(window(story, **prune), pressure)
    now = fold(story.records)
    return made, shown(evolve(now, Record(999, "r", "", "", made)) if made else now)


def old_read(*later: str) -> Story:
    """A read of a large file, and replies that say this."""
    story = Story()
    story.user("Go.")
    story.reads("shop.py", code("price"))
    for said in later:
        story.says(said)
    return story


def test_a_piece_that_nothing_has_used_for_its_life_goes_and_a_used_one_stays_word_for_word() -> None:
    made, now = pruned(old_read("I look.", *["Hm."] * 9, "price_100 is wrong.", "Yes.", "So."), free_life=1.0, kin=0.0)
    assert made
    assert made.call_ids == ("call_1",)
    [(first, last)] = made.pieces["call_1"]
    assert first <= 101 <= last
    text = code("price").split("\n")
    assert now["call_1"].split("\n") == [
        f"[… lines 1 to {first - 1} cleared …]",
        *text[first - 1 : last],
        f"[… lines {last + 1} to 200 cleared …]",
        '[recall(id="call_1") shows all of it]',
    ]


def test_the_rest_of_an_output_stays_a_while_with_the_piece_that_is_used() -> None:
    story = old_read("I look.", *["Hm."] * 9, "price_100 is wrong.", "Yes.")
    assert pruned(story, free_life=1.0, kin=0.5)[0] is None
    assert pruned(story, free_life=1.0, kin=0.1)[0] is not None


def test_an_output_goes_whole_once_no_piece_of_it_is_in_use() -> None:
    made, now = pruned(old_read(*["Hm."] * 20))
    assert made
    assert not made.pieces
    assert now["call_1"].startswith("[Old tool result content cleared]")


def test_pieces_that_stayed_go_in_a_later_prune() -> None:
    story = old_read("I look.", *["Hm."] * 9, "price_100 is wrong.", "Yes.", "So.")
    first, _ = pruned(story, free_life=1.0, kin=0.0)
    assert first
    story.add(first)
    for _ in range(12):
        story.says("Hm.")
    second, now = pruned(story, free_life=1.0, kin=0.0)
    assert second
    assert second.call_ids == ("call_1",)
    assert not second.pieces
    assert now["call_1"].startswith("[Old tool result content cleared]")


def test_a_failed_run_of_tests_stays_until_the_next_run() -> None:
    story = Story()
    story.user("Go.")
    story.runs("pytest -q", code("failed"), exit_code=1)
    for _ in range(30):
        story.says("Hm.")
    assert pruned(story)[0] is None
    story.runs("pytest -q", "12 passed")
    story.says("Green.")
    made, _ = pruned(story)
    assert made
    assert made.call_ids == ("call_1",)


def test_what_an_open_item_of_the_todo_list_names_stays() -> None:
    def listed(status: str) -> Prune | None:
        story = old_read()
        todo = [{"content": "Fix price_100", "status": status}]
        story.does("todo", "Noted.", todos=todo)
        for _ in range(30):
            story.says("Hm.")
        return pruned(story)[0]

    still, done = listed("pending"), listed("completed")
    assert still
    assert done
    assert not done.pieces
    [(first, last)] = still.pieces["call_1"]
    assert first <= 101 <= last


def test_pieces_are_whole_lines_and_make_up_all_of_an_output() -> None:
    text = code("price") + "\n" + "x" * 5_000
    pieces = pieces_of(text)
    assert [first for first, *_ in pieces] == [1, *(last + 1 for _, last, *_ in pieces[:-1])]
    assert pieces[-1][1] == text.count("\n") + 1
    assert staying([Piece(first, last, size, 0) for first, last, size, _ in pieces]) == ((1, text.count("\n") + 1),)


def test_names_and_long_lines_tell_pieces_apart_and_words_do_not() -> None:
    found = keys("  12\t    return total_of(cart) + 1  # see cart.py\nThe total is wrong.\n" + "x" * 100_000)
    assert {"total_of", "cart.py", "return total_of(cart) + 1  # see cart.py", "The total is wrong."} <= found
    assert not {"return", "total", "The"} & found


def test_records_without_pieces_are_written_as_before_and_those_with_them_are_read_again() -> None:
    for plain in (Prune(("a",), 5, "why"), Compaction("auto", "compressed", "auto")):
        assert b"pieces" not in encode(Record(1, "r", "", "", plain))
    lines = {"a": ((1, 4), (9, 9))}
    kept = Compaction("auto", "compressed", "auto", cleared=("a",), pieces=lines, carry=Carry(cleared={}, pieces=lines))
    for body in (Prune(("a",), 5, "why", pieces=lines), kept):
        record = Record(1, "r", "", "", body)
        assert decode(encode(record)) == record


def test_pieces_stay_through_a_compaction_and_a_resume() -> None:
    story = old_read("I look.", *["Hm."] * 9, "price_100 is wrong.", "Yes.", "So.")
    made, now = pruned(story, free_life=1.0, kin=0.0)
    assert made
    story.add(made)
    before = fold(story.records)
    compaction = Compaction("auto", "compressed", "auto", (1, 1), 2, "<state_snapshot/>", carry=before.carry)
    story.add(compaction)
    whole = fold(story.records)
    tail = fold([record for record in story.records if record.seq >= 2 and not isinstance(record.body, Prune)])
    assert shown(whole) == shown(tail)
    assert shown(whole)["call_1"] == now["call_1"]


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("read"), st.integers(0, 3)),
        st.tuples(st.just("edit"), st.integers(0, 3)),
        st.tuples(st.just("run"), st.booleans()),
        st.tuples(st.just("todo"), st.integers(0, 3)),
        st.tuples(st.just("say"), st.integers(1, 12)),
        st.tuples(st.just("ask"), st.just(0)),
    ),
    max_size=14,
)


def told(steps: list[tuple[str, Any]]) -> tuple[Story, set[str]]:
    """A session of such steps, and the lines that something points at in its end."""
    story, reads, todo = Story(), dict[int, str](), ""
    story.user("Go.")
    red, edited = "", ""
    for kind, value in steps:
        edited = edited if kind == "edit" else ""
        match kind:
            case "read":
                reads[value] = story.reads(f"f{value}.py", code(f"of{value}")).call_id
            case "edit" if value in reads:
                edited = f"def of{value}_77(order_list): return order_list[77]"
                story.edits(f"f{value}.py", edited, "pass  # nothing to return here")
            case "run":
                output = f"FAILED run_{len(story.records)}\n" + "\n".join(f"line {n} of the run" for n in range(90))
                story.runs("pytest -q", output, exit_code=0 if value else 1)
                red = "" if value else output
            case "todo" if value in reads:
                todo = f"def of{value}_33(order_list): return order_list[33]"
                story.does("todo", "Noted.", todos=[{"content": f"Fix of{value}_33 first", "status": "pending"}])
            case "say":
                for _ in range(value):
                    story.says("Hm.")
            case "ask":
                story.user("And?")
            case _:
                pass
    story.says("So.")
    return story, {*filter(None, (red, edited, todo))}


PRESSURES = st.sampled_from([Pressure(), FREE, Pressure(forced=True), Pressure(free="cold", life=0.25)])


@settings(max_examples=80, deadline=None)
@given(STEPS, PRESSURES)
def test_what_something_points_at_is_in_view_and_all_that_was_cleared_has_its_handle(
    steps: list[tuple[str, Any]], pressure: Pressure
) -> None:
    story, pointed = told(steps)
    before = fold(story.records)
    made, _ = by_price(window(story, smallest=1), pressure)
    if made is None:
        return
    history = evolve(before, Record(999, "r", "", "", made))
    seen, whole = view(history), shown(before)
    request = assemble(seen, ["system"], [], MODEL)
    assert not list(check(request, seen)), "every call has one answer"
    outputs = shown(history)
    inputs = (text for message in seen.messages for call in message.calls for text in leaves(call.input))
    texts = [*outputs.values(), *inputs]
    for lines in pointed:
        assert any(lines in text for text in texts)
    for call_id in made.call_ids:
        assert outputs[call_id].endswith(
            (f'[recall(id="{call_id}") shows it again]', f'[recall(id="{call_id}") shows all of it]')
        )
        assert (
            set(outputs[call_id].split("\n")[:-1]) <= {*whole[call_id].split("\n"), "[Old tool result content cleared]"}
            or made.outcomes.get(call_id)
            or "cleared …]" in outputs[call_id]
        )
    assert {call: text for call, text in outputs.items() if call not in made.call_ids} == {
        call: text for call, text in whole.items() if call not in made.call_ids
    }


@settings(max_examples=40, deadline=None)
@given(STEPS)
def test_the_uses_of_a_grown_view_are_those_of_the_whole_view(steps: list[tuple[str, Any]]) -> None:
    story, _ = told(steps)
    grown = Uses()
    for number in range(1, len(story.records) + 1):
        grown.of(view(fold(story.records[:number])), TRAITS)
    whole = Uses().of(view(fold(story.records)), TRAITS)
    assert (grown.outputs, grown.inputs, grown.replies, grown.failing) == (
        whole.outputs,
        whole.inputs,
        whole.replies,
        whole.failing,
    )
