"""Reports of a session about itself."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from agentcli.agent.ports import ApprovalResponse, Prompt
from agentcli.agent.report import automatic_actions, cache_lines, cost_lines, job_lines
from agentcli.context.cache_health import CacheHealth
from agentcli.context.policies import prunes_from
from agentcli.core.message import Message, Text, Usage
from agentcli.core.model import Prices
from agentcli.core.record import Body, Compaction, Prune, Record, Retry, Settings
from agentcli.core.tool import ToolLimits
from agentcli.providers.scripted.model import call, say
from agentcli.sessions.in_memory import MemorySession
from agentcli.tools.jobs import Job
from agentcli.tools.lib.output_buffer import OutputBuffer
from tests.agent.open_session import DEMO, Person, open_session, say_to
from tests.context.story import Story


def record(body: Body) -> Record:
    return Record(1, "1", "2026-11-20T10:20:30Z", "", body)


def test_acts_tells_what_was_done_unasked_and_nothing_that_was_asked_for() -> None:
    bodies: list[Body] = [
        Compaction("auto", "compressed", "auto", tokens_before=9_000, tokens_after=2_000),
        Compaction("manual", "compressed", "auto", tokens_before=8_000, tokens_after=1_000),
        Retry(1, 0.4, "the server is overloaded"),
        Compaction("overflow", "failed_summary", "auto"),
        Prune(("a", "b"), 4_000, "The cache is cold after 9 minutes."),
        Prune((), 0, "thinking dropped: the provider refused it", drop_thinking_before=4),
        Retry(0, 5.0, "a budget runs low"),
        Settings("a/b", why="Overloaded. The session continues with a/b."),
        Settings("a/c"),
    ]
    assert list(automatic_actions(map(record, bodies))) == [
        "2026-11-20 10:20 Compaction: 9,000 → 2,000 tokens (auto, auto)",
        "2026-11-20 10:20 the server is overloaded. Retrying in 1 s (attempt 1)",
        "2026-11-20 10:20 Compaction: failed summary (overflow)",
        "2026-11-20 10:20 Pruned 2 old calls, 4,000 tokens. The cache is cold after 9 minutes.",
        "2026-11-20 10:20 thinking dropped: the provider refused it",
        "2026-11-20 10:20 Waiting 5 s: a budget runs low",
        "2026-11-20 10:20 Overloaded. The session continues with a/b.",
    ]


def test_why_lists_the_acts_that_ran_unasked_each_with_its_reason(tmp_path: Path) -> None:
    replies = [
        say(
            "",
            call("write", file_path="a.txt", content="x"),
            call("bash", command="mkdir b"),
            call("bash", command="ls"),
        ),
        say("done"),
    ]
    session = open_session(tmp_path, replies, mode="yolo")
    say_to(session, "go")
    told = [line[len("2026-11-20 10:20 ") :] for line in session.report.automatic_actions()]
    why = "ran unasked: everything is allowed unless a rule denies it"
    assert told == [f"Write a.txt {why}", f"$ mkdir b {why}"]


def test_an_act_that_a_person_allowed_is_no_automatic_action(tmp_path: Path) -> None:
    replies = [say("", call("bash", command="mkdir b")), say("done")]
    session = open_session(tmp_path, replies, person=Person(ApprovalResponse("once")))
    say_to(session, "go")
    assert session.report.automatic_actions() == []


def test_the_cache_report_has_tokens_and_money_by_kind_and_what_rewrote_it() -> None:
    health = CacheHealth(
        requests=4, fresh=1_000, written=2_000, read=7_000, output=500, compactions=1, prunes=2, recalls=3
    )
    lines = "\n".join(cache_lines(health, Prices(input=1.0, output=10.0, cache_read=0.1, cache_write=2.0)))
    assert lines.startswith("70.0% of all input came from the cache, in 4 requests; 0 missed it.")
    assert "cache read         7,000 tokens  $0.0007" in lines
    assert "1 compactions, 2 prunes, 3 outputs recalled." in lines
    assert "price unknown" in "\n".join(cache_lines(health, None))


def test_a_desk_tells_at_a_glance_and_has_no_jobs_at_first(tmp_path: Path) -> None:
    session = open_session(tmp_path, [])
    glance = session.report.status()
    assert (glance.hit_rate, glance.budget, glance.jobs) == (None, None, 0)
    assert glance.prunes == prunes_from(session.conversation.builder.window()) > 0
    assert session.report.tasks() == job_lines([], 0.0)
    assert not session.core.jobs.send_away()


def test_a_job_is_listed_with_the_time_since_its_start() -> None:
    job = Job("job-1", "make", OutputBuffer(ToolLimits(), lambda text: text), started=100.0)
    assert job_lines([job], 163.5) == ["job-1  running, 1 m 03 s  $ make"]


def test_a_session_that_is_left_leaves_no_job_behind(tmp_path: Path) -> None:
    async def story() -> str:
        script = [say("", call("bash", command="sleep 1000", run_in_background=True)), say("Done.")]
        session = open_session(tmp_path, script, mode="yolo")
        async for _ in session.turn(Prompt("go"), asyncio.Event()):
            pass
        [job] = session.core.jobs.running()
        session.close()
        assert job.task is not None
        await asyncio.wait_for(job.task, 20)
        return job.state

    assert asyncio.run(story()) == "stopped"


@pytest.mark.usefixtures("new_york")
def test_a_day_of_the_cost_report_is_one_of_this_machine() -> None:
    message = Message("assistant", (Text("x"),), provider="p", model="a", usage=Usage(input=3), cost=0.5)
    lines = cost_lines([Record(1, "1", "2026-01-31T02:30:00.000Z", "", message)])
    assert lines[-1].split()[0] == "2026-01-30"


def test_the_cost_report_has_models_and_days_with_a_bar_each() -> None:
    def reply(day: str, model: str, tokens: int) -> Record:
        message = Message("assistant", (Text("x"),), provider="p", model=model, usage=Usage(input=tokens), cost=0.5)
        return Record(1, "1", f"2026-11-{day}T10:20:30Z", "", message)

    lines = cost_lines([reply("20", "a", 300), reply("20", "b", 100), reply("21", "a", 200)])
    assert lines[0] == "600 tokens, $1.5000"
    assert "  p/a: 2 requests, $1.0000" in lines
    assert "  p/b: 1 request, $0.5000" in lines
    assert "(0 %) · out 0" in "\n".join(lines)
    days = [line.split() for line in lines if line.startswith("  2026")]
    assert [(day, int(tokens), cost) for day, _, tokens, cost in days] == [
        ("2026-11-20", 400, "$1.0000"),
        ("2026-11-21", 200, "$0.5000"),
    ]
    assert len(days[0][1]) == 2 * len(days[1][1])
    assert cost_lines([]) == ["Nothing spent yet."]


def test_after_a_resume_the_cache_report_tells_of_the_whole_session(tmp_path: Path) -> None:
    journal = MemorySession()
    story = Story()
    story.user("Read it.")
    for n in range(4):
        story.reads(f"f{n}.txt", "x" * 4_000)
        story.says(f"Read {n}.", usage=Usage(1_000, 10, 0, 1_000 * n, 1_000))
    for record in story.records:
        journal.append(record.body)
    journal.append(Prune(("call_1",), 900, "asked for"))
    journal.append(Compaction("manual", "compressed", "auto", (1, 8), 9, "<state_snapshot/>"))
    journal.append(Prune(("call_4",), 900, "asked for"))
    lines = open_session(tmp_path, [], journal=journal).report.cache()
    assert "in 4 requests; 0 missed it." in lines[0]
    assert "1 compactions, 2 prunes, 0 outputs recalled." in lines


def test_a_cold_cache_is_reported_with_its_size_and_price_if_that_is_much(tmp_path: Path) -> None:
    model = replace(DEMO, prices=Prices(input=5.0, output=25.0, cache_read=0.5, cache_write=6.25), cache_lifetime=0.0)
    session = open_session(tmp_path, [say("Yes.")], model=model)
    assert session.report.cold(0.0001) == "", "nothing was cached"
    say_to(session, "x" * 40_000)
    line = session.report.cold(0.01)
    assert line.startswith("Cache is cold: ")
    assert line.endswith("Enter sends · /compress first")
    assert "k tokens, $0.0" in line
    assert session.report.cold(5.0) == ""
    assert session.report.cold(0.0) == ""
    warm = open_session(tmp_path, [say("Yes.")], model=replace(model, cache_lifetime=300.0))
    say_to(warm, "x" * 40_000)
    assert warm.report.cold(0.01) == ""
