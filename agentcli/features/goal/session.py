"""A goal in a session: after each turn its check decides whether the work continues."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from agentcli.agent.core import SessionCore
from agentcli.agent.own_checks import run_check
from agentcli.agent.ports import Prompt
from agentcli.core.dataclass import replace
from agentcli.core.errors import AgentError, LimitReached
from agentcli.core.event import Emit, Event, Noticed, TurnEnded, Warned, emit_all, seconds_left
from agentcli.core.message import Text, reminder
from agentcli.features.goal.results import Shown, has_news, results_since
from agentcli.features.goal.state import Goal, Verdict, goal_of, save
from agentcli.features.goal.verifier import Verifier

IDLE = 2
"""Consecutive turns without a new result after which a goal pauses."""
UNJUDGED = 2
"""Consecutive checks without a verdict after which a goal pauses."""
LARGE = 1_000_000
"""Bytes of output from which the person gets a warning."""
CONTINUES = "/goal resume continues, /goal clear ends it."
RAISES = "/goal resume continues with more: --turns N, --time 4h, --cost USD."
NO_CHECK = (
    "After each of your turns a separate model judges the results of your tools, not your words: before you end a turn, run something whose "
    "output shows what is reached."
)
CHECKED = "After each of your turns this command runs; the goal is reached once it ends with exit code 0: {check}"
FIRST = (
    "The user has set a goal: {text}\n\nWork until it is reached; do not stop to report progress. {how} If something that only the user can do "
    "is missing, say so and end the turn."
)
NEXT = "The goal is not reached yet: {text}\n\n{why}\n\n{idle}Continue to work on it."
NO_NEWS = "Your last turn brought no new result. Try another way, or say what is missing; one more such turn pauses the goal. "


def is_running(core: SessionCore) -> bool:
    """Return True while a goal is active, whose check decides whether the work is done."""
    goal = goal_of(core)
    return goal is not None and goal.runs(core)


async def follow(
    core: SessionCore, ended: TurnEnded, interrupt: asyncio.Event, emit: Emit
) -> Prompt | TurnEnded | None:
    """Check the goal after a turn: end, pause, or continue with one more turn. The goal is recorded first."""
    goal = goal_of(core)
    if goal is None or not goal.runs(core):
        return None
    if ended.ending != "done":
        why = "interrupted" if ended.ending == "interrupted" else str(ended.error or ended.ending)
        await emit(save(core, _paused(goal, core, why)))
        await emit(Noticed(f"Goal paused ({_short(why)}). {CONTINUES}"))
        return None
    results = await asyncio.to_thread(results_since, core.journal, goal.since)
    goal = replace(goal, idle=0 if has_news(results, goal.turn_since) else goal.idle + 1)
    if goal.check:
        await emit(Noticed(f"Checking the goal: {goal.check}"))
    verdict, events = await _verdict(core, goal, results, ended.text, interrupt)
    await emit_all(events, emit)
    if verdict.warning:
        await emit(Warned(verdict.warning))
    return await _after(core, goal, verdict, ended, emit)


async def _verdict(
    core: SessionCore, goal: Goal, results: Sequence[Shown], said: str, interrupt: asyncio.Event
) -> tuple[Verdict, Sequence[Event]]:
    if goal.check:
        left = goal.most_seconds - goal.accounted(core, time.time()).seconds
        return await check(core, goal.check, left, interrupt), ()
    verifier = Verifier(core)
    return await verifier.judge(goal.text, results, said, interrupt), verifier.events


async def check(core: SessionCore, command: str, seconds: float, interrupt: asyncio.Event) -> Verdict:
    """Return the verdict of a command that may take so many seconds."""
    try:
        ran = await run_check(core, command, seconds, interrupt)
    except AgentError as error:
        return Verdict("unknown", f"The check could not run: {error}", f"The check `{command}` could not run: {error}")
    if ran.interrupted:
        return Verdict("interrupted", "interrupted")
    if ran.passed:
        return Verdict("reached", f"`{command}` ended with exit code 0")
    if ran.hung:
        hung = f"The check `{command}` was stopped after {seconds_left(ran.limit)}"
        return Verdict("unknown", f"{hung}.", f"{hung}. It counts as not passed.", ran.output)
    large = f"The check `{command}` printed {ran.printed:,} bytes; only its beginning and end are read."
    why = f"`{command}` ended with exit code {ran.exit_code}"
    return Verdict("not yet", why, large if ran.printed > LARGE else "", ran.output)


async def _after(
    core: SessionCore, goal: Goal, verdict: Verdict, ended: TurnEnded, emit: Emit
) -> Prompt | TurnEnded | None:
    """Record the goal after a verdict, and return what follows from it."""
    goal = goal.accounted(core, time.time())
    unjudged = goal.unjudged + 1 if verdict.answer == "unknown" else 0
    goal = replace(goal, unjudged=unjudged, why=verdict.why, cost=goal.cost + (verdict.cost or 0.0))
    if verdict.answer == "interrupted":
        await emit(save(core, replace(goal, status="paused", why="interrupted"), verdict))
        return TurnEnded("interrupted", ended.text, steps=ended.steps)
    if verdict.answer == "reached":
        goal = replace(goal, status="reached")
        await emit(save(core, goal, verdict))
        await emit(Noticed(f"Goal reached ({goal.progress}): {verdict.why}"))
        return None
    error = _obstacle(goal, verdict)
    if error is not None:
        await emit(save(core, replace(goal, status="paused", why=str(error)), verdict))
        return TurnEnded("limit" if isinstance(error, LimitReached) else "failed", ended.text, error, ended.steps)
    await emit(save(core, replace(goal, turn=goal.turn + 1).begun(core, verdict.cost), verdict))
    await emit(Noticed(f"Goal, {goal.progress}: {_short(verdict.why)}"))
    return continuing(goal, verdict.output)


def _obstacle(goal: Goal, verdict: Verdict) -> AgentError | None:
    """Return the error with which the goal pauses instead of continuing; None if it continues."""
    if verdict.answer == "impossible":
        return AgentError(f"Goal paused: according to the check, it is impossible. {verdict.why} {CONTINUES}")
    if goal.unjudged >= UNJUDGED:
        return AgentError(f"Goal paused: {UNJUDGED} checks in a row gave no verdict. {CONTINUES}")
    if goal.idle >= IDLE:
        return AgentError(f"Goal paused: {IDLE} turns in a row brought no new result. {CONTINUES}")
    if limit := goal.limit():
        return LimitReached(f"Goal paused: its limit of {limit} is reached. {RAISES}")
    return None


def beginning(goal: Goal) -> Text:
    """Return the reminder for the first prompt of a goal."""
    return reminder(FIRST.format(text=goal.text, how=CHECKED.format(check=goal.check) if goal.check else NO_CHECK))


def continuing(goal: Goal, output: str = "") -> Prompt:
    """Return the prompt of a further turn. It repeats the goal, because a compaction may have removed it from the view."""
    how = CHECKED.format(check=goal.check) if goal.check else NO_CHECK
    why = "\n\n".join(filter(None, [f"The newest check: {goal.why}", output, how]))
    text = NEXT.format(text=goal.text, why=why, idle=NO_NEWS if goal.idle else "")
    return Prompt("", (reminder(text),), typed=False)


def notes(core: SessionCore) -> Sequence[str]:
    """Return the note about an unfinished goal when its session is opened."""
    goal = goal_of(core)
    if goal is None or goal.status not in ("active", "paused"):
        return ()
    return (f"The goal “{_short(goal.text)}” is not reached ({goal.progress}). {CONTINUES}",)


def _paused(goal: Goal, core: SessionCore, why: str) -> Goal:
    return replace(goal.accounted(core, time.time()), status="paused", why=why)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 200 else line[:199] + "…"
