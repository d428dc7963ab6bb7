"""Allow rules that expire: after a time, or after a number of calls."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentcli.core.codec.fields import items, number, text, whole
from agentcli.core.dataclass import dataclass, replace
from agentcli.core.errors import AgentError, UsageError
from agentcli.core.event import seconds_left
from agentcli.core.journal import Journal
from agentcli.core.record import TIMED_RULES, Body, FeatureState
from agentcli.core.text.options import duration
from agentcli.core.text.words import plural
from agentcli.permissions.decide import Decision
from agentcli.permissions.rules import Origin, Rule, parse_rule

FLAG: Origin = "flag"
"""The origin of the rules that end with the run."""
MOST = 20
"""Rules of a session."""
LONGEST = 86_400.0
"""Seconds for which a rule may be allowed."""
_TERM = re.compile(r"['\"]?(.*\)|[\w*.:-]+)['\"]?\s+for\s+(?:(\d{1,6})\s+calls?|(\d\S*[smh]))", re.DOTALL)
USAGE = "Write RULE for 30m, or RULE for 10 calls: at most 24h."


@dataclass(frozen=True, slots=True)
class Term:
    """Term of a rule: a number of calls, or else so many seconds."""

    calls: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        if self.calls:
            return f"for {plural(self.calls, 'call')}"
        return f"for {seconds_left(self.seconds)}"


@dataclass(frozen=True, slots=True)
class TimedRule:
    """A rule with its term.

    It ends at `until` or at `uptime`, whichever comes first, so changing the clock does not extend it.
    """

    rule: Rule
    term: Term
    left: int = 0
    """Remaining calls."""
    until: float = 0.0
    """End in seconds since the epoch."""
    uptime: float = 0.0
    """End in seconds since the start of the machine."""


@dataclass(frozen=True, slots=True)
class Clock:
    """The clocks of this machine."""

    now: Callable[[], float]
    """Returns the time of day, in seconds since the epoch."""
    uptime: Callable[[], float]
    """Returns the seconds since the machine was started."""
    start: Callable[[], str]
    """Returns an id of this start of the machine; empty if there is none."""


def _uptime() -> float:
    """Return the seconds since the machine's start, including sleep if the system counts it."""
    boottime = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boottime is None else time.clock_gettime(boottime)


def _start() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


CLOCK = Clock(time.time, _uptime, _start)


@dataclass(slots=True)
class RunRules:
    """Timed rules from the flags of a run: its sessions share them, and do not record them."""

    rules: tuple[TimedRule, ...] = ()


Judge = Callable[[Sequence[Rule]], Decision]
"""Decides about a call with further allow rules."""


