"""The todo tool: the model's list of steps, shown to the user and stored with the session."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ToolError
from agentcli.core.record import TodoItem
from agentcli.core.schema import WireName
from agentcli.core.tool import Behaviour, ToolContext, ToolOutput, Traits
from agentcli.tools.entry import Entry


@dataclass(frozen=True, slots=True)
class TodoList:
    """The list of a session."""

    now: Callable[[], tuple[TodoItem, ...]]
    """Returns the current list."""
    replace: Callable[[Sequence[TodoItem]], None]
    """Replaces, records and shows the list."""


_SIGNS = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]"}


@dataclass(frozen=True, slots=True)
class Step:
    """A step as the model writes it. Cancelled ones are not in the list."""

    content: str
    status: Literal["pending", "in_progress", "completed", "cancelled"] = "pending"
    active_form: Annotated[str, WireName("activeForm")] = ""


async def todo(ctx: ToolContext, call_id: str, todos: list[Step] | None = None) -> ToolOutput:
    plan = ctx.service(TodoList)
    if plan is None:
        raise ToolError("There is no list here.")
    if todos is not None:
        plan.replace([item for step in todos if (item := _item(step)) is not None])
    items = plan.now()
    done = sum(item.status == "completed" for item in items)
    return ToolOutput(show(items) or "The list is empty.", metadata={"done": done, "of": len(items)})


def title(_: Mapping[str, Any]) -> str:
    """Return the title, the same for each list: its result shows how many steps are done."""
    return "Todo list"


def show(items: Sequence[TodoItem]) -> str:
    """Return one line per item."""
    return "\n".join(f"{_SIGNS[item.status]} {item.content}" for item in items)


def _item(step: Step | Mapping[str, Any]) -> TodoItem | None:
    if not isinstance(step, Step):
        step = Step(step["content"], step.get("status", "pending"), step.get("activeForm", ""))
    return None if step.status == "cancelled" else TodoItem(step.content, step.status, step.active_form)


TODO = Entry("todo", todo, title, Traits("none", behaviour=Behaviour(for_people=True, dispensable=True)))
