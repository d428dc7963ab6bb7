"""Which outputs are cleared, when, and why: opencode's rule to the letter, and auto's priced queue."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcli.context.cleared import CLEARED
from agentcli.context.policies import plan_prune
from agentcli.context.policies.opencode import prunable
from agentcli.context.pruning.blocks import Outdated, Supersession
from agentcli.context.pruning.plan import (
    NONE,
    EditCost,
    Pressure,
    TokenLayout,
    by_price,
    candidates,
    cleared_in_words,
    edit_cost,
    free_because,
    moment,
    pays_from,
    requests_to_pay,
    worthwhile,
)
from agentcli.context.settings import ContextSettings, PolicyName, PruneSettings
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.tokens.estimators import Chars4
from agentcli.context.view import View, ViewMessage, view
from agentcli.context.window import Limits, Window, limits_of
from agentcli.core.history import evolve, fold
from agentcli.core.message import Message, Text, ToolResult
from agentcli.core.model import ModelSpec, Prices
from agentcli.core.record import Body, Compaction, Pin, Prune, Record
from agentcli.core.text.passage import Entry, passages
from agentcli.tools.registry import TRAITS
from tests.context.made import call, history, prompt, reply, result, thought
from tests.context.story import Story
from tests.context.transcripts import Session, sessions
from tests.counted import counted
from tests.tables import each_row

PRICES = Prices(5, 25, 0.5, 6.25)
MODEL = ModelSpec("anthropic", "claude-test", prices=PRICES)
LIMITS = limits_of(MODEL, ContextSettings())
RULE = PruneSettings()
CAREFUL = replace(RULE, auto_protect=RULE.protect, auto_turns=RULE.turns, protect_share=0.25, chance=0.0)
"""`auto` with opencode's protection, and no text used again: a few round sizes show the queue at work."""


def step(n: int, tokens: int, name: str = "read", **given: object) -> tuple[Body, Body]:
    """A call and its output of so many tokens by the chars4 rule."""
    given = given or {"file_path": f"f{n}.py"}
    return reply(call(f"c{n}", name, **given)), result(f"c{n}", "x" * (4 * tokens), name)


def steps(*sizes: int, start: int = 0) -> list[Body]:
    return [body for n, tokens in enumerate(sizes, start) for body in step(n, tokens)]


AFTER = (reply("ok"), prompt("p2", 2), reply("ok", turn=2), prompt("p3", 3), reply("ok", turn=3))


def window(
    seen: View,
    rule: PruneSettings = RULE,
    limits: Limits = LIMITS,
    policy: PolicyName = "auto",
    counter: TokenCounter | None = None,
) -> Window:
    return Window(seen, limits, counter or TokenCounter(Chars4()), ContextSettings(policy=policy, prune=rule), TRAITS)


def letter(*bodies: Body, rule: PruneSettings = RULE) -> list[str]:
    return list(prunable(window(view(history(*bodies)), rule)))


def test_what_lies_beyond_the_newest_forty_thousand_tokens_goes_if_it_holds_more_than_twenty() -> None:
    assert letter(prompt("p1"), *steps(21_000, 10_000, 30_000), *AFTER) == ["c0"]
    assert letter(prompt("p1"), *steps(20_000, 10_000, 30_000), *AFTER) == []
    assert letter(prompt("p1"), *steps(20_001, 10_000, 30_000), *AFTER) == ["c0"]
    # The output that crosses the mark is itself beyond it; one that reaches it exactly is not.
    assert letter(prompt("p1"), *steps(1, 20_001, 20_000), *AFTER) == ["c1", "c0"]


def test_two_of_the_users_messages_must_have_passed() -> None:
    work = (prompt("p1"), *steps(30_000, 30_000, 30_000), reply("ok"))
    assert letter(*work) == []
    assert letter(*work, prompt("p2", 2), reply("ok")) == []
    assert letter(*work, prompt("p2", 2), reply("ok"), prompt("p3", 3)) == ["c1", "c0"]
    one = replace(RULE, turns=1)
    assert letter(*work, prompt("p2", 2), rule=one) == ["c1", "c0"]


def test_what_a_program_wrote_in_the_users_place_is_a_turn_as_well() -> None:
    remind = Message("user", (Text("A job has ended.", synthetic=True, source="reminder"),), 1)
    large = steps(*[10_000] * 8)
    assert letter(prompt("p1"), *large, prompt("p2", 2)) == []
    assert letter(prompt("p1"), *large, remind, prompt("p2", 2)) != []


