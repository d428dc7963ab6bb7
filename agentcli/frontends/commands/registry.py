"""Registry of slash commands, and /help itself.

It has the commands of a program's features by name, in the order of /help and of the menu.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import TYPE_CHECKING, get_args

from agentcli import manual
from agentcli.core.errors import UsageError
from agentcli.core.text.words import did_you_mean, name_and_argument, near_names
from agentcli.frontends.commands import peers, prompt_files
from agentcli.frontends.commands.base import CommandContext
from agentcli.frontends.commands.outputs import Drawn, perform
from agentcli.frontends.terminal.input.completion import CommandCompletion
from agentcli.frontends.terminal.render.markdown import document
from agentcli.manual.searching import Section, search
from agentcli.program.command import Command, Group, Item
from agentcli.program.commands import Context, Output, OutputCommand, Said, command

if TYPE_CHECKING:
    from agentcli.agent.session import AgentSession
    from agentcli.program.feature import Feature
    from agentcli.program.program import Program


class SlashCommands:
    """Slash commands of a program: /help, and those of its features."""

    def __init__(self, commands: Callable[[], Sequence[Command]]) -> None:
        """`commands` are the present ones: extensions may add some."""
        self._source, self._help = commands, _help_on(self)
        self._known: Sequence[Command] = ()
        self._all: Mapping[str, Command] = {}
        self._told: set[str] = set()

    @property
    def all(self) -> Mapping[str, Command]:
        """Every command by its own name, in the order of /help."""
        now = self._source()
        if not self._all or [*now] != [*self._known]:
            self._known = now
            self._all = MappingProxyType({one.name: one for one in by_group([self._help, *now])})
        return self._all

    @property
    def everywhere(self) -> Mapping[str, OutputCommand]:
        """The commands that work in every front end."""
        return {name: one for name, one in self.all.items() if isinstance(one, OutputCommand)}

    async def run(self, ctx: CommandContext, line: str) -> None:
        """Run a command line `/name [argument]`. Raises UsageError for an unknown command or an unexpected argument."""
        name, rest = name_and_argument(line)
        found = self.find(name)
        if found.name not in (name, self.known_as(name)):
            if name not in self._told:
                self._told.add(name)
                ctx.say(f"/{name} is /{peers.SAME[name]} here.")
            if preset := peers.SAME[name].partition(" ")[2]:
                if rest:
                    raise UsageError(f"/{peers.SAME[name]} takes no more arguments. Send the prompt after it.")
                rest = preset
        found.check(rest, name)
        await perform(found, ctx, rest)

    def is_command(self, text: str, session: AgentSession) -> bool:
        """Return True if the text is a slash and a word.

        `/usr/bin is empty` is not a command; a command name from a file begins a prompt.
        """
        if not text.lstrip().startswith("/") or "/" in text.split()[0][1:]:
            return False
        return self.known_as(name_and_argument(text)[0]) in self.all or not session.prompt_files.is_entry(text.lstrip())

    def from_files(self, session: AgentSession) -> Sequence[CommandCompletion]:
        """Return the commands and skills that files define, for completion."""
        return [CommandCompletion(item.label, item.detail) for item in prompt_files.items(session, self.all)]

    def acts_at_once(self, text: str) -> bool:
        """Return True if the command runs at once, without waiting for the end of the turn.

        Unknown commands are reported at once, too.
        """
        name, argument = name_and_argument(text)
        found = self.all.get(self.known_as(name)) or self._of_peers(name)
        return found is None or found.acts_at_once(argument)

    def find(self, name: str) -> Command:
        """Return the command of that name, or of that name in another agent. Raises UsageError with similar names."""
        if self.known_as(name) in self.all:
            return self.all[self.known_as(name)]
        if found := self._of_peers(name):
            return found
        if instead := peers.INSTEAD.get(name):
            raise UsageError(f"/{name} is not a command of agentcli. {instead}")
        near = near_names(name, self.all)
        hint = did_you_mean([f"/{one}" for one in near]) or " Type /help for the list."
        raise UsageError(f"Unknown command /{name}.{hint}")

    def known_as(self, name: str) -> str:
        """Return the command's own name for an alias."""
        return next((one.name for one in self.all.values() if name in one.aliases), name)

    def own_name(self, name: str) -> str:
        """Return our name for a command that another agent calls so, else the name."""
        found = (
            self._of_peers(name)
            if self.known_as(name) not in self.all and " " not in peers.SAME.get(name, "")
            else None
        )
        return found.name if found else name

    def _of_peers(self, name: str) -> Command | None:
        return self.all.get(peers.SAME.get(name, "").partition(" ")[0])


