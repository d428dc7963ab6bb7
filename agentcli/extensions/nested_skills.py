"""Folders of skills below the folders that a session began with, found as its calls touch them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from agentcli.agent.calls.call import Call, Run, Stage
from agentcli.agent.instructions import folders_to
from agentcli.core.dataclass import replace
from agentcli.core.journal import Journal
from agentcli.core.message import ToolResult
from agentcli.project.places import programs

SKILL_FOLDERS = "skill_folders"
"""The field of a result's metadata that lists the folders of skills that its call found."""


class NestedSkills(Stage):
    """Finds the folders of skills between the folders that a session began with and the ones that its calls touch.

    A found folder is known as long as the session is open, and on resume as long as a result in the records in force names it.
    """

    def __init__(self, journal: Journal, cwd: Path, roots: Sequence[Path]) -> None:
        self._cwd, self._roots = cwd, roots
        results = (entry.body for entry in journal.history.entries if isinstance(entry.body, ToolResult))
        named = [str(name) for result in results for name in result.metadata.get(SKILL_FOLDERS, ())]
        self._known = dict.fromkeys(Path(name) for name in named if os.path.isdir(name))

    @property
    def folders(self) -> Sequence[Path]:
        """The folders found so far."""
        return tuple(self._known)

    def around(self, run: Run) -> Run:
        async def ran(call: Call) -> Call:
            return self._noted(await run(call))

        return ran

    def _noted(self, call: Call) -> Call:
        """Return the call with the folders that it is the first to touch in the metadata of its output."""
        output, traits = call.output, call.its_tool.traits
        if output is None or output.status != "success":
            return call
        if not (traits.reads_files or traits.edits_files or traits.searches):
            return call
        fresh = [*self._fresh(call.paths)]
        if not fresh:
            return call
        self._known |= dict.fromkeys(fresh)
        metadata = {**output.metadata, SKILL_FOLDERS: [str(folder) for folder in fresh]}
        return replace(call, output=replace(output, metadata=metadata))

    def _fresh(self, paths: Sequence[Path]) -> Iterable[Path]:
        """Return the folders of skills on the way to these paths that are not known yet."""
        touched = dict.fromkeys(folder for path in paths for folder, _ in folders_to(path, self._cwd, self._roots))
        here = (folder / program / "skills" for folder in touched for program in programs("skills"))
        return [folder for folder in here if folder not in self._known and folder.is_dir()]
