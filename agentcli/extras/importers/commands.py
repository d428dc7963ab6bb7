"""Import sessions and configurations of other programs."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import typer

from agentcli.core.errors import InputError, UsageError
from agentcli.core.text.words import one_of, plural
from agentcli.extras.importers import config
from agentcli.extras.importers.config.import_run import ImportPlan, carry_out, import_plan, lines
from agentcli.extras.importers.flags import ImportFlags
from agentcli.extras.importers.sessions.discover import PROGRAMS, Candidate, candidates, in_folder, sessions_of
from agentcli.extras.importers.sessions.import_run import ImportRun, Outcome, Price
from agentcli.frontends.opening import program_of, project_of
from agentcli.program.command_line.output import aside, confirmed, say, say_json
from agentcli.program.command_line.printing import Column, print_table
from agentcli.program.command_line.progress import Progress
from agentcli.program.models import Models
from agentcli.program.options import Options
from agentcli.program.project import Project
from agentcli.providers import model_figures
from agentcli.sessions.info import name_of
from agentcli.system import probe

STDIN = "-"


def import_sessions(asked: ImportFlags) -> None:
    """Import sessions of agentcli and other agents."""
    context = project_of(Options(cwd=asked.cwd))
    name, alone = asked.name and name_of(asked.name), asked.alone
    _check(context, name, asked.session, alone)
    with contextlib.ExitStack() as until_done:
        progress = until_done.enter_context(Progress("Importing"))
        found, unread = _sources(context, asked, until_done, progress)
        if asked.here:
            found = [each for each in found if _is_here(context, each)]
        importing = ImportRun(
            context.store, context.cwd, gather=alone, again=asked.again, name=name, price=_priced(context)
        )
        if alone:  # else the sessions are counted
            importing.through = progress.through
        if asked.dry_run:
            progress.end()
            _print_found(found, importing, asked.json)
        else:
            outcomes = [*unread, *progress.through(importing.run(found), len(found))]
            progress.end()
            _print_outcomes(outcomes, alone, asked.json)
            unread = [outcome for outcome in outcomes if outcome.status == "failed"]
    if unread:
        raise typer.Exit(InputError.exit_code if alone else 1)


def _priced(context: Project) -> Price:
    """Return the prices of the models that are known here."""
    return Models(
        context.config, context.env, figures=model_figures.load(context.dirs.state / model_figures.FILE)
    ).pricing()


def _check(context: Project, name: str, session: str, alone: bool) -> None:
    """Raise UsageError for options that need a single file, InputError for a taken name."""
    if name and not alone:
        raise UsageError("--name needs a single session: give one file.")
    if session and not alone:
        raise UsageError("--session needs a single database: give its file.")
    if name:
        _must_be_free(context, name)


def _sources(
    context: Project, asked: ImportFlags, until_done: contextlib.ExitStack, progress: Progress
) -> tuple[Sequence[Candidate], Sequence[Outcome]]:
    """Return the files to import, each once, and specified ones that are unreadable.

    Raises UsageError if none is specified, InputError if the only specified file contains no session.
    """
    paths, program = asked.paths or (), asked.program
    if program and program not in PROGRAMS:
        raise UsageError(f"Can't import from {program!r}.{one_of(program, PROGRAMS)}")
    if not paths and not program:
        raise UsageError(f"Which sessions? Give files or folders, or use --from {'|'.join(PROGRAMS)}.")
    found: list[Candidate] = []
    unread: list[Outcome] = []
    for named in paths:
        path = until_done.enter_context(_stdin()) if named == STDIN else Path(named).expanduser()
        try:
            found += _at(path, "stdin" if named == STDIN else "", asked.session, progress)
        except InputError as error:
            why = str(error).replace(str(path), "stdin") if named == STDIN else str(error)
            if len(paths) == 1 and not program:
                raise InputError(why) from None
            unread.append(Outcome(Candidate(path, "agentcli"), "failed", why=why))
    if program:
        others = (place.directory for place in context.project.others)
        places = [context.project.here.directory, str(context.cwd), *others]
        found += progress.through(sessions_of(program, context.env, places))
    return list({(each.path, each.session): each for each in found}.values()), unread


def _at(path: Path, name: str, session: str, progress: Progress) -> Iterable[Candidate]:
    """Return the sessions in a file or folder; `name` is its name for people.

    Raises InputError, possibly while iterating.
    """
    if name:
        return candidates(path, name=name, named=True)
    if probe.is_dir(path):
        return progress.through(in_folder(path))
    if probe.is_file(path):
        return candidates(path, chosen=session, named=True)
    raise InputError(f"{path} is not a file or a folder.")


@contextlib.contextmanager
def _stdin() -> Iterator[Path]:
    """Yield the piped input as a file, because it is read more than once."""
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
        file.write(sys.stdin.buffer.read())
        file.flush()
        yield Path(file.name)


def _is_here(context: Project, source: Candidate) -> bool:
    folder = Path(source.folder)
    if not folder.is_absolute():
        return False
    places = [Path(place.directory) for place in (context.project.here, *context.project.others)]
    return context.store.project_id(folder) in context.project.ids or any(
        folder.is_relative_to(place) for place in places
    )


def _must_be_free(context: Project, name: str) -> None:
    for other in context.store.list(context.project):
        if other.name == name:
            raise InputError(
                f"The name {name!r} is taken by session {other.id}. Choose another name, or rename that session first."
            )


def _print_found(found: Sequence[Candidate], importing: ImportRun, json: bool) -> None:
    known = [importing.is_known(each) for each in found]
    if json:
        say_json(
            [
                {"file": str(each), "program": each.program, "id": each.id, "directory": each.folder, "imported": old}
                for each, old in zip(found, known, strict=True)
            ]
        )
        return
    folders = Counter((each.program, each.folder) for each in found)
    new = Counter((each.program, each.folder) for each, old in zip(found, known, strict=True) if not old)
    rows = [[program, count, new[program, folder], folder or "?"] for (program, folder), count in folders.most_common()]
    if rows:
        numbers = (Column("sessions", numeric=True), Column("new", numeric=True))
        print_table((Column("program"), *numbers, Column("folder", wraps=True)), rows)
    say(f"{plural(len(found), 'session')} found, {sum(new.values())} new. Run without --dry-run to import them.")


def _print_outcomes(outcomes: Sequence[Outcome], alone: bool, json: bool) -> None:
    if json:
        say_json([outcome.to_json() for outcome in outcomes])
        return
    for outcome in outcomes:
        for note in outcome.notes:
            aside(f"{note}" if alone else f"{outcome.source}: {note}")
        if outcome.why:
            aside(outcome.why, "agentcli" if outcome.status == "failed" else "note")
        if alone and outcome.session:
            say(outcome.session)
        elif outcome.info:
            info = outcome.info
            say(f"{info.id}  {info.directory}  {info.name or info.title}")
    if not alone:
        counts = Counter(outcome.status for outcome in outcomes)
        say(
            f"{plural(counts['imported'], 'session')} imported, {counts['skipped']} skipped, {counts['failed']} failed."
        )


def import_config(programs: list[str] | None, dry_run: bool, yes: bool, json: bool, cwd: str) -> None:
    """Import the configuration of other programs."""
    for name in programs or ():
        if name not in config.PROGRAMS:
            raise UsageError(f"There is no program {name!r} to import from.{one_of(name, config.PROGRAMS)}")
    program = program_of(Options(cwd=cwd))
    plan = import_plan(program, programs or list(config.PROGRAMS))
    if json:
        say_json(_plan_as_json(plan))
    else:
        for line in lines(plan):
            say(line)
    if dry_run or not plan.new or not (yes or _is_agreed()):
        return
    carry_out(plan, program.dirs.config)
    if not json:
        say(f"Wrote {plural(len(plan.new), 'item')} to {program.dirs.config}.")


def _plan_as_json(plan: ImportPlan) -> dict[str, Any]:
    steps = [
        {"from": step.item.source, "to": step.item.to, "key": step.item.key, "status": step.status}
        for step in plan.steps
    ]
    return {"steps": steps, "skipped": list(plan.skipped)}


def _is_agreed() -> bool:
    if not sys.stdin.isatty():
        raise UsageError("No terminal to confirm: add --yes to write, or --dry-run to only see the plan.")
    return confirmed("Write this?")