def slash_commands(program: Program) -> SlashCommands:
    """Return the registry of a program's slash commands."""
    own = [command for feature in program.features for command in feature.commands()]
    return SlashCommands(lambda: [*own, *program.added_commands])


def built_in_commands(features: Sequence[Feature[Program]]) -> SlashCommands:
    """Return the registry of the slash commands that features bring."""
    own = [command for feature in features for command in feature.commands()]
    return SlashCommands(lambda: own)


def _help_on(commands: SlashCommands) -> Command:
    """Return the slash command that explains these and opens the manual."""

    def names(ctx: Context) -> Sequence[Item]:
        topics = [Item(topic, "manual") for topic in manual.TOPICS if topic not in commands.all]
        return [
            *(Item(name, one.summary) for name, one in commands.all.items()),
            *prompt_files.items(ctx.session, commands.all),
            *topics,
        ]

    @command("Terminal", at_once=True, arguments=names)
    async def help_(ctx: Context, name: str) -> AsyncIterator[Output]:
        """List the commands, explain one, or open or search the manual: /help [COMMAND or TOPIC or WORDS]"""
        for output in _explained(commands, ctx, name) if name else [_overview(commands, ctx)]:
            yield output

    return help_


def _explained(commands: SlashCommands, ctx: Context, name: str) -> Iterator[Output]:
    """Explain a command, an entry of the user's files, or a topic of the manual, else search it. Raises UsageError if there is nothing."""
    topic, bare = name.lower(), name.lstrip("/")
    if topic in manual.TOPICS and commands.known_as(topic) not in commands.all:
        yield _page(topic)
        return
    if commands.known_as(bare) not in commands.all and (lines := prompt_files.explained(ctx.session, name)):
        yield Said(lines)
        return
    if commands.known_as(bare) not in commands.all and not name.startswith("/") and (found := _searched(name)):
        yield _found(found)
        return
    one = commands.find(bare)
    when = "It acts at once, even during a turn." if one.at_once else "During a turn, it waits until the turn ends."
    yield Said([*one.paragraphs, *([when] if ctx.terminal is not None else [])])
    if topic in manual.TOPICS:
        yield Said([""])
        yield _page(topic)


def _overview(commands: SlashCommands, ctx: Context) -> Said:
    listed = commands.everywhere if ctx.terminal is None else commands.all
    wide = max(map(len, commands.all)) + 3
    return Said(
        [
            *_by_group(listed, wide),
            *prompt_files.listed(ctx.session, commands.all, wide),
            "",
            f"/help COMMAND explains one{', ? on an empty line lists the keys' if ctx.terminal is not None else ''}.",
            f"/help TOPIC opens the manual, /help WORDS searches it: {', '.join(manual.TOPICS)}.",
            *(_INPUT if ctx.terminal is not None else ()),
        ]
    )


def _by_group(listed: Mapping[str, Command], wide: int) -> Iterator[str]:
    for title, commands in grouped(listed.values()).items():
        yield title
        yield from (f"  /{one.name}".ljust(wide + 2) + one.summary for one in commands)


_SECTIONS = 5
_INPUT = (
    "@path attaches a file, folder or image. !cmd runs a command and shows the model its output, !!cmd only shows you.",
)


def _searched(text: str) -> Sequence[Section]:
    return search(text)


def _found(sections: Sequence[Section]) -> Said:
    """Return the best sections of a search, each with its first match."""
    parts = [f"**{one.topic}** · {one.heading}\n\n{one.lines[0]}" for one in sections[:_SECTIONS] if one.lines]
    text = "\n\n".join([*parts, "`/help TOPIC` opens one."])
    return Drawn(text.split("\n"), draw=lambda columns, look: document(text, columns - 1, look))


def _page(topic: str) -> Said:
    page = manual.page(topic)
    return Drawn(page.rstrip("\n").split("\n"), draw=lambda columns, look: document(page, columns - 1, look))


USED = ("help", "model", "resume", "clear", "context", "undo", "diff", "compress", "review", "rewind", "cost", "mode")
"""The commands that people need most, first in the menu."""


def by_group(commands: Iterable[Command]) -> list[Command]:
    """Return the commands in the order of their groups."""
    return sorted(commands, key=lambda one: get_args(Group).index(one.group))


def grouped(commands: Iterable[Command]) -> dict[Group, list[Command]]:
    """Return the commands of each group, without empty groups."""
    return {group: [*each] for group, each in groupby(by_group(commands), key=lambda one: one.group)}


def by_use(commands: Iterable[Command]) -> list[Command]:
    """Return the commands in menu order: the most used, then the others by group."""
    return sorted(by_group(commands), key=lambda one: USED.index(one.name) if one.name in USED else len(USED))
