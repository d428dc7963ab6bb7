"""Write a line to a file when a turn has ended, for a program that tells the person."""

from agentcli.extension import Context, TurnEnd, on


@on("turn_end")
def tell(turn: TurnEnd, ctx: Context) -> None:
    first = turn.text.strip().split("\n")[0][:80]
    with open(ctx.cwd / "notifications.txt", "a", encoding="utf-8") as file:
        file.write(f"{turn.ending}: {first}\n")