def test_a_summary_ends_the_walk() -> None:
    summary = Compaction("auto", "compressed", "sliding", (3, 3), 4, "s", kept=(1, 2, 3))
    before = (prompt("p1"), *step(0, 90_000))
    assert letter(*before, summary, *steps(50_000, start=1), *AFTER) == ["c1"]


def test_an_output_that_is_already_cleared_ends_the_walk() -> None:
    work = (prompt("p1"), *steps(50_000, 50_000, 50_000, 50_000), *AFTER)
    assert letter(*work) == ["c3", "c2", "c1", "c0"]
    assert letter(*work, Prune(("c1",), 0, "test")) == ["c3", "c2"]


def test_errors_protected_tools_and_pins_are_neither_counted_nor_cleared() -> None:
    failed = (reply(call("e")), result("e", "x" * 400_000, status="error"))
    todo = step(8, 100_000, "todo", todos=[])
    work = (prompt("p1"), *failed, *todo, *steps(30_000, 30_000), *AFTER)
    assert letter(*work) == ["c0"]
    pinned = next(n for n, body in enumerate(work, 1) if isinstance(body, ToolResult) and body.call_id == "c0")
    assert letter(*work, Pin(pinned)) == []


def plan(*bodies: Body, pressure: Pressure = NONE, rule: PruneSettings = CAREFUL, limits: Limits = LIMITS) -> tuple:  # type: ignore[type-arg]
    return plan_prune(window(view(history(*bodies)), rule, limits), pressure)


def test_the_formula_is_that_of_the_price_list() -> None:
    assert requests_to_pay(EditCost(10_000, 100_000), 1.25, 0.1) == pytest.approx(11.5 * 10)
    assert requests_to_pay(EditCost(10_000, 0), 1.25, 0.1) == 0
    assert requests_to_pay(EditCost(0, 10), 1.25, 0.1) == float("inf")
    assert edit_cost(EditCost(10_000, 100_000), 1.25, 0.1) == pytest.approx(115_000)
    assert requests_to_pay(EditCost(10_000, 0, thoughts=1_000), 1.25, 0.1) > 0


def test_without_protected_turns_old_outputs_of_the_newest_turn_may_go() -> None:
    """Also where no prompt of the user is in view any more."""
    work = (*steps(30_000, 30_000, 3_000), *AFTER[:1])
    for bodies in (work, (prompt("p1"), *work)):
        body, _ = plan(*bodies, rule=replace(RULE, auto_turns=0), pressure=Pressure(free="cold"))
        assert body is not None
        assert body.call_ids == ("c0", "c1")


WARM = (prompt("p1"), *steps(25_000, 39_000), reply("y" * 84_000), *AFTER)


def test_on_a_warm_cache_a_prune_waits_until_it_pays() -> None:
    body, why = plan(*WARM)
    assert body is None
    assert "warm" in why
    assert f"{math.ceil(60_000 * 11.5 / 25_000)} requests" in why
    eager = replace(CAREFUL, horizon=40, patience=1)
    body, why = plan(*WARM, rule=eager)
    assert body.call_ids == ("c0",)
    assert why.startswith("it pays off after")


@pytest.mark.parametrize(
    ("pressure", "why"),
    [
        (Pressure(free="the cache is cold after 6 minutes"), "the cache is cold after 6 minutes"),
        (Pressure(forced=True), "asked for"),
        (Pressure(need=5_000), "the window demands 5,000 tokens"),
    ],
)
def test_what_waited_goes_at_once_when_that_is_free_or_forced(pressure: Pressure, why: str) -> None:
    body, said = plan(*WARM, pressure=pressure)
    assert body.call_ids == ("c0",)
    assert said == body.reason == why
    assert 24_900 < body.tokens < 25_000


def test_when_the_window_demands_more_live_content_goes_too_in_long_strides_and_errors_last() -> None:
    failed = (reply(call("e")), result("e", "x" * 80_000, status="error"))
    work = (prompt("p1"), *failed, *steps(25_000, 25_000, 60_000, 39_000), reply("so"))
    stride = LIMITS.hard - LIMITS.soft
    assert stride > 25_000
    body, _ = plan(*work, pressure=Pressure(need=1))
    assert body.call_ids == ("c0", "c1")
    body, _ = plan(*work, pressure=Pressure(need=109_900 - stride))
    assert body.call_ids == ("c0", "c1", "c2")
    body, _ = plan(*work, pressure=Pressure(need=200_000))
    assert body.call_ids == ("e", "c0", "c1", "c2")


