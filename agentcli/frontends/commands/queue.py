"""Slash command that lists waiting messages, and edits, reorders and deletes them."""

from __future__ import annotations

from agentcli.frontends.commands.base import CommandContext, Queued, terminal_command
from agentcli.program.commands import Choice

_WHEN = {True: "with the next result", False: "at the end of the turn"}
_ACTS = ("Edit", "Move up", "Move down", "Delete")


@terminal_command("Work", at_once=True, values=("clear",), former="queue")
async def queue(context: CommandContext, argument: str) -> None:
    """List the messages that wait; edit, reorder or delete them: /tasks queue [clear]

    A message goes with the next result, or waits for the end of the turn. Edit takes it back into the input. `/tasks queue clear` deletes all.
    The queue survives a crash: `agentcli resume` restores it, and Enter on an empty line sends it.
    """
    start = 0
    while waiting := list(context.waiting):
        if argument == "clear":
            context.requeue(())
            context.say(f"Deleted {len(waiting)} from the queue.")
            return
        chosen = await context.pick("Queue", [Choice(one.text, _WHEN[one.steers]) for one in waiting], start)
        if chosen is None:
            return
        start, one = chosen, waiting[chosen]
        act = await context.pick(one.text, [Choice(act) for act in _ACTS])
        now = list(context.waiting)
        if act is None:
            continue
        if one not in now:
            context.say("This message has been sent meanwhile.")
            return
        start = _done(_ACTS[act], now, now.index(one))
        context.requeue(now)
        if _ACTS[act] == "Edit":
            context.draft(one.text)
            return
    context.say("Nothing is queued.")


def _done(act: str, messages: list[Queued], at: int) -> int:
    """Move a message, or take it out; return its place, or its previous one."""
    match act:
        case "Move up":
            return _swap(messages, at, at - 1)
        case "Move down":
            return _swap(messages, at, at + 1)
        case _:
            del messages[at]
            return at


def _swap(messages: list[Queued], at: int, other: int) -> int:
    """Swap two messages that are sent at the same time, and return the new place of the first.

    Messages that are sent at different times stay where they are.
    """
    if not 0 <= other < len(messages) or messages[at].steers != messages[other].steers:
        return at
    messages[at], messages[other] = messages[other], messages[at]
    return other
