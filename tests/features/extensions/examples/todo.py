"""A list of tasks that the model keeps and the person sees. It is part of the session, so it follows fork and rewind."""

from typing import Literal

from agentcli.extension import Context, command, tool


@tool
def tasks(ctx: Context, action: Literal["list", "add", "toggle", "clear"], text: str = "", number: int = 0) -> str:
    """Keep the list of tasks: list it, add a text, toggle the task with a number, or clear it."""
    every = ctx.state.setdefault("tasks", [])
    if action == "add":
        if not text:
            return "Give the text of the task."
        every.append({"text": text, "done": False})
    if action == "toggle":
        if not 1 <= number <= len(every):
            return f"There is no task {number}."
        every[number - 1]["done"] = not every[number - 1]["done"]
    if action == "clear":
        every.clear()
    ctx.ui.status(f"{sum(one['done'] for one in every)} of {len(every)} tasks" if every else "")
    return lines(every)


@command("/my-tasks")
def show(ctx: Context) -> None:
    """Show the list of tasks."""
    every = ctx.state.get("tasks", [])
    ctx.ui.show(lines(every), title=f"{sum(one['done'] for one in every)} of {len(every)} done")


def lines(every: list[dict]) -> str:
    marks = {True: "x", False: " "}
    return "\n".join(f"{n}. [{marks[one['done']]}] {one['text']}" for n, one in enumerate(every, 1)) or "No tasks."