class TimedRules:
    """Timed rules of a session, shared with its subagents. Each change is recorded, so a resumed session continues with
    the rest.

    Only records of this very session count: neither a copy nor an external file grants anything.
    """

    def __init__(
        self,
        journal: Journal,
        record: Callable[[Body], object],
        clock: Clock = CLOCK,
        run: RunRules | None = None,
    ) -> None:
        self._journal, self._record, self._clock = journal, record, clock
        self._run = run if run is not None else RunRules()
        kept = journal.history.features.get(TIMED_RULES)
        self._own: tuple[TimedRule, ...] = () if kept is None else self._read(kept.data)

    @property
    def _rules(self) -> tuple[TimedRule, ...]:
        return (*self._own, *self._run.rules)

    def add(self, rule: Rule, term: Term) -> None:
        """Allow a rule for a term, replacing an earlier one. Raises UsageError if there are too many."""
        others = [each for each in self._rules if each.rule != rule]
        live = [each for each in others if self._lives(each)]
        if len(live) >= MOST:
            raise UsageError(
                f"{MOST} rules are allowed for a time already, the maximum. /permissions remove RULE ends one."
            )
        self._keep((*others[-MOST:], begun(rule, term, self._clock)))

    def remove(self, rule: str) -> bool:
        """End a rule; return False if there is none."""
        others = tuple(each for each in self._rules if str(each.rule) != rule)
        found = any(self._lives(each) for each in self._rules if str(each.rule) == rule)
        if found:
            self._keep(others)
        return found

    @property
    def rules(self) -> Sequence[Rule]:
        """The rules in force."""
        return [each.rule for each in self._rules if self._lives(each)]

    def lines(self) -> Sequence[str]:
        """Return the rules in force, each with its remaining time or calls, as text for people."""
        return [f"allow  {each.rule}  ({self._left(each)} left)" for each in self._rules if self._lives(each)]

    def judged(self, judge: Judge) -> tuple[Decision, Sequence[TimedRule]]:
        """Decide about a call; if only timed rules allow it, return these, too. Nothing is used up."""
        decision = judge(())
        needed = [each for each in self._rules if self._lives(each)] if decision.decision == "ask" else []
        if not needed or judge([each.rule for each in needed]).decision != "allow":
            return decision, ()
        for each in sorted(
            needed, key=lambda each: not each.term.calls
        ):  # calls are not used up if a time allows it, too
            fewer = [other for other in needed if other is not each]
            if judge([other.rule for other in fewer]).decision == "allow":
                needed = fewer
        return judge([each.rule for each in needed]), needed

    def use(self, used: Sequence[TimedRule]) -> None:
        """Count a call that these rules have allowed."""
        counted = [each for each in used if each.term.calls]
        if counted:
            self._keep(tuple(replace(each, left=each.left - 1) if each in counted else each for each in self._rules))

    def ended(self, judge: Judge) -> str:
        """Return why a call is asked about again: its rule has expired. Reported once."""
        over = [each for each in self._rules if not self._lives(each) and judge([each.rule]).decision == "allow"]
        if not over:
            return ""
        self._keep(tuple(each for each in self._rules if each not in over))
        return f"The rule {over[0].rule}, allowed {over[0].term}, has ended"

    def _lives(self, each: TimedRule) -> bool:
        if each.term.calls:
            return each.left > 0
        return self._clock.now() < each.until and self._clock.uptime() < each.uptime

    def _left(self, each: TimedRule) -> str:
        if each.term.calls:
            return plural(each.left, "call")
        return seconds_left(min(each.until - self._clock.now(), each.uptime - self._clock.uptime()))

    def _keep(self, rules: tuple[TimedRule, ...]) -> None:
        former, self._own = self._own, tuple(each for each in rules if each.rule.origin != FLAG)
        self._run.rules = tuple(each for each in rules if each.rule.origin == FLAG)
        if self._own == former:
            return
        raw = [
            {
                "rule": str(each.rule),
                "calls": each.term.calls,
                "seconds": each.term.seconds,
                "left": each.left,
                "until": each.until,
                "uptime": each.uptime,
            }
            for each in self._own
        ]
        self._record(
            FeatureState(TIMED_RULES, {"rules": raw, "session": self._journal.id, "start": self._clock.start()})
        )

    def _read(self, data: Mapping[str, Any]) -> tuple[TimedRule, ...]:
        """Read the recorded rules.

        Times of another start of the machine have ended: nobody knows how much time has passed.
        """
        try:
            if text(data, "session") != self._journal.id:
                return ()
            same = text(data, "start") != "" and text(data, "start") == self._clock.start()
            return tuple(_rule(raw, same) for raw in items(data, "rules", dict))
        except (TypeError, KeyError, AgentError):
            return ()


def begun(rule: Rule, term: Term, clock: Clock = CLOCK) -> TimedRule:
    """Return a timed rule whose term begins now."""
    ends = (clock.now() + term.seconds, clock.uptime() + term.seconds) if term.seconds else (0.0, 0.0)
    return TimedRule(rule, term, term.calls, *ends)


def timed(given: str) -> tuple[str, Term | None]:
    """Split `RULE for 30m` or `RULE for 10 calls`; the term is None for a rule alone.

    Raises UsageError for an invalid term.
    """
    found = _TERM.fullmatch(given.strip())
    if found is None:
        return given.strip(), None
    if found[2]:
        if not int(found[2]):
            raise UsageError(USAGE)
        return found[1], Term(calls=int(found[2]))
    seconds = duration(found[3], "for")
    if seconds > LONGEST:
        raise UsageError(USAGE)
    return found[1], Term(seconds=seconds)


def _rule(raw: Mapping[str, Any], same_start: bool) -> TimedRule:
    term = Term(max(0, whole(raw, "calls")), max(0.0, number(raw, "seconds") or 0.0))
    until = number(raw, "until") or 0.0
    return TimedRule(
        parse_rule(text(raw, "rule", None), "session"),
        term,
        min(whole(raw, "left"), term.calls),
        until if same_start else 0.0,
        number(raw, "uptime") or 0.0,
    )
