"""Decorators of extensions: they note how a function is used, and change nothing else."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import partial
from typing import Any, TypeVar

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import UsageError
from agentcli.core.text.words import one_of
from agentcli.extension.events import EVENTS, EventName

SECONDS = 5.0
"""Seconds that a handler may take by default."""
MARK = "__agentcli__"
"""Attribute of a function or class with its uses, as a tuple."""
F = TypeVar("F", bound=Callable[..., Any])
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Handler:
    """Use of a function for an event. `every` is the interval of `idle` in seconds."""

    event: str
    seconds: float
    every: float = 60.0


@dataclass(frozen=True, slots=True)
class Command:
    """Use of a function as a slash command: its name without the slash. `at_once`: it may run during a turn."""

    name: str
    complete: Callable[[], Sequence[str]] | None = None
    at_once: bool = False


class Around:
    """Use of a function around the turns of a run."""


class Engine:
    """Use of a function as the engine of the tool `web_search`."""


class Settings:
    """Use of a dataclass for the settings of an extension."""


def on(event: EventName, *, timeout: float = SECONDS, every: float = 60.0) -> Callable[[F], F]:
    """Call the function at an event, with the event's value and a Context, or fewer of them.

    `timeout` is the number of seconds that it may take, questions not counted. `every` is the interval of `idle` in
    seconds. Raise UsageError for an unknown event.
    """
    if event not in EVENTS:
        raise UsageError(f"There is no event {event!r}.{one_of(event, EVENTS)}")
    return lambda function: _marked(function, Handler(event, timeout, every))


def command(
    name: str, *, complete: Callable[[], Sequence[str]] | None = None, at_once: bool = False
) -> Callable[[F], F]:
    """Make the function a slash command, `/name`. Its docstring is the help, its parameters the arguments.

    `complete` returns completions of the argument. `at_once`: it runs during a turn, too, and does not wait for its end.
    Raise AgentError to refuse: the person sees its text.
    """
    return lambda function: _marked(function, Command(name.removeprefix("/"), complete, at_once))


def around_turn(function: F) -> F:
    """Call the async function around the last turn of `-p`, and around each turn of the Python API.

    It gets a Turn and a Context. It returns the end of the turn, or that with another text or error. Raise AgentError
    to end the run with it.
    """
    return _marked(function, Around())


def search_engine(function: F) -> F:
    """Let the async function answer the tool `web_search`, if the setting `tools.web_search` is `extension`.

    It gets the query and a Context, and returns a list of Source. Raise AgentError to tell the model why it failed.
    """
    return _marked(function, Engine())


def settings(cls: V) -> V:
    """Declare the settings of the extension: a class with annotated fields and defaults.

    It becomes a dataclass. A default may be a list, a dict or a set: each instance has its own.
    """
    whole: Any = cls
    made: Any = whole if dataclasses.is_dataclass(whole) else _as_dataclass(whole)
    declared: V = _marked(made, Settings())
    return declared


def _as_dataclass(cls: Any) -> Any:
    for name, default in [*vars(cls).items()]:
        if isinstance(default, list | dict | set) and name in inspect.get_annotations(cls):
            setattr(cls, name, dataclasses.field(default_factory=partial(deepcopy, default)))
    return dataclasses.dataclass(cls)


def _marked(value: V, use: object) -> V:
    setattr(value, MARK, (*vars(value).get(MARK, ()), use))
    return value
