"""The slash command of goals."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence

from agentcli.agent.core import SessionCore
from agentcli.agent.unreadable import shared_sandbox
from agentcli.core.dataclass import replace
from agentcli.core.errors import UsageError
from agentcli.core.event import seconds_left
from agentcli.core.text.options import Parsed, count, dollars, duration, parse
from agentcli.features.goal.session import beginning, continuing
from agentcli.features.goal.state import Goal, goal_of, save
from agentcli.program.commands import Context, Item, Output, Said, Sent, command

USAGE = "Use /goal [--check COMMAND] TEXT, or /goal pause, resume or clear."
LONGEST = 4_000
"""Characters of a goal."""
_BOUNDS = {"turns": "N", "time": "30m", "cost": "USD"}
_ENDS = ("clear", "stop", "off", "cancel", "none", "reset")


def _words(_: Context) -> Sequence[Item]:
    return [
        Item("pause", "do not continue after this turn"),
        Item("resume", "continue a paused goal; --turns, --time, --cost raise its limits"),
        Item("clear", "end it"),
        Item("--check", "a command that exits 0 once the goal is reached"),
    ]


@command("Work", at_once=("", "pause", *_ENDS), arguments=_words)
async def goal(ctx: Context, argument: str) -> AsyncIterator[Output]:
    """Work over turns until a check shows that a goal is reached: /goal [OPTIONS] [TEXT]

    After each turn a command decides (`--check 'pytest -q'`, exit code 0), or a cheap model. The model must quote a
    tool's result. `--turns N`, `--time 2h` and `--cost USD` are limits: 25 turns and 2 hours by default. Without TEXT,
    show the progress. /goal pause, /goal resume and /goal clear; Esc pauses, too. `--wait` begins with your next
    prompt. See /help goals.
    """
    core = ctx.session.core
    word, _, rest = argument.partition(" ")
    if not argument:
        yield Said(_progress(core))
    elif argument == "pause":
        save(core, replace(_present(core).accounted(core, time.time()), status="paused", why="by you"))
        yield Said(["Goal paused. A running turn continues to its end."])
    elif argument in _ENDS:
        save(core, replace(_present(core), status="cleared", began=0.0))
        yield Said(["Goal cleared."])
    elif word == "resume" and (not rest or rest.lstrip().startswith("--")):
        resumed = _resumed(core, parse(rest, _BOUNDS, usage=USAGE))
        save(core, resumed)
        yield Sent("Continue with the goal.", continuing(resumed).parts)
    else:
        parsed = parse(argument, {"check": "'pytest -q'", **_BOUNDS}, ("wait",), USAGE)
        fresh = _new(core, parsed)
        save(core, fresh)
        if "wait" in parsed.options:
            ctx.session.conversation.pending.append(beginning(fresh))
            yield Said(["Goal set. It begins with your next prompt."])
        else:
            yield Sent(fresh.text, (beginning(fresh),))


def _new(core: SessionCore, parsed: Parsed) -> Goal:
    """Return the goal that begins now.

    Raises UsageError for an empty one, InputError for a check that deny rules forbid.
    """
    check = parsed.options.get("check", "")
    if not parsed.text:
        raise UsageError(f"What is the goal? {USAGE}")
    if len(parsed.text) > LONGEST:
        raise UsageError(
            f"A goal can have {LONGEST:,} characters; this one has {len(parsed.text):,}. Put the details in a file."
        )
    if parsed.text[0] in "/!":
        raise UsageError("A goal can't begin with / or !. Describe the result that you want.")
    if check:
        shared_sandbox(check, core.approval.rules, core.approval.mode, core.setup)
    bounded = _bounded(Goal(parsed.text, check, since=core.journal.history.last_seq), parsed)
    return bounded.begun(core)


def _resumed(core: SessionCore, parsed: Parsed) -> Goal:
    """Return the goal as it continues, with other limits if given. Raises UsageError if it cannot."""
    if parsed.text:
        raise UsageError(USAGE)
    present = _present(core)
    if present.runs(core):
        raise UsageError("The goal is not paused.")
    bounded = _bounded(present.accounted(core, time.time()), parsed)
    if limit := bounded.limit():
        raise UsageError(f"The goal's limit of {limit} is reached. Raise it: --turns N, --time 4h or --cost USD.")
    return replace(bounded, turn=bounded.turn + 1, idle=0, unjudged=0).begun(core)


def _bounded(goal: Goal, parsed: Parsed) -> Goal:
    given = parsed.options
    return replace(
        goal,
        most_turns=count(given, "turns", goal.most_turns),
        most_seconds=duration(given["time"], "--time") if "time" in given else goal.most_seconds,
        most_cost=dollars(given, "cost", goal.most_cost),
    )


def _present(core: SessionCore) -> Goal:
    """Return the unfinished goal. Raises UsageError if there is none."""
    found = goal_of(core)
    if found is None or found.status not in ("active", "paused"):
        raise UsageError(f"No goal is set. {USAGE}")
    return found


def _progress(core: SessionCore) -> Sequence[str]:
    found = goal_of(core)
    if found is None:
        return [f"No goal is set. {USAGE}"]
    state = "paused" if found.status == "active" and not found.runs(core) else found.status
    cost = "" if found.most_cost is None else f", ${found.most_cost:g}"
    return [
        f"Goal ({state}): {found.text}",
        f"Progress: {found.accounted(core, time.time()).progress}; limits: {found.most_turns} turns, {seconds_left(found.most_seconds)}{cost}",
        f"Check: {found.check or 'a model that must quote a result'}",
        *([f"Newest check: {found.why}"] if found.why else []),
    ]


COMMANDS = (goal,)
