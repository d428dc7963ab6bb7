"""Instructions in a session: the files in force, and files of subfolders.

A subfolder's files come with the result of the first call that touches it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from agentcli.agent.core import SessionCore
from agentcli.agent.feature import SessionPart
from agentcli.agent.project.instructions import Instructions, beneath, rules_of
from agentcli.agent.project.places import folders
from agentcli.agent.setup import INSTRUCTIONS, SessionSetup
from agentcli.context.inject import wrap
from agentcli.context.view import view
from agentcli.core.journal import Journal
from agentcli.core.message import ToolResult
from agentcli.core.text.path_pattern import matching
from agentcli.core.tool import Traits
from agentcli.permissions.denied.files import denial_of, reading_denials
from agentcli.system import probe

FILES = 3
"""Instruction files that one result brings at most."""
FILE_BYTES = 16_000
"""Maximum bytes used of one of them, and of all its imports together."""
SESSION_BYTES = 60_000
"""Bytes of all of them in one session."""
METADATA = "instructions"
"""Metadata field of a result with the paths of the instructions that it contains."""


class Standing(SessionPart):
    """A session's instruction files as last read: `now`."""

    name = "instructions"

    def __init__(self, setup: SessionSetup, journal: Journal) -> None:
        self._setup, self._journal = setup, journal
        self.now = setup.prompts.reread()

    def reread(self) -> None:
        """Read the files again."""
        self.now = self._setup.prompts.reread()

    async def fact(self) -> str:
        """Return the reminder of the files, if the session began with others."""
        return changed_instructions(self.now.text, self._journal.history.system)


def changed_instructions(standing: str, recorded: Sequence[str]) -> str:
    """Return a reminder of the current instruction files if a session began with others; empty if not."""
    block = next((block for block in recorded if block.startswith(INSTRUCTIONS)), "")
    # Only the texts are compared: the lines above them are this program's own.
    then = block[block.find("\n\n") + 2 :] if block else ""
    if not recorded or then == standing:
        return ""
    if not standing:
        return "The instruction files that this session began with are gone: what they say no longer holds."
    return f"The instruction files have changed since this session began. Only this holds now:\n\n{standing}"


class NestedInstructions:
    """Adds the instruction files between the session's first folders and the folders that its calls touch.

    A file is added again once no result in the view contains it any more, as after a compaction.
    """

    def __init__(
        self,
        journal: Journal,
        cwd: Path,
        roots: Sequence[Path],
        home: Path,
        unreadable: Callable[[Path], bool] = lambda _: False,
    ) -> None:
        """`unreadable` is true for a file that a rule keeps from being read."""
        self._journal, self._cwd, self._roots, self._home = journal, cwd, roots, home
        self._unreadable = unreadable
        self._left = SESSION_BYTES

    def added(self, result: ToolResult, path: Path, traits: Traits) -> ToolResult:
        """Return the result with the instructions for its call's folders; unchanged if no file is new."""
        if result.failed or not traits.touches_files:
            return result
        found = [file for file in self._found(path) if not self._unreadable(file.path)]
        if not found:
            return result
        told = list(result.metadata.get(METADATA) or ())
        known = [*self.in_view(), *told]
        fresh = [file for file in found if str(file.path) not in known]
        chosen = [file.path for file in fresh if file.imported_by is None][:FILES]
        parts, paths = [], []
        for file in (file for file in fresh if (file.imported_by or file.path) in chosen):
            size = len(file.text.encode())
            if size <= self._left:
                self._left -= size
                parts.append(wrap("instructions", file.text, path=str(file.path)))
                paths.append(str(file.path))
        if not parts:
            return result
        output = "\n".join([result.output, *parts]).lstrip("\n")
        return replace(result, output=output, metadata={**result.metadata, METADATA: [*told, *paths]})

    def in_view(self) -> Sequence[str]:
        """Return the paths of instruction files that are in the view now."""
        results = [
            block.part
            for message in view(self._journal.history).messages
            for block in message.blocks
            if isinstance(block.part, ToolResult) and not block.cleared and METADATA in block.part.metadata
        ]
        return [str(path) for result in results for path in result.metadata[METADATA]]

    def _found(self, path: Path) -> Iterator[Instructions]:
        """Yield the rules for this path from the session's first folders, then the instruction files between them and
        the path.
        """
        begun = [*folders(self._cwd)]
        for folder in begun:
            yield from _rules_for(path, folder, begun[0].resolve())
        for folder, root in folders_to(path, self._cwd, self._roots):
            yield from beneath(folder, root, FILE_BYTES, self._home)
            yield from _rules_for(path, folder, root, always=True)


def nested_of(core: SessionCore) -> NestedInstructions | None:
    """Return what adds instruction files to a session; None for an untrusted folder."""
    setup, approval = core.setup, core.approval

    def unreadable(path: Path) -> bool:
        """Return true for a file that a rule keeps from being read."""
        return denial_of(path, reading_denials(approval.rules.deny, setup.tools.traits), setup.workspace) is not None

    workspace = setup.workspace
    roots, home = workspace.resolved_roots, workspace.home
    return (
        NestedInstructions(core.journal, workspace.cwd, roots, home, unreadable) if setup.permissions.trusted else None
    )


def _rules_for(path: Path, folder: Path, within: Path, *, always: bool = False) -> Iterator[Instructions]:
    """Yield a folder's rules for this path; with `always`, also the rules for all paths."""
    top = folder.resolve()
    if not path.is_relative_to(top):
        return
    inner = path.relative_to(top)
    # as in .gitignore, a match of a folder covers everything in it
    parts = [str(part) for part in (inner, *inner.parents)]
    for rule, patterns in rules_of(folder, within, FILE_BYTES, []):
        if (always and not patterns) or any(matching(pattern.strip("/"), parts) for pattern in patterns):
            yield rule


def folders_to(path: Path, cwd: Path, roots: Sequence[Path]) -> Iterator[tuple[Path, Path]]:
    """Yield the folders from a root down to this path, outermost first, each with the root.

    Omit the folders from the repository's root to `cwd`, and folders that git ignores.
    """
    from agentcli.tools.lib.gitignore import is_ignored

    place = path if probe.is_dir(path) else path.parent
    root = max((root for root in roots if place.is_relative_to(root)), key=lambda it: len(it.parts), default=None)
    if root is None:
        return
    begun = {folder.resolve() for folder in folders(cwd)}
    chain = [folder for folder in (place, *place.parents) if folder.is_relative_to(root) and folder not in begun]
    for folder in reversed(chain):
        if folder.name != "node_modules" and not is_ignored(folder):
            yield folder, root
