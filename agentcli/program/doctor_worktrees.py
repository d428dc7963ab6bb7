"""Checks of subagents' worktrees: kept because of their changes, or left behind by a crash."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from agentcli.agent.delegation.worktree import folder_of
from agentcli.core.errors import AgentError
from agentcli.core.sanitise import display_path, safe_line
from agentcli.program.feature import Row
from agentcli.program.project import Project
from agentcli.sessions.info import SessionInfo
from agentcli.sessions.project import main_worktree, project_id, read_common
from agentcli.system import probe
from agentcli.system.git import GitError, run_git


def worktree_rows(program: Project) -> Iterator[Row]:
    """Report each worktree: its name, the state of its subagent, and a command.

    The subagent is finished or working. The command resumes or removes it.
    """
    if not probe.is_dir(program.worktrees):
        return
    children: dict[str | None, _Subagents] = {}
    for tree in sorted(folder for folder in program.worktrees.iterdir() if probe.is_dir(folder)):
        name, common, main = f"worktree {tree.name}", read_common(tree), main_worktree(tree)
        if not common:
            yield name, False, f"{display_path(tree)}: its repository is gone; `rm -r {_quoted(tree)}` removes it"
            continue
        bare = main == tree  # each worktree is a separate project, so the subagent may belong to any of them
        repository = Path(common) if bare else main
        remove = f"`git -C {_quoted(repository)} worktree remove --force {_quoted(tree)}` removes it with its changes"
        if branch := _branch(tree):
            yield name, True, f"{display_path(tree)} has its changes on branch {branch}; {remove}"
            continue
        project = None if bare else project_id(main)
        yield name, *children.setdefault(project, _Subagents(program, project)).state(tree, remove)


class _Subagents:
    """The subagents' sessions of one project, or of all."""

    def __init__(self, program: Project, project: str | None) -> None:
        self._store, self._project = program.store, project

    def state(self, tree: Path, remove: str) -> tuple[bool, str]:
        """Return whether a worktree without a branch is fine, and the next step for it."""
        place = display_path(tree)
        child = next((info for folder, info in self._folders if folder.is_relative_to(tree)), None)
        if child is None:
            return False, f"{place}: no session works in it; {remove}"
        if self._store.is_open(child):
            return True, f"{place}: a subagent is at work in it"
        resume = f"`agentcli resume {self._parent(child)}` resumes it there"
        return False, f"{place}: its subagent was interrupted; {resume}; {remove}"

    @cached_property
    def _infos(self) -> dict[str, SessionInfo]:
        return {info.id: info for info in self._store.list(self._project)}

    @cached_property
    def _folders(self) -> list[tuple[Path, SessionInfo]]:
        """The folders that the subagents began to work in."""
        found = []
        for info in self._infos.values():
            if info.parent is None or info.parent.kind != "subagent":
                continue
            with suppress(AgentError):  # a damaged one has a separate row
                folder = folder_of(self._store.open(info.project_id, info.id, read_only=True))
                found += [(folder, info)] if folder is not None else []
        return found

    def _parent(self, child: SessionInfo) -> str:
        """Return the id of the session that a person led, above any number of subagents."""
        above = child.parent
        while above is not None and (info := self._infos.get(above.session)) and info.parent is not None:
            if info.parent.kind != "subagent":
                break
            above = info.parent
        return above.session if above is not None else child.id


def _branch(tree: Path) -> str:
    """Return the branch of a worktree; empty if it is on none."""
    try:
        return run_git(tree, "symbolic-ref", "-q", "--short", "HEAD").out.strip()
    except GitError:
        return ""


def _quoted(path: Path) -> str:
    return safe_line(shlex.quote(str(path)))
