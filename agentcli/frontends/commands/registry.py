"""Registry of slash commands, and /help itself.

It has the commands of a program's features by name, in the order of /help and of the menu.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import TYPE_CHECKING, get_args

from agentcli import manual
from agentcli.core.dataclass import dataclass
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


@dataclass(frozen=True, slots=True)
class Meant:
    """What a command line means."""

    command: Command
    argument: str
    typed: str
    """The name as it was typed."""
    told: str = ""
    """The command's own name in a sentence, if another one was typed."""


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

    @property
    def listed(self) -> Mapping[str, Command]:
        """The commands of lists: every one except parts of others."""
        return {name: one for name, one in self.all.items() if not one.former}

    async def run(self, ctx: CommandContext, line: str) -> None:
        """Run a command line `/name [argument]`. Raises UsageError for an unknown command or an unexpected argument."""
        meant = self.meant(line, here=True)
        if told := self.told(meant):
            ctx.say(told)
        command, tabs = meant.command, self._tabs(meant.command)
        tabbed = command in tabs and meant.argument in ("", command.tab)
        if tabbed and await ctx.show_tabs(tabs, tabs.index(command)):
            return
        await perform(command, ctx, meant.argument)
        if tabbed:
            ctx.say(f"See also /{', /'.join(one.now for one in tabs if one is not command)}.")

    def names(self, name: str) -> bool:
        """Return True for the name of a command, here or in another agent."""
        return self.known_as(name) in self.all or name in peers.SAME

    def meant(self, line: str, here: bool = False) -> Meant:
        """Return what a command line means; `here` is a terminal. Raises UsageError like `run`."""
        typed, rest = name_and_argument(line)
        command, preset, told = self._called(typed, here)
        part, more = self._part(command.name, preset or rest, here)
        if part is None and preset and rest:
            raise UsageError(f"/{command.name} {preset} takes no more arguments. Send the prompt after it.")
        argument = (rest if preset else more) if part is not None else preset or rest
        found = part or command
        if not found.takes(argument) and (parts := self._parts(found.name)):
            raise UsageError(f"Use /{', or /'.join([found.name, *(one.now for one in parts)])}.")
        found.check(argument, typed)
        return Meant(found, argument, typed, told)

    def _called(self, typed: str, here: bool) -> tuple[Command, str, str]:
        """Return the command of a name, the argument that the name stands for, and a sentence with its own name."""
        name = self.known_as(typed)
        if name not in self.all and typed in peers.SAME:
            name, _, preset = peers.SAME[typed].partition(" ")
            return self.find(name), preset, f"/{typed} is /{peers.SAME[typed]} here."
        command = self.find(typed)
        if not command.former:
            return command, "", ""
        now = self.all.get(command.now)
        told = f"/{typed} is now /{command.now}." if here or now is None or isinstance(now, OutputCommand) else ""
        return (now if here and now is not None else command), "", told

    def told(self, meant: Meant) -> str:
        """Return the sentence with the new name of a command, the first time that its old one is used."""
        known = not meant.told or meant.typed in self._told
        self._told.add(meant.typed)
        return "" if known else meant.told

    def _tabs(self, command: Command) -> Sequence[OutputCommand]:
        """Return the reports that are shown as tabs beside a command, itself included if it is one."""
        whole = self.all.get(command.now.split()[0])
        if whole is None or not whole.tab:
            return ()
        tabs = (whole, *(part for part in self._parts(whole.name) if part.at_once))
        return [one for one in tabs if isinstance(one, OutputCommand)]

    def parts(self, name: str) -> Sequence[tuple[str, str]]:
        """Return the second word and the summary of each part of a command."""
        return [(one.now.split()[1], one.summary) for one in self._parts(name)]

    def _parts(self, name: str) -> Sequence[Command]:
        return [one for one in self.all.values() if one.former and one.now.startswith(f"{name} ")]

    def _part(self, name: str, argument: str, here: bool) -> tuple[Command | None, str]:
        """Return the part of a command that the first word of its argument names, and the rest."""
        word, _, rest = argument.partition(" ")
        found = next((one for one in self._parts(name) if one.now == f"{name} {word}"), None)
        return (found if here or isinstance(found, OutputCommand) else None), rest.strip()

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
        try:
            meant = self.meant(text, here=True)
        except UsageError:
            return True
        return meant.command.acts_at_once(meant.argument)

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
    listed = commands.listed
    if ctx.terminal is None:
        listed = {name: one for name, one in listed.items() if name in commands.everywhere}
    wide = max(map(len, listed)) + 3
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


USED = ("help", "model", "resume", "clear", "context", "undo", "diff", "compress", "review", "rewind", "usage", "mode")
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