def test_the_newest_outputs_stay_whatever_the_window_demands() -> None:
    body, why = plan(prompt("p1"), *steps(20_000, 19_000), reply("so"), pressure=Pressure(need=10_000))
    assert body is None
    assert why == "There is no output left to clear."
    small = limits_of(replace(MODEL, window=32_000, max_output=8_000), ContextSettings())
    body, _ = plan(prompt("p1"), *steps(9_000, 5_000), reply("so"), pressure=Pressure(need=10_000), limits=small)
    assert body.call_ids == ("c0",)


def test_policies_without_a_prune_of_their_own_clear_only_what_is_asked_for() -> None:
    gemini = window(view(history(*WARM)), policy="gemini")
    assert plan_prune(gemini, Pressure(free="cold"))[0] is None
    assert plan_prune(gemini, Pressure(forced=True))[0] is not None


def test_what_the_model_has_not_seen_yet_is_never_cleared() -> None:
    body, why = plan(prompt("p1"), *steps(60_000), pressure=Pressure(need=50_000))
    assert body is None
    assert why == "There is no output left to clear."


def test_an_outdated_output_goes_even_where_it_is_new() -> None:
    again = (prompt("p"), *step(0, 25_000, file_path="a"), *step(1, 2_500, file_path="a"), reply("ok"), reply("ok"))
    body, why = plan(*again, rule=RULE)
    assert body.call_ids == ("c0",)
    assert why == "it pays off after 2 requests"


def test_a_few_tokens_are_not_worth_an_edit() -> None:
    def again(tokens: int) -> tuple[Body, ...]:
        return (prompt("p"), *step(0, tokens, file_path="a"), *step(1, 10, file_path="a"), reply("ok"), reply("ok"))

    assert LIMITS.usable * RULE.minimum_share == 10_500
    assert plan(*again(10_000))[1].endswith("tokens could go, on a warm cache at least 10,500 should.")
    assert plan(*again(11_500))[0] is not None
    assert plan(*again(3_000), pressure=Pressure(free="cold"))[0] is not None
    assert plan(*again(1_000), pressure=Pressure(free="cold"))[1] == "Not worth it: less than 2,000 tokens."
    assert plan(*again(1_000), pressure=Pressure(forced=True))[0] is not None


def test_auto_protects_less_than_opencode_since_it_can_recall() -> None:
    work = (prompt("p1"), *steps(21_000, 6_000, 9_000), reply("ok"), prompt("p2", 2), reply("ok", turn=2))
    cold, unused = Pressure(free="cold"), replace(RULE, chance=0.0)
    assert (RULE.protect, RULE.minimum, RULE.turns) == (40_000, 20_000, 2)
    assert letter(*work) == []
    assert plan(*work, pressure=cold)[0] is None
    assert plan(*work, pressure=cold, rule=unused)[0].call_ids == ("c0", "c1")
    assert plan(*work, pressure=cold, rule=replace(unused, auto_protect=20_000))[0].call_ids == ("c0",)
    # With protected turns, what the newest prompts led to is live, and goes only when the window demands it.
    live = (prompt("p1"), *steps(21_000, 6_000, 9_000), reply("ok"))
    assert plan(*live, pressure=cold, rule=replace(unused, auto_turns=2))[0] is None
    assert plan(*live, prompt("p2", 2), pressure=cold, rule=unused)[0].call_ids == ("c0", "c1")
    assert plan(*live, prompt("p2", 2), pressure=cold, rule=replace(unused, auto_turns=2))[0] is None


def test_a_small_window_does_not_make_a_few_tokens_worth_an_edit() -> None:
    small = limits_of(replace(MODEL, window=16_000, max_output=8_000), ContextSettings())
    assert small.usable // 8 == 1_000

    def again(tokens: int) -> str:
        read = (*step(0, tokens, file_path="a"), *step(1, 10, file_path="a"), *[reply("ok")] * 3)
        return str(plan(prompt("p"), *read, limits=small)[1])

    assert again(1_500).endswith("on a warm cache at least 2,000 should.")
    assert again(2_500).startswith("it pays off after")


def test_switched_off_it_clears_nothing_unless_asked() -> None:
    off = replace(RULE, enabled=False)
    assert plan(*WARM, pressure=Pressure(free="cold"), rule=off) == (None, "Pruning is switched off.")
    assert plan(*WARM, pressure=Pressure(forced=True), rule=off)[0] is not None


