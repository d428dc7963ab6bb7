"""`agentcli sessions list` and `search`: they answer at once, so plain arguments are read here, without a parser."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from agentcli.core.sanitise import safe
from agentcli.core.text.words import none_of
from agentcli.frontends.opening import project_of
from agentcli.program.command_line.output import say, say_json
from agentcli.program.command_line.printing import Column, on_terminal, print_table
from agentcli.program.command_line.progress import Progress
from agentcli.program.options import Options

if TYPE_CHECKING:
    from pathlib import Path

    from agentcli.sessions.info import SessionInfo
    from agentcli.sessions.project import Place
    from agentcli.sessions.rows import Row

FOUND, HITS = 20, 3
"""Default number of sessions that a search shows, and of places in each."""
_NUMBERS = ("--limit", "--hits")
_OPTIONS = {"list": ("--all", "--json", "--trash", "--limit"), "search": ("--all", "--json", *_NUMBERS)}
"""Options of the commands that are read here."""
NEWEST = 200
"""Default number of sessions on a terminal; a pipe gets all."""
_MARKS = ("\ue0fe", "\ue0ff")
_ID, _WHEN, _TITLE = (
    Column("id", style="dim"),
    Column("last used", from_width=60),
    Column("title", style="bold", fills=True),
)
_COST, _MODEL = Column("cost $", numeric=True, from_width=70), Column("model", from_width=90)
_RECORDS, _FOLDER = Column("records", numeric=True, from_width=100), Column("folder")


def plainly(arguments: Sequence[str]) -> Callable[[], int] | None:
    """Return the action of `sessions list` or `sessions search` with plain options; None if a parser is needed.

    The action returns the exit code.
    """
    if len(arguments) < 2 or arguments[1] not in _OPTIONS:
        return None
    words, flags, numbers = list[str](), list[str](), dict[str, int]()
    rest = iter(arguments[2:])
    for word in rest:
        name, equals, value = word.partition("=")
        if not word.startswith("-"):
            words.append(word)
        elif name in numbers or name in flags or name not in _OPTIONS[arguments[1]]:
            return None
        elif name not in _NUMBERS:
            flags.append(word)
        elif (number := value if equals else next(rest, "")).isdecimal():
            numbers[name] = int(number)
        else:
            return None
    everywhere, json = "--all" in flags, "--json" in flags
    if arguments[1] == "list" and not words:
        return partial(print_list, everywhere, json, numbers.get("--limit"), trash="--trash" in flags)
    if arguments[1] == "search" and words:
        limit, hits = (numbers.get(name, usual) for name, usual in zip(_NUMBERS, (FOUND, HITS), strict=True))
        return partial(print_found, words, everywhere, json, limit, hits=hits)
    return None


def _picks(options: Options) -> int | None:
    """Return the exit code of a run in which a person chose a session from the list.

    None without a person, or without sessions: then the list is printed.
    """
    if not (sys.stdin.isatty() and on_terminal(sys.stdout)):
        return None
    from agentcli.frontends.cli.launch import start

    context = project_of(options)
    return start(options) if context.store.newest(context.project) is not None else None


def print_list(
    everywhere: bool = False, json: bool = False, limit: int | None = None, cwd: str = "", trash: bool = False
) -> int:
    """Print the sessions of this project or of all, newest first, each with its forks below it.

    On a terminal, offer those of this project, as `agentcli resume` does. With `trash`, print the sessions in the trash.
    `limit`: 0 for all of them, None for as many as a person wants to see. Return the exit code.
    """
    if not (everywhere or json or trash) and limit is None:
        code = _picks(Options(session="", cwd=cwd))
        if code is not None:
            return code
    context = project_of(Options(cwd=cwd))
    store, which = context.store, None if everywhere else context.project
    if json:
        from agentcli.sessions.info import info_to_json

        infos = store.trashed() if trash else store.list(which)
        say_json([info_to_json(info) for info in infos[: limit or None]])
        return 0
    rows = store.trashed_rows() if trash else store.rows(which)
    if limit is None and on_terminal(sys.stdout):
        limit = NEWEST
    if rows:
        _print_table(rows[: limit or None], () if everywhere or trash else context.project.others)
    else:
        _say_none(store.root, trash)
    if limit and len(rows) > limit:
        say(f"{len(rows) - limit:,} older ones are not listed; --limit 0 lists all.")
    return 0


def _say_none(root: Path, trash: bool) -> None:
    """Print that there are no sessions, and where they may be."""
    if trash:
        say("The trash is empty.")
        return
    from agentcli.sessions.project import about_gone_folders

    say(none_of("sessions of this project", "sessions"))
    if hint := about_gone_folders(root):
        say(hint)


def _print_table(rows: Sequence[Row], places: Sequence[Place]) -> None:
    """Print sessions line by line; sessions from other places of the project with that folder's name, explained below."""
    from agentcli.sessions.info import local_minute
    from agentcli.sessions.tree import nested, stem

    others = {place.id: place for place in places if any(row.project_id == place.id for row in rows)}
    columns = [_ID, _WHEN, _TITLE, _COST, _MODEL, _RECORDS, *([_FOLDER] if others else [])]
    terminal = on_terminal(sys.stdout)
    by_id = {row.id: row for row in rows}
    cells = [
        [
            each,
            local_minute(row.updated),
            stem(depth) + row.title,
            row.cost,
            row.model.partition("/")[2] if terminal and "/" in row.model else row.model,
            row.records,
            *([others[row.project_id].name if row.project_id in others else ""] if others else []),
        ]
        for depth, each in nested({row.id: row.parent for row in rows})
        for row in (by_id[each],)
    ]
    print_table(columns, cells)
    for place in others.values():
        say(f"{place.name}: {place}")


def print_found(
    words: Sequence[str],
    everywhere: bool = False,
    json: bool = False,
    limit: int = FOUND,
    cwd: str = "",
    hits: int = HITS,
) -> int:
    """Print the sessions that contain all the words, with the places; return the exit code."""
    from agentcli.sessions.search import search

    context = project_of(Options(cwd=cwd))
    projects = () if everywhere else context.project.ids
    with Progress("Searching") as progress:
        found = search(context.store.root, " ".join(words), projects, limit=limit, hits=hits, through=progress.of(0))
    if json:
        say_json([one.to_json() for one in found])
    elif not found:
        say(
            "No session contains these words."
            if everywhere
            else "No session of this project contains these words. --all searches all projects."
        )
    else:
        marks = ("\x1b[1m", "\x1b[0m") if on_terminal(sys.stdout) and "NO_COLOR" not in context.env else ("", "")
        for one in found:
            # Sanitise with unused letters instead of the marks, which are inserted afterwards.
            text = safe(one.report(*_MARKS))
            print(text.replace(_MARKS[0], marks[0]).replace(_MARKS[1], marks[1]) + "\n")
    return 0


def when(info: SessionInfo) -> str:
    """Return the time of a session's last write, for people."""
    from agentcli.sessions.info import local_minute

    return local_minute(info.time.updated)
