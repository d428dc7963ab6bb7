"""Show the number of turns in the status line."""

from agentcli.extension import Context, TurnEnd, on


@on("session_start")
def begin(start: object, ctx: Context) -> None:
    ctx.ui.status("ready")


@on("turn_end")
def count(turn: TurnEnd, ctx: Context) -> None:
    ctx.state["turns"] = ctx.state.get("turns", 0) + 1
    ctx.ui.status(f"turn {ctx.state['turns']} {turn.ending}")
