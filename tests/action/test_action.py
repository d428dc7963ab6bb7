"""The composite action: its definition, and its shell steps one after the other against a server of our own."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from agentcli.providers.scripted.model import Reply, call, say
from tests.action.workflow import ACTION, Job, action
from tests.loopback import Asked, Loopback

EVIL = '"; touch pwned; $(touch pwned) `touch pwned` ${{ github.token }}'
KEY = "ANTHROPIC_API_KEY"


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder outside /tmp, of which a sandbox has its own; with a repository `work`, and `temp` where agentcli is installed."""
    with tempfile.TemporaryDirectory(dir=Path.home(), prefix=".agentcli-test-") as name:
        base = Path(name)
        for part in ("work", "temp/agentcli"):
            (base / part).mkdir(parents=True)
        (base / "temp" / "agentcli" / "venv").symlink_to(sys.prefix)
        who = ["-c", "user.name=me", "-c", "user.email=me@example.org"]
        for command in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"]):
            subprocess.run(["git", *who, *command], cwd=base / "work", check=True)
        yield base


def job(folder: Path, server: Loopback | None = None, **github: str) -> Job:
    return Job(folder / "work", folder / "temp", server.env if server else {}, github)


@contextmanager
def github(**permissions: str) -> Iterator[str]:
    """The address of an API that knows the permissions of these actors."""

    class Api(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            actor = self.path.split("/")[-2]
            self.send_response(200 if actor in permissions else 404)
            self.end_headers()
            self.wfile.write(json.dumps({"permission": permissions.get(actor)}).encode())

        def log_message(self, *arguments: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Api)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def work(asked: Asked) -> Reply:
    """A model that looks at its environment, writes a file, and tries the network."""
    if any("tool_result" in str(turn) for turn in asked.turns):
        return say("It is **done**.")
    port = asked.headers["host"].rpartition(":")[2]
    look = f"env; echo hello > made.txt; (exec 3<>/dev/tcp/127.0.0.1/{port}) && echo rea''ched"
    return say("I look.", call("bash", "c1", command=look))


def test_no_input_is_part_of_a_command() -> None:
    steps = action()["runs"]["steps"]
    assert not [step["run"] for step in steps if "${{" in step.get("run", "")]
    named = set(re.findall(r"inputs\.(\w+)", (ACTION / "action.yml").read_text()))
    assert named == set(action()["inputs"])
    assert {step["shell"] for step in steps if "run" in step} == {"bash"}


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
def test_the_scripts_of_the_action_have_no_faults_that_shellcheck_knows() -> None:
    checked = subprocess.run(["shellcheck", *ACTION.glob("*.sh")], capture_output=True, text=True)
    assert checked.stdout == ""


@pytest.mark.full
def test_a_prompt_ends_with_outputs_a_summary_and_its_session(folder: Path) -> None:
    if shutil.which("bwrap") is None:
        pytest.skip("no sandbox is installed")
    with Loopback(work) as server:
        run = job(folder, server)
        code = run.run(
            prompt=f"Do it. {EVIL}", model="anthropic/claude-sonnet-5", check="test -f made.txt", max_cost="3"
        )
        asked = server.asked[0]
    assert code == 0, run.log
    results = run.results
    assert (results["text"], results["exit_code"]) == ("It is **done**.", "0")
    assert float(results["cost"]) > 0
    assert EVIL in asked.last_text
    assert (folder / "work" / "made.txt").read_text() == "hello\n"
    assert not list(folder.rglob("pwned"))
    assert not (folder / "work" / ".git" / "hooks" / "pre-commit").exists()
    kept = Path(run.used["actions/upload-artifact@v4"]["path"])
    assert {file.name for file in kept.iterdir()} == {"session.html", "session.json", "check.txt"}
    session = (kept / "session.json").read_text()
    assert results["session_id"] in session
    assert "GITHUB_JOB=review" in session
    assert not re.search(r"GITHUB_(ENV|OUTPUT|PATH)=|reached", session)
    assert KEY not in session.split("I look.")[-1]
    assert "| check | passed |" in run.summary
    assert "done**" not in run.summary + run.log


@pytest.mark.slow
def test_the_answer_is_shown_where_that_is_wanted_and_a_failed_check_fails_the_job(folder: Path) -> None:
    with Loopback(lambda asked: say(asked.last_text)) as server:
        run = job(folder, server)
        (folder / "work" / "ask.md").write_text("Say it.")
        more = {"args": "--append-system-prompt 'Be brief.'", "show_full_output": "true", "check": "exit 7"}
        code = run.run(prompt_file="ask.md", model="anthropic/claude-sonnet-5", mode="plan", **more)
        assert "Be brief." in str(server.asked[0].body)
    assert (code, run.results["exit_code"]) == (7, "7")
    assert "Say it." in run.summary
    assert '"type": "result"' in run.log
    assert "failed with exit code 7" in run.summary


@pytest.mark.slow
def test_without_a_key_the_job_ends_with_41(folder: Path) -> None:
    run = job(folder)
    assert run.run(prompt="Hi", model="anthropic/claude-sonnet-5") == 41
    assert run.results["exit_code"] == "41"
    assert "credentials" in run.summary


def test_without_anything_to_do_it_ends_with_2(folder: Path) -> None:
    run = job(folder)
    assert run.run() == 2
    assert "Give a prompt" in run.log


@pytest.mark.parametrize(
    ("actor", "starter", "runs"),
    [
        pytest.param("writer", "writer", True, marks=pytest.mark.slow),
        ("reader", "reader", False),
        ("writer", "reader", False),
        ("nobody[bot]", "writer", False),
    ],
)
def test_only_those_who_may_write_start_it(folder: Path, actor: str, starter: str, runs: bool) -> None:
    with github(writer="write", reader="read") as url:
        about = {"GITHUB_EVENT_NAME": "issue_comment", "GITHUB_ACTOR": actor, "triggering_actor": starter}
        run = job(folder, **about, GITHUB_API_URL=url, GITHUB_TOKEN="t")
        assert run.run() == (2 if runs else 1)
        assert ("has no write access" in run.log) == (not runs)


@pytest.mark.slow
def test_a_batch_ends_with_a_table_of_its_tasks(folder: Path) -> None:
    tasks = [{"id": "one", "prompt": "Do it."}, {"id": "two", "prompt": "Do it."}]
    (folder / "work" / "tasks.jsonl").write_text("".join(json.dumps(task) + "\n" for task in tasks))
    with Loopback(work) as server:
        run = job(folder, server)
        given = {"tasks": "tasks.jsonl", "model": "anthropic/claude-sonnet-5", "max_cost": "5"}
        code = run.run(**given, check="test -f made.txt", args="-j 2")
    assert code == 0, run.log + run.summary
    assert "| one | passed | 1 |" in run.summary
    lines = [json.loads(line) for line in Path(run.results["results"]).read_text().splitlines()]
    assert [line["state"] for line in lines] == ["passed", "passed"]
    kept = Path(run.used["actions/upload-artifact@v4"]["path"])
    assert {file.name for file in kept.rglob("*.*")} >= {"results.jsonl", "report.html", "patch.diff", "session.html"}
    assert not list(kept.rglob("events.jsonl"))
