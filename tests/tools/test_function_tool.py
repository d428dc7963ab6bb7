"""Functions as tools of the agent."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, Optional

import pytest

import agentcli
from agentcli.tools.registry import TRAITS
from tests.frontends.python.embedded import calls, options
from tests.tables import each_row


@dataclass
class Place:
    """A place on a map."""

    name: str
    zoom: int = 3
    tags: list[str] = field(default_factory=list)


def find(
    text: Annotated[str, "What to look for"],
    kind: Literal["street", "town"] = "town",
    near: Optional[Place] = None,  # noqa: UP045 - older code writes it so
    others: Sequence[Place] = (),
    limits: dict[str, float] | None = None,
    exact: bool = False,
) -> str:
    """Find places.

    The second paragraph belongs to the description as well.
    """
    return repr((text, kind, near, list(others), limits, exact))


def ran(tmp_path: Path, tool: Callable[..., Any], **given: Any) -> agentcli.ToolResultEvent:
    """The result of one call."""
    name = getattr(tool, "name", "") or tool.__name__
    asked = options(tmp_path, calls(name, **given), "done", tools=[tool])

    async def main() -> list[agentcli.AnyEvent]:
        return [event async for event in agentcli.query("hi", **asked)]

    [result] = [event for event in asyncio.run(main()) if isinstance(event, agentcli.ToolResultEvent)]
    return result


def test_the_signature_is_the_schema_and_the_docstring_the_description() -> None:
    made = agentcli.tool(find)
    assert made.description.startswith("Find places.\n\nThe second")
    place = {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "zoom": {"type": "integer"},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["name"],
    }
    assert made.parameters == {
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "What to look for"},
            "kind": {"type": "string", "enum": ["street", "town"]},
            "near": place,
            "others": {"type": "array", "items": place},
            "limits": {"type": "object"},
            "exact": {"type": "boolean"},
        },
        "required": ["text"],
    }
    assert made("x") == find("x")


def test_the_values_of_a_call_are_those_that_the_function_wants(tmp_path: Path) -> None:
    given = {"near": {"name": "Rome", "tags": ["old"]}, "others": [{"name": "Bari", "zoom": "4"}], "limits": {"km": 5}}
    result = ran(tmp_path, find, text="via", **given)
    assert result.status == "success"
    assert result.output == repr(("via", "town", Place("Rome", 3, ["old"]), [Place("Bari", 4)], {"km": 5.0}, False))


def test_a_class_of_ours_is_made_from_the_names_that_the_model_knows_it_by(tmp_path: Path) -> None:
    def relay(question: agentcli.Question) -> str:
        """Relay a question."""
        return f"{question.question} {[choice.label for choice in question.choices]}"

    asked = {"question": "Which?", "options": [{"label": "red"}, {"label": "blue"}]}
    assert agentcli.tool(relay).parameters["properties"]["question"]["properties"].keys() >= asked.keys()
    assert ran(tmp_path, relay, question=asked).output == "Which? ['red', 'blue']"


def test_a_result_that_is_no_text_becomes_json(tmp_path: Path) -> None:
    async def nearest(count: int) -> list[Place]:
        """Find the nearest places."""
        return [Place(f"p{number}") for number in range(count)]

    assert json.loads(ran(tmp_path, nearest, count=2).output)[1] == {"name": "p1", "zoom": 3, "tags": []}


class Stop(BaseException):
    """What a test framework raises to end a test, say."""


@each_row("error", [ValueError("no such key"), SystemExit(3), StopIteration("x"), KeyError("k"), Stop("enough")])
def test_an_exception_in_a_tool_is_an_error_that_the_model_sees(error: BaseException, tmp_path: Path) -> None:
    def fails() -> str:
        """Fail."""
        raise error

    async def fails_later() -> str:
        """Fail."""
        await asyncio.sleep(0)
        raise error

    tools = [fails] if isinstance(error, StopIteration) else [fails, fails_later]
    for tool in tools:
        result = ran(tmp_path, tool)
        assert result.status == "error"
        assert str(error) in result.output


def test_a_cancellation_that_an_async_tool_raises_by_itself_is_its_error_and_no_interrupt(tmp_path: Path) -> None:
    async def gives_up() -> str:
        """Give up."""
        raise asyncio.CancelledError("gave up")

    result = ran(tmp_path, gives_up)
    assert (result.status, "CancelledError: gave up" in result.output) == ("error", True)


def test_wrong_input_is_answered_before_the_function_is_called(tmp_path: Path) -> None:
    assert "kind must be one of street, town" in ran(tmp_path, find, text="x", kind="river").output
    assert "Missing text" in ran(tmp_path, find).output
    wrong = ran(tmp_path, find, text="x", near={"zoom": 2})
    assert (wrong.status, "name" in wrong.output) == ("error", True)


def test_a_plain_function_runs_in_a_thread_and_an_async_one_in_the_loop(tmp_path: Path) -> None:
    here = threading.current_thread().name
    seen: dict[str, str] = {}

    def plain() -> None:
        """Note the thread."""
        seen["plain"] = threading.current_thread().name

    async def later() -> None:
        """Note the thread."""
        seen["later"] = threading.current_thread().name

    assert ran(tmp_path, plain).output == "(done, no result)"
    ran(tmp_path, later)
    assert (seen["plain"] == here, seen["later"] == here) == (False, True)


def test_a_tool_that_changes_something_is_asked_about(tmp_path: Path) -> None:
    done = []

    @agentcli.tool(name="deploy_it", description="Deploy.", effect="run")
    def deploy(where: str) -> str:
        done.append(where)
        return "deployed"

    assert ran(tmp_path, deploy, where="x").status == "denied"
    replies = (calls("deploy_it", where="x"), "done")
    result = asyncio.run(agentcli.run("hi", **options(tmp_path, *replies, tools=[deploy], allow="deploy_it")))
    assert (result.denials, done) == ((), ["x"])


def positional(a: str, /) -> str:
    """Do it."""
    return a


def untyped(a, b: int = 1) -> str:  # type: ignore[no-untyped-def]
    """Do it."""
    return str(a)


def several(*names: str) -> str:
    """Do it."""
    return str(names)


def vague(items: list) -> str:  # type: ignore[type-arg]
    """Do it."""
    return str(items)


def either(a: int | str) -> str:
    """Do it."""
    return str(a)


def foreign(a: Path) -> str:
    """Do it."""
    return str(a)


def silent(a: str) -> str:
    return a


def bash(command: str) -> str:
    """Run a command."""
    return command


@each_row(
    ("function", "message"),
    [
        (positional, "The tool positional: the parameter a can't be passed by name"),
        (untyped, "The tool untyped: the parameter a has no type. Use str, int"),
        (several, "the parameter names can't be passed by name"),
        (vague, "the parameter items is a list without an item type"),
        (either, "the parameter a has a type that can't be described to a model: int | str"),
        (foreign, "the parameter a has a type that can't be described to a model"),
        (silent, "The tool silent has no docstring"),
        (bash, "The agent has a tool named bash already"),
        (lambda: "", "cannot be the name of a tool"),
    ],
)
def test_a_function_that_makes_no_tool_is_refused_at_once(function: Callable[..., Any], message: str) -> None:
    with pytest.raises(agentcli.AgentError) as caught:
        agentcli.query("hi", tools=[function])
    assert message in str(caught.value)
    assert caught.value.exit_code == 2


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(agentcli.AgentError, match="two tools named find"):
        agentcli.Session(tools=[find, agentcli.tool(find)])


def test_the_built_in_tools_stay_as_they_are(tmp_path: Path) -> None:
    before = dict(TRAITS)
    ran(tmp_path, find, text="x")
    assert before == TRAITS


@pytest.mark.parametrize("error", [KeyboardInterrupt("stop"), asyncio.CancelledError("stop"), GeneratorExit("stop")])
def test_what_a_function_raises_in_its_thread_ends_no_run(error: BaseException, tmp_path: Path) -> None:
    def fails() -> str:
        """Fail."""
        raise error

    result = ran(tmp_path, fails)
    assert (result.status, type(error).__name__ in result.output) == ("error", True)
