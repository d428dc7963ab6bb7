"""Commands in the background."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import Any

import pytest

from agentcli.core.tasks import start_task
from agentcli.core.tool import ToolLimits, ToolOutput
from agentcli.system.process import Ended
from agentcli.tools.jobs import Jobs, waiting_time
from agentcli.tools.lib.output_buffer import OutputBuffer
from agentcli.tools.registry import run, tools
from tests.tools.conftest import Call
from tests.tools.test_bash import living, mark
from tests.tools.workplace import Bench

__all__ = ["mark"]
TOOLS = {tool.name: tool for tool in tools()}
linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


async def use(ctx: Bench, name: str, **given: Any) -> ToolOutput:
    return await run(TOOLS[name], ctx, "c1", given)


async def until_live(mark: str, count: int) -> None:
    """Wait until so many processes of this mark sleep."""
    while sum(line.split()[1] == "sleep" for line in living(mark)) < count:  # noqa: ASYNC110 - the operating system sets no event
        await asyncio.sleep(0.01)


async def news(ctx: Bench, id: str) -> str:
    """The output of a job once it has printed something."""
    while "(nothing new)" in (shown := (await use(ctx, "bash_output", id=id)).output):  # noqa: ASYNC110 - nor does it here
        await asyncio.sleep(0.01)
    return shown


async def until_ended(jobs: Jobs) -> None:
    await asyncio.gather(*(job.task for job in jobs.all() if job.task))


def test_a_job_goes_on_while_others_are_done_and_tells_only_what_is_new(ctx: Bench) -> None:
    async def story() -> list[str]:
        jobs = ctx.offer(Jobs, Jobs())
        told = [(await use(ctx, "bash", command="echo a; read x < go; echo b; exit 2", run_in_background=True)).output]
        told += [await news(ctx, "job-1"), (await use(ctx, "bash_output", id="job-1")).output]
        assert jobs.finished() == []
        await use(ctx, "bash", command="echo > go")
        await until_ended(jobs)
        assert [(job.id, job.state) for job in jobs.finished()] == [("job-1", "failed (exit code 2)")]
        assert jobs.finished() == []
        return [*told, (await use(ctx, "bash_output", id="job-1")).output]

    import os

    os.mkfifo(ctx.cwd / "go")
    first, second, third, fourth = asyncio.run(story())
    assert first.startswith("Started in the background as job-1.")
    assert second == "[job-1: running]\na\n"
    assert third == "[job-1: running]\n(nothing new)"
    assert fourth == "[job-1: failed (exit code 2)]\nb\n"


@linux
def test_stopping_a_job_leaves_nothing_of_it(ctx: Bench, mark: str) -> None:
    async def story() -> str:
        ctx.offer(Jobs, Jobs())
        await use(ctx, "bash", command=f"setsid sleep {mark} & sleep {mark}", run_in_background=True)
        await until_live(mark, 2)
        return (await use(ctx, "bash_stop", id="job-1")).output

    assert asyncio.run(story()) == "[job-1: stopped]"
    assert living(mark) == []


@linux
def test_closing_ends_all_jobs(ctx: Bench, mark: str) -> None:
    async def story() -> None:
        jobs = ctx.offer(Jobs, Jobs())
        for _ in range(3):
            await use(ctx, "bash", command=f"sleep {mark}", run_in_background=True)
        await until_live(mark, 3)
        await jobs.close()

    asyncio.run(story())
    assert living(mark) == []


def test_an_unread_output_is_bounded_and_says_where_the_whole_is(ctx: Bench) -> None:
    async def story() -> ToolOutput:
        jobs = ctx.offer(Jobs, Jobs())
        await use(ctx, "bash", command="seq 1 20000", run_in_background=True)
        await until_ended(jobs)
        return await use(ctx, "bash_output", id="job-1")

    outcome = asyncio.run(story())
    assert outcome.output.endswith("20000\n")
    assert "bytes before this are left out; the whole output:" in outcome.output
    assert len(outcome.output) < 30_300


def test_there_is_a_most_of_jobs(ctx: Bench) -> None:
    async def story() -> list[ToolOutput]:
        jobs = ctx.offer(Jobs, Jobs(most=1))
        outcomes = [await use(ctx, "bash", command="sleep 60", run_in_background=True) for _ in range(2)]
        await jobs.close()
        return outcomes

    first, second = asyncio.run(story())
    assert (first.status, second.status) == ("success", "error")


def test_an_unknown_job_is_told_with_the_known_ones(call: Call, ctx: Bench) -> None:
    ctx.offer(Jobs, Jobs())
    assert (
        call("bash_output", id="job-9").output
        == "There is no background job job-9: they end with agentcli. Jobs: none."
    )


def test_a_running_command_goes_on_in_the_background_when_the_person_sends_it_there(ctx: Bench) -> None:
    async def story() -> tuple[ToolOutput, list[str], str]:
        jobs = ctx.offer(Jobs, Jobs())
        began = time.monotonic()
        running = asyncio.create_task(use(ctx, "bash", command="echo a; read x < go; echo b; exit 3"))
        while not ctx.shown:  # noqa: ASYNC110 (the command is what we wait for, and it sets no event)
            await asyncio.sleep(0.01)
        assert jobs.send_away()
        first = await running
        assert began <= jobs.running()[0].started <= time.monotonic()
        shown = list(ctx.shown)
        assert not jobs.send_away()
        assert [job.id for job in jobs.running()] == ["job-1"]
        await use(ctx, "bash", command="echo > go")
        await until_ended(jobs)
        assert [(job.command[:6], job.state) for job in jobs.finished()] == [("echo a", "failed (exit code 3)")]
        assert ctx.shown == shown
        return first, shown, (await use(ctx, "bash_output", id="job-1")).output

    import os

    os.mkfifo(ctx.cwd / "go")
    first, shown, rest = asyncio.run(story())
    assert first.status == "success"
    assert first.output.startswith("a\n[the user sent it to the background as job-1;")
    assert shown == ["a\n"]
    assert rest == "[job-1: failed (exit code 3)]\nb\n"


@linux
def test_a_command_that_was_sent_away_can_be_stopped_like_any_job(ctx: Bench, mark: str) -> None:
    async def story() -> str:
        jobs = ctx.offer(Jobs, Jobs())
        running = asyncio.create_task(use(ctx, "bash", command=f"echo begun; sleep {mark}"))
        while not ctx.shown:  # noqa: ASYNC110 (the command is what we wait for, and it sets no event)
            await asyncio.sleep(0.01)
        jobs.send_away()
        await running
        return (await use(ctx, "bash_stop", id="job-1")).output

    assert asyncio.run(story()) == "[job-1: stopped]"
    assert living(mark) == []


@pytest.mark.parametrize(
    ("limits", "why"),
    [
        (ToolLimits(bash_timeout=0.05), "still running after 0.05 s, as job-1;"),
        (
            ToolLimits(bash_idle=0.05),
            "nothing printed for 0.05 s; if it waits for input, there is none. Still running as job-1;",
        ),
    ],
)
def test_a_command_that_reaches_a_limit_goes_on_as_a_job_and_loses_nothing(
    ctx: Bench, limits: ToolLimits, why: str
) -> None:
    async def story() -> tuple[ToolOutput, str]:
        jobs = ctx.offer(Jobs, Jobs())
        ctx.limits = limits
        first = await use(ctx, "bash", command="echo a; read x < go; echo b; exit 3")
        assert [job.id for job in jobs.running()] == ["job-1"]
        ctx.limits = ToolLimits()
        await use(ctx, "bash", command="echo > go")
        return first, (await use(ctx, "bash_output", id="job-1", wait=60_000)).output

    import os

    os.mkfifo(ctx.cwd / "go")
    first, rest = asyncio.run(story())
    assert first.status == "success"
    assert f"[{why} bash_output shows what follows or waits for it" in first.output
    assert "b\n" in rest
    assert rest.startswith("[job-1: failed (exit code 3)]\n")


@linux
def test_a_command_that_reaches_a_limit_where_no_job_may_be_added_is_ended(ctx: Bench, mark: str) -> None:
    async def story() -> ToolOutput:
        ctx.offer(Jobs, Jobs(most=0))
        ctx.limits = ToolLimits(bash_timeout=0.1)
        return await use(ctx, "bash", command=f"sleep {mark}")

    outcome = asyncio.run(story())
    assert outcome.output.startswith("[stopped: not done after 0.1 s.")
    assert living(mark) == []


def test_waiting_for_a_job_ends_with_its_time_and_the_job_goes_on(ctx: Bench) -> None:
    async def story() -> str:
        jobs = ctx.offer(Jobs, Jobs())
        ctx.limits = ToolLimits(bash_timeout_max=0.05)
        await use(ctx, "bash", command="sleep 60", run_in_background=True)
        shown = await use(ctx, "bash_output", id="job-1", wait=600_000)
        assert len(jobs.running()) == 1
        await jobs.close()
        return shown.output

    assert asyncio.run(story()) == "[job-1: running]\n(nothing new)"


def test_a_time_below_a_thousand_is_meant_in_seconds() -> None:
    assert [waiting_time(given, ToolLimits()) for given in (0, -5, 30, 999, 1_000, 120_000, 9_000_000)] == [
        0, 0, 30, 600, 1, 120, 600,
    ]  # fmt: skip


def test_a_job_that_has_ended_before_anything_waits_for_it_is_news_until_it_is_reported() -> None:
    async def story() -> list[bool]:
        jobs = Jobs()

        async def ends() -> Ended:
            return Ended("exit", 0, 0.0)

        job = jobs.adopt("look", OutputBuffer(ToolLimits(), str), start_task(ends()), time.monotonic(), awaited=True)
        assert job.task is not None
        await job.task
        before = await jobs.wait_for_awaited()
        jobs.news()
        return [before, await jobs.wait_for_awaited()]

    assert asyncio.run(story()) == [True, False]
