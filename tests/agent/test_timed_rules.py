"""Allow rules that end after a time or a number of calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from agentcli.agent.ports import ApprovalResponse
from agentcli.agent.timed_rules import Clock, RunRules, Term, TimedRules, begun, timed
from agentcli.core.errors import UsageError
from agentcli.core.record import FeatureState
from agentcli.permissions.decide import Decision
from agentcli.permissions.rules import Rule, parse_rule
from agentcli.providers.scripted.model import call, say
from agentcli.sessions.in_memory import MemorySession
from tests.agent.delegation.test_subagents import family
from tests.agent.open_session import Person, open_session, results, say_to
from tests.tables import each_row


@dataclass
class Now:
    """A clock that a test sets."""

    wall: float = 1_000_000.0
    up: float = 500.0
    start: str = "boot-1"
    clock: Clock = field(init=False)

    def __post_init__(self) -> None:
        self.clock = Clock(lambda: self.wall, lambda: self.up, lambda: self.start)

    def pass_time(self, seconds: float) -> None:
        self.wall += seconds
        self.up += seconds


RULE = parse_rule("bash(make *)", "session")


def allows(rules: TimedRules, command: str = "make a") -> bool:
    """Whether a call is allowed; it is then used."""

    def judge(more: Sequence[Rule]) -> Decision:
        found = any(rule.pattern.removesuffix("*") in command for rule in more)
        return Decision("allow" if found else "ask", "", "")

    decision, used = rules.judged(judge)
    rules.use(used)
    return decision.decision == "allow"


def held(journal: Any, now: Now) -> TimedRules:
    return TimedRules(journal, journal.append, now.clock)


@each_row(
    ("given", "rule", "term"),
    [
        ("bash(make *) for 30m", "bash(make *)", Term(seconds=1800)),
        ("bash(make *) for 10 calls", "bash(make *)", Term(calls=10)),
        ("edit for 1 call", "edit", Term(calls=1)),
        ("bash(make) for 1h30m", "bash(make)", Term(seconds=5400)),
        ("'bash(make *)' for 30m", "bash(make *)", Term(seconds=1800)),
        ("bash(echo for 30m)", "bash(echo for 30m)", None),
        ("bash(echo (a) for 3 calls)", "bash(echo (a) for 3 calls)", None),
        ("bash(make *)", "bash(make *)", None),
        ("bash(make *) for 30", "bash(make *) for 30", None),
    ],
)
def test_a_term_follows_a_whole_rule(given: str, rule: str, term: Term | None) -> None:
    assert timed(given) == (rule, term)


@pytest.mark.parametrize("given", ["edit for 0 calls", "edit for 25h", "edit for 3x5m"])
def test_a_term_that_is_none_is_refused(given: str) -> None:
    with pytest.raises(UsageError):
        timed(given)


def test_a_rule_ends_exactly_at_its_time_and_its_count() -> None:
    now = Now()
    rules = held(MemorySession(), now)
    rules.add(RULE, Term(seconds=60))
    now.pass_time(59.9)
    assert allows(rules)
    now.pass_time(0.1)
    assert not allows(rules)
    rules.add(RULE, Term(calls=2))
    assert [allows(rules) for _ in range(4)] == [True, True, False, False]


@pytest.mark.parametrize("jump", [-3600.0, -30.0, 3600.0])
def test_no_jump_of_the_clock_prolongs_a_rule(jump: float) -> None:
    now = Now()
    journal = MemorySession()
    rules = held(journal, now)
    rules.add(RULE, Term(seconds=60))
    now.pass_time(40)
    now.wall += jump
    now.pass_time(20)
    assert not allows(rules)
    assert not allows(held(journal, now))  # nor in a session that is resumed after it


def test_a_resumed_session_continues_with_what_is_left() -> None:
    now, journal = Now(), MemorySession()
    rules = held(journal, now)
    rules.add(RULE, Term(calls=3))
    rules.add(parse_rule("bash(ls *)", "session"), Term(seconds=60))
    assert allows(rules)
    now.pass_time(30)
    again = held(journal, now)
    assert again.lines() == ["allow  bash(make *)  (2 calls left)", "allow  bash(ls *)  (30 s left)"]
    now.start = "boot-2"
    assert held(journal, now).lines() == ["allow  bash(make *)  (2 calls left)"]


def test_records_of_another_session_and_broken_ones_grant_nothing() -> None:
    now, journal, copy = Now(), MemorySession(), MemorySession()
    held(journal, now).add(RULE, Term(calls=3))
    data = journal.history.features["timed rules"].data
    copy.append(FeatureState("timed rules", data))
    assert not allows(held(copy, now))
    for changed in ({"left": "x"}, {"rule": "(("}, {"left": 10_000}, {"until": 1e300, "calls": 0, "seconds": 1e300}):
        other = MemorySession()
        raw = {**data, "session": other.id, "rules": [{**data["rules"][0], **changed}]}
        other.append(FeatureState("timed rules", raw))
        assert sum(allows(held(other, now)) for _ in range(1)) == ("left" in changed and changed["left"] == 10_000)
        assert "10,000" not in str(held(other, now).lines())


def test_a_rule_that_is_not_needed_is_not_used_up() -> None:
    rules = held(MemorySession(), Now())
    rules.add(parse_rule("bash(make a*)", "session"), Term(seconds=60))
    rules.add(RULE, Term(calls=1))
    assert allows(rules, "make a")
    assert allows(rules, "make a")
    assert "(1 call left)" in rules.lines()[1]


def test_rules_of_the_run_are_shared_by_its_sessions_and_recorded_in_none() -> None:
    now, run = Now(), RunRules((begun(parse_rule("bash(make *)", "flag"), Term(calls=3)),))
    one, two = MemorySession(), MemorySession()
    first = TimedRules(one, one.append, now.clock, run)
    second = TimedRules(two, two.append, now.clock, run)
    assert allows(first)
    assert first.lines() == second.lines() == ["allow  bash(make *)  (2 calls left)"]
    assert one.history.features == {}
    second.add(parse_rule("bash(ls *)", "session"), Term(calls=1))
    assert allows(second)
    assert [len(rules.lines()) for rules in (first, second, held(two, now))] == [1, 2, 1]
    assert second.remove("bash(make *)")
    assert not allows(first)


BUILD = "make build"


def test_calls_of_one_reply_share_the_count_and_the_next_question_says_that_the_rule_has_ended(tmp_path: Path) -> None:
    calls = [call("bash", f"c{n}", command=BUILD) for n in range(4)]
    person = Person(ApprovalResponse("no"), ApprovalResponse("no"))
    session = open_session(tmp_path, [say("", *calls), say("Done.")], person=person)
    session.core.approval.allow_for("Bash(make *)", Term(calls=2))
    say_to(session, "go")
    assert sorted(each.call_id for each in results(session) if each.status == "denied") == ["c2", "c3"]
    assert person.asked[0].why.startswith("The rule bash(make *), allowed for 2 calls, has ended.")
    assert "has ended" not in person.asked[1].why


def test_an_answer_with_a_term_is_not_saved(tmp_path: Path) -> None:
    saved: list[str] = []
    person = Person(ApprovalResponse("prefix", rules=("bash(make *) for 1 call",)), ApprovalResponse("no"))
    script = [say("", *(call("bash", f"c{n}", command=BUILD) for n in range(3))), say("Done.")]
    session = open_session(tmp_path, script, person=person, saved=saved)
    say_to(session, "go")
    assert saved == []
    assert len(person.asked) == 2
    assert [rule for rule in session.core.approval.rules.allow if rule.origin == "session"] == []


def test_deny_rules_and_what_always_asks_stay_above_a_timed_rule(tmp_path: Path) -> None:
    from agentcli.permissions.rules import parse_rules

    person = Person(ApprovalResponse("no"))
    script = [
        say("", call("bash", "c1", command="make secret"), call("bash", "c2", command="rm -rf /")),
        say("Done."),
    ]
    session = open_session(tmp_path, script, person=person, rules=parse_rules(deny=["bash(make secret)"]))
    session.core.approval.allow_for("bash", Term(calls=10))
    say_to(session, "go")
    assert [result.status for result in results(session)] == ["denied", "denied"]
    assert len(person.asked) == 1
    assert session.core.approval.timed().lines() == ["allow  bash  (10 calls left)"]


def test_subagents_share_the_calls(tmp_path: Path) -> None:
    child = [say("", *(call("bash", f"c{n}", command=BUILD) for n in range(2))), say("Found.")]
    both = [call("task", f"t{n}", description=f"part {n}", prompt=f"part {n}") for n in (1, 2)]
    person = Person()
    session = open_session(tmp_path, family([say("", *both), say("Done.")], child), person=person)
    session.core.approval.allow_for("bash(make *)", Term(calls=3))
    say_to(session, "go")
    assert len(person.asked) == 1
    assert session.core.approval.timed().lines() == []
