"""Starts of tasks by executors, and shards."""

from __future__ import annotations

import asyncio
import gzip
import shutil
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from agentcli.core.errors import ConfigError, UsageError
from agentcli.extras.batch import trees
from agentcli.extras.batch.driver import Driver
from agentcli.extras.batch.engines import EngineAttempt, engine_named, taken
from agentcli.extras.batch.ledger import Row, fold
from agentcli.extras.batch.plan import LOSSES, Plan, Start
from agentcli.extras.batch.remote import call_of, run_one
from agentcli.extras.batch.results import Batch, write_pages
from agentcli.extras.batch.tasks import Task
from agentcli.extras.batch.work import SESSION, Work
from agentcli.frontends.opening import project_of
from agentcli.program.options import Options
from agentcli.system.git import git
from agentcli.system.paths import app_dirs
from tests.e2e.program import Program
from tests.extras.batch.repository import DONE, WRITES, ledger, program, results, script
from tests.tables import each_row

ENGINES = "tests.extras.batch.engine_functions"


def run(program: Program, out: str, model: str, *more: str) -> int:
    ran = program.run("batch", "run", "tasks.jsonl", out, "-m", model, "--unboxed", *more, seconds=200)
    assert ran.code in (0, 1), ran.out + ran.err
    return ran.code


@pytest.mark.parametrize("kind", ["threads", pytest.param("processes", marks=pytest.mark.slow)])
def test_an_executor_of_ones_own_runs_the_tasks(tmp_path: Path, kind: str) -> None:
    target = program(tmp_path)
    assert (
        run(target, "out", script(target, WRITES, DONE), "--engine", f"{ENGINES}:{kind}", "--check", "test -f new.txt")
        == 0
    )
    line = results(target)["t0"]
    assert (line["state"], line["check"], line["text"]) == ("passed", 0, "Done.")
    assert git(target.work, "show", f"{line['commit']}:new.txt").startswith("out-t0-")
    assert [row["state"] for row in ledger(target)] == ["running", "passed"]
    assert not list((tmp_path / "cache/agentcli/worktrees").glob("out-*"))


