"""Budgets: what is refused, asked, warned and held back."""

import pytest

from agentcli.agent.spending import Budget, Spent, budget_notice, budgets_of, check_budgets
from agentcli.context.settings import BudgetLimit, BudgetSettings
from agentcli.core.message import Usage
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