def test_pinned_and_protected_outputs_stay_even_when_the_window_demands_them() -> None:
    work = (prompt("p1"), *step(0, 60_000), *step(1, 60_000, "skill", topic="x"), reply("ok"), Pin(3))
    assert plan(*work, pressure=Pressure(need=100_000))[0] is None


def test_bound_thoughts_are_dropped_with_an_edit_and_are_part_of_its_price() -> None:
    bound = replace(LIMITS, preserved_thinking=True)
    work = (prompt("p1"), reply(thought("x" * 4), call("c0")), result("c0", "x" * 200_000), *AFTER)
    body, _ = plan(*work, pressure=Pressure(forced=True), limits=bound)
    assert body.drop_thinking_before == len(work) + 1
    assert plan(*work, pressure=Pressure(forced=True))[0].drop_thinking_before == 0
    costly = replace(work[1], parts=(replace(thought(), text="x" * 400_000), *work[1].parts[1:]))
    body, why = plan(work[0], costly, *work[2:], pressure=Pressure(free="cold"), limits=bound)
    assert body is None
    assert "thoughts" in why


def superseded(*bodies: Body) -> dict[str, Outdated]:
    return Supersession().of(view(history(prompt("p"), *bodies)), TRAITS).outputs


def outdated(*bodies: Body) -> dict[str, str]:
    return {call_id: found.why for call_id, found in superseded(*bodies).items()}


def test_a_read_is_out_of_date_once_the_file_was_changed_or_read_again() -> None:
    first = step(0, 9, file_path="a")
    assert outdated(*first) == {}
    assert outdated(*first, *step(1, 9, file_path="b")) == {}
    assert outdated(*first, *step(1, 9, file_path="a")) == {"c0": "a was read again later"}
    assert outdated(*first, *step(1, 9, "edit", file_path="a", old_string="x")) == {"c0": "a was changed later"}
    failed = (reply(call("e", "edit", file_path="a")), result("e", "no", "edit", "error"))
    assert outdated(*first, *failed) == {}


def test_what_is_out_of_date_is_so_since_the_first_thing_that_overtook_it() -> None:
    reads = [*step(0, 9, file_path="a"), *step(1, 9, file_path="a"), *step(2, 9, "edit", file_path="a")]
    found = superseded(*reads)
    assert {call_id: each.since for call_id, each in found.items()} == {"c0": 5, "c1": 7}
    again = superseded(*reads[:4], *step(3, 9, file_path="a"))
    assert again["c0"].since == 5


def test_each_block_of_a_view_is_looked_at_once_for_what_is_out_of_date() -> None:
    calls_of = ViewMessage.calls.fget
    assert calls_of is not None
    with counted(calls_of) as calls:
        assert outdated(*step(0, 9, file_path="a"), *step(1, 9, file_path="a"))
    assert not calls


def test_a_part_read_later_does_not_make_the_whole_out_of_date() -> None:
    part = step(1, 9, file_path="a", offset=10, limit=5)
    assert outdated(*step(0, 9, file_path="a"), *part) == {}
    assert outdated(*part, *step(2, 9, file_path="a")) == {"c1": "a was read again later"}
    assert outdated(*part, *step(2, 9, file_path="a", offset=9, limit=6)) == {"c1": "a was read again later"}


def test_a_repeated_listing_and_an_older_test_run_are_out_of_date() -> None:
    assert set(outdated(*step(0, 9, "list", path="."), *step(1, 9, "list", path="."))) == {"c0"}
    assert outdated(*step(0, 9, "list", path="."), *step(1, 9, "list", path="x")) == {}
    ran = [*step(0, 9, "bash", command="pytest -q"), *step(1, 9, "bash", command="pytest tests/a.py")]
    assert outdated(*ran) == {"c0": "the tests were run again"}
    failing = (reply(call("f", "bash", command="pytest -q")), result("f", "1 failed", "bash", "error"))
    assert outdated(*failing) == {}
    assert outdated(*failing, *ran[2:]) == {"f": "the tests were run again"}
    assert outdated(*step(0, 9, "bash", command="make x"), *step(1, 9, "bash", command="make y")) == {}
    lookups = (*step(0, 9, "bash", command="make x"), *step(1, 9, "list", path="."), *step(2, 9, "list", path="."))
    assert outdated(*lookups) == {"c1": "the same list was repeated"}
    failed = (reply(call("g", "list", path=".")), result("g", "no such folder", "list", "error"))
    assert outdated(*failed, *step(1, 9, "list", path=".")) == {}


