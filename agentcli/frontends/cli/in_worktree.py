"""`-w NAME`: a session in a worktree of its own, which is kept, merged or discarded at the end."""

from __future__ import annotations

import sys
from collections.abc import Callable

from agentcli.core.dataclass import replace
from agentcli.core.errors import AgentError
from agentcli.core.sanitise import display_path, safe
from agentcli.frontends.opening import project_of
from agentcli.program.command_line.output import asked, confirmed
from agentcli.program.named_worktree import NamedWorktree, open_worktree, summary
from agentcli.program.options import Options


def in_worktree(options: Options, run: Callable[[Options], int], attended: bool) -> int:
    """Run in the worktree that the options name, then decide about its changes; return the run's exit code.

    An unchanged worktree is removed. Without a person at the terminal a changed one is kept.
    """
    project = project_of(options)
    worktree = open_worktree(project.cwd, options.worktree or "", project.worktrees, project.env)
    if worktree.uncommitted:
        _say(f"Worktree {worktree.name} starts at HEAD, without your uncommitted changes.")
    return within(worktree, replace(options, worktree=None), run, attended)


def within(worktree: NamedWorktree, options: Options, run: Callable[[Options], int], attended: bool) -> int:
    """Run in a worktree, then decide about its changes; return the run's exit code."""
    code = 1
    try:
        code = run(replace(options, cwd=str(worktree.tree.cwd)))
    finally:
        _finish(worktree, attended)
    return code


def _finish(worktree: NamedWorktree, attended: bool) -> None:
    if _goes_on(worktree):
        return
    if not worktree.is_changed:
        worktree.discard()
        return
    stat = worktree.stat()
    if not attended:
        _say(f"{_kept(worktree)} ({summary(stat)})")
        return
    _say(f"Worktree {worktree.name}, branch {worktree.branch}:\n{stat}")
    while not _decided(worktree):
        pass


def _goes_on(worktree: NamedWorktree) -> bool:
    """Return True if a background session has the worktree: it is decided in `agentcli agents`."""
    from agentcli.frontends.serve.background import Kept

    kept = Kept(project_of(Options()).dirs.state)
    folder = str(worktree.tree.folder)
    return any(each.worktree is not None and each.worktree["folder"] == folder for each in kept)


def _decided(worktree: NamedWorktree) -> bool:
    """Ask what happens to the changes; return False to ask again."""
    into = f"m merges into {worktree.target} · " if worktree.target else ""
    match _answer(f"Enter keeps it · {into}d shows the diff · x discards it: "):
        case "m" | "merge":
            try:
                _say(f"Merged into {worktree.merge()}.")
            except AgentError as error:
                _say(str(error))
                return False
        case "d" | "diff":
            print(safe(worktree.diff()))
            return False
        case "x" | "discard":
            if not confirmed(f"Discard all changes in {worktree.name}?"):
                return False
            worktree.discard()
            _say(f"Discarded {worktree.name}.")
        case "" | "keep" | "k":
            _say(_kept(worktree))
        case _:
            return False
    return True


def _answer(question: str) -> str:
    """Return the answer; Ctrl-C is an empty one."""
    try:
        return asked(question)
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return ""


def _kept(worktree: NamedWorktree) -> str:
    folder = display_path(worktree.tree.folder)
    return f"Kept {worktree.name} on branch {worktree.branch}. To continue: agentcli -C {folder} -c"


def _say(text: str) -> None:
    print(safe(text), file=sys.stderr, flush=True)
