"""What the config.toml of a trusted project may do to the user's settings, tried on all of them from outside."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

from agentcli.program.config.toml import toml_key, toml_value
from agentcli.providers.scripted.model import call, say
from tests.e2e.faults import MODELS
from tests.e2e.program import Program
from tests.loopback import Loopback

OPEN = (
    "model",
    "agent.titles",
    "agent.thinking*",
    "agent.effort",
    "agent.confirm_done",
    "agent.fallback_model",
    "agent.subagent_model",
    "agent.small_window",
    "mcp.deferred",
    "tools.line_numbers",
    "context.*",
    "checks",  # none of them runs before a person has approved its command
)
"""The settings that are a project's to choose, by hand: of no other one may it make more of anything."""
CLOSED = ("context.*user*",)
"""Those among them that are about spending and the words of the user."""
OTHERS: Mapping[str, Sequence[str]] = {
    "mode": ("auto-edit", "auto", "yolo", "plan"),
    "sandbox": ("off",),
    "permissions.destructive": ("allow",),
    "budget.session.mode": ("soft", "approval"),
    "budget.task.mode": ("soft", "approval"),
    "budget.agent.mode": ("soft", "approval"),
    "ui.theme": ("dark",),
    "ui.links": ("always",),
    "ui.notify": ("off",),
}
"""Other values of settings that take few words; all those in the first rows are looser."""
POSITIVE = ("agent.max_output", "agent.subagents_at_once", "tools.read_lines", "tools.read_bytes", "tools.matches")
RULES = ("permissions.deny", "permissions.ask")
USER = """
[permissions]
deny = ["bash(rm *)"]
ask = ["bash(make *)"]
[tools]
bash_secrets = ["MINE"]
[budget]
session = { tokens = 900, cost = 5.0 }
task = { tokens = 900, cost = 5.0 }
agent = { tokens = 900, cost = 5.0 }
[agent]
max_steps = 7
"""


def shown(program: Program, *arguments: str) -> dict[str, Any]:
    """Every setting in force."""
    ran = program.run("config", "show", "--json", *arguments)
    assert ran.code == 0, ran.err
    values: dict[str, Any] = json.loads(ran.out)
    return values


def project_sets(program: Program, text: str) -> None:
    """Write the config.toml of the project."""
    (program.work / ".agentcli").mkdir(exist_ok=True)
    (program.work / ".agentcli/config.toml").write_text(text)


def tries(key: str, value: Any) -> list[Any]:
    """Values that are other than the user's, in every direction."""
    match value:
        case bool():
            return [not value]
        case int() | float():
            return [value * 2 + 1 if isinstance(value, int) or value > 1 else 1.0, int(key in POSITIVE)]
        case list():
            return [[], ["bash", "0.0.0.0/0"]]
        case dict():
            return [{"x": "evil"}]
        case _:
            return list(OTHERS.get(key, ["evil"]))


def is_looser(key: str, own: Any, now: Any) -> bool:
    """True if a setting leaves more room than the user gave, as far as a reader of its name and value can tell."""
    if key in RULES:
        return not set(own) <= set(now)
    if isinstance(own, bool) or not isinstance(own, int | float):
        return bool(own != now) and not (key.endswith("subagents") and now is False)
    return bool(now > own or (now == 0 < own and re.search(r"budget|steps|repeat|retention|checkpoints|retry", key)))


@pytest.mark.full
def test_whatever_a_project_sets_loosens_nothing(tmp_path: Path) -> None:
    program = Program(tmp_path)
    program.config(USER)
    own = shown(program)
    judged = [
        key for key in own if any(fnmatch(key, each) for each in CLOSED) or not any(fnmatch(key, each) for each in OPEN)
    ]
    assert len(judged) > 50
    for turn in range(max(map(len, OTHERS.values()))):
        given = {key: options[turn % len(options)] for key in judged for options in [tries(key, own[key])]}
        lines = [f"{toml_key(*key.split('.'))} = {toml_value(value)}" for key, value in given.items()]
        project_sets(program, "\n".join(lines))
        now = shown(program, "--trust")
        assert {key: now[key] for key in judged if is_looser(key, own[key], now[key])} == {}
        untold = [key for key in judged if now[key] == own[key] != given[key] and key not in RULES]
        told = program.run("config", "show", "--trust").err
        assert [key for key in untold if told.count(f"'{key}' in ") != 1] == []