def test_the_cache_is_cold_after_its_lifetime_and_for_another_model() -> None:
    seen = window(view(history(prompt("p"), reply("ok"))))
    warm, cold = datetime(2026, 1, 1, 0, 4, tzinfo=UTC), datetime(2026, 1, 1, 0, 10, tzinfo=UTC)
    assert free_because(seen, warm) == ""
    assert free_because(seen, cold) == "the cache is cold after 10 minutes"
    replied = datetime(2026, 1, 1, 0, 0, 2, tzinfo=UTC)
    assert free_because(seen, replied + timedelta(seconds=LIMITS.cache_lifetime)) == ""
    assert free_because(seen, replied + timedelta(seconds=LIMITS.cache_lifetime + 1)) != ""
    assert "switched" in free_because(replace(seen, limits=replace(LIMITS, model="another")), warm)
    assert free_because(window(View(())), cold) == ""


@settings(max_examples=60)
@given(
    sessions(),
    st.sampled_from([Pressure(), Pressure(forced=True), Pressure(free="cold"), Pressure(need=1_000)]),
    st.booleans(),
)
def test_a_prune_clears_only_what_it_may_and_frees_what_it_says(
    session: Session, pressure: Pressure, letter_of_the_rule: bool
) -> None:
    rule = PruneSettings(protect=50, minimum=20, smallest=10, turns=1, auto_protect=50, auto_turns=1, least=20)
    counter, past = TokenCounter(Chars4()), session.history
    seen = view(past)
    policy: PolicyName = "opencode" if letter_of_the_rule else "auto"
    body, _ = plan_prune(window(seen, rule, policy=policy, counter=counter), pressure)
    if body is None:
        return
    now = view(evolve(past, Record(999, "r999", "", "", body)))
    before = {block.tool_use_id: block for block in seen.blocks if block.tool_use_id}
    after = {block.tool_use_id: block for block in now.blocks if block.tool_use_id}
    assert counter.view(seen) - counter.view(now) == pytest.approx(body.tokens, abs=len(body.call_ids))
    for call_id in body.call_ids:
        part = after[call_id].part
        assert isinstance(part, ToolResult)
        assert part.output.startswith(CLEARED)
        assert not before[call_id].pinned
        assert not before[call_id].cleared
    untouched = set(after) - set(body.call_ids)
    assert all(before[call_id] == after[call_id] for call_id in untouched)


WORK = st.lists(
    st.tuples(st.sampled_from(["read", "edit", "tests", "todo"]), st.integers(0, 3), st.integers(0, 9)), max_size=30
)


@settings(max_examples=60)
@given(WORK, st.sampled_from([NONE, Pressure(free="cold"), Pressure(forced=True), Pressure(need=900)]))
def test_what_the_work_in_progress_needs_stays_and_recall_has_what_was_cleared(
    work: list[tuple[str, int, int]], pressure: Pressure
) -> None:
    story, shown, failed, changed, planned = Story(), dict[str, list[str]](), "", "", ""
    story.user("Go.")
    for number, (what, n, size) in enumerate(work):
        path, text = f"src/f{n}.py", f"{number} " * 200 * (size + 1)
        if what == "todo":
            planned = path
            story.does("todo", todos=[{"content": f"Mend f{n}.py.", "status": "pending"}])
        elif what == "tests":
            failed = story.does("bash", text, command="pytest", meta={"exit_code": size % 2}).call_id
            failed = failed if size % 2 else ""
        elif what == "read":
            shown[path] = [story.reads(path, text).call_id]
        else:
            changed = path
            edit = story.does("edit", "Done.", file_path=path, old_string=text, new_string=text)
            shown.setdefault(path, []).append(edit.call_id)
    story.says("So.")
    needed = {failed, *shown.get(changed, ()), *shown.get(planned, ())} - {""}
    rules = PruneSettings(auto_protect=300, least=200, minimum=200, large_share=0.0)
    seen = Window(
        view(fold(story.records)), limits_of(PRICED, ContextSettings()), TokenCounter(Chars4()),
        ContextSettings(prune=rules), TRAITS,
    )  # fmt: skip
    made, _ = by_price(seen, pressure)
    gone = {*made.call_ids, *made.inputs} if made else set()
    spare = sum(each.tokens for each in candidates(TokenLayout(seen)) if each.call_id not in needed)
    assert not gone & needed or spare < pressure.need
    found = {each.call_id: each.text for record in story.records for each in passages(Entry(record, 1), str)}
    outputs = {each.body.call_id: each.body.output for each in story.records if isinstance(each.body, ToolResult)}
    assert all(outputs[each] == found[each] for each in gone)


