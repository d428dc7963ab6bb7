"""Budgets: what is refused, asked, warned and held back."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from agentcli.agent.ports import ApprovalResponse, Prompt
from agentcli.agent.session import AgentSession
from agentcli.agent.spending import Budget, Spent, budget_notice, budgets_of, check_budgets
from agentcli.context.settings import BudgetLimit, BudgetSettings, ContextSettings
from agentcli.core.errors import LimitReached
from agentcli.core.event import Event, Waiting, Warned
from agentcli.core.journal import SessionText
from agentcli.core.message import File, Text, Usage
from agentcli.core.model import Prices
from agentcli.core.record import Retry
from agentcli.core.tasks import emitted
from agentcli.providers.scripted.model import Reply, call, say
from tests.agent.compaction.compacting import Answers, snapshot
from tests.agent.open_session import DEMO, Person, ended, messages, open_session, say_to
from tests.tables import each_row

SESSION = Budget("session", tokens=1_000)


def test_usage_and_cost_add_up_and_a_task_is_the_difference() -> None:
    spent = Spent().add(Usage(1, 2, 0, 3, 4), None).add(Usage(10), 0.5)
    assert spent == Spent(20, 0.5)
    assert Spent().add(Usage(1), None).cost is None
    assert Spent(30, 0.75).since(spent) == Spent(10, 0.25)


@pytest.mark.parametrize(("mode", "action"), [("hard", "refuse"), ("approval", "ask"), ("soft", "go")])
def test_at_its_end_each_mode_acts_in_its_way(mode: str, action: str) -> None:
    budget = Budget("task", tokens=1_000, mode=mode)  # type: ignore[arg-type]
    verdict = check_budgets([(budget, Spent(900))], next_tokens=101)
    assert verdict.action == action
    assert "The task budget of 1,000 tokens would be exceeded" in verdict.reason + verdict.warning
    assert check_budgets([(budget, Spent(900))], next_tokens=100).action == "go"


def test_money_counts_as_tokens_do() -> None:
    budget = Budget("session", cost=2.0)
    assert check_budgets([(budget, Spent(10**9, 1.95))], next_cost=0.1).action == "refuse"
    assert check_budgets([(budget, Spent(10**9, None))], next_cost=0.1).action == "go"


def test_what_was_approved_is_not_asked_again_and_the_strictest_decides() -> None:
    asks, refuses = Budget("task", 100, mode="approval"), Budget("agent", 100)
    over = Spent(200)
    assert check_budgets([(asks, over)], approved=frozenset({"task"})).action == "go"
    assert check_budgets([(asks, over), (refuses, over)], approved=frozenset({"task"})).action == "refuse"
    assert check_budgets([(asks, over), (refuses, over)]).reason.startswith("The agent budget")


def test_it_warns_once_at_eighty_percent() -> None:
    assert check_budgets([(SESSION, Spent(800))]).warning == ""
    first = check_budgets([(SESSION, Spent(801))])
    assert first.warning == "80% of the session budget is used: 199 of 1,000 tokens left."
    assert check_budgets([(SESSION, Spent(850))], warned=first.warned).warning == ""


def test_a_soft_budget_says_once_that_it_is_exceeded() -> None:
    soft = Budget("session", 1_000, mode="soft")
    first = check_budgets([(soft, Spent(1_100))])
    assert "would be exceeded" in first.warning
    assert check_budgets([(soft, Spent(1_200))], warned=first.warned).warning == ""


@each_row(
    ("used", "delay"),
    [(0, 0), (799, 0), (800, 0.05), (849, 0.05), (850, 0.3), (900, 0.75), (949, 0.75), (950, 1.5), (999, 1.5)],
)
def test_requests_are_held_longer_the_less_is_left(used: int, delay: float) -> None:
    assert check_budgets([(SESSION, Spent(used))]).delay == delay


def test_without_a_budget_nothing_is_held_or_said() -> None:
    verdict = check_budgets([(Budget("session"), Spent(10**9, 10**6))], next_tokens=10**9)
    assert (verdict.action, verdict.delay, verdict.warning) == ("go", 0.0, "")
    assert budget_notice([(Budget("session"), Spent(10**9))]) == ""


def test_the_model_is_told_what_is_left_under_a_fifth() -> None:
    assert budget_notice([(SESSION, Spent(799))]) == ""
    words = budget_notice([(SESSION, Spent(850)), (Budget("task", cost=1.0), Spent(0, 0.9))])
    assert words.startswith("150 of 1,000 tokens of the session budget; $0.10 of $1.00 of the task budget left.")


def test_configuration_sets_each_budget_and_every_number() -> None:
    settings = BudgetSettings(
        task=BudgetLimit(100, 0.0, "soft"), warn_at=0.5, pressure_from=(0.1,), pressure_seconds=(9.0,)
    )
    budgets = budgets_of(settings)
    assert [budget.is_set for budget in budgets.values()] == [False, True, False]
    verdict = check_budgets([(budgets["task"], Spent(51))])
    assert verdict.delay == 9.0
    assert verdict.warning.startswith("51% of the task budget")


def test_a_share_without_its_seconds_delays_nothing() -> None:
    settings = BudgetSettings(session=BudgetLimit(100), pressure_from=(0.1, 0.2, 0.3), pressure_seconds=(1.0, 2.0))
    assert check_budgets([(budgets_of(settings)["session"], Spent(50))]).delay == 2.0


# Budgets are asked before a request, large input goes to a file, and a failing cache is named.


def costly(text: str, tokens: int, *calls: object) -> Reply:
    return Reply((Text(text), *calls), usage=Usage(input=tokens, output=10))  # type: ignore[arg-type]


def test_a_hard_budget_refuses_the_request_that_would_exceed_it(tmp_path: Path) -> None:
    budget = BudgetSettings(session=BudgetLimit(tokens=3_000))
    session = open_session(tmp_path, [costly("one", 2_900, call("list")), say("two")], budget=budget)
    last = ended(say_to(session, "go"))
    assert isinstance(last.error, LimitReached)
    assert "session budget of 3,000 tokens" in str(last.error)
    assert [m.text for m in messages(session) if m.role == "assistant"] == ["one"]


def test_a_soft_budget_warns_once_slows_down_and_tells_the_model(tmp_path: Path) -> None:
    budget = BudgetSettings(task=BudgetLimit(tokens=10_000, mode="soft"))
    script = [costly(f"{n}", 4_500, call("list")) for n in range(2)] + [say("done")]
    session = open_session(tmp_path, script, budget=budget)
    events = say_to(session, "go")
    assert ended(events).ending == "done"
    assert any(isinstance(event, Waiting) for event in events)
    assert any(
        isinstance(record.body, Retry) and "budget" in record.body.reason for record in session.journal.records()
    )
    assert sum(isinstance(event, Warned) for event in events) == 1
    told = [p.text for m in messages(session) for p in m.parts if isinstance(p, Text) and p.synthetic]
    assert sum("of the task budget left" in text for text in told) == 1


@pytest.mark.full
def test_an_approval_budget_asks_and_goes_on_when_allowed(tmp_path: Path) -> None:
    budget = BudgetSettings(session=BudgetLimit(tokens=3_000, mode="approval"))
    script = [costly("one", 2_900, call("list")), say("two")]
    person = Person(ApprovalResponse("once"))
    assert ended(say_to(open_session(tmp_path, script, budget=budget, person=person), "go")).text == "two"
    assert ended(say_to(open_session(tmp_path, script, budget=budget), "go")).ending == "limit"


def test_a_message_too_large_for_the_window_becomes_a_file(tmp_path: Path) -> None:
    session = open_session(
        tmp_path, [say("I read on.")], context=ContextSettings(large_input_tokens=1_000, large_input_share=0.01)
    )
    text = "\n".join(f"line {n} of a very long paste" for n in range(2_000))
    say_to(session, text)
    said = messages(session)[0].text
    assert "Large input saved to" in said
    assert "line 0 of" in said
    assert "line 1999 of" in said
    assert len(said) < 5_000
    [path] = re.findall(r"saved to (.+?): [\d,]+ lines", said)
    assert session.journal.output(path) == text


def test_each_of_several_large_inputs_has_a_file_of_its_own(tmp_path: Path) -> None:
    session = open_session(
        tmp_path, [say("I read on.")], context=ContextSettings(large_input_tokens=1_000, large_input_share=0.01)
    )
    texts = ["\n".join(f"{name} {n} of a very long paste" for n in range(2_000)) for name in ("one", "two", "three")]

    async def ctx() -> None:
        session.steer(Prompt(texts[2]))
        async for _ in session.turn(
            Prompt("", (File("text/plain", "a.txt", texts[0]), Text(texts[1]))), asyncio.Event()
        ):
            pass

    asyncio.run(ctx())
    said = "\n".join(getattr(part, "text", "") for message in messages(session) for part in message.parts)
    assert len(said) < 20_000
    paths = re.findall(r"saved to (.+?): [\d,]+ lines", said)
    assert [session.journal.output(path) for path in paths] == texts
    ids = re.findall(r'or with recall\(id="(.+?)"\)', said)
    found = [
        next(SessionText(session.journal).passages(call_id=each)) for each in ids
    ]  # also in a fork whose origin is gone
    assert [each.text for each in found] == texts


def test_three_misses_in_a_row_name_the_segment_that_changed(tmp_path: Path) -> None:
    script = [Reply((Text(f"{n}"), call("list")), usage=Usage(cache_write=9_000, output=5)) for n in range(6)]
    session = open_session(tmp_path, [*script, say("done")], repeat_limit=0)
    warned = [event.message for event in say_to(session, "go") if isinstance(event, Warned)]
    assert len(warned) == 1
    assert "missed 3 times in a row" in warned[0]


def test_a_rewind_fills_no_budget_again(tmp_path: Path) -> None:
    budget = BudgetSettings(session=BudgetLimit(tokens=3_000))
    session = open_session(tmp_path, [costly("one", 2_900), say("two"), say("three")], budget=budget)
    say_to(session, "go")
    [prompt] = [entry.seq for entry in session.history.entries if entry.body.text == "go"]  # type: ignore[union-attr]
    before = session.report.budgets()
    for take_back in (
        lambda: session.undo_stack.rewind(prompt),
        session.undo_stack.redo,
        lambda: session.undo_stack.rewind(prompt),
    ):
        take_back()
        assert session.report.budgets()[0][1] == before[0][1]
    assert isinstance(ended(say_to(session, "once more")).error, LimitReached)


def told(session: AgentSession) -> list[str]:
    """The reminders about budgets that the model got, in order."""
    texts = [p.text for m in messages(session) for p in m.parts if isinstance(p, Text) and p.synthetic]
    return [text for text in texts if " left. Finish" in text]


def test_the_model_is_told_of_each_budget_when_it_runs_low_and_of_each_task_anew(tmp_path: Path) -> None:
    budget = BudgetSettings(
        session=BudgetLimit(tokens=10_000, mode="soft"), task=BudgetLimit(tokens=5_200, mode="soft"), pressure_from=()
    )
    script = [costly("one", 4_500, call("list")), say("two"), costly("three", 4_700, call("list")), say("four")]
    session = open_session(tmp_path, script, budget=budget)
    say_to(session, "go", "go on")
    assert [("session" in text, "task" in text) for text in told(session)] == [(False, True), (True, True)]


@pytest.mark.full
def test_each_budget_that_wants_to_be_asked_is_asked_for_itself(tmp_path: Path) -> None:
    budget = BudgetSettings(
        session=BudgetLimit(tokens=3_000, mode="approval"), task=BudgetLimit(tokens=3_000, mode="approval")
    )
    script = [costly("one", 2_900, call("list")), say("two")]
    person = Person(ApprovalResponse("once"), ApprovalResponse("once"))
    assert ended(say_to(open_session(tmp_path, script, budget=budget, person=person), "go")).text == "two"
    assert [ask.why.split(" of ")[0] for ask in person.asked] == ["The session budget", "The task budget"]
    half = Person(ApprovalResponse("once"))
    assert ended(say_to(open_session(tmp_path, script, budget=budget, person=half), "go")).ending == "limit"


def test_a_budget_that_is_used_up_pays_for_no_summary(tmp_path: Path) -> None:
    """The window demands a compaction, and the ledger makes it."""
    for tokens in (9_000, 0):
        summariser = Answers(snapshot())
        session = open_session(
            tmp_path,
            [costly("The parser keeps its state. " * 200, 900)],
            budget=BudgetSettings(session=BudgetLimit(tokens=tokens)),
            summariser=summariser,
        )
        say_to(session, *("And more?" for _ in range(6)))
        events = asyncio.run(drained(emitted(partial(session.compactor.compact, asyncio.Event(), trigger="manual"))))
        assert session.history.compaction is not None
        assert bool(summariser.requests) == (tokens == 0)
        why = str(getattr(events[-1], "why", ""))
        assert ("The session budget of 9,000 tokens would be exceeded" in why) == (tokens > 0)


async def drained(events: AsyncIterator[Event]) -> list[Event]:
    return [event async for event in events]


def test_what_the_cache_holds_is_reckoned_at_its_price(tmp_path: Path) -> None:
    priced = replace(DEMO, prices=Prices(10, 10, 0.1, 12.5), cache_explicit=True)
    script = [Reply((Text("one"), call("list")), usage=Usage(cache_write=100_000, output=1)), say("two")]
    for cost, ending in ((1.4, "done"), (1.2, "limit")):
        budget = BudgetSettings(session=BudgetLimit(cost=cost))
        assert ended(say_to(open_session(tmp_path, script, model=priced, budget=budget), "go")).ending == ending