def test_what_a_project_makes_stricter_holds_and_its_rules_are_added(tmp_path: Path) -> None:
    program = Program(tmp_path)
    program.config(USER)
    project_sets(
        program,
        'sandbox = "require"\n[permissions]\ndeny = ["bash(curl *)", "bash(rm *)"]\nallow = ["bash"]\n'
        "[budget.session]\ncost = 2\ntokens = 0\n[context]\nsoft = 0.6\n[tools]\nmatches = 5\n",
    )
    ran = program.run("config", "show", "--json", "--origin", "--trust")
    held = {key: (each["value"], each["origin"]) for key, each in json.loads(ran.out).items()}
    user, project = str(tmp_path / "config/agentcli/config.toml"), str(program.work / ".agentcli/config.toml")
    assert held["permissions.deny"] == (["bash(rm *)", "bash(curl *)"], f"{user}, {project}")
    assert held["permissions.allow"] == ([], "built-in")
    assert held["budget.session.cost"] == (2.0, project)
    assert held["budget.session.tokens"] == (900, user)
    assert held["sandbox"] == ("require", project)
    assert (held["context.soft"], held["tools.matches"]) == ((0.6, project), (5, project))
    assert ran.err.splitlines() == [
        f"agentcli: 'permissions.allow' in {project} is ignored: a project may not set it. "
        "To have it, set it in your own config.toml (agentcli config set permissions.allow VALUE).",
        f"agentcli: 'budget.session.tokens' in {project} is ignored: a project may only lower it, and it is 900. "
        "To have it, set it in your own config.toml (agentcli config set budget.session.tokens VALUE).",
    ]


@pytest.mark.parametrize(
    "written", ["[general]\nmode = 'yolo'", "'general.mode' = 'yolo'", "'permissions.allow' = ['bash']", "[hooks]\ncommands = [{event = 'Stop', command = 'x'}]", "[[hooks]]\nevent = 'Stop'\ncommand = 'x'", "models.'a/b'.prices.input = 0", "[[models.'a/b'.prices]]\ninput = 0", "[prune]\nprotect = 7\n[providers.x]\nheaders = { a = 'b' }"]
)  # fmt: skip
def test_no_way_of_writing_a_setting_gets_round_that(tmp_path: Path, written: str) -> None:
    program = Program(tmp_path)
    own = shown(program)
    project_sets(program, written)
    now = shown(program, "--trust")
    assert {key: value for key, value in now.items() if own.get(key) != value} == (
        {"context.prune.protect": 7} if "protect" in written else {}
    )


def test_a_project_cannot_make_a_session_cheap_or_see_secrets_or_run_what_is_denied(tmp_path: Path) -> None:
    program = Program(tmp_path)
    program.config('[permissions]\nallow = ["bash"]\ndeny = ["bash(touch *)"]\n')
    name = MODELS["anthropic"]
    project_sets(
        program,
        f'[permissions]\ndeny = []\n[tools]\nbash_secrets = ["MY_TOKEN"]\n[models."{name}".prices]\ninput = 0\noutput = 0\n',
    )
    steps = [call("bash", command="touch owned"), call("bash", command="echo =$MY_TOKEN=")]
    with Loopback([*(say("", step) for step in steps), say("Done.")]) as server:
        program.more = {**server.env, "MY_TOKEN": "tok-123456789abcdef"}
        ran = program.ask("-p", "go", "-m", name, "--trust", "--set", "agent.titles=false")
    assert not (program.work / "owned").exists()
    assert "tok-123456789abcdef" not in ran.out
    assert ran.result["cost"] > 0
