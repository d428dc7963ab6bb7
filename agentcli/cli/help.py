"""`agentcli help`: the manual, by topic or searched, and the man page."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable
from typing import Annotated

import typer
from typer.core import TyperGroup

from agentcli import manual
from agentcli.cli.output import page, say
from agentcli.cli.printing import Column, on_terminal, print_styled, print_table
from agentcli.core.errors import InputError, UsageError
from agentcli.core.text.plural import plural

WIDEST = 100
"""Cells of a line of text at most: longer ones are hard to read."""
_MATCHES = 3
"""Lines shown of a section that was found."""


def help_command(
    show_command: Callable[[list[str]], object], whole_group: Callable[[], TyperGroup]
) -> Callable[..., None]:
    """Return the command `help`; `show_command` prints the help of a command named by its words, `whole_group` returns all commands."""

    def help_(
        words: Annotated[list[str] | None, typer.Argument(metavar="TOPIC", help="a topic, or a command")] = None,
        search: Annotated[bool, typer.Option("--search", help="find sections that contain all of these words")] = False,
        man: Annotated[bool, typer.Option("--man", help="print the man page")] = False,
    ) -> None:
        """Read the manual, by topic or with --search.

        Without TOPIC it lists the topics.
        """
        if man:
            from agentcli.cli.man import man_page

            print(man_page(whole_group()), end="")
        elif search:
            _print_found(" ".join(words or ()))
        elif not words:
            _print_topics()
        elif words[0] in manual.TOPICS and len(words) == 1:
            page(drawn_page(words[0]))
        else:
            try:
                show_command(words)
            except UsageError:
                manual.page(" ".join(words))  # raises an error that names the near topics
                raise

    return help_


def drawn_page(topic: str) -> list[str]:
    """Return the lines of a page of the manual: drawn on a terminal, as Markdown anywhere else."""
    return drawn(manual.page(topic))


def drawn(source: str) -> list[str]:
    """Return the lines of Markdown of the manual: drawn on a terminal, as they are anywhere else."""
    if not on_terminal(sys.stdout):
        return [source.strip("\n")]
    from agentcli.ui.render import links
    from agentcli.ui.render.markdown import document
    from agentcli.ui.style import Look, choose_theme

    look = Look(choose_theme("auto", os.environ), links=links.known("auto", os.environ))
    row = re.fullmatch(r"\| *(.*?) *\|", source)  # one row of a table is none
    source = re.sub(r" *(?<!\\)\| *", " · ", row[1]) if row else source
    return document(source, min(shutil.get_terminal_size((80, 24)).columns - 2, WIDEST), look)


def _print_topics() -> None:
    rows = [[topic, manual.summary(topic)] for topic in manual.TOPICS]
    print_table((Column("topic", style="bold"), Column("about", wraps=True)), rows)
    say()
    say(
        "`agentcli help TOPIC` opens a topic, `agentcli help --search WORDS` finds words, `agentcli --help` lists commands."
    )


def _print_found(text: str) -> None:
    if not text.strip():
        raise UsageError("Which words? agentcli help --search WORDS")
    found = manual.search(text)
    if not found:
        raise InputError(f"The manual does not contain {text!r}. `agentcli help` lists its topics.")
    for section in found:
        print_styled([(section.topic, "bold cyan"), (f" · {section.heading}", "bold")])
        for line in section.lines[:_MATCHES]:
            for row in drawn(line):
                print(f"  {row}")
    say()
    say(f"Found in {plural(len(found), 'section')}. `agentcli help TOPIC` opens one.")
