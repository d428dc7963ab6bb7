"""Answers against a JSON Schema: without a terminal, resumed, with a goal, and in the Python API."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import agentcli
from tests.e2e.program import Program
from tests.sampling import first

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@pytest.fixture
def program(tmp_path: Path) -> Program:
    program = Program(tmp_path)
    (program.base / "schema.json").write_text(json.dumps(SCHEMA))
    return program


def script(program: Program, *replies: dict[str, Any]) -> tuple[str, ...]:
    file = program.base / "script.json"
    file.write_text(json.dumps({"replies": replies, "then": "fail"}))
    return ("-m", f"script:{file}", "--mode", "yolo", "--output-schema", str(program.base / "schema.json"))


GOOD, BAD = {"text": '```json\n{"n": 3}\n```'}, {"text": "It is three."}
CALL = {"text": "I look first.", "calls": [{"name": "bash", "input": {"command": "echo hi"}}]}


def test_the_answer_is_the_json_alone_and_replies_with_calls_are_free(program: Program) -> None:
    ran = program.run("-p", "how many?", *script(program, CALL, GOOD))
    assert (ran.code, ran.out) == (0, '{"n": 3}\n')
    [prompt] = [record for record in program.records() if record.get("role") == "user"]
    assert [part["text"] for part in prompt["parts"] if not part["synthetic"]] == ["how many?"]
    assert any('"required": ["n"]' in part["text"] for part in prompt["parts"] if part["synthetic"])


def test_a_wrong_answer_is_corrected_once_with_its_faults_named(program: Program) -> None:
    ran = program.ask("-p", "how many?", *script(program, {"text": '{"n": "3"}'}, GOOD))
    assert (ran.code, ran.result["text"], ran.result["subtype"]) == (0, '{"n": 3}', "done")
    asked = [record for record in program.records() if record.get("role") == "user"]
    assert "$.n: '3' is not of type 'integer'" in asked[1]["parts"][0]["text"]
    assert any("asked once more" in line["message"] for line in ran.of("warning"))


@pytest.mark.parametrize("form", first(1, ["text", "json", "stream-json"]))
def test_an_answer_that_stays_wrong_is_exit_65_and_nothing_on_stdout_but_the_result(
    form: str, program: Program
) -> None:
    ran = program.run("-p", "how many?", "-o", form, *script(program, BAD, {"text": "[]"}, GOOD))
    assert ran.code == 65
    assert "[] is not of type 'object'" in ran.err
    if form == "text":
        assert ran.out == ""
    else:
        assert (ran.result["subtype"], ran.result["status"], ran.result["exit_code"]) == ("schema", "error", 65)


def test_limits_count_for_both_tries_together(program: Program) -> None:
    ran = program.ask("-p", "how many?", "--max-turns", "1", *script(program, BAD, GOOD))
    assert (ran.code, ran.result["subtype"]) == (53, "limit")


@pytest.mark.full
def test_it_works_in_a_continued_session_and_with_a_goal(program: Program) -> None:
    assert program.run("-p", "how many?", *script(program, GOOD)).code == 0
    ran = program.run("-c", "-p", "and now?", *script(program, {"text": '{"n": 4}'}))
    assert (ran.code, ran.out) == (0, '{"n": 4}\n')
    goal = program.run("-c", "-p", "go", "--goal", "--check true it is done", *script(program, BAD, GOOD))
    assert (goal.code, goal.out) == (0, '{"n": 3}\n')


def test_what_cannot_hold_is_refused_before_anything_is_asked(program: Program) -> None:
    asked = script(program, GOOD)
    (program.base / "schema.json").write_text('{"type": 1}')
    assert program.run("-p", "how many?", *asked).code == 42
    assert program.run("-p", "how many?", *asked[:-1], "missing.json").code == 42
    assert program.run("--output-schema", "x.json").code == 2
    assert not program.sessions.exists() or not [*program.sessions.glob("*/*/records/*-message.json")]


def test_an_answer_of_agentcli_itself_is_wrong_usage(program: Program) -> None:
    assert program.run("-p", "/cost", *script(program, GOOD)).code == 2


@pytest.mark.parametrize("given", [SCHEMA, "schema.json"])
def test_the_python_api_takes_a_schema(given: Any, program: Program) -> None:
    model = script(program, BAD, GOOD)[1]
    schema = str(program.base / given) if isinstance(given, str) else given
    result = asyncio.run(
        agentcli.run("how many?", model=model, cwd=program.work, env=program.env, output_schema=schema)
    )
    assert (result.text, result.exit_code) == ('{"n": 3}', 0)
    assert json.loads(result.text) == {"n": 3}


def test_a_run_without_a_schema_sends_and_loads_nothing_of_it(program: Program) -> None:
    ran = program.run("-p", "how many?", *script(program, BAD)[:-2])
    assert (ran.code, ran.out) == (0, "It is three.\n")
    assert "JSON Schema" not in json.dumps(program.records())
