"""Wakes of a session: lines of its background commands that the model waits for, and their ends, begin a turn or keep one from ending."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from agentcli.agent.ports import Prompt
from agentcli.core.event import Emit, Noticed
from agentcli.core.message import reminder
from agentcli.core.sanitise import safe_line
from agentcli.features.timers.wake_on.watch import TOGETHER, Watch
from agentcli.tools.jobs import Job, Jobs

PAUSE = 2.0
"""Seconds between two wakes by the same job."""
SHOWN = 80
"""Characters of a line that a person is shown as the reason of a wake."""


def watch(job: Job, pattern: str, seconds: float) -> None:
    """Wake the model with the lines of a job that match from now on. Raises ToolError for an invalid pattern."""
    job.listener = Watch(job.id, pattern, seconds, PAUSE)


def is_due(jobs: Jobs) -> bool:
    """Return whether a job has news that the model wants to be woken for."""
    return bool(waking(jobs))


async def due(jobs: Jobs, _: asyncio.Event, emit: Emit) -> Prompt | None:
    """Return the prompt with the news of the jobs, after a notice of the reason; None if there are none."""
    reasons = "; ".join(waking(jobs))
    if not (texts := jobs.news()):
        return None
    await emit(Noticed(safe_line(f"Woken by {reasons}")))
    return Prompt("", tuple(map(reminder, texts)), typed=False)


async def has_news(jobs: Jobs) -> bool:
    """Wait until a job has such news; False at once if none can have any."""
    while not waking(jobs):
        if not any(each.waits and not job.reported for job, each in _watches(jobs)):
            return False
        await asyncio.sleep(TOGETHER)
    return True


def waking(jobs: Jobs) -> Sequence[str]:
    """Return the jobs that wake the model: the id of each with the first of its lines, or its end."""
    return [
        f"{job.id}: {each.first[:SHOWN]}" if each.first else f"{job.id}, which has ended"
        for job, each in _watches(jobs)
        if each.has_news or (job.ended is not None and not job.reported)
    ]


def _watches(jobs: Jobs) -> Sequence[tuple[Job, Watch]]:
    return [(job, job.listener) for job in jobs.all() if isinstance(job.listener, Watch)]