def test_victims_are_ranked_from_out_of_date_to_errors() -> None:
    work = (
        prompt("p1"),
        *(reply(call("e")), result("e", "x" * 4_000, status="error")),
        *step(0, 50_000),
        *step(1, 2_000, file_path="a"),
        *step(2, 39_000, file_path="a"),
        *(reply(call("e0")), result("e0", "x" * 4_000, status="error")),
        *AFTER,
    )
    ranks = {victim.call_id: victim.rank for victim in candidates(TokenLayout(window(view(history(*work)), CAREFUL)))}
    assert ranks == {"c1": 0, "c0": 1, "e": 3}


def test_what_a_small_window_protects_is_a_share_that_is_set() -> None:
    small = replace(LIMITS, usable=8_000)
    work = (prompt("p1"), *steps(1_000, 1_000, 1_000, 1_000), *AFTER)
    rule = PruneSettings(auto_protect=100_000, minimum=100_000, least=100, protect_share=0.25)
    seen = view(history(*work))
    sizes = [
        len(candidates(TokenLayout(window(seen, replace(rule, protect_share=share), small))))
        for share in (0.25, 0.125, 0.5)
    ]
    assert sizes == [2, 3, 0]


def test_the_price_of_an_edit_is_what_comes_after_it_and_the_thoughts_that_it_invalidates() -> None:
    body = [prompt("p1"), *steps(100, 200, 300), reply("ok"), reply(thought(), call("t"))]
    plain = TokenLayout(window(view(history(*body, result("t", "y" * 400)))))
    first = plain.victim(2, 1)
    cost = plain.edit(first.tokens, first.position)
    assert cost == EditCost(first.tokens, plain.total - first.position - first.tokens, 0)
    bound = replace(LIMITS, preserved_thinking=True)
    kept = TokenLayout(window(view(history(*body, result("t", "y" * 400))), limits=bound))
    assert kept.thoughts > 0
    cost = kept.edit(first.tokens, first.position)
    assert cost == EditCost(first.tokens, kept.total - first.position - first.tokens - kept.thoughts, kept.thoughts)
    # Behind the first thought nothing is cheaper than to begin at it.
    late = kept.edit(10, kept.total)
    assert late.behind == kept.total - kept.first_thought - 10 - kept.thoughts


def test_the_outcome_of_a_cleared_command_stays_and_that_of_a_read_does_not() -> None:
    output = "\n".join(f"line {n} of many that say nothing" for n in range(400)) + "\n12 passed, 1 failed in 0.5s\n"
    body = [
        prompt("p1"),
        reply(call("ran", "bash", command="pytest")), result("ran", output, "bash"),
        reply(call("seen", "read", file_path="log")), result("seen", output, "read"),
        reply("ok"),
    ]  # fmt: skip
    layout = TokenLayout(window(view(history(*body))))
    victims = [layout.victim(n, 1) for n, block in enumerate(layout.blocks) if isinstance(block.part, ToolResult)]
    prune = layout.prune(victims, "why")
    assert set(prune.outcomes) == {"ran"}
    assert "12 passed, 1 failed" in prune.outcomes["ran"]
    whole = sum(victim.tokens for victim in victims)
    assert prune.tokens == whole - layout.counter.text(prune.outcomes["ran"])


def test_what_is_removed_to_the_last_token_is_followed_by_nothing() -> None:
    layout = TokenLayout(window(view(history(prompt("p1"), *steps(100), reply("ok")))))
    assert layout.edit(layout.total, 0) == EditCost(layout.total, 0, 0)
    assert layout.edit(10 * layout.total, 0).behind == 0


def test_an_outcome_stays_only_if_there_is_one_that_is_worth_its_tokens() -> None:
    body = [
        prompt("p1"),
        reply(call("ran", "bash", command="pytest")),
        result("ran", "12 passed, 1 failed", "bash"),
        reply("ok"),
    ]
    for chance, output, stays in (
        (1.0, "12 passed, 1 failed", True),
        (0.0, "12 passed, 1 failed", False),
        (1.0, "", False),
    ):
        body[2] = result("ran", output, "bash")
        made = window(view(history(*body)))
        loss = replace(made.settings.loss, command_chance=chance)
        layout = TokenLayout(replace(made, settings=replace(made.settings, loss=loss)))
        (victim,) = (layout.victim(n, 1) for n, block in enumerate(layout.blocks) if isinstance(block.part, ToolResult))
        assert bool(layout.prune([victim], "why").outcomes) is stays


