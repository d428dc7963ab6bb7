"""A list of tasks that the model keeps and the person sees."""

from typing import Literal

from agentcli.extension import Context, command, tool


@tool
def tasks(ctx: Context, action: Literal["list", "add", "toggle"], text: str = "", number: int = 0) -> str:
    """Keep the list of tasks: list it, add a text, or toggle the task with a number."""
    every = ctx.state.setdefault("tasks", [])
    if action == "add":
        every.append({"text": text, "done": False})
    if action == "toggle":
        if not 1 <= number <= len(every):
            return f"There is no task {number}."
        every[number - 1]["done"] = not every[number - 1]["done"]
    return lines(every)


@command("/my-tasks")
def show(ctx: Context) -> str:
    """Show the list of tasks."""
    return lines(ctx.state.get("tasks", []))


def lines(every: list[dict]) -> str:
    marks = {True: "x", False: " "}
    return "\n".join(f"{n}. [{marks[one['done']]}] {one['text']}" for n, one in enumerate(every, 1)) or "No tasks."
