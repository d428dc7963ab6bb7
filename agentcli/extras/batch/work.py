"""Input of one start of a task."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from agentcli.core.codec.encode import usage_to_json
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import AgentError
from agentcli.extras.batch import mirrors, trees
from agentcli.extras.batch.ledger import Row
from agentcli.extras.batch.plan import Plan, Start
from agentcli.extras.batch.tasks import Task
from agentcli.sessions.store import Store
from agentcli.system.paths import AppDirs

SESSION = "session.json.gz"
"""Name of the export of a session that ran on another machine."""


@dataclass(frozen=True, slots=True)
class Work:
    """Everything that one start needs.

    `limit` is the money that it may spend, in USD; `base` the commit to start from.
    """

    start: Start
    token: str
    plan: Plan
    base: str
    out: Path
    dirs: AppDirs
    limit: float | None = None

    @property
    def task(self) -> Task:
        """The task."""
        return self.start.task

    @property
    def repo(self) -> str:
        """Folder of its repository on this machine."""
        return mirrors.local(self.dirs.cache, self.task.repo)

    @property
    def folder(self) -> Path:
        """Folder of its files."""
        return folder_of(self.out, self.task.id, self.start.attempt, self.token)

    @property
    def ref(self) -> str:
        """Ref of its result."""
        return trees.result_ref(self.plan.name, self.task.id, self.start.attempt)

    @property
    def tree(self) -> Path:
        """Its working folder; any process that runs the same start computes the same name."""
        return self.dirs.cache / trees.FOLDER / f"{self.plan.name}-{self.task.id[:40]}-{self.token}"

    @property
    def first_row(self) -> Row:
        """First row of a start; its session is named after the batch and the token."""
        session = f"{self.plan.name}-{self.token}"
        start = self.start
        return Row(
            self.task.id, start.attempt, self.token, "running", session=session, tries=start.tries, round=start.round
        )

    def accounted(self, session: str) -> float:
        """Return the USD that earlier starts have recorded for a session."""
        former = self.start.goes_on
        return former.session_cost if former is not None and former.newest.session == session else 0.0


def folder_of(out: Path, id: str, attempt: int, token: str) -> Path:
    """Return the folder of the files of a start in the folder of its batch."""
    return out / "tasks" / id / f"{attempt}-{token}"


def session_cost(dirs: AppDirs, session: str) -> float | None:
    """Return the total cost of a session in USD; None if it is not stored."""
    spent = session_spent(dirs, session)
    return spent[0] if spent else None


def session_spent(dirs: AppDirs, session: str) -> tuple[float, Mapping[str, int]] | None:
    """Return the total cost of a session in USD and its tokens by kind; None if it is not stored."""
    try:
        info = Store(dirs.sessions).find(session)
    except AgentError:
        return None
    return info.cost or 0.0, usage_to_json(info.usage)
