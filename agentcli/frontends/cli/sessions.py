"""`agentcli sessions`: list and manage the session store."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from agentcli.core.errors import AgentError, InputError, UsageError
from agentcli.core.sanitise import safe
from agentcli.core.text.words import plural
from agentcli.frontends.cli.exporting import export
from agentcli.frontends.cli.session_list import FOUND, HITS, print_found, print_list, when
from agentcli.frontends.opening import project_of
from agentcli.program.command_line.flags import AllProjects, InProject, Json
from agentcli.program.command_line.output import aside, confirmed, page, say, say_json
from agentcli.program.command_line.progress import Progress
from agentcli.program.extras import extra
from agentcli.program.options import Options

if TYPE_CHECKING:
    from agentcli.program.project import Project
    from agentcli.sessions.info import SessionInfo
    from agentcli.sessions.integrity import Report
    from agentcli.sessions.session import Session

T = TypeVar("T")
app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

Selector = Annotated[str, typer.Argument(metavar="SESSION", help="id, unique prefix, or name")]
Selectors = Annotated[list[str], typer.Argument(metavar="SESSION", help="ids, unique prefixes, or names")]


@app.command("list")
def list_sessions(
    all: AllProjects = False,
    json: Json = False,
    limit: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="list at most N; 0: all (default: all, 200 on a terminal)")
    ] = None,
    trash: Annotated[bool, typer.Option("--trash", help="list deleted sessions")] = False,
    cwd: InProject = "",
) -> int:
    """List sessions, newest first, with their forks.

    On a terminal, choose one to resume, as with `agentcli resume`; an option or a pipe prints the table.
    """
    return print_list(all, json, limit, cwd, trash)


@app.command()
def show(
    selector: Selector,
    json: Json = False,
    offset: Annotated[int, typer.Option(metavar="N", help="skip the first N records")] = 0,
    limit: Annotated[int, typer.Option(metavar="N", help="print at most N records")] = 0,
    cwd: InProject = "",
) -> None:
    """Print a session, on a terminal through your pager."""
    from agentcli.core.codec.encode import body_to_json
    from agentcli.sessions.info import info_to_json
    from agentcli.sessions.record_text import as_text

    session = _read(selector, cwd)
    records = islice(session.records(), max(offset, 0), max(offset, 0) + limit if limit > 0 else None)
    if json:
        lines = [{"seq": r.seq, "id": r.id, "time": r.time, "kind": r.kind, **body_to_json(r.body)} for r in records]
        say_json({**info_to_json(session.info), "entries": lines})
        return
    page(filter(None, map(as_text, records)))


@app.command()
def lock(selector: Selector, cwd: InProject = "") -> None:
    """Print a lock file for `--lock FILE`.

    It has version, model, tools and prompt of the session.
    """
    from agentcli.agent.run_lock import lock_of

    session = _read(selector, cwd)
    history = session.history
    if not history.system:
        raise InputError(f"Session {session.id} has made no request yet.")
    say_json(lock_of(history, history.model, history.mode, session.info.version))


@app.command()
def search(
    words: Annotated[list[str], typer.Argument(metavar="WORDS", help="all must occur, in any order and case")],
    all: AllProjects = False,
    json: Json = False,
    limit: Annotated[int, typer.Option(metavar="N", help="show at most N sessions")] = FOUND,
    hits: Annotated[int, typer.Option(metavar="N", help="show at most N matches of each session")] = HITS,
    cwd: InProject = "",
) -> None:
    """Find sessions that contain all of these words.

    Prompts, answers, tool output and file names are searched.
    """
    print_found(words, all, json, limit, cwd, hits)


@app.command()
def fork(
    selector: Selector,
    at: Annotated[int, typer.Option(metavar="N", help="copy only up to this record")] = 0,
    cwd: InProject = "",
) -> None:
    """Copy a session, whole or up to a record."""
    context = project_of(Options(cwd=cwd))
    info = context.store.find(selector, context.project)
    with Progress("Copying records") as progress:
        copy = context.store.fork(info, at or None, through=progress.of(info.records))
    say(copy.id)


@app.command()
def rename(selector: Selector, name: Annotated[str, typer.Argument(metavar="NAME")], cwd: InProject = "") -> None:
    """Name a session, for use with `resume`."""
    context = project_of(Options(cwd=cwd))
    found = context.store.find(selector, context.project)
    with Progress("Reading records") as progress:
        info = context.store.rename(found, name, context.project, through=progress.of(found.records))
    say(f"Renamed {info.id} to {info.name}.")


@app.command()
def delete(
    selectors: Selectors,
    undo: Annotated[bool, typer.Option("--undo", help="restore them")] = False,
    force: Annotated[bool, typer.Option("--force", "--yes", help="delete pinned ones too, without asking")] = False,
    cwd: InProject = "",
) -> None:
    """Move sessions to the trash; --undo restores them."""
    context = project_of(Options(cwd=cwd))
    store = context.store
    if undo:
        ids = dict.fromkeys(map(store.deleted_id, selectors))
        each_of(ids, lambda id: say(f"Restored {store.restore(id).id}."))
        return
    infos = _found(context, selectors)
    if not force:
        _confirm([info for info in infos if store.is_pinned(info)])

    def put(info: SessionInfo) -> None:
        store.delete(info)
        say(f"Moved {info.id} to the trash. To restore it: agentcli sessions delete --undo {info.id}")

    each_of(infos, put)


@app.command()
def move(
    selectors: Annotated[list[str] | None, typer.Argument(metavar="SESSION", help="default: all of --from")] = None,
    source: Annotated[str, typer.Option("--from", metavar="DIR", help="their old folder; it need not exist")] = "",
    to: Annotated[str, typer.Option("--to", metavar="DIR", help="their new folder; default: this one")] = "",
    cwd: InProject = "",
) -> None:
    """Assign sessions to another folder.

    Use it after a folder was moved or renamed. Without SESSION and --from, it moves the sessions that this repository had at its old path.
    """
    from agentcli.program.project import folder_named

    context = project_of(Options(cwd=cwd))
    target = folder_named(str(context.cwd / to)) if to else context.cwd
    infos = _moving(context, selectors or (), source)
    store = context.store
    if not infos:
        raise UsageError("Which sessions? Name them, or their old folder with --from DIR.")

    def bring(info: SessionInfo) -> None:
        moved = store.move(info, target)
        say(f"Moved {info.id} from {info.directory} to {moved.directory}.")

    each_of(infos, bring)


@app.command()
def pin(
    selector: Selector,
    undo: Annotated[bool, typer.Option("--undo", help="unpin it")] = False,
    cwd: InProject = "",
) -> None:
    """Protect a session from retention; --undo unpins it."""
    context = project_of(Options(cwd=cwd))
    info = context.store.find(selector, context.project)
    context.store.pin(info, not undo)
    say(f"{'Unpinned' if undo else 'Pinned'} {info.id}.")


@app.command()
def sweep(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="only list them")] = False, cwd: InProject = ""
) -> None:
    """Move sessions past your [retention] limits to the trash.

    It covers all projects. Pinned and open sessions stay.
    """
    from agentcli.sessions.retention import Swept, superfluous
    from agentcli.sessions.retention import sweep as clear
    from agentcli.sessions.settings import Retention

    context = project_of(Options(cwd=cwd))
    retention = context.config[Retention]
    with Progress("Moving to the trash") as progress:
        if dry_run:
            swept = Swept(tuple(superfluous(context.store, retention)))
        else:
            swept = clear(context.store, retention, through=lambda infos: progress.through(infos, len(infos)))
    for info in swept.trashed:
        say(f"{info.id}  {when(info)}  {info.name or info.title}")
    verb = "Would move" if dry_run else "Moved"
    say(f"{verb} {plural(len(swept.trashed), 'session')} to the trash.")
    for path in swept.leftovers:
        say(f"Removed an unfinished copy: {path.parent.name}/{path.name}.")


app.command()(export)
app.command("import")(extra("agentcli sessions import"))


@app.command()
def check(
    selector: Annotated[str, typer.Argument(metavar="SESSION", help="default: all of this project")] = "",
    repair: Annotated[
        bool, typer.Option("--repair", help="repair what can be repaired; damaged files are set aside")
    ] = False,
    json: Json = False,
    cwd: InProject = "",
) -> None:
    """Check sessions for damage; --repair fixes them."""
    from agentcli.sessions.integrity import check as examine
    from agentcli.sessions.integrity import repair as mend
    from agentcli.sessions.integrity import report_to_json

    context = project_of(Options(cwd=cwd))
    infos = [context.store.find(selector, context.project)] if selector else context.store.list(context.project)
    work = mend if repair else examine
    with Progress("Checking records") as progress:
        through = progress.of(sum(info.records for info in infos))
        whole: set[tuple[int, int]] = set()  # sessions of a project share most contents
        reports = [work(context.store.folder(info), through=through, whole=whole) for info in infos]
    left = [] if selector else _unfinished(context, repair)
    if json:
        say_json([report_to_json(report) for report in (*reports, *left)])
    else:
        for report in (*reports, *left):
            for problem in report.problems:
                say(f"{report.session}: {problem.message}")
            for done in report.repaired:
                say(f"{report.session}: {done}")
        say(f"{sum(report.ok for report in reports)} of {plural(len(reports), 'session')} OK.")
    if not all(report.ok for report in reports):
        raise typer.Exit(1)


@app.command()
def view(
    selector: Annotated[
        str, typer.Argument(metavar="SESSION", help="id, unique prefix, or name (default: the newest)")
    ] = "",
    cwd: InProject = "",
) -> None:
    """Open a session's page in your browser.

    Without a browser, the path of the page is printed.
    """
    from agentcli.frontends.commands.session_page import view as open_page

    context = project_of(Options(cwd=cwd))
    info = context.store.find(selector, context.project) if selector else context.store.newest(context.project)
    if info is None:
        raise InputError("This project has no session yet. See `agentcli sessions list --all`.")
    with Progress("Reading records") as progress:
        session = context.store.open(info.project_id, info.id, True, progress.of(info.records))
    say(open_page(session, context.dirs.cache, context.env))


def each_of(things: Iterable[T], act: Callable[[T], None]) -> None:
    """Act on each; a failure is reported and the others follow. Raises Exit 1 if any failed."""
    failed = False
    for thing in things:
        try:
            act(thing)
        except AgentError as error:
            failed = True
            print(f"agentcli: {safe(str(error))}", file=sys.stderr)
    if failed:
        raise typer.Exit(1)


def _found(context: Project, selectors: Sequence[str]) -> list[SessionInfo]:
    """Return each requested session once.

    Raises InputError for an unknown one: then nothing is done to the others either.
    """
    infos = [context.store.find(selector, context.project) for selector in selectors]
    return list({info.id: info for info in infos}.values())


def _moving(context: Project, selectors: Sequence[str], source: str) -> Sequence[SessionInfo]:
    """Return the sessions to move, including their subagents' sessions."""
    from agentcli.sessions.summaries import is_subagent

    everything = context.store.list()
    old = os.path.join(os.path.realpath(context.cwd / Path(source).expanduser()), "")
    gone = {place.id for place in context.project.others if place.gone}
    if source:
        led = [info for info in everything if os.path.join(info.directory, "").startswith(old)]
        if not led:
            raise InputError(f"No session belongs to {old.rstrip('/')}. See `agentcli sessions list --all`.")
        infos = [context.store.chosen(selector, led) for selector in selectors] or led
    else:
        infos = _found(context, selectors) or [info for info in everything if info.project_id in gone]
    ids = {info.id for info in infos}
    ids |= {info.id for info in everything if is_subagent(info) and info.parent and info.parent.session in ids}
    return [info for info in everything if info.id in ids]