@each_row(
    ("engine", "error", "message"),
    [
        ("nowhere", UsageError, "takes local, ray or"),
        ("nowhere:x", ConfigError, "Can't load the engine"),
        (f"{ENGINES}:missing", ConfigError, "Can't load the engine"),
        (f"{ENGINES}:nothing", ConfigError, "not an Executor"),
    ],
)
def test_an_engine_that_does_not_exist_is_named(engine: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        engine_named(engine, {"workers": 1})


@pytest.mark.parametrize("shard", ["2/2", pytest.param("x", marks=pytest.mark.slow)])
def test_a_shard_that_does_not_exist_is_refused(tmp_path: Path, shard: str) -> None:
    ran = program(tmp_path).run("batch", "run", "tasks.jsonl", "out", f"--shard={shard}")
    assert (ran.code, "--shard takes I/N" in ran.err) == (2, True)


def test_a_start_comes_back_by_value_and_is_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = program(tmp_path)
    for name, value in target.env.items():
        monkeypatch.setenv(name, value)
    plan = Plan("b", boxed=False)
    model = script(target, WRITES, DONE)
    base = trees.base_commit(str(target.work), "HEAD")
    copy = tmp_path / "copy"
    git(tmp_path, "clone", "-q", str(target.work), str(copy))
    work = Work(
        Start(Task("t", "do it", str(target.work), model=model)),
        "abc012345678",
        plan,
        base,
        tmp_path / "elsewhere",
        app_dirs(),
    )
    first = run_one(*call_of(work))
    again = run_one(*call_of(work))
    assert first["row"] == again["row"]
    assert {"events.jsonl", "patch.diff", "result.json"} <= set(first["files"])
    (work.folder).mkdir(parents=True)
    shutil.rmtree(app_dirs().sessions)
    row = taken(replace(work, start=replace(work.start, task=Task("t", "do it", str(copy)))), first)
    assert (row.state, row.text) == ("passed", "Done.")
    assert git(copy, "show", f"{work.ref}:new.txt").startswith("b-t-abc")
    assert (work.folder / "patch.diff").read_bytes() == first["files"]["patch.diff"]
    assert "Done." in gzip.decompress((work.folder / SESSION).read_bytes()).decode()
    entries = {"t": {"repo": str(copy), "base": base, "digest": ""}}
    passed: list[str] = []

    def through(things: Iterable[Any]) -> Iterator[Any]:
        for id, state in things:
            passed.append(id)
            yield id, state

    write_pages(Batch(work.out, "b", {}, entries, fold([row])), project_of(Options(cwd=str(copy))), through)
    assert passed == ["t"]
    assert "Done." in (work.folder / "session.html").read_text()


def test_a_start_that_stopped_unasked_is_lost(tmp_path: Path) -> None:
    class Stopped:
        def submit(self, work: Work) -> Future[Mapping[str, Any]]:
            future: Future[Mapping[str, Any]] = Future()
            row = replace(work.first_row, state="stopped")
            future.set_result({"row": asdict(row), "bundle": b"", "session": b"", "files": {}})
            return future

        def stop(self, work: Work, future: Future[Mapping[str, Any]]) -> None: ...
        def close(self) -> None: ...
        def gone(self) -> str:
            return ""

        def slots(self) -> int:
            return 1

    plan = Plan("b", isolation="none")
    dirs = app_dirs({"HOME": str(tmp_path)})
    driver = Driver(plan, [Task("t", "do it", "/")], tmp_path / "out", dirs, attempt=EngineAttempt(Stopped()))
    assert asyncio.run(driver.run()) == 1
    assert driver.states["t"].newest.tries == LOSSES + 1


def test_starts_on_a_cluster_that_is_gone_have_stopped_and_go_on_with_the_next_run(tmp_path: Path) -> None:
    class Gone:
        def submit(self, work: Work) -> Future[Mapping[str, Any]]:
            future: Future[Mapping[str, Any]] = Future()
            future.set_exception(ConnectionError("away"))
            return future

        def stop(self, work: Work, future: Future[Mapping[str, Any]]) -> None: ...
        def close(self) -> None: ...
        def gone(self) -> str:
            return "The cluster is gone."

        def slots(self) -> int:
            return 0 if self.asked else 1

        asked = False

    engine = Gone()

    def reported(row: Row) -> None:
        engine.asked = True

    dirs = app_dirs({"HOME": str(tmp_path)})
    tasks = [Task(id, "do it", "/") for id in ("t", "u")]
    driver = Driver(
        Plan("b", isolation="none"), tasks, tmp_path / "out", dirs, reported, EngineAttempt(engine), slots=engine.slots
    )
    asyncio.run(driver.run())
    assert {id: (state.state, state.newest.why) for id, state in driver.states.items()} == {
        "t": ("stopped", "The cluster is gone.")
    }


@pytest.mark.slow
def test_two_shards_are_the_whole(tmp_path: Path) -> None:
    ids = [f"t{number}" for number in range(5)]
    target = program(tmp_path, ids)
    model = script(target, WRITES, DONE)
    assert run(target, "whole", model) == 0
    assert run(target, "parts", model, "--shard", "0/2") == 0
    first = results(target, "parts")
    assert {id for id, line in first.items() if line["state"] == "passed"} == {"t0", "t2", "t4"}
    assert run(target, "parts", model, "--shard", "1/2") == 0
    assert equal(results(target, "parts")) == equal(results(target, "whole"))


def equal(found: dict[str, dict[str, object]]) -> dict[str, tuple[object, ...]]:
    """All of the results that does not depend on the run."""
    return {id: tuple(line[name] for name in ("state", "attempts", "check", "text")) for id, line in found.items()}
