"""Show the progress of the turns in the status line."""

from agentcli.extension import Context, Prompt, SessionStart, TurnEnd, on

DIM, CYAN, GREEN, END = "\x1b[2m", "\x1b[36m", "\x1b[32m", "\x1b[0m"


@on("session_start")
def ready(start: SessionStart, ctx: Context) -> None:
    ctx.ui.status(f"{DIM}ready{END}")


@on("prompt")
def begin(prompt: Prompt, ctx: Context) -> None:
    ctx.state["turns"] = ctx.state.get("turns", 0) + 1
    ctx.ui.status(f"{CYAN}●{END} {DIM}turn {ctx.state['turns']}{END}")


@on("turn_end")
def end(turn: TurnEnd, ctx: Context) -> None:
    ctx.ui.status(f"{GREEN}✓{END} {DIM}turn {ctx.state.get('turns', 0)} {turn.ending}{END}")
