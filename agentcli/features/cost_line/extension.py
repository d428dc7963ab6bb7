"""A line after a turn that cost much more than usual, with the avoidable cause."""

from __future__ import annotations

from agentcli.extension import Context, TurnEnd, money, on

USUAL_FROM = 4
"""Turns after which a turn's usual cost is known."""
LEAST = 0.25
"""USD from which a turn is worth a line."""
TIMES = 3
"""Multiple of the usual cost from which a cost counts as high."""
SHARE = 0.5
"""The share that avoidable causes must have in the cost."""
AVOIDABLE = ("lost", "large output", "retries", "summaries")
"""Causes that make a turn cost more than its own work."""


@on("turn_end")
def explain(event: TurnEnd, ctx: Context) -> None:
    """Show the line if the newest turn deserves one."""
    turn = ctx.turn_cost()
    causes = [cause for cause in turn.causes if cause.kind in AVOIDABLE] if turn is not None else []
    avoidable = sum(cause.cost or 0.0 for cause in causes)
    # The costs come last: after a resume, they are read from the records of all turns.
    if not causes or avoidable < SHARE * LEAST or len(ctx.costs) <= USUAL_FROM:
        return
    *earlier, cost = ctx.costs
    usual = sorted(earlier)[len(earlier) // 2]
    if cost >= LEAST and cost >= TIMES * usual and avoidable >= SHARE * cost:
        ctx.ui.notify(
            f"This turn cost {money(cost)}, usual is {money(usual)}: {causes[0].text}. /usage has the details."
        )
