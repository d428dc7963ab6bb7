"""The folder in which commands start, as part of the session's state.

A `cd` stays in effect inside the workspace, from reply to reply. A work tree that a command makes joins the workspace.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from agentcli.agent.calls.call import Call, Run, Stage
from agentcli.core.dataclass import replace
from agentcli.core.event import Recorded
from agentcli.core.journal import Journal
from agentcli.core.message import ToolCall, ToolResult
from agentcli.core.record import Body, FeatureState, Settings
from agentcli.core.tool import Tool
from agentcli.permissions.paths import Workspace, resolved
from agentcli.system import probe

MOVED = "[commands of your next replies start in {folder}; paths for other tools still start in {own}]"
HOME = "[commands of your next replies start in {folder}]"
BACK = "[the next command starts in {folder} again]"
WORK_TREES = "work_trees"
"""Name of the recorded state of a session's work trees: when git made each."""
_MOVES = re.compile(r"\b(?:cd|pushd|popd|chdir)\b")
_FIRST = re.compile(r"\s*(?:cd|pushd)\s+(?:--\s+)?(['\"]?)([\w.@+,-][\w./@+,-]*)\1\s*(?:&&|;|\n|$)")


class WorkingFolder:
    """Folder of one session's commands: a fold of its records, and always a folder of the workspace."""

    def __init__(self, journal: Journal, workspace: Workspace, record: Callable[[Body], Recorded]) -> None:
        self._journal, self._workspace, self._record = journal, workspace, record

    @property
    def now(self) -> Path:
        """The folder in which commands start: the session's own unless a command has changed to another that still
        exists.
        """
        folder = self._journal.history.folder
        return Path(folder) if folder and self._holds(Path(folder)) else self._workspace.cwd

    def shown(self) -> str:
        """Return the folder for the status line; empty for the session's own."""
        return "" if self.now == self._workspace.cwd else self._name(self.now)

    def start_of(self, call: ToolCall, tool: Tool) -> Path | None:
        """Return the folder in which a command starts; None for the session's own, and for a call without a command.

        A command that begins with a `cd` starts in the session's own folder if the `cd` works only there. Models that
        expect a new shell change from there each time.
        """
        now, own = self.now, self._workspace.cwd
        if not tool.traits.runs_commands or now == own:
            return None
        target = first_move(tool.traits.subject.text(call.input))
        return None if target and not probe.is_dir(now / target) and probe.is_dir(own / target) else now

    def moved(self, call: Call, result: ToolResult) -> str:
        """Follow a finished command's `cd`; return the note about it for the model, empty if there is none."""
        start = call.folder or self._workspace.cwd
        command = call.its_tool.traits.subject.text(call.call.input)
        succeeded = result.metadata.get("exit_code") == 0
        after = folder_after(command, replace_cwd(self._workspace, start), succeeded=succeeded)
        if after == start:
            return ""
        if after is None or not self._holds(after):
            return BACK.format(folder=self._name(self.now))
        if after == self.now:
            return ""
        self._record(Settings(folder=str(after)))
        own = self._workspace.cwd
        return (HOME if after == own else MOVED).format(folder=self._name(after), own=own)

    def _holds(self, folder: Path) -> bool:
        there = resolved(folder)
        roots = self._workspace.resolved_roots
        return probe.is_dir(folder) and any(there.is_relative_to(root) for root in roots)

    def _name(self, folder: Path) -> str:
        own = self._workspace.cwd
        return str(folder.relative_to(own)) if folder != own and folder.is_relative_to(own) else str(folder)


class FolderStage(Stage):
    """Gives each command its start folder, where it is judged and run, and keeps its `cd` in effect.

    All commands of a reply start in the same folder, because they are judged before the first one runs. A `cd` in a
    command of a script lasts no longer than the command.
    """

    def __init__(self, folder: WorkingFolder, *, follows: bool = True) -> None:
        self._folder, self._follows = folder, follows

    def inside(self) -> FolderStage:
        return FolderStage(self._folder, follows=False)

    async def judge(self, call: Call) -> Call:
        return replace(call, folder=self._folder.start_of(call.call, call.its_tool))

    def around(self, run: Run) -> Run:
        if not self._follows:
            return run

        async def ran(call: Call) -> Call:
            call = await run(call)
            if call.result is None or not call.its_tool.traits.runs_commands or call.result.status == "interrupted":
                return call
            note = self._folder.moved(call, call.result)
            if not note:
                return call
            output = "\n".join(filter(None, (call.result.output.rstrip("\n"), note)))
            return replace(call, result=replace(call.result, output=output))

        return ran


class WorkTreeStage(Stage):
    """Keeps the work trees that commands of the session make, also in its records: one outside joins the workspace."""

    def __init__(
        self, workspace: Workspace, add: Callable[[Path], None], journal: Journal, record: Callable[[Body], Recorded]
    ) -> None:
        self._workspace, self._add, self._record = workspace, add, record
        kept = journal.history.features.get(WORK_TREES)
        made = kept.data.get("made") if kept is not None else None
        self._made: dict[str, int] = dict(made) if isinstance(made, Mapping) else {}
        if self._made:
            from agentcli.permissions.shell.effects.git_repositories import work_trees  # loads the tables of git

            for _, folder in sorted(work_trees(self._workspace).items()):
                if self._made.get(str(folder)) == _made_at(folder):
                    self._add(folder)

    def around(self, run: Run) -> Run:
        async def ran(call: Call) -> Call:
            text = call.its_tool.traits.subject.text(call.call.input) if call.its_tool.traits.runs_commands else ""
            if "worktree" not in text:
                return await run(call)
            from agentcli.permissions.shell.effects.git_repositories import work_trees

            workspace = replace_cwd(self._workspace, call.folder)
            before = work_trees(workspace)
            call = await run(call)
            for own, folder in sorted(work_trees(workspace).items()):
                # Another program may have made one meanwhile, which the command does not name.
                if own not in before and folder.name in text:
                    self._add(folder)
                    self._made[str(folder)] = _made_at(folder)
                    self._record(FeatureState(WORK_TREES, {"made": dict(self._made)}))
            return call

        return ran


def _made_at(folder: Path) -> int:
    """Return the second in which git made a work tree; -1 if it has gone."""
    with suppress(OSError):
        return int((folder / ".git").lstat().st_mtime)
    return -1


def replace_cwd(workspace: Workspace, folder: Path | None) -> Workspace:
    """Return the same workspace as seen by a command that starts in a folder."""
    if folder is None or folder == workspace.cwd:
        return workspace
    return replace(workspace, cwd=folder, roots=workspace.roots or (workspace.cwd,))


def first_move(text: str) -> str:
    """Return the relative folder to which a line changes first; empty if it begins differently."""
    found = _FIRST.match(text)
    return found.group(2) if found else ""


def folder_after(text: str, workspace: Workspace, *, succeeded: bool) -> Path | None:
    """Return the folder in which a finished line ended; None if that is not certain.

    If the line failed, only a `cd` at its beginning is certain.
    """
    if not _MOVES.search(text):
        return workspace.cwd
    from agentcli.permissions.shell.syntax.flow import end_of  # 15 ms, which only a line with a move needs

    end = end_of(text, workspace)
    if end is None:
        return None
    folders, moves, first = end
    if not moves:
        return workspace.cwd
    certain = len(folders) == 1 and probe.is_dir(folders[0]) and (succeeded or (moves == 1 and first))
    return folders[0] if certain else None
