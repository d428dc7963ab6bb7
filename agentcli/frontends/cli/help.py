"""`agentcli help`: the manual, by topic or searched, and the man page."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated

import typer
from typer.core import TyperGroup

from agentcli import manual
from agentcli.core.errors import InputError, UsageError
from agentcli.core.text.words import instead, near_names, plural
from agentcli.manual.searching import Section
from agentcli.manual.searching import search as search_manual
from agentcli.program.command_line.output import page, say
from agentcli.program.command_line.printing import Column, on_terminal, print_styled, print_table

WIDEST = 100
"""Maximum cells of a line of text: longer ones are hard to read."""
_MATCHES = 3
"""Lines shown of a section that was found."""
_SECTIONS = 5
"""Maximum sections shown by a search."""
_TOPICS = "`agentcli help` lists its topics."


def help_command(
    show_command: Callable[[list[str]], object], whole_group: Callable[[], TyperGroup]
) -> Callable[..., None]:
    """Return the command `help`; `show_command` prints a command's help, `whole_group` returns all commands."""

    def help_(
        words: Annotated[
            list[str] | None, typer.Argument(metavar="TOPIC", help="a topic, a command, a setting, or a question")
        ] = None,
        search: Annotated[bool, typer.Option("--search", help="only search, also for the name of a topic")] = False,
        man: Annotated[bool, typer.Option("--man", help="print the man page")] = False,
    ) -> None:
        """Read the manual: `help TOPIC`, `help /undo`, `help stop asking`.

        Without TOPIC it lists the topics.
        """
        if man:
            from agentcli.frontends.cli.man import man_page

            print(man_page(whole_group()), end="")
        elif search:
            _print_found(" ".join(words or ()))
        elif not words or words == ["index"]:
            _print_topics()
        elif words[0].lower() in manual.TOPICS and len(words) == 1:
            page(drawn_page(words[0].lower()))
        else:
            try:
                show_command(words)
            except UsageError:
                commands = whole_group().commands
                if _mistyped(words, commands):
                    raise
                _print_answer(" ".join(words), [*commands])

    return help_


def drawn_page(topic: str) -> list[str]:
    """Return the lines of a page of the manual: drawn on a terminal, otherwise as Markdown."""
    return drawn(manual.page(topic))


def drawn(source: str) -> list[str]:
    """Return the lines of the manual's Markdown: drawn on a terminal, otherwise unchanged."""
    if not on_terminal(sys.stdout):
        return [source.strip("\n")]
    from agentcli.frontends.terminal.render import links
    from agentcli.frontends.terminal.render.markdown import document
    from agentcli.frontends.terminal.style import Look, choose_theme

    look = Look(choose_theme("auto", os.environ), links=links.known("auto", os.environ))
    return document(source, min(shutil.get_terminal_size((80, 24)).columns - 2, WIDEST), look)


def _print_topics() -> None:
    rows: list[list[str]] = []
    for group, topics in manual.GROUPS.items():
        rows += [[group, ""], *([f"  {topic}", manual.summary(topic)] for topic in topics)]
    print_table((Column("topic", style="bold"), Column("about", wraps=True)), rows)
    say()
    more = "`agentcli help TOPIC` opens a topic, `agentcli help WORDS` finds words, `agentcli --help` lists commands."
    print_styled([(more, "")])


def _print_answer(text: str, commands: Sequence[str]) -> None:
    """Print the help of a slash command, settings of this name, and the best sections.

    Raises InputError, with similar names, if there is nothing.
    """
    from agentcli.frontends.commands.registry import built_in_commands
    from agentcli.frontends.features import FEATURES

    slash, bare = built_in_commands(FEATURES), text.removeprefix("/").lower()
    known = slash.all.get(slash.known_as(bare))
    lines = [*(known.paragraphs if known else ()), *_settings(bare)]
    found = search_manual(bare)
    if not lines and not found:
        names = [*manual.TOPICS, *commands, *(f"/{name}" for name in slash.all)]
        raise InputError(f"The manual has nothing on {text!r}.{instead(text, names, _TOPICS)}")
    for line in lines:
        for row in drawn(line):
            print(row)
    if lines and found:
        say()
    _print_sections(found)


def _mistyped(words: Sequence[str], commands: Mapping[str, object]) -> bool:
    """Return True if the words look like a group's command with a mistake in its name."""
    group = commands.get(words[0])
    return isinstance(group, TyperGroup) and len(words) == 2 and bool(near_names(words[1], group.commands))


def _settings(name: str) -> Iterator[str]:
    """Yield the reference's lines about the settings of a name, complete or its last part."""
    for line in manual.page("configuration").splitlines():
        key = line.removeprefix("- `").partition("`")[0]
        if line.startswith("- `") and name in (key, key.rpartition(".")[2]):
            yield line


def _print_found(text: str) -> None:
    if not text.strip():
        raise UsageError("Which words? agentcli help --search WORDS")
    found = search_manual(text)
    if not found:
        raise InputError(f"The manual does not contain {text!r}. {_TOPICS}")
    _print_sections(found)


def _print_sections(found: Sequence[Section]) -> None:
    for section in found[:_SECTIONS]:
        print_styled([(section.topic, "bold cyan"), (f" · {section.heading}", "bold")])
        for line in section.lines[:_MATCHES]:
            for row in drawn(line):
                print(f"  {row}")
    if found:
        say()
        most = "The best of " if len(found) > _SECTIONS else "Found in "
        say(f"{most}{plural(len(found), 'section')}. `agentcli help TOPIC` opens one.")
