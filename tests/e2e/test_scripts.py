"""Scripts as a run has them: real processes, servers and sandbox, and requests that a provider accepts."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import tests.features.mcp.fake_server
from agentcli.permissions.sandbox import detect
from agentcli.providers.scripted.model import Reply, say
from tests.e2e.program import Program, Ran
from tests.features.mcp.played_servers import calls
from tests.loopback import Loopback

pytestmark = pytest.mark.skipif(not detect().closes, reason="scripts need bubblewrap")
MODELS = ("anthropic/claude-sonnet-5", "google/gemini-3.8-flash", "openai/gpt-5.5")
ON = ("--set", "tools.scripts=on")
COUNTING = """
names = sorted(glob("*.log").splitlines())
texts = gather(read, names)
errors = sum(text.count("ERROR") for text in texts)
print(len(names), "files", errors, "errors")
"""


def logs(program: Program) -> None:
    for n in range(12):
        (program.work / f"{n:02}.log").write_text("INFO fine\nERROR bad\n" * n)


def asked(
    program: Program, *replies: Reply, more: tuple[str, ...] = ON, model: str = MODELS[0]
) -> tuple[Ran, list[Any]]:
    """The run of a model with these replies, and the bodies of its requests."""
    with Loopback([*replies, say("done")]) as server:
        program.more = server.env
        ran = program.ask("-p", "count", "-m", model, *more)
        assert ran.code == 0, ran.err
        return ran, [each.json for each in server.asked if not each.counting]


def fake(program: Program, count: int) -> tuple[str, ...]:
    """The flags for a server with so many tools."""
    named = ({"name": f"tool_{n}", "description": "Do.", "inputSchema": {"type": "object"}} for n in range(count - 1))
    text = {"type": "object", "properties": {"text": {"type": "string"}}}
    tools = [{"name": "echo", "description": "Say it again.", "inputSchema": text}, *named]
    (program.work / "tools.json").write_text(json.dumps(tools))
    server = {"command": sys.executable, "args": [str(Path(tests.features.mcp.fake_server.__file__))]}
    return ("--mcp-config", json.dumps({"mcpServers": {"my-server": server}}))


@pytest.mark.parametrize("model", [MODELS[0], *(pytest.param(name, marks=pytest.mark.full) for name in MODELS[1:])])
def test_only_what_a_script_prints_reaches_the_model(program: Program, model: str) -> None:
    logs(program)
    ran, requests = asked(program, calls("script", code=COUNTING), model=model)
    (answer,) = [line for line in ran.of("tool_result") if "within" not in line]
    assert answer["output"].startswith("12 files 66 errors\n[13 calls; recall")
    sent = json.dumps(requests[-1])
    assert "12 files 66 errors" in sent
    assert "ERROR bad" not in sent
    inner = [line for line in ran.of("tool_result") if line.get("within") == answer["id"]]
    assert [line["name"] for line in inner] == ["glob", *["read"] * 12]
    assert [line["id"] for line in ran.of("tool_call") if "within" in line] == [line["id"] for line in inner]


@pytest.mark.full
def test_the_results_of_its_calls_are_recalled_also_in_a_later_run(program: Program) -> None:
    logs(program)
    ran, _ = asked(program, calls("script", code=COUNTING))
    call_id = next(line["id"] for line in ran.of("tool_call"))
    with Loopback([calls("recall", id=f"{call_id}-3"), calls("recall", pattern="INFO fine"), say("done")]) as server:
        program.more = server.env
        again = program.ask("resume", ran.result["session_id"], "-p", "look", "-m", MODELS[0])
    assert again.code == 0, again.err
    whole, found = [line["output"] for line in again.of("tool_result")]
    assert whole.endswith("INFO fine\nERROR bad")
    assert "output read]" in found
    assert "1 of 1 session OK" in program.run("sessions", "check", ran.result["session_id"]).out
    shown = program.run("sessions", "export", ran.result["session_id"], "-f", "md").out
    assert shown.count("Read ") + shown.count("read ") >= 12


@pytest.mark.full
def test_a_session_lists_it_where_servers_bring_many_tools_or_the_setting_says_so(program: Program) -> None:
    def listed(*more: str) -> bool:
        (init,) = asked(program, more=more)[0].of("init")
        return "script" in init["tools"]

    assert [listed(*fake(program, count)) for count in (19, 20)] == [False, True]
    assert not listed()
    assert listed(*ON)
    assert not listed(*fake(program, 20), "--set", "tools.scripts=off")
    assert not listed(*ON, "--set", "sandbox=off")
    told = json.loads(program.run("tools", "--model", MODELS[0], "--json").out)
    assert "script" not in {each["name"] for each in told}


@pytest.mark.full
def test_a_script_calls_the_tools_of_servers_as_rules_allow(program: Program) -> None:
    code = """
print(mcp.my_server.echo("one"), mcp["my-server"]["echo"](text="two"), gather(mcp.my_server.echo, [{"text": "a"}, "b"]))
try:
    mcp.my_server.tool_1()
except ToolError as error:
    print("refused:", error)
"""
    rules = ("--allow", "mcp__my-server__echo")
    ran, _ = asked(program, calls("script", code=code), more=(*fake(program, 20), *rules))
    (answer,) = [line["output"] for line in ran.of("tool_result") if "within" not in line]
    assert answer.splitlines()[0] == "one two ['a', 'b']"
    assert answer.splitlines()[1].startswith("refused: ")
    assert [(denial["name"], denial["input"]) for denial in ran.result["permission_denials"]] == [
        ("mcp__my-server__tool_1", {})
    ]


@pytest.mark.full
def test_what_a_script_changes_is_undone_as_any_change(program: Program) -> None:
    (program.work / "a.txt").write_text("old\n")
    code = "bash('echo new > a.txt')\nbash('echo more > b.txt')"
    ran, _ = asked(program, calls("script", code=code), more=(*ON, "--mode", "yolo"))
    assert (program.work / "a.txt").read_text() == "new\n"
    assert (program.work / "b.txt").exists()
    for _ in range(2):
        assert program.run("resume", ran.result["session_id"], "-p", "/undo", "-m", "script:echo").code == 0
    assert (program.work / "a.txt").read_text() == "old\n"
    assert not (program.work / "b.txt").exists()
