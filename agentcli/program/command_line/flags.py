"""Flags of runs as typer sees them, derived from `Options`, and flags that several other commands share."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from agentcli.core.annotation import fields_of, hints_of
from agentcli.core.errors import UsageError, in_words
from agentcli.core.text.encodings import readable
from agentcli.program.options import Flag, Place, flags

Parameters = Callable[[], Sequence[inspect.Parameter]]


def taking(options: type) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command a parameter for each field of a dataclass.

    The command gets them as one value in its argument `asked`.
    """

    def build(given: Mapping[str, Any]) -> Any:
        return options(**given)

    return functools.partial(_Taking, functools.partial(_fields, options), build, "asked")


def taking_flags(place: Place | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the flags of a run.

    The command gets their values by the names of `Options` in its argument `given`. Files in flags are read: UsageError
    for an unreadable file.
    """
    return functools.partial(_Taking, functools.partial(_flag_parameters, place), _by_field, "given")


class _Taking:
    """A command whose parameters are derived from a dataclass when it is requested; it gets them as one value."""

    __name__: str

    def __init__(
        self, more: Parameters, build: Callable[[Mapping[str, Any]], Any], name: str, command: Callable[..., Any]
    ) -> None:
        functools.update_wrapper(self, command, ("__module__", "__name__", "__qualname__", "__doc__"))
        self._more, self._build, self._name, self._command = more, build, name, command

    def __call__(self, **given: Any) -> Any:
        own = {name: given.pop(name) for name in inspect.signature(self._command).parameters if name != self._name}
        return self._command(**own, **{self._name: self._build(given)})

    # Typer reads a command's parameters from its signature and annotations.
    @functools.cached_property
    def __signature__(self) -> inspect.Signature:
        hints = hints_of(self._command)
        own = [
            parameter.replace(annotation=hints[parameter.name])
            for parameter in inspect.signature(self._command).parameters.values()
            if parameter.name != self._name
        ]
        return inspect.Signature([*own, *self._more()])

    @functools.cached_property
    def __annotations__(self) -> dict[str, Any]:  # type: ignore[override]
        return {name: each.annotation for name, each in self.__signature__.parameters.items()}


def _fields(options: type) -> list[inspect.Parameter]:
    return [_parameter(slot.name, slot.default, slot.hint) for slot in fields_of(options)]


_FLAG, _FILE = "flag_", "file_"
"""Prefix of parameters, because a command's own arguments may have the same name as a field of `Options`."""


def parameter_name(flag: Flag) -> str:
    """Return the name of a command's parameter for a flag of a run."""
    return _FLAG + flag.field


def _flag_parameters(place: Place | None) -> list[inspect.Parameter]:
    parameters = []
    for flag in flags(place):
        kind, default = flag.type | None if flag.default is None else flag.type, flag.default
        if flag.kind == "list":
            kind, default = list[str] | None, None
        parameters.append(_parameter(parameter_name(flag), default, Annotated[kind, _info(flag)]))
        if flag.file:
            info = typer.Option(f"{flag.names[-1]}-file", metavar="FILE", help=flag.file)
            parameters.append(_parameter(_FILE + flag.field, None, Annotated[str | None, info]))
    return parameters


def _parameter(name: str, default: Any, annotation: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=annotation)


def _info(flag: Flag) -> Any:
    least = 0 if flag.kind in ("whole", "decimal") else None
    return typer.Option(*flag.names, metavar=flag.value or None, help=flag.help, hidden=flag.hidden, min=least)


def _by_field(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of flags by the fields of `Options`."""
    values: dict[str, Any] = {}
    for flag in flags():
        if (name := parameter_name(flag)) not in given:
            continue
        value, file = given[name], given.get(_FILE + flag.field)
        if file:
            value = _read(file)
        elif flag.kind == "list":
            value = tuple(value or ())
        values[flag.field] = value
    return values


def _read(path: str) -> str:
    try:
        return readable(Path(path).read_bytes())
    except OSError as error:
        raise UsageError(f"Can't read {path}: {in_words(error)}.") from error


class Format(StrEnum):
    """Output format of a command that runs agents."""

    text = "text"
    json = "json"
    stream_json = "stream-json"


_INFO = {flag.field: _info(flag) for flag in flags()}

Model = Annotated[str, _INFO["model"]]
Mode = Annotated[str, _INFO["mode"]]
Allow = Annotated[list[str] | None, _INFO["allow"]]
Deny = Annotated[list[str] | None, _INFO["deny"]]
MaxTurns = Annotated[int | None, _INFO["max_turns"]]
MaxCost = Annotated[float | None, _INFO["max_cost"]]
MaxTime = Annotated[float | None, _INFO["max_time"]]
Set = Annotated[list[str] | None, _INFO["settings"]]
Trust = Annotated[bool, _INFO["trust"]]

Json = Annotated[bool, typer.Option("--json", help="print JSON")]
InFolder = Annotated[str, typer.Option("-C", "--cwd", metavar="DIR", help="use this folder instead of the current one")]
OfModel = Annotated[str, typer.Option("-m", "--model", metavar="MODEL", help="use this model's window and prices")]
InProject = Annotated[str, typer.Option("-C", "--cwd", metavar="DIR", help="use the project of this folder")]
AllProjects = Annotated[bool, typer.Option("--all", help="include all projects")]
