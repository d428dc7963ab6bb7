"""The registry of slash commands: the ones that the features of a program bring, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from agentcli.core.errors import UsageError
from agentcli.core.text.near import NEAREST, did_you_mean, near_names
from agentcli.core.text.slash import name_and_argument
from agentcli.ui.commands import extensions
from agentcli.ui.commands.base import CommandContext
from agentcli.ui.commands.definition import Command
from agentcli.ui.input.completion import CommandCompletion

if TYPE_CHECKING:
    from agentcli.agent.session import AgentSession


class SlashCommands:
    """The slash commands of a program."""

    def __init__(self, commands: Sequence[Command]) -> None:
        self.all: Mapping[str, Command] = MappingProxyType({one.name: one for one in commands})
        """Every command by its own name, in the order in which /help lists them."""
        self.everywhere: Mapping[str, Command] = MappingProxyType(
            {name: one for name, one in self.all.items() if one.yields}
        )
        """The commands that work in every front end."""
        self._aliases = {alias: one.name for one in commands for alias in one.aliases}

    async def run(self, ctx: CommandContext, line: str) -> None:
        """Run a command line `/name [argument]`. Raises UsageError for an unknown command or an unexpected argument."""
        name, rest = name_and_argument(line)
        found = self.find(name)
        found.check(rest, name)
        await found.run(ctx, rest)

    def is_command(self, text: str, session: AgentSession) -> bool:
        """Return whether the text is a slash and a word. `/usr/bin is empty` is no command; the name of a command that a file defines begins a prompt."""
        if not text.lstrip().startswith("/") or "/" in text.split()[0][1:]:
            return False
        return self.known_as(name_and_argument(text)[0]) in self.all or not session.extensions.is_entry(text.lstrip())

    def from_files(self, session: AgentSession) -> Sequence[CommandCompletion]:
        """Return the commands and skills that files define, for completion."""
        return [CommandCompletion(item.label, item.detail) for item in extensions.items(session, self.all)]

    def acts_at_once(self, text: str) -> bool:
        """Return whether the command runs at once, without waiting for the end of the turn. Unknown commands are reported at once, too."""
        found = self.all.get(self.known_as(name_and_argument(text)[0]))
        return found is None or found.at_once

    def find(self, name: str) -> Command:
        """Return the command of that name. Raises UsageError with the nearest names."""
        if self.known_as(name) in self.all:
            return self.all[self.known_as(name)]
        near = near_names(name.lower(), self.all) or [
            one for one in self.all if name and one.startswith(name[:2].lower())
        ]
        hint = did_you_mean([f"/{one}" for one in near[:NEAREST]]) or " /help lists them."
        raise UsageError(f"There is no command /{name}.{hint}")

    def known_as(self, name: str) -> str:
        """Return the command's own name for an alias."""
        return self._aliases.get(name, name)
