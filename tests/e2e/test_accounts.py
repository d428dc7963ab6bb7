"""Accounts as people use them: stored by name, chosen by flag, folder or command, and never mixed."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from agentcli.providers.scripted.model import Reply, call, say
from tests.e2e.program import Program
from tests.loopback import Asked, Idle, Loopback, Refuse
from tests.sampling import sampled

MODEL = "anthropic/claude-sonnet-5"
LIMITED = Refuse(429, "rate_limit_error", headers={"retry-after": "20"})
KEYS = {"work": "sk-work-key", "private": "sk-private-key"}


def key_of(asked: Asked) -> str:
    return asked.headers.get("x-api-key") or asked.headers["authorization"].removeprefix("Bearer ")


def program_at(server: Loopback, folder: Path, config: str = "") -> Program:
    program = Program(folder, more=server.env)
    program.config(
        f"[agent]\ntitles = false\n{config}" if "accounts" not in config else f"{config}\n[agent]\ntitles = false\n"
    )
    for name, key in KEYS.items():
        stored = program.run("auth", "set", "anthropic", "--name", name, "--no-check", stdin=key)
        assert stored.code == 0, stored.err
    return program


def accounts(program: Program) -> list[str]:
    """The accounts in the order in which the records of the only session name them."""
    return [record["account"] for record in program.records() if record.get("account")]


@pytest.mark.full
def test_a_flag_takes_the_key_of_an_account_even_beside_a_variable(tmp_path: Path) -> None:
    with Loopback([say("One."), say("Two.")]) as server:
        program = program_at(server, tmp_path)
        assert program.run("-p", "hi", "-m", MODEL, "--account", "work").code == 0
        assert accounts(program) == ["work"]
        # A session keeps its account.
        assert program.run("-c", "-p", "again").code == 0
        assert [key_of(asked) for asked in server.requests] == [KEYS["work"]] * 2
        assert accounts(program) == ["work"]


def test_without_an_account_nothing_of_it_is_recorded_and_the_usual_key_is_sent(tmp_path: Path) -> None:
    with Loopback([say("One.")]) as server:
        program = program_at(server, tmp_path)
        assert program.run("-p", "hi", "-m", MODEL).code == 0
        assert key_of(server.requests[0]) == server.env["ANTHROPIC_API_KEY"]
        assert '"account"' not in json.dumps(program.records())


def test_an_account_that_is_not_stored_sends_nothing_and_names_the_ones_that_are(tmp_path: Path) -> None:
    with Loopback([say("One.")]) as server:
        program = program_at(server, tmp_path)
        ran = program.run("-p", "hi", "-m", MODEL, "--account", "wrok")
        assert ran.code == 41
        assert "anthropic has no account wrok. Stored: private, work." in ran.err
        assert program.run("-p", "hi", "-m", "google/gemini-3.8-flash", "--account", "work").code == 41
        assert program.run("-p", "hi", "-m", MODEL, "--account", "a/../b").code == 42
        assert not server.requests


def test_the_listing_names_accounts_and_one_is_removed_alone(tmp_path: Path) -> None:
    with Loopback([]) as server:
        program = program_at(server, tmp_path)
        assert "private, work" in program.run("auth", "list").out
        assert program.run("auth", "remove", "anthropic", "--name", "work").code == 0
        assert "private" in program.run("auth", "list").out
        assert "work" not in program.run("auth", "list").out
        assert program.run("auth", "remove", "anthropic", "--name", "work").code == 42
        assert program.run("auth", "set", "anthropic", "--name", "../x", "--no-check", stdin="k").code == 42
        assert not any(key in program.run("auth", "list").out for key in KEYS.values())


def test_the_next_account_takes_over_at_a_rate_limit_only_if_it_was_asked_for(tmp_path: Path) -> None:
    def plan(asked: Asked) -> Reply | Refuse:
        return LIMITED if key_of(asked) == KEYS["work"] else say("Served.")

    with Loopback(plan) as server:
        program = program_at(server, tmp_path, "[retry]\npatience = 1\n")
        alone = program.run("-p", "hi", "-m", MODEL, "--account", "work")
        assert alone.code == 75
        assert {key_of(asked) for asked in server.requests} == {KEYS["work"]}
        server.asked.clear()
        both = program.run("-p", "hi", "-m", MODEL, "--account", "work,private")
        assert (both.code, both.out) == (0, "Served.\n")
        assert [key_of(asked) for asked in server.requests] == [KEYS["work"], KEYS["private"]]
        assert "continues with the account private" in both.err
        told = list(csv.DictReader(io.StringIO(program.run("stats", "--by", "account", "--csv").out)))
        assert [row["account"] for row in told] == ["anthropic/private"]


@pytest.mark.full
def test_all_accounts_limited_ends_the_turn_after_each_was_tried_once(tmp_path: Path) -> None:
    with Loopback(lambda _: LIMITED) as server:
        program = program_at(server, tmp_path, "[retry]\npatience = 1\n")
        assert program.run("-p", "hi", "-m", MODEL, "--account", "work,private,default").code == 75
        assert [key_of(asked) for asked in server.requests] == [
            KEYS["work"],
            KEYS["private"],
            server.env["ANTHROPIC_API_KEY"],
        ]


@pytest.mark.full
def test_a_folder_has_the_account_that_the_persons_own_settings_give_it(tmp_path: Path) -> None:
    with Loopback([say("One."), say("Two.")]) as server:
        program = program_at(server, tmp_path, 'accounts = { "~" = "private", "~/work" = "work" }')
        assert program.run("-p", "hi", "-m", MODEL).code == 0
        assert program.run("-p", "hi", "-m", MODEL, "-C", str(tmp_path)).code == 0
        assert [key_of(asked) for asked in server.requests] == [KEYS["work"], KEYS["private"]]


@pytest.mark.full
def test_doctor_names_the_accounts_of_folders_and_the_ones_without_a_key(tmp_path: Path) -> None:
    with Loopback([]) as server:
        program = program_at(server, tmp_path, 'accounts = { "~" = "wrok,default", "~/work" = "work", "/x" = "a b" }')
        told = program.run("doctor").out.splitlines()
    assert [line for line in told if "account" in line.partition(":")[0]] == [
        "warn  account wrok: for ~: no key is stored: agentcli auth set PROVIDER --name wrok",
        "ok    account work: for ~/work; stored for anthropic",
        "warn  account: /x in `accounts`: 'a b' cannot be the name of an account. Use up to 40 letters, digits, `-`, `_` and `.`.",
    ]


@pytest.mark.full
def test_an_account_chosen_during_a_turn_counts_from_the_next_one_and_says_so(tmp_path: Path) -> None:
    wait = call("bash", command="echo begun; until [ -e go ]; do sleep 0.1; done; echo over")
    with Loopback([say("", wait), say("First done."), say("Second done.")]) as server:
        program = program_at(server, tmp_path)
        with program.terminal("-m", MODEL, "--account", "work", "--mode", "yolo") as t:
            t.until("? keys")
            t.send("first\r", until="  begun")
            t.send("/account private\r", until="/account will run after this turn.")
            (program.work / "go").touch()
            t.until("First done.", "Account: private")
            t.settle()
            t.send("second\r", until="Second done.")
        assert [key_of(asked) for asked in server.requests] == [KEYS["work"], KEYS["work"], KEYS["private"]]
        assert accounts(program) == ["work", "private"]


@pytest.mark.full
def test_no_project_chooses_an_account_not_even_a_trusted_one(tmp_path: Path) -> None:
    with Loopback([say("One.")]) as server:
        program = program_at(server, tmp_path)
        (program.work / ".agentcli").mkdir()
        (program.work / ".agentcli" / "config.toml").write_text('accounts = { "/" = "work" }\n')
        ran = program.run("-p", "hi", "-m", MODEL, "--trust")
        assert ran.code == 0
        assert "accounts" in ran.err
        assert key_of(server.requests[0]) == server.env["ANTHROPIC_API_KEY"]


@pytest.mark.full
def test_an_imported_session_chooses_none_either(tmp_path: Path) -> None:
    with Loopback([say("One."), say("Two.")]) as server:
        program = program_at(server, tmp_path)
        assert program.run("-p", "hi", "-m", MODEL, "--account", "work").code == 0
        (info,) = program.sessions.glob("*/*/session.json")
        told = program.run("sessions", "export", info.parent.name, "-f", "json", "--keep-secrets")
        other = Program(tmp_path / "other", more=server.env)
        other.base.mkdir()
        other.config("[agent]\ntitles = false\n")
        assert other.run("auth", "set", "anthropic", "--name", "work", "--no-check", stdin="sk-theirs").code == 0
        (other.base / "all.json").write_text(told.out)
        assert other.run("sessions", "import", str(other.base / "all.json")).code == 0
        (imported,) = other.sessions.glob("*/*/session.json")
        went_on = other.run("resume", imported.parent.name, "-p", "again", "-m", MODEL)
        assert went_on.code == 0, went_on.err
        assert key_of(server.requests[-1]) == server.env["ANTHROPIC_API_KEY"]


@pytest.mark.full
def test_in_the_terminal_account_switches_and_stats_tell_both_apart(tmp_path: Path) -> None:
    with Loopback(lambda asked: say(f"With {key_of(asked)[3:7]}.")) as server:
        program = program_at(server, tmp_path)
        with program.terminal("-m", MODEL) as t:
            t.until("? keys")
            t.send("first\r", until="With pbac.")
            t.settle()
            t.send("/account\r", until="Account: default. Stored for anthropic: private, work.")
            t.send("/account nope\r", until="anthropic has no account nope.")
            t.send("/account work\r", until="Account: work. Stored for anthropic: private, work.")
            t.send("second\r", until="With work.")
            t.settle()
        told = list(csv.DictReader(io.StringIO(program.run("stats", "--by", "account", "--csv").out)))
        assert {row["account"]: row["requests"] for row in told} == {"anthropic/default": "1", "anthropic/work": "1"}


@pytest.mark.parametrize("late", sampled([True, False], 2))
def test_a_killed_session_resumes_with_its_account(tmp_path: Path, late: bool) -> None:
    plan: list[Any] = [Idle(say("A long answer that is cut."), 4, 600.0), say("Here again.")]
    with Loopback(plan) as server:
        program = program_at(server, tmp_path)
        with program.terminal("-m", MODEL, *([] if late else ["--account", "work"])) as t:
            t.until("? keys")
            if late:
                t.send("/account work\r", until="Account: work.")
            t.send("go\r", until="A long")
            os.kill(t.pid, signal.SIGKILL)
        ran = program.run("-c", "-p", "again")
        assert ran.code == 0, ran.err
        assert [key_of(asked) for asked in server.requests] == [KEYS["work"]] * 2
