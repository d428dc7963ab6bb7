"""Instruction files further down in the workspace: appended to the result of the call that touches their folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from agentcli.context.inject import wrap
from agentcli.context.view import view
from agentcli.core.journal import Journal
from agentcli.core.message import ToolResult
from agentcli.core.tool import Traits
from agentcli.integrations.instructions import Instructions, beneath, folders

FILES = 3
"""Instruction files that one result brings at most."""
FILE_BYTES = 16_000
"""Bytes of one of them that are used."""
SESSION_BYTES = 60_000
"""Bytes of all of them in one session."""
METADATA = "instructions"
"""The field of a result's metadata that lists the paths that it brought."""


class NestedInstructions:
    """Brings the instruction files between the folders that a session began with and the ones that its calls touch.

    A file is brought again once no result in the view holds it any more, as after a compaction.
    """

    def __init__(self, journal: Journal, cwd: Path, roots: Sequence[Path]) -> None:
        self._journal, self._cwd, self._roots = journal, cwd, roots
        self._left = SESSION_BYTES

    def added(self, result: ToolResult, path: Path | None, traits: Traits) -> ToolResult:
        """The result with what its call brings into view; the same where that is nothing."""
        if path is None or result.failed or not (traits.reads_files or traits.edits_files or traits.searches):
            return result
        found = [*self._found(path)]
        if not found:
            return result
        known = self.in_view()
        fresh = [file for file in found if str(file.path) not in known][:FILES]
        parts, paths = [], []
        for file in fresh:
            size = len(file.text.encode())
            if size <= self._left:
                self._left -= size
                parts.append(wrap("instructions", file.text, path=str(file.path)))
                paths.append(str(file.path))
        if not parts:
            return result
        output = "\n".join([result.output, *parts]).lstrip("\n")
        return replace(result, output=output, metadata={**result.metadata, METADATA: paths})

    def in_view(self) -> Sequence[str]:
        """The paths of those that stand in the view now."""
        results = [
            block.part
            for message in view(self._journal.history).messages
            for block in message.blocks
            if isinstance(block.part, ToolResult) and not block.cleared and METADATA in block.part.metadata
        ]
        return [str(path) for result in results for path in result.metadata[METADATA]]

    def _found(self, path: Path) -> Iterator[Instructions]:
        """The instruction files between the workspace's folder and this path, outermost first."""
        from agentcli.tools.lib.gitignore import is_ignored

        place = path if path.is_dir() else path.parent
        root = max(
            (root for root in self._roots if place.is_relative_to(root)), key=lambda it: len(it.parts), default=None
        )
        if root is None:
            return
        begun = {folder.resolve() for folder in folders(self._cwd)}
        chain = [folder for folder in (place, *place.parents) if folder.is_relative_to(root) and folder not in begun]
        for folder in reversed(chain):
            for file in beneath(folder, root, FILE_BYTES):
                if not (file.path.parent.name == "node_modules" or is_ignored(folder)):
                    yield file