# Prunes at their limits: what is worth an edit, when it pays, which reads make others out of date.


PRICED = ModelSpec("demo", "demo", window=200_000, max_output=32_000, prices=Prices(5, 25, 0.5, 6.25))


def window_of(story: Story, head: int = 0, **prune: Any) -> Window:
    settings = ContextSettings(prune=PruneSettings(**prune))
    seen = view(fold(story.records))
    counter = TokenCounter(Chars4())
    counter.head = head
    return Window(seen, limits_of(PRICED, settings), counter, settings, TRAITS)


@each_row(
    ("outputs", "inputs", "words"),
    [
        (0, 0, "0 old outputs"),
        (1, 0, "1 old outputs"),
        (3, 2, "3 old outputs and 2 inputs of old edits"),
        (0, 2, "2 inputs of old edits"),
    ],
)
def test_a_prune_is_told_in_words(outputs: int, inputs: int, words: str) -> None:
    assert cleared_in_words(Prune(("x",) * outputs, 1, "", 0, ("y",) * inputs)) == words


@each_row(
    ("usable", "tokens"),
    [(0, 2_000), (32_000, 2_000), (32_016, 2_001), (160_000, 10_000), (320_000, 20_000), (400_000, 20_000)],
)
def test_an_edit_must_free_a_share_of_the_window_between_its_limits(usable: int, tokens: int) -> None:
    assert worthwhile(PruneSettings(), usable) == tokens


def test_the_size_from_which_a_prune_pays_has_the_protected_tokens_in_it() -> None:
    assert pays_from(window_of(Story())) == 10_000 + 10_500
    assert pays_from(window_of(Story(), head=10_000)) == 20_000 + 10_500
    assert pays_from(window_of(Story(), head=30_000)) == 53_334  # it must free a quarter of such a prompt


@each_row(
    ("edit", "cost", "requests"),
    [
        (EditCost(100, 0), 0, 0),
        (EditCost(100, 100), 115, 11.5),
        (EditCost(0, 100), 115, math.inf),
        (EditCost(0, 0), 0, 0),
        (EditCost(100, 100, 10), 165, 15),
        (EditCost(0, 0, 10), 50, 50),
    ],
)
def test_an_edit_pays_by_what_each_later_request_saves(edit: EditCost, cost: float, requests: float) -> None:
    assert edit_cost(edit, 1.25, 0.1) == pytest.approx(cost)
    assert requests_to_pay(edit, 1.25, 0.1) == pytest.approx(requests)
    assert requests_to_pay(replace(edit, removed=0, thoughts=0, behind=1), 1.25, 0.0) == math.inf


@each_row(
    ("stamp", "time"),
    [
        ("2026-01-01T00:00:00Z", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-01-01T00:00:00", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-01-01T02:00:00+02:00", datetime(2026, 1, 1, tzinfo=UTC)),
        ("", None),
        ("noon", None),
    ],
)
def test_a_time_without_a_zone_is_utc(stamp: str, time: datetime | None) -> None:
    assert moment(stamp) == time


def outputs(*tokens: int, turns: int = 1) -> Story:
    """Outputs of so many tokens, each of another file, and answers."""
    story = Story()
    story.user("Go.")
    for number, size in enumerate(tokens):
        story.reads(f"f{number}", "x" * 4 * size)
    story.says("Done.")
    for _ in range(turns):
        story.user("And?")
        story.says("So.")
    return story


RULES = {"auto_protect": 1_000, "minimum": 5_000, "least": 500, "minimum_share": 1.0, "chance": 0.0}


def told(story: Story, pressure: Pressure, **prune: Any) -> tuple[tuple[str, ...], str]:
    made, why = by_price(window_of(story, **{**RULES, **prune}), pressure)
    return made.call_ids if made else (), why


def test_a_warm_cache_is_left_alone_until_enough_could_go() -> None:
    least = "Waiting: at most 5,000 tokens could go, on a warm cache at least 5,000 should."
    assert told(outputs(2_500, 2_500), Pressure()) == ((), least)
    assert told(outputs(2_500, 2_501), Pressure())[1] != least


