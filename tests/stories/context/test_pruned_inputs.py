"""Inputs of old edits are cleared with the outputs, come back with an undo, and stay where somebody needs them as they were."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from agentcli.context.assemble import assemble
from agentcli.context.compaction.record import prepare
from agentcli.context.policies import plan, plan_prune
from agentcli.context.pruning.plan import Pressure
from agentcli.context.settings import ContextSettings, PruneSettings
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.tokens.estimators import Chars4
from agentcli.context.view import View, view
from agentcli.context.window import Window, limits_of
from agentcli.core.codec.encode import decode, encode
from agentcli.core.history import fold
from agentcli.core.message import Status, ToolCall, ToolResult
from agentcli.core.model import ModelSpec
from agentcli.core.record import Body, Carry, Compaction, Pin, Prune, Record, Undo
from agentcli.tools.registry import TRAITS
from tests.context.made import history, prompt, records, reply, result, thought

MODEL = ModelSpec("anthropic", "claude-test")
RULES = PruneSettings(auto_protect=4_000, minimum=1_000, least=200, chance=0.0)
"""No text is used again."""
ASKED = Pressure(forced=True)
LARGE = "".join(f"value_{n} = {n}\n" for n in range(400))


def edit(n: int, content: str = LARGE, status: Status = "success", name: str = "write", **more: Any) -> list[Body]:
    """The edit of a file, and its answer."""
    given = {"file_path": f"src/f{n}.py", "content": content}
    call = ToolCall(f"w{n}", name, given, more.get("meta"))
    return [reply(*more.get("also", ()), call), result(f"w{n}", "Wrote it.", name, status)]


def read(n: int, of: int, tokens: int = 20) -> list[Body]:
    call = ToolCall(f"r{n}", "read", {"file_path": f"src/f{of}.py"})
    return [reply(call), result(f"r{n}", "x" * 4 * tokens)]


AFTER: list[Body] = [reply("ok"), prompt("next", 2), *edit(90), *edit(91), reply("done", turn=2)]
"""A newer turn."""


def window(seen: View, rules: PruneSettings = RULES, preserved: bool = False) -> Window:
    settings = ContextSettings(prune=rules)
    limits = replace(limits_of(MODEL, settings), preserved_thinking=preserved)
    return Window(seen, limits, TokenCounter(Chars4()), settings, TRAITS)


def cleared(*bodies: Body, rules: PruneSettings = RULES) -> tuple[str, ...]:
    made, _ = plan_prune(window(view(history(*bodies)), rules), ASKED)
    return made.inputs if made else ()


def test_a_large_input_of_an_old_edit_is_cleared_and_says_how_to_get_it_back() -> None:
    bodies = [prompt("go"), *edit(1), *AFTER]
    made, _ = plan_prune(window(view(history(*bodies))), ASKED)
    assert made
    assert made.inputs == ("w1",)
    [block] = [block for block in view(history(*bodies, made)).blocks if block.cleared]
    assert isinstance(block.part, ToolCall)
    assert block.part.input == {
        "file_path": "src/f1.py",
        "cleared": '[write of 402 lines cleared: recall(id="w1", role="input") shows it again]',
    }


def test_an_input_stays_as_long_as_its_words_are_worth_their_price() -> None:
    since = [body for n in range(3, 12) for body in read(n, of=n)]
    rules = replace(RULES, chance=0.12, edit_weight=8.0)
    assert cleared(prompt("go"), *edit(1), *edit(2), *AFTER, rules=rules) == ()
    much = [prompt("go"), *edit(1, LARGE * 10), *edit(2, LARGE[:2_000]), *since]
    assert cleared(*much, *AFTER, rules=rules) == ("w1",)


@pytest.mark.parametrize("status", ["error", "denied", "interrupted"])
def test_the_input_of_an_edit_that_failed_stays(status: Status) -> None:
    assert cleared(prompt("go"), *edit(1, status=status), *AFTER) == ()


def test_what_is_pinned_protected_signed_or_no_edit_stays() -> None:
    assert cleared(prompt("go"), *edit(1), Pin(2), *AFTER) == ()
    assert cleared(prompt("go"), *edit(1), *AFTER, rules=replace(RULES, protected_tools=("write",))) == ()
    assert cleared(prompt("go"), *edit(1), *AFTER, rules=replace(RULES, inputs=False)) == ()
    assert cleared(prompt("go"), *edit(1, meta={"google": {"thought_signature": "s"}}), *AFTER) == ()
    assert cleared(prompt("go"), *edit(1, name="bash"), *AFTER) == ()


def test_the_input_of_a_call_that_only_says_who_made_it_is_cleared() -> None:
    direct = {"anthropic": {"caller": {"type": "direct"}}}
    assert cleared(prompt("go"), *edit(1, meta=direct), *AFTER) != ()
    assert cleared(prompt("go"), *edit(1, meta={"anthropic": {"toolset_name": "x"}}), *AFTER) == ()


def test_the_newest_inputs_stay() -> None:
    bodies = [prompt("go"), *edit(1), *edit(2), *edit(3), reply("done"), prompt("more", 2)]
    assert cleared(*bodies, rules=replace(RULES, auto_protect=10_000)) == ()
    assert cleared(*bodies) == ("w1",)


def test_large_inputs_are_priced_like_outputs_on_a_warm_cache() -> None:
    bodies = [prompt("go"), *edit(1), *AFTER]
    _, why = plan_prune(window(view(history(*bodies)), replace(RULES, minimum=50_000)))
    assert why.startswith("Waiting")


def test_outputs_and_inputs_go_in_one_prune_and_an_undo_restores_the_bytes() -> None:
    bodies = [prompt("go"), *edit(1), *read(1, of=1, tokens=5_000), *edit(2), *AFTER]
    whole = view(history(*bodies))
    made, _ = plan_prune(window(whole), ASKED)
    assert made
    assert (made.call_ids, made.inputs) == (("r1",), ("w1", "w2"))
    after = records(*bodies, made)
    assert view(fold(after)) != whole
    undone = view(fold([*after, Record(len(after) + 1, "", "", "", Undo(len(after), "prune"))]))
    assert undone.messages == whole.messages
    requests = [assemble(each, ("system",), (), MODEL) for each in (whole, undone)]
    assert requests[0] == requests[1]


def test_what_a_prune_frees_is_what_the_view_loses() -> None:
    bodies = [prompt("go"), *edit(1), *edit(2), *AFTER]
    before = window(view(history(*bodies)))
    made, _ = plan_prune(before, ASKED)
    assert made
    after = window(view(history(*bodies, made)))
    assert abs((before.tokens - after.tokens) - made.tokens) <= 4


def test_a_preserved_thought_is_dropped_with_it() -> None:
    bodies = [prompt("go"), *edit(1, also=(thought("s1"),)), *edit(2, also=(thought("s2"),)), *AFTER]
    made, _ = plan_prune(window(view(history(*bodies)), preserved=True), ASKED)
    assert made
    assert made.inputs
    assert made.drop_thinking_before > 4


def test_a_call_that_was_signed_goes_back_whole_whatever_the_record_says() -> None:
    bodies = [prompt("go"), *edit(1, meta={"google": {"thought_signature": "s"}}), *AFTER]
    assert view(history(*bodies, Prune((), 10, "test", inputs=("w1",)))).messages == view(history(*bodies)).messages


def test_inputs_stay_cleared_through_a_compaction_and_a_resume() -> None:
    bodies = [prompt("go"), *edit(1), *AFTER]
    prune = Prune((), 10, "test", inputs=("w1",))
    done = history(*bodies, prune)
    compaction = Compaction("auto", "compressed", "auto", (1, 1), 2, "<state_snapshot/>", carry=done.carry)
    entire = records(*bodies, prune, compaction)
    for kept in (entire, [record for record in entire if record.seq >= 2 and record.kind != "prune"]):
        assert [block.seq for block in view(fold(kept)).blocks if block.cleared] == [2]
    again = replace(compaction, carry=Carry(turn=3), cleared_inputs=("w1",))
    assert [block.seq for block in view(history(*bodies, again)).blocks if block.cleared] == [2]


def test_a_compaction_clears_inputs_of_what_it_keeps() -> None:
    bodies: list[Body] = [
        prompt("go"),
        *(body for n in range(60) for body in edit(n)),
        reply("done"),
        prompt("more", 2),
    ]
    made = plan(window(view(history(*bodies))), forced=True)
    kept = {call for record in records(*bodies) if record.seq in made.kept for call in _calls(record)}
    assert made.cleared_inputs
    assert set(made.cleared_inputs) <= kept


def _calls(record: Record) -> list[str]:
    return [record.body.call_id] if isinstance(record.body, ToolResult) else []


def test_records_without_cleared_inputs_are_written_as_before() -> None:
    for body in (Prune(("a",), 5, "why"), Compaction("auto", "compressed", "auto")):
        assert b"inputs" not in encode(Record(1, "r", "", "", body))
    for body in (Prune(("a",), 5, "why", 0, ("b",)), Compaction("auto", "compressed", "auto", cleared_inputs=("b",))):
        record = Record(1, "r", "", "", body)
        assert decode(encode(record)) == record


def test_the_summariser_sees_the_two_ends_of_what_was_cleared() -> None:
    old = [prompt("go"), *edit(1), *read(1, of=1, tokens=3_000), *read(5, of=5, tokens=9_000), reply("done")]
    bodies = [*old, prompt("more", 2), *edit(2)]
    done = history(*bodies, Prune(("r1",), 10, "test", inputs=("w1",)), reply("so far", turn=2))
    seen = window(view(done))
    task = prepare(plan(seen, forced=True), done, seen)
    parts = {getattr(block.part, "call_id", ""): block.part for message in task.gone for block in message.blocks}
    assert isinstance(parts["r1"], ToolResult)
    assert parts["r1"].output.startswith("xxx")
    assert len(parts["r1"].output) < 1_200
    [call] = [block.part for message in task.gone for block in message.blocks if isinstance(block.part, ToolCall)][:1]
    assert call.input["content"].startswith("value_0 = 0\n")
    assert call.input["content"].endswith("value_399 = 399\n")
