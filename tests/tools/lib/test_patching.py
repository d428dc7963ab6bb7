"""Patches of a model through the whole program, on every wire: offered to GPT, understood from all, judged file by file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentcli.providers.scripted.model import call, say
from tests.e2e.program import Program
from tests.loopback import Loopback
from tests.loopback.plan import Asked, Raw
from tests.sampling import first, sampled

PATCH = """*** Begin Patch
*** Update File: a.py
@@
-x = 1
+x = 2
*** Add File: new/b.py
+y = 1
*** Delete File: gone.py
*** End Patch
"""
WIRES = {
    "responses": "openai/gpt-6-luna",
    "chat": "mine/gpt-oss-120b",
    "claude": "anthropic/claude-haiku-4-5",
    "gemini": "google/gemini-3.8-flash",
}
Served = Callable[..., tuple[Program, Loopback]]


@pytest.fixture
def served(program: Program) -> Iterator[Served]:
    """A program whose providers are all the loopback server, which gives these replies."""
    servers: list[Loopback] = []

    def serve(*replies: Any) -> tuple[Program, Loopback]:
        server = Loopback([*replies])
        server.__enter__()
        servers.append(server)
        own = f'[providers.mine]\nkind = "openai"\nbase_url = "{server.url}/v1"\napi_key_env = "OPENAI_API_KEY"\n'
        (program.work / "a.py").write_text("x = 1\n")
        (program.work / "gone.py").write_text("z = 1\n")
        made = Program(program.base, {**program.more, **server.env}, program.command)
        made.config(own)
        return made, server

    yield serve
    for server in servers:
        server.__exit__(None, None, None)


def state(folder: Path) -> dict[str, str]:
    """The files of a folder."""
    files = (path for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts)
    return {str(path.relative_to(folder)): path.read_text() for path in files}


BEFORE = {"a.py": "x = 1\n", "gone.py": "z = 1\n"}
AFTER = {"a.py": "x = 2\n", "new/b.py": "y = 1\n"}


def tools_of(asked: Asked) -> set[str]:
    """The names of the tools in a request."""
    raw = asked.json.get("tools") or []
    if asked.wire == "google":
        return {each["name"] for tool in raw for each in tool["functionDeclarations"]}
    return {tool["name"] if "name" in tool else tool["function"]["name"] for tool in raw}


@pytest.mark.full
@pytest.mark.parametrize("wire", WIRES)
def test_a_patch_is_carried_out_on_every_wire_and_its_history_is_accepted(served: Served, wire: str) -> None:
    program, server = served(say("", call("apply_patch", input=PATCH)), say("Done."), say("Again."))
    ran = program.ask("-p", "go", "-m", WIRES[wire], "--mode", "auto-edit")
    assert (ran.code, state(program.work)) == (0, AFTER), ran.err
    again = program.ask("resume", "--last", "-p", "more", "-m", WIRES[wire])
    assert (again.code, again.result["text"]) == (0, "Again.")
    assert not [asked.refused for asked in server.asked if asked.refused]
    offered = tools_of(server.requests[0])
    assert ("apply_patch" in offered, "multi_edit" in offered) == (
        wire in ("responses", "chat"),
        wire not in ("responses", "chat", "gemini"),
    )
    changes = {Path(row["path"]).name for row in _result(program)["metadata"]["files"]}
    assert changes == {"a.py", "b.py", "gone.py"}


def _result(program: Program) -> Any:
    files = sorted(program.sessions.rglob("records/*-tool_result.json"))
    return json.loads(files[0].read_text())


def test_the_responses_wire_takes_it_as_a_text_held_to_a_grammar(served: Served) -> None:
    program, server = served(say("", call("apply_patch", input=PATCH)), say("Done."))
    program.ask("-p", "go", "-m", WIRES["responses"], "--mode", "auto-edit")
    [tool] = [tool for tool in server.requests[0].json["tools"] if tool["name"] == "apply_patch"]
    assert (tool["type"], tool["format"]["syntax"]) == ("custom", "lark")
    items = [item for item in server.requests[1].json["input"] if item["type"].startswith("custom")]
    assert [item["type"] for item in items] == ["custom_tool_call", "custom_tool_call_output"]
    assert items[0]["input"] == PATCH


@pytest.mark.parametrize("wire", first(1, WIRES))
@pytest.mark.parametrize("folder", sampled(["sub", ""], 2))
def test_a_patch_in_a_command_is_carried_out_as_the_edit_that_it_is(served: Served, wire: str, folder: str) -> None:
    command = f"{f'cd {folder} && ' if folder else ''}apply_patch <<'EOF'\n{PATCH}EOF\n"
    program, server = served(say("", call("bash", command=command)), say("Done."))
    if folder:
        (program.work / folder).mkdir()
        for name in BEFORE:
            (program.work / name).rename(program.work / folder / name)
    ran = program.ask("-p", "go", "-m", WIRES[wire], "--mode", "auto-edit")
    assert state(program.work / folder) == AFTER, ran.out
    assert "(as apply_patch)" in ran.of("tool_result")[0]["output"]
    assert not [asked.refused for asked in server.asked if asked.refused]


@pytest.mark.parametrize(
    "rule", first(1, ["edit(gone.py)", "write(new/**)", "read(a.py)", "apply_patch", "multi_edit(a.py)", "edit"])
)
def test_a_rule_about_one_of_the_files_denies_the_whole_patch(served: Served, rule: str) -> None:
    program, _ = served(say("", call("apply_patch", input=PATCH)), say("Done."))
    ran = program.ask("-p", "go", "-m", WIRES["responses"], "--mode", "yolo", "--deny", rule)
    assert (ran.of("tool_result")[0]["status"], state(program.work)) == ("denied", BEFORE)


@pytest.mark.full
def test_a_file_outside_or_protected_makes_the_whole_patch_ask(served: Served, tmp_path: Path) -> None:
    for path in (str(tmp_path / "outside.py"), ".git/hooks/pre-commit"):
        text = PATCH.replace("new/b.py", path)
        program, _ = served(say("", call("apply_patch", input=text)), say("Done."))
        ran = program.ask("-p", "go", "-m", WIRES["responses"], "--mode", "auto-edit")
        assert (ran.of("tool_result")[0]["status"], state(program.work)) == ("denied", BEFORE)


def test_an_allow_rule_for_edits_allows_a_patch_of_those_files_alone(served: Served) -> None:
    rules = ["--allow", "edit(a.py)", "--allow", "edit(gone.py)"]
    for more, status in (([], "denied"), (["--allow", "edit(new/**)"], "success")):
        program, _ = served(say("", call("apply_patch", input=PATCH)), say("Done."))
        ran = program.ask("-p", "go", "-m", WIRES["responses"], *rules, *more)
        assert ran.of("tool_result")[0]["status"] == status


def _broken(text: str, wire: str) -> Raw:
    """A reply with one call of bash that has these arguments."""
    if wire == "claude":
        begun = {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {}}
        return Raw(
            [
                {"type": "message_start", "message": {"usage": {"input_tokens": 5, "output_tokens": 1}}},
                {"type": "content_block_start", "index": 0, "content_block": begun},
                {
                    "type": "content_block_delta",
                    "index": 0,
                    "delta": {"type": "input_json_delta", "partial_json": text},
                },
                {"type": "content_block_stop", "index": 0},
                {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 5}},
                {"type": "message_stop"},
            ]
        )
    if wire == "responses":
        item = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "bash", "arguments": text}
        response = {"id": "resp_1", "status": "completed", "output": [item]}
        return Raw(
            [
                {"type": "response.output_item.done", "output_index": 0, "item": item},
                {"type": "response.completed", "response": response},
            ]
        )
    called = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "bash", "arguments": text}}
    return Raw(
        [
            {"choices": [{"index": 0, "delta": {"tool_calls": [called]}, "finish_reason": None}]},
            {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
        ]
    )


TEXTS = [wire for wire in WIRES if wire != "gemini"]
"""The wires on which arguments come as text."""


@pytest.mark.full
@pytest.mark.parametrize("wire", TEXTS)
def test_a_call_whose_arguments_cannot_be_read_stays_in_the_conversation(served: Served, wire: str) -> None:
    text = '{"command": "echo one" "timeout": 5}'
    program, server = served(_broken(text, wire), say("Done."), say("Again."))
    ran = program.ask("-p", "go", "-m", WIRES[wire])
    assert ran.code == 0, ran.err
    [answer] = ran.of("tool_result")
    assert (answer["status"], answer["name"]) == ("error", "bash")
    assert answer["output"] == f"The arguments were not JSON: expected ',' at character 24. You sent: {text}"
    again = program.ask("resume", "--last", "-p", "more", "-m", WIRES[wire])
    assert (again.code, again.result["text"]) == (0, "Again.")
    assert not [asked.refused for asked in server.asked if asked.refused]
    assert all("echo one" in asked.body.decode() for asked in server.requests[1:])


@pytest.mark.parametrize("wire", first(1, TEXTS))
def test_a_slip_with_one_reading_runs_and_the_model_is_told(served: Served, wire: str) -> None:
    program, server = served(_broken('{"command": "echo one", }', wire), say("Done."))
    ran = program.ask("-p", "go", "-m", WIRES[wire])
    [answer] = ran.of("tool_result")
    assert answer["status"] == "success"
    assert answer["output"].splitlines() == ["one", "(the arguments were mended: a comma before the end)"]
    assert not [asked.refused for asked in server.asked if asked.refused]


@pytest.mark.full
def test_a_model_that_sends_nothing_but_unreadable_calls_is_stopped(served: Served) -> None:
    program, server = served(*(_broken(f'{{"command": "{n}" "x"}}', "responses") for n in range(9)))
    ran = program.ask("-p", "go", "-m", WIRES["responses"])
    assert (ran.code, len(server.requests)) == (1, 4)


@pytest.mark.parametrize("wire", first(1, WIRES))
def test_an_unknown_tool_is_answered_with_the_tools_that_this_run_offers(served: Served, wire: str) -> None:
    program, server = served(say("", call("frobnicate", x=1)), say("Done."))
    ran = program.ask("-p", "go", "-m", WIRES[wire])
    named = ran.of("tool_result")[0]["output"].partition("There are: ")[2].rstrip(".")
    assert set(named.split(", ")) == tools_of(server.requests[0])


def test_a_question_that_nobody_can_answer_is_answered_so(served: Served) -> None:
    program, _ = served(say("", call("ask_user", questions=["Which one?"])), say("Done."))
    ran = program.ask("-p", "go", "-m", WIRES["claude"])
    assert ran.of("tool_result")[0]["output"] == "Nobody can answer: decide, and say what you assumed."