@each_row(
    ("sizes", "cleared"),
    [
        ((300, 400, 600), ("call_1", "call_2")),
        ((300, 400, 601), ("call_1", "call_2")),
        ((300, 400, 599), ("call_1", "call_2")),
        ((300, 401, 600), ("call_1", "call_2")),
        ((600, 400, 600), ("call_1",)),
    ],
)
def test_the_newest_outputs_that_fit_into_the_protected_tokens_stay(
    sizes: tuple[int, ...], cleared: tuple[str, ...]
) -> None:
    wanted = told(
        outputs(*sizes),
        Pressure(forced=True),
        auto_protect=sizes[2] + (400 if cleared == ("call_1",) else 0),
        smallest=10,
    )
    assert wanted == (cleared, "asked for")


def test_outputs_below_the_smallest_size_stay() -> None:
    assert told(outputs(99, 5_000), Pressure(forced=True), smallest=100, auto_protect=0)[0] == ("call_2",)
    assert told(outputs(130, 5_000), Pressure(forced=True), smallest=100, auto_protect=0)[0] == ("call_1", "call_2")


def test_what_is_free_must_still_be_worth_a_little() -> None:
    small = outputs(510, 900)
    free = Pressure(free="it is free")
    assert told(small, free, least=600) == ((), "Not worth it: less than 600 tokens.")
    assert told(outputs(6_000, 900), free) == (("call_1",), "it is free")


def test_what_the_window_demands_goes_in_long_strides() -> None:
    story = outputs(*[10_000] * 12)
    cleared, why = told(story, Pressure(need=1), auto_turns=99)
    limits = limits_of(PRICED, ContextSettings())
    stride = limits.hard - limits.soft
    assert why == "the window demands 1 tokens"
    assert len(cleared) == math.ceil((stride + 1) / 9_985)
    assert told(outputs(10), Pressure(need=1)) == ((), "There is no output left to clear.")
    assert told(outputs(10), Pressure(forced=True)) == ((), "Nothing to prune: no output is out of date or old enough.")


def outdated_reads(*calls: tuple[str, dict[str, Any]]) -> dict[str, str]:
    story = Story()
    story.user("Go.")
    for name, arguments in calls:
        story.does(name, "out", **arguments)
    found = Supersession().of(view(fold(story.records)), TRAITS)
    return {call: f"{each.why} @{each.since}" for call, each in found.outputs.items()}


def read(**given: Any) -> tuple[str, dict[str, Any]]:
    return "read", {"file_path": "a.py", **given}


@each_row(
    ("first", "then", "gone"),
    [
        ({}, {}, True),
        ({"offset": 5, "limit": 5}, {}, True),
        ({"offset": 5, "limit": 5}, {"offset": 5, "limit": 5}, True),
        ({"offset": 5, "limit": 5}, {"offset": 4, "limit": 6}, True),
        ({"offset": 5, "limit": 5}, {"offset": 5, "limit": 4}, False),
        ({"offset": 5, "limit": 5}, {"offset": 6, "limit": 4}, False),
        ({"offset": 5, "limit": 5}, {"limit": 10}, True),
        ({"offset": 5, "limit": 5}, {"limit": 9}, False),
        ({"offset": 5}, {"limit": 999}, False),
        ({"offset": 5}, {"offset": 5}, True),
        ({"offset": 4}, {"offset": 5}, False),
        ({}, {"offset": "x", "limit": None}, True),
    ],
)
def test_a_read_that_covers_another_makes_it_out_of_date(
    first: dict[str, Any], then: dict[str, Any], gone: bool
) -> None:
    assert outdated_reads(read(**first), read(**then)) == ({"call_1": "a.py was read again later @5"} if gone else {})


def test_a_read_that_is_not_covered_waits_for_one_that_covers_it() -> None:
    parts = read(offset=1, limit=5), read(offset=9, limit=5), read()
    assert outdated_reads(*parts) == dict.fromkeys(("call_1", "call_2"), "a.py was read again later @7")
    edit = ("edit", {"file_path": "a.py", "old_string": "a", "new_string": "b"})
    assert outdated_reads(parts[0], parts[1], edit) == dict.fromkeys(("call_1", "call_2"), "a.py was changed later @7")
    assert outdated_reads(edit, parts[0]) == outdated_reads(edit, edit) == {}
    other = ("read", {"file_path": "b.py"})
    assert outdated_reads(edit, other) == outdated_reads(read(), other) == {}
