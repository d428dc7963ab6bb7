"""Typer's commands without what a command line does not need of them.

Typer reads the parameters of every command off its annotations, and has pydantic convert the value of every option, given or not:
both take longer than all else in a command line.
"""

from __future__ import annotations

from copy import copy
from enum import Enum
from inspect import getdoc
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command_name


def reduced(group: typer.Typer, arguments: list[str]) -> typer.Typer:
    """The group with only the command that its first argument names; if it names none, with all, where only commands named later keep their parameters."""
    made = copy(group)
    commands = {}
    for command in group.registered_commands:
        assert command.callback is not None
        commands[command.name or get_command_name(command.callback.__name__)] = command
    if arguments and arguments[0] in commands:
        made.registered_commands = [commands[arguments[0]]]
        return made
    made.registered_commands = []
    for name, command in commands.items():
        if name not in arguments:
            command = copy(command)
            command.name, command.help, command.callback = name, getdoc(command.callback), listed
        made.registered_commands.append(command)
    return made


def listed() -> None:
    """Placeholder in the list of commands for one that was not asked for."""


def convert_lazily(command: TyperGroup | TyperCommand, help_option_names: list[str]) -> None:
    """Let typer convert only the values of this command, and of those in it, that are not yet of the type that it declares."""
    for inner in command.commands.values() if isinstance(command, TyperGroup) else ():
        assert isinstance(inner, TyperGroup | TyperCommand)
        convert_lazily(inner, help_option_names)
    # Typer makes the option for help late, and keeps it.
    asks_help = command.get_help_option(command.context_class(command, help_option_names=help_option_names))
    for parameter in (*command.params, asks_help):
        if getattr(parameter, "_runtime_param", parameter) is None and hasattr(parameter, "type_descriptor"):
            parameter._runtime_param = _Lazy(parameter.type_descriptor)  # type: ignore[union-attr]


class _Lazy:
    """Takes the place of typer's converter of a parameter, and makes that when it is needed."""

    def __init__(self, descriptor: Any) -> None:
        self._descriptor = descriptor
        self._own: Any = None

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value as the command gets it. Raises BadParameter."""
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        if self._descriptor.annotation == list[str] and isinstance(value, list | tuple):
            return list(value)
        if self._needs_none(value):
            return value
        if self._own is None:
            from typer._coercion import build_runtime_param

            self._own = build_runtime_param(self._descriptor)
        return self._own.coerce(value, param=param, ctx=ctx)

    def _needs_none(self, value: Any) -> bool:
        annotation, info = self._descriptor.annotation, self._descriptor.parameter_info
        plain = annotation in (str, bool, int, float) or (isinstance(annotation, type) and issubclass(annotation, Enum))
        return plain and type(value) is annotation and info.parser is None and not self._descriptor.is_ranged
