"""Choose this machine's sandbox, and describe it for people."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from agentcli.core.dataclass import dataclass, replace
from agentcli.core.errors import AgentError
from agentcli.core.tool import Boxed
from agentcli.permissions.denied.files import NOTHING, Hidden, still_there
from agentcli.permissions.paths import Workspace
from agentcli.permissions.sandbox import bubblewrap
from agentcli.permissions.sandbox.box import Box, box_for, box_for_reader, fixed
from agentcli.system.programs import find_program

if TYPE_CHECKING:
    from agentcli.permissions.sandbox.space import PrivateSpace

Setting = Literal["auto", "require", "off"]
Kind = Literal["bubblewrap", "landlock", "seatbelt", "none"]


@dataclass(frozen=True, slots=True)
class Sandbox:
    """The mechanism in use; `why` is the reason why it is not a stronger one. `program` is the executable, if any."""

    kind: Kind
    why: str = ""
    program: str = ""

    @property
    def working(self) -> bool:
        """True if commands run in a sandbox."""
        return self.kind != "none"

    @property
    def state(self) -> str:
        """State for the status line and the init event: `bubblewrap`, `landlock`, `seatbelt` or `no sandbox`."""
        return self.kind if self.working else "no sandbox"

    @property
    def report(self) -> str:
        """A line for `doctor`: the mechanism, and why it is not a stronger one."""
        unasked = f"Commands that run without asking run in a sandbox ({self.kind})."
        held = unasked if self.working else "Commands run without a sandbox."
        return f"{held} {self.why}.".replace("..", ".") if self.why else held

    @property
    def masks(self) -> bool:
        """True if single files can be hidden from a command without other limits."""
        return self.kind in ("bubblewrap", "seatbelt")

    def mask(self, argv: Sequence[str], hidden: Hidden, workspace: Workspace) -> Boxed:
        """Return the command line that runs `argv` with `hidden` unreadable and no other limits; `argv` without
        `masks`.

        Folders of the workspace around hidden paths cannot be moved: elsewhere no rule would match the files in them.
        """
        match self.kind:
            case "bubblewrap":
                return _repeatable(lambda: self._masked(argv, hidden, workspace))
            case "seatbelt":
                from agentcli.permissions.sandbox import seatbelt

                return seatbelt.masked(hidden, fixed(hidden, workspace.resolved_roots), argv)
            case _:
                return Boxed(argv)

    def _masked(self, argv: Sequence[str], hidden: Hidden, workspace: Workspace, tmp: Sequence[str] = ()) -> Boxed:
        now = still_there(hidden)
        return bubblewrap.masked(self.program, now, fixed(now, workspace.resolved_roots), argv, tmp)

    def wrap(
        self,
        argv: Sequence[str],
        workspace: Workspace,
        network: bool = False,
        git: bool = False,
        hidden: Hidden = NOTHING,
        space: PrivateSpace | None = None,
        still: bool = False,
        proxy: int = 0,
    ) -> Boxed:
        """Return the command line that runs `argv` in the sandbox.

        The command has no network unless requested, and writes only in the workspace. In a `space` it shares /tmp and
        loopback with other commands there. With `git`, the workspace's repository is writable too, except for its
        settings and hooks. If it is `still`, only temporary files are writable.

        Without a working sandbox, `argv` is returned; the caller must have shown `state` to the user.
        """
        if not self.working:
            return Boxed(argv)
        return _repeatable(lambda: self._wrapped(argv, workspace, network, git, hidden, space, still, proxy))

    def _wrapped(
        self,
        argv: Sequence[str],
        workspace: Workspace,
        network: bool,
        git: bool,
        hidden: Hidden,
        space: PrivateSpace | None,
        still: bool,
        proxy: int,
    ) -> Boxed:
        box = replace(box_for(workspace, network, git=git, still=still), denied=still_there(hidden))
        if space is None or not self.lasts:
            return self._boxed(argv, box)
        # What a command reads outside the workspace, it can send nowhere.
        entering = () if network or workspace.exposed.paths else space.entering()
        boxed = self._boxed(
            argv, replace(box, tmp=space.path, network=network or bool(entering), proxy=proxy if entering else 0)
        )
        return replace(boxed, argv=[*entering, *boxed.argv])

    @property
    def exposes(self) -> bool:
        """True if it can show folders outside the workspace, and tests prove that it hides what is private there."""
        return self.kind == "bubblewrap"

    @property
    def lasts(self) -> bool:
        """True if commands can share a /tmp that is not the machine's."""
        return self.kind == "bubblewrap"

    def with_tmp(self, argv: Sequence[str], hidden: Hidden, workspace: Workspace, space: PrivateSpace) -> Boxed:
        """Return the command line that runs `argv` without limits but with the space's /tmp, and `hidden` unreadable."""
        tmp = bubblewrap.mounts_of_tmp(space.path, workspace.resolved_roots)
        return _repeatable(lambda: self._masked(argv, hidden, workspace, tmp))

    def wrap_reader(self, argv: Sequence[str], workspace: Workspace, path: str, hidden: Hidden = NOTHING) -> Boxed:
        """Return the command line for a command that only reads.

        It cannot write or use the network, and sees only the system, the workspace and the programs on `path`.
        """
        if not self.working:
            return Boxed(argv)
        return _repeatable(
            lambda: self._boxed(
                argv, replace(box_for_reader(workspace, path), denied=replace(still_there(hidden), empty=True))
            )
        )

    @property
    def closes(self) -> bool:
        """True if a program can run with nothing but what it is given: see `wrap_closed`."""
        if self.kind != "bubblewrap":
            return False
        from agentcli.permissions.sandbox.launch import alone_program

        return bool(alone_program())

    def wrap_closed(
        self, argv: Sequence[str], readable: Sequence[Path], hidden: Sequence[Path], env: Mapping[str, str]
    ) -> Boxed:
        """Return the command line that runs `argv` with nothing but these variables and readable paths.

        Folders that are `hidden` look empty. Only for a sandbox that `closes`.
        """
        return bubblewrap.closed(self.program, readable, hidden, argv, env)

    def _boxed(self, argv: Sequence[str], box: Box) -> Boxed:
        match self.kind:
            case "bubblewrap":
                return bubblewrap.boxed(self.program, box, argv)
            case "landlock":
                from agentcli.permissions.sandbox import landlock

                return landlock.boxed(box, argv)
            case _:
                from agentcli.permissions.sandbox import seatbelt

                return seatbelt.boxed(box, argv)