def _confirm(pinned: Sequence[SessionInfo]) -> None:
    """Ask before pinned sessions are deleted. Raises UsageError if nobody can be asked, Exit 1 for a no."""
    if not pinned:
        return
    names = ", ".join(f"{info.id} ({info.name or info.title})" for info in pinned)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(f"Nothing was deleted: these sessions are pinned: {names}. Use --force, or unpin them first.")
    if not confirmed(f"Pinned: {safe(names)}. Delete anyway?"):
        say("Nothing was deleted.")
        raise typer.Exit(1)


def _read(selector: str, cwd: str) -> Session:
    context = project_of(Options(cwd=cwd))
    info = context.store.find(selector, context.project)
    with Progress("Reading records") as progress:
        session = context.store.open(info.project_id, info.id, True, progress.of(info.records))
    for note in session.notes:
        aside(note)
    return session


def _unfinished(context: Project, repair: bool) -> Sequence[Report]:
    """Report leftovers of killed forks and imports in this project."""
    from agentcli.sessions.copying import abandoned
    from agentcli.sessions.integrity import unfinished
    from agentcli.sessions.settings import Retention

    folders = [context.store.root / each for each in context.project.ids]
    if not any(abandoned(folder) for folder in folders):
        return ()
    days = context.config[Retention].leftover_days
    reports = [report for folder in folders for report in unfinished(folder, days * 86_400, mend=repair)]
    if any(not report.repaired for report in reports):
        age = f"after {days:g} days"
        print(f"note: `agentcli sessions sweep` removes the files of a killed fork or import {age}.", file=sys.stderr)
    return reports
