"""The commands that report something, run as a user runs them."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import tomllib
from pathlib import Path

import pytest

from agentcli.context.settings import ContextSettings
from agentcli.frontends.opening import program_of
from agentcli.program.options import Options
from agentcli.providers.scripted.model import say
from tests.bench.bench_large import claude_code
from tests.e2e.program import Program
from tests.loopback import Loopback, Refuse
from tests.sampling import first


@pytest.mark.parametrize(
    "arguments",
    first(
        2,
        [
            ["models", "--json"],
            ["tools", "--json"],
            ["config", "show", "--json"],
            ["sessions", "list", "--json"],
            ["sessions", "check", "--json"],
            ["permissions", "show", "--json"],
            ["stats", "--json"],
        ],
    ),
    ids=" ".join,
)
def test_reports_are_json_when_asked(program: Program, arguments: list[str]) -> None:
    assert program.run("-p", "hi", "-m", "script:echo").code == 0
    ran = program.run(*arguments)
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)


@pytest.mark.full
def test_a_session_is_listed_shown_found_renamed_forked_exported_deleted_and_fetched_back(program: Program) -> None:
    program.run("-p", "where is the needle", "-m", "script:echo")
    [listed] = json.loads(program.run("sessions", "list", "--json").out)
    session = listed["id"]
    assert listed["title"] == "where is the needle"
    assert "where is the needle" in program.run("sessions", "show", session).out
    assert session in program.run("sessions", "search", "needle").out
    assert program.run("sessions", "rename", session, "hay").code == 0
    assert program.run("resume", "hay", "-p", "again", "-m", "script:echo").out == "again\n"
    fork = program.run("sessions", "fork", "hay").out.strip()
    assert fork != session
    exported = program.base / "out.json"
    assert program.run("sessions", "export", "hay", "-f", "json", "--keep-secrets", "-o", str(exported)).code == 0
    imported = program.run("sessions", "import", str(exported)).out.strip()
    assert [r["kind"] for r in program.records(imported)] == [r["kind"] for r in program.records(session)]
    assert program.run("sessions", "delete", session).code == 0
    assert program.run("resume", session, "-p", "x", "-m", "script:echo").code == 42
    assert program.run("sessions", "delete", "--undo", session).code == 0
    assert program.run("resume", session, "-p", "back", "-m", "script:echo").out == "back\n"


def test_an_export_with_secrets_is_for_its_owner_alone_and_no_export_loosens_a_file(program: Program) -> None:
    session = program.ask("-p", "a secret", "-m", "script:echo").result["session_id"]
    exported = program.base / "out.json"
    for options, before, after in (
        (("--keep-secrets",), None, 0o600),
        ((), 0o600, 0o600),
        (("--keep-secrets",), 0o644, 0o600),
        ((), 0o640, 0o640),
    ):
        exported.unlink(missing_ok=True)
        if before is not None:
            exported.touch()
            exported.chmod(before)
        assert program.run("sessions", "export", session, "-o", str(exported), *options).code == 0
        assert exported.stat().st_mode & 0o777 == after, (options, before)


@pytest.mark.full
def test_explain_reads_a_line_and_answers_a_line(program: Program) -> None:
    calls = [
        {"id": "1", "tool": "bash", "input": {"command": "ls -la | head"}},
        {"id": "2", "tool": "bash", "input": {"command": "find . -exec rm {} +"}},
        {"id": "3", "tool": "read", "input": {"file_path": "a.txt"}},
    ]
    ran = program.run("permissions", "explain", "--json", "-", stdin="\n".join(map(json.dumps, calls)) + "\n")
    answers = [json.loads(line) for line in ran.out.splitlines()]
    assert [(answer["id"], answer["decision"]) for answer in answers] == [("1", "allow"), ("2", "ask"), ("3", "allow")]
    assert all({"rule", "why"} <= set(answer) for answer in answers)
    odd = program.start("permissions", "explain", "--json", "-", stdin=subprocess.PIPE, text=False)
    out, _ = odd.communicate(b'{"id": "\xff", "tool": "bash", "input": {"command": "ls"}}\n')
    assert (odd.returncode, json.loads(out)["decision"]) == (0, "allow")
    denied = program.run("permissions", "explain", "ls", "--deny", "bash(ls *)")
    assert denied.out.startswith("deny")


def test_explain_names_the_choices_of_an_approval_as_the_approval_does(program: Program) -> None:
    ran = program.run("permissions", "explain", "npm run build")
    assert ran.out.splitlines()[2:] == [
        "“Always allow … in this project” would save: bash(npm run build)",
        "“Always allow `npm run build …` in this project” would save: bash(npm run build *)",
    ]
    several = program.run("permissions", "explain", "make a\nmake b")
    assert r"“Always allow … in this project” would save: bash(make a\nmake b)" in several.out.splitlines()


def test_a_setting_is_written_and_says_where_it_came_from(program: Program) -> None:
    assert program.run("config", "set", "context.policy", "gemini").code == 0
    assert program.run("config", "get", "context.policy").out == "gemini\n"
    assert "config.toml" in program.run("config", "show", "--origin").out
    assert program.run("config", "path").out.strip().endswith("agentcli/config.toml")
    refused = program.run("config", "set", "context.soft", "warm")
    assert (refused.code, refused.err) == (52, "agentcli: context.soft must be a number, not 'warm'.\n")
    assert program.run("config", "get", "context.polcy").code == 52


def test_settings_are_shown_as_they_would_be(program: Program) -> None:
    (program.work / ".agentcli").mkdir()
    (program.work / ".agentcli" / "config.toml").write_text("[context]\nsoft = 0.61\n")
    assert program.run("config", "get", "context.soft").out == "0.7\n"
    there = ("-C", str(program.work))
    assert program.run("config", "get", "context.soft", "--trust", *there).out == "0.61\n"
    shown = program.run("config", "show", "--json", "--origin", "--trust", "--set", "context.soft=0.62")
    assert json.loads(shown.out)["context.soft"] == {"value": 0.62, "origin": "--set"}
    assert "context.hard" in program.run("config", "show", "--set", "context.hrad=1").err


def test_a_config_that_is_broken_can_be_found_and_examined(program: Program) -> None:
    program.config("model = ")
    assert program.run("config", "path").out == f"{program.base}/config/agentcli/config.toml\n"
    doctor = program.run("doctor")
    assert doctor.code == 1
    assert "not valid TOML" in doctor.out


def test_models_of_the_config_are_listed(program: Program) -> None:
    program.config('[providers.local]\nkind = "anthropic"\n[models."local/qwen"]\nwindow = 32000\n[models.sonnet]\n')
    listed = {model["name"]: model for model in json.loads(program.run("models", "--json").out)}
    assert listed["local/qwen"]["window"] == 32_000


@pytest.mark.full
def test_a_folder_that_is_gone_is_said(program: Program) -> None:
    gone = program.base / "gone"
    for command in (["-p", "hi", "-m", "script:echo"], ["sessions", "list"], ["config", "show"], ["doctor"]):
        gone.mkdir()
        process = program.start(*command, preexec_fn=lambda: os.chdir(gone) or os.rmdir(gone))
        _, err = process.communicate(timeout=60)
        assert (process.returncode, "The current folder no longer exists" in err) == (42, True), err


@pytest.mark.full
def test_a_setting_is_written_where_it_is_read_from(program: Program) -> None:
    program.config("[context.prune]\nprotect = 1\n")
    for key, value in (("prune.protect", "2"), ('models."gemini-3.8-flash".window', "9"), ("general.mode", "plan")):
        assert program.run("config", "set", key, value).code == 0
        assert program.run("config", "get", key).out == f"{value}\n"
    written = tomllib.loads((program.base / "config" / "agentcli" / "config.toml").read_text())
    models = {"gemini-3.8-flash": {"window": 9}}
    assert written == {"context": {"prune": {"protect": 2}}, "models": models, "mode": "plan"}


def test_the_doctor_names_what_is_missing(program: Program) -> None:
    out = program.run("doctor").out
    assert "ANTHROPIC_API_KEY" in out
    assert "sandbox" in out
    assert "sessions" in out


def test_the_doctor_says_which_addresses_are_in_force_and_what_was_not_tried(program: Program) -> None:
    out = program.run("doctor").out
    assert "endpoint of anthropic" not in out
    keyed = Program(program.base, {"ANTHROPIC_API_KEY": "k"})
    assert "endpoint of anthropic: https://api.anthropic.com: not contacted (--live does)" in keyed.run("doctor").out


@pytest.mark.full
@pytest.mark.parametrize("how", ["variable", "config"])
def test_the_doctor_sees_that_nobody_listens_at_an_address(program: Program, how: str) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://user:secret@127.0.0.1:{unused.getsockname()[1]}"
        if how == "variable":
            program = Program(program.base, {"ANTHROPIC_BASE_URL": url})
        else:
            program.config(f'[providers.mine]\nkind = "google"\nbase_url = "{url}"\n')
        quick, live = program.run("doctor"), program.run("doctor", "--live")
    name = "anthropic" if how == "variable" else "mine"
    place = "ANTHROPIC_BASE_URL" if how == "variable" else "[providers.mine]"
    for ran in (quick, live):
        [line] = [line for line in ran.out.split("\n") if f"endpoint of {name}" in line]
        assert line.startswith("warn" if ran is quick else "FAIL")
        assert place in line
        assert "connection refused" in line
        assert "secret" not in line
    assert (quick.code, live.code) == (0, 1)


def test_the_doctor_asks_a_server_when_told_to_and_sends_no_key(program: Program) -> None:
    with Loopback() as server:
        asked = Program(program.base, {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "never-sent"})
        out = asked.run("doctor", "--live").out
        assert f"endpoint of anthropic: {server.url} (ANTHROPIC_BASE_URL): answers (" in out
        assert "a server listens there" in asked.run("doctor").out


def test_plans_and_comparisons_need_no_key(program: Program) -> None:
    for n in range(6):
        (program.work / f"f{n}.txt").write_text("some words\n" * 50)
    assert program.run("-p", "go", "-m", "script:steps:4").code == 0
    plan = json.loads(program.run("context", "plan", "--json", "--policy", "opencode").out)
    assert plan["policy"] == "opencode"
    session = json.loads(program.run("sessions", "list", "--json").out)[0]["id"]
    page = program.base / "lab.html"
    found = program.run("context", "compare", session, "--policies", "auto,opencode", "--json", "--html", str(page))
    assert set(json.loads(found.out)["total"]) == {"auto", "opencode"}
    assert "://" not in page.read_text().replace("http://www.w3.org/2000/svg", "")


def test_the_window_is_shown_with_the_health_of_the_cache(program: Program) -> None:
    assert program.run("-p", "go", "-m", "script:steps:4").code == 0
    shown = json.loads(program.run("context", "show", "--json").out)
    assert shown["hit_rate"] > 0.5
    assert shown["misses"] == 0
    assert "Cache: " in program.run("context", "show").out


@pytest.mark.full
def test_an_imported_session_is_reported_on_without_a_key(program: Program) -> None:
    file = program.work / "session.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in claude_code(8)))
    program.run("sessions", "import", str(file), "--name", "big")
    for command in (("show", "big"), ("plan", "big"), ("compare", "big", "--policies", "auto")):
        found = program.run("context", *command)
        assert (found.code, found.err) == (0, "")


def test_a_preset_goes_before_environment_and_config_and_behind_what_the_run_asks_for(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "AGENTCLI_CONTEXT__SLIDING__PRIMERS": "9", "AGENTCLI_CONTEXT__SLIDING__AIM": "0.3"}
    asked = Options(cwd=str(tmp_path), settings=("context.preset=qa", "context.sliding.recents=7"))
    config = program_of(asked, env).config
    sliding = config[ContextSettings].sliding
    assert (sliding.primers, sliding.recents, sliding.window, sliding.aim) == (2, 7, 30, 0.3)
    origins = [config.origins[f"context.sliding.{name}"] for name in ("primers", "recents", "window", "aim")]
    assert origins == ["preset qa", "--set", "preset qa", "environment"]


def test_doctor_and_models_list_what_an_endpoint_lacks(program: Program) -> None:
    with Loopback(
        lambda asked: (
            Refuse(400, message="thinking: Extra inputs are not permitted") if "thinking" in asked.json else say("Hi.")
        )
    ) as server:
        program.more = server.env
        ran = program.run("-p", "hello", "-m", "anthropic/claude-sonnet-5")
        assert (ran.code, ran.out) == (0, "Hi.\n"), ran.err
        assert ran.err.count("anthropic/claude-sonnet-5 does not take thinking: it answers without.") == 1
        missing = "continues without thinking"
        assert f"limits of anthropic/claude-sonnet-5: {missing}" in program.run("doctor").out
        assert f"anthropic/claude-sonnet-5 {missing}" in program.run("models").out
        assert len(server.requests) == 2
        assert "counts until 20" in program.run("doctor").out
        forgotten = program.run("models", "--forget", "claude-sonnet-5")
        assert forgotten.out.startswith("Forgotten: the limits of anthropic/claude-sonnet-5.")
        assert missing not in program.run("doctor").out
        assert program.run("models", "--forget", "claude-sonnet-5").code == 42


def test_the_doctor_sends_nothing_real_unless_somebody_agrees(program: Program) -> None:
    with Loopback(lambda _: say("OK")) as server:
        program.more = server.env
        ran = program.run("doctor", "--live")
        assert "This sends one small real request each to anthropic/" in ran.err
        assert "at most $0.0" in ran.err
        assert "Not sent" in ran.err
        assert server.asked == []