def _repeatable(make: Callable[[], Boxed]) -> Boxed:
    """Return a sandbox that can be built again if another process removes a path before it is complete."""
    return replace(make(), again=lambda _: _repeatable(make))


_seen_to_work: set[str] = set()
"""Programs that have passed the test in this process, so that sessions need not repeat it."""


def choose(setting: Setting, workspace: Iterable[Path] = ()) -> Sandbox:
    """Choose the sandbox for a setting, without programs in the workspace.

    Raises AgentError if a required one does not work.
    """
    if setting == "off":
        return Sandbox("none", "It is switched off in the configuration")
    found = detect(workspace=workspace)
    if setting == "require" and not found.working:
        raise AgentError(
            f"A sandbox is required and none works here: {found.why}. Install bubblewrap, or set sandbox to auto."
        )
    return found


def detect(path: str | None = None, workspace: Iterable[Path] = ()) -> Sandbox:
    """Return the best sandbox that works here, by trying it. `path` replaces PATH in the search for bubblewrap."""
    if sys.platform == "darwin":
        from agentcli.permissions.sandbox import seatbelt

        problem = seatbelt.works()
        return Sandbox("none", problem) if problem else Sandbox("seatbelt")
    program = find_program("bwrap", workspace) if path is None else shutil.which("bwrap", path=path)
    problem = (
        "" if program in _seen_to_work else bubblewrap.works(program) if program else "bubblewrap is not installed"
    )
    if not problem and program:
        _seen_to_work.add(program)
        return Sandbox("bubblewrap", program=program)
    from agentcli.permissions.sandbox import landlock

    if weaker := landlock.works():
        return Sandbox("none", f"{problem}; {weaker}")
    return Sandbox("landlock", problem)
