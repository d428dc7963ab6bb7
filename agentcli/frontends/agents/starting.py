"""Start sessions in the background: each in a process of its own, which needs no terminal."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread

from agentcli.core.dataclass import replace
from agentcli.core.errors import AgentError, InputError, UsageError
from agentcli.core.sanitise import safe
from agentcli.frontends.opening import project_of
from agentcli.frontends.serve.background import Background, Kept, in_its_worktree
from agentcli.frontends.serve.new_sessions import PATIENCE, spawned
from agentcli.frontends.serve.registry import registration
from agentcli.frontends.terminal.sharing import Leaving
from agentcli.program.named_worktree import NamedWorktree, found_worktree, open_worktree
from agentcli.program.options import LAST, Options
from agentcli.program.project import Project
from agentcli.sessions.info import checked_id, new_id, stamp
from agentcli.sessions.project import about_gone_folders
from agentcli.system import probe

LOOK = 0.02
"""Seconds between two looks whether the session has opened."""
SAID = 2_000
"""Bytes of a failed start's output that are read."""


class NotStarted(AgentError):
    """A session that did not start; the text is what its process said."""

    def __init__(self, said: str, code: int) -> None:
        super().__init__(said)
        self.exit_code = code


def in_background(options: Options) -> int:
    """Start a session without a terminal, print its id and how to reach it; return the exit code.

    Raises AgentError if it does not start; then nothing has changed.
    """
    project = project_of(options)
    started = begin(project, options, lambda text: print(text, file=sys.stderr))
    print(started.session)
    print(way_back(started.session), file=sys.stderr)
    return 0


def way_back(session: str) -> str:
    """Return a line about how to reach a background session."""
    return f"It works in the background. `agentcli agents` shows it, `agentcli attach {session}` follows it."


def begin(project: Project, options: Options, warn: Callable[[str], object]) -> Background:
    """Start a session with these options in the background, in a new worktree if they name one.

    Raises AgentError if it does not start; then nothing has changed.
    """
    if not options.prompts(options.prompt or ""):
        raise UsageError('--bg needs a prompt: agentcli --bg "fix the failing test".')
    session, resumed = _session(project, options)
    former = Kept(project.dirs.state).get(session)
    if former is not None and not resumed:
        raise InputError(f"There is a session {session} already. `agentcli resume {session}` continues it.")
    worktree: NamedWorktree | None = None
    place, cwd = former.worktree if former is not None else None, str(project.cwd)
    if former is not None and not options.cwd and probe.is_dir(former.folder):
        cwd = former.folder
    if options.worktree is not None:
        worktree = open_worktree(project.cwd, options.worktree, project.worktrees, project.given_env)
        place, cwd = in_its_worktree(worktree), str(worktree.tree.cwd)
        if worktree.uncommitted:
            warn(f"Worktree {worktree.name} starts at HEAD, without your uncommitted changes.")
    given = replace(
        options,
        cwd=cwd,
        add_dirs=tuple(str(Path(each).expanduser().resolve()) for each in options.add_dirs),
        session=session if resumed else None,
        session_id="" if resumed else session,
        worktree=None,
        background=False,
    )
    try:
        return launch(project, Background(session, given, stamp(), os.getcwd(), place), former)
    except BaseException:
        if worktree is not None:
            worktree.discard()
        raise


def launch(project: Project, background: Background, former: Background | None = None) -> Background:
    """Start the process of a background session, and return once its session is shared.

    Raises NotStarted if it does not start: then what is known of it is what was known before.
    """
    kept, session = Kept(project.dirs.state), background.session
    try:
        _run(project, kept, background)
    except BaseException:
        if former is None:
            kept.remove(session)
        else:
            kept.save(former)
        raise
    return background


def resume(project: Project, background: Background) -> Background:
    """Continue the interrupted work of a background session whose process has ended. Raises AgentError."""
    folder = background.folder if probe.is_dir(background.folder) else str(project.cwd)
    options = stored_options(replace(background.options, cwd=folder), background.session)
    started = replace(background, options=options, started=stamp(), again=True, ended="", error="")
    return launch(project, started, background)


def go_on(options: Options, leaving: Leaving) -> int:
    """Continue a session that its terminal has left in the background, and print its id; return the exit code."""
    session = leaving.session
    project = project_of(replace(options, cwd=leaving.folder))
    given = replace(stored_options(options, session, leaving.prompts), cwd=leaving.folder)
    tree = found_worktree(project.cwd, project.worktrees, project.given_env)
    place = in_its_worktree(tree) if tree is not None else None
    former = Kept(project.dirs.state).get(session)
    try:
        launch(project, Background(session, given, stamp(), os.getcwd(), place, leaving.again), former)
    except AgentError as error:
        error.add_note(f"agentcli resume {session}")
        raise
    print(session)
    print(way_back(session), file=sys.stderr)
    return 0


def stored_options(options: Options, session: str, prompts: tuple[str, ...] = ()) -> Options:
    """Return the options of a run that continues a stored session, with its own model and mode."""
    return replace(
        options,
        prompt=None,
        then=prompts,
        goal="",
        session=session,
        session_id="",
        fork=False,
        model="",
        mode="",
        worktree=None,
        background=False,
    )


def _session(project: Project, options: Options) -> tuple[str, bool]:
    """Return the id of the session, and whether it is a stored one. Raises InputError."""
    store, selector = project.store, options.session
    if selector is None:
        return checked_id(options.session_id) if options.session_id else new_id(), False
    if not selector:
        raise InputError("Which session? Give an id, a unique prefix, or a name, or use --last.")
    found = store.newest(project.project) if selector == LAST else store.find(selector, project.project)
    if found is None:
        hint = about_gone_folders(store.root)
        raise InputError(f"This project has no session yet. Start one with `agentcli`. {hint}".rstrip())
    if store.is_open(found):
        raise InputError(f"Session {found.id} is open in another program. /bg there sends it to the background.")
    return found.id, True


def _run(project: Project, kept: Kept, background: Background) -> None:
    """Start a session's process, and return once the session is shared. Raises NotStarted."""
    session, place = background.session, background.place
    folder = place if probe.is_dir(place) else background.folder
    try:
        kept.save(background)
        with open(kept.log(session), "wb") as said:
            process = spawned(["agents", "run", session], folder, project.given_env, said)
    except OSError as error:
        raise InputError(f"Can't start a background session: {kept.folder}: {error.strerror}.") from error
    try:
        _wait(project, kept, session, process)
    except BaseException:
        process.kill()
        process.wait()
        raise
    Thread(target=process.wait, daemon=True).start()  # otherwise it would remain as a zombie after its end


def _wait(project: Project, kept: Kept, session: str, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + PATIENCE
    while registration(project.dirs.state, session) is None:
        if process.poll() is not None:
            known = kept.get(session)
            if known is not None and known.ended:
                return  # it was faster than we looked
            said = _error(kept.log(session))
            raise NotStarted(said or "The session ended at once.", max(process.returncode, 1))
        if time.monotonic() > until:
            raise NotStarted("The session did not open.", 1)
        time.sleep(LOOK)


def _error(log: Path) -> str:
    """Return the last message that a process printed, which is its error."""
    said = "\n" + log.read_bytes()[-SAID:].decode(errors="replace").strip()
    return safe(said.rpartition("\nagentcli: ")[2].strip())
