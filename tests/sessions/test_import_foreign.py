"""Sessions of Claude Code, Gemini CLI and Codex become records of ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentcli.core.errors import InputError
from agentcli.core.history import fold
from agentcli.core.message import Image, Message, Text, Thinking, ToolResult, Usage
from agentcli.core.record import Compaction, Failure, Record, Settings, Title, Todo, TodoItem
from agentcli.sessions.importing import Imported, read, recognise

SAMPLES = Path(__file__).parent / "samples_foreign"
ALL = sorted(path.name for path in SAMPLES.iterdir())


def of(session: Imported, kind: type) -> list[Any]:
    return [body for _, body in session.bodies if isinstance(body, kind)]


def prompts(session: Imported) -> list[str]:
    return [body.text for body in of(session, Message) if body.role == "user" and body.text]


def calls(session: Imported) -> list[tuple[str, Any]]:
    return [(call.name, dict(call.input)) for body in of(session, Message) for call in body.calls]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("claude-code.jsonl", "claude-code"),
        ("gemini-cli.json", "gemini-cli"),
        ("gemini-cli.jsonl", "gemini-cli"),
        ("codex.jsonl", "codex"),
        ("codex-early.jsonl", "codex"),
    ],
)
def test_a_file_is_recognised_by_what_stands_in_it(name: str, expected: str, tmp_path: Path):
    anonymous = tmp_path / "session"
    anonymous.write_bytes((SAMPLES / name).read_bytes())
    assert recognise(anonymous) == expected


@pytest.mark.parametrize("name", ALL)
def test_every_call_is_answered_once_right_behind_its_message(name: str):
    bodies = [body for _, body in read(SAMPLES / name).bodies if not isinstance(body, Todo)]
    asked: list[str] = []
    for body in bodies:
        if isinstance(body, ToolResult):
            assert asked
            assert body.call_id == asked.pop(0)
        else:
            assert not asked
            asked = [call.call_id for call in body.calls] if isinstance(body, Message) else []
    assert not asked


@pytest.mark.parametrize("name", ALL)
def test_times_never_run_backwards_and_turns_count_the_prompts(name: str):
    session = read(SAMPLES / name)
    history = fold([Record(seq, "", time, "", body) for seq, (time, body) in enumerate(session.bodies, 1)])
    assert history.turn == len(prompts(session))
    assert (history.title, history.model) == (session.title, session.model)
    assert [time for time, _ in session.bodies] == sorted(time for time, _ in session.bodies)


@pytest.mark.parametrize("name", ALL)
def test_any_line_that_is_damaged_is_named(name: str, tmp_path: Path):
    lines = (SAMPLES / name).read_text().split("\n")
    file = tmp_path / name
    file.write_text("\n".join([*lines[:2], "\0\0", *lines[2:]]))
    with pytest.raises(InputError, match=r"line 3|not a session"):
        read(file)


def test_claude_code_talk_is_taken_over():
    session = read(SAMPLES / "claude-code.jsonl")
    assert (session.title, session.cwd) == ("Rounding of totals in the shop", "/home/ada/shop")
    assert session.model == "anthropic/claude-sonnet-4-5-20250929"
    assert prompts(session) == [
        "Totals are wrong by a cent, fix it. Never touch the tests.",
        "No removing. What is left?",
        "Run the tests",
    ]
    assert session.notes == ("2 entries of abandoned branches were left out",)
    asked = of(session, Message)[0]
    assert [part.source for part in asked.parts if isinstance(part, Text)] == ["reminder", "shell", "shell", ""]
    assert asked.parts[-1] == Image("image/png", "iVBORw0KGgo=")


def test_claude_code_replies_written_over_several_lines_are_one():
    session = read(SAMPLES / "claude-code.jsonl")
    first = next(body for body in of(session, Message) if body.role == "assistant")
    assert first.parts[:2] == (
        Thinking("Look at the cart and its test."),
        Text("I look at both files."),
    )
    assert [call.call_id for call in first.calls] == ["toolu_A", "toolu_B"]
    assert (first.usage, first.stop) == (Usage(4, 180, 0, 14000, 1200), "tool_use")
    assert "subagent" not in str(session.bodies)


def test_claude_code_results_keep_their_outcome():
    results = {body.call_id: body for body in of(read(SAMPLES / "claude-code.jsonl"), ToolResult)}
    assert {key: result.status for key, result in results.items()} == {
        "toolu_A": "success",
        "toolu_B": "error",
        "toolu_C": "success",
        "toolu_D": "success",
        "toolu_E": "denied",
        "toolu_F": "success",
    }
    assert results["toolu_B"].metadata == {"exit_code": 1}
    assert results["toolu_F"].metadata == {"exit_code": 0}
    edit = results["toolu_C"].metadata
    assert (edit["path"], edit["additions"], edit["deletions"]) == ("/home/ada/shop/cart.py", 1, 1)
    assert "@@ -1,2 +1,2 @@\n def total(items):\n-    return sum(items)\n+" in edit["diff"]


def test_claude_code_compaction_todo_and_failure_are_taken_over():
    session = read(SAMPLES / "claude-code.jsonl")
    (cut,) = of(session, Compaction)
    assert (cut.trigger, cut.tokens_before) == ("manual", 15613)
    assert "The rounding was fixed in cart.py." in cut.snapshot
    assert cut.covers[1] == cut.kept_from - 1
    assert of(session, Todo) == [
        Todo((TodoItem("Fix the rounding", "completed", "Fixing the rounding"), TodoItem("Run the tests", "in_progress", "Running the tests")))
    ]  # fmt: skip
    assert cut.carry.todo == of(session, Todo)[0].items
    assert [failure.message for failure in of(session, Failure)] == ["API Error: 529 overloaded_error"]


def test_gemini_cli_talk_is_taken_over():
    session = read(SAMPLES / "gemini-cli.json")
    assert prompts(session) == ["List the failing tests", "Go on, but run nothing."]
    assert (session.model, session.title) == ("google/gemini-2.5-pro", "List the failing tests")
    first = of(session, Message)[1]
    assert first.parts[0] == Thinking("Running the tests\nI will see which ones fail.")
    assert first.usage == Usage(input=1123, output=173, reasoning=112, cache_read=7000)
    assert calls(session)[:2] == [
        ("bash", {"command": "npm test", "description": "Run the tests"}),
        ("read", {"file_path": "/home/ada/web/none.ts"}),
    ]
    assert of(session, Todo) == [Todo((TodoItem("Mend the sum", "in_progress"),))]


def test_gemini_cli_results_are_what_the_model_was_told():
    results = of(read(SAMPLES / "gemini-cli.json"), ToolResult)
    assert [(result.name, result.status) for result in results] == [
        ("bash", "error"),
        ("read", "error"),
        ("todo", "success"),
        ("edit", "success"),
        ("bash", "interrupted"),
    ]
    assert results[0].metadata == {"exit_code": 1}
    assert results[1].output == "File not found: /home/ada/web/none.ts"
    assert results[3].metadata["additions"] == 1
    assert "+a + b" in results[3].metadata["diff"]


def test_gemini_cli_lines_say_the_same_as_the_object_after_amendments_and_a_rewind():
    whole, lines = read(SAMPLES / "gemini-cli.json"), read(SAMPLES / "gemini-cli.jsonl")
    assert (lines.title, lines.cwd) == ("Mending the sum", "/home/ada/web")
    strip = [body for _, body in lines.bodies if not isinstance(body, Title)]
    assert strip == [body for _, body in whole.bodies if not isinstance(body, Title)]


def test_codex_talk_is_taken_over():
    session = read(SAMPLES / "codex.jsonl")
    assert (session.cwd, session.model, session.time) == (
        "/home/ada/lib",
        "openai/gpt-5-codex",
        "2025-10-29T00:59:00.308Z",
    )
    assert prompts(session) == ["Mend the parser", "Thanks"]
    asked, first = of(session, Message)[:2]
    assert [part.source for part in asked.parts if isinstance(part, Text)] == ["reminder", "reminder", ""]
    assert first.parts[:2] == (Thinking("**Looking around**"), Text("I run the tests first."))
    assert first.usage == Usage(input=208, output=210, reasoning=128, cache_read=4992)
    assert of(session, Settings) == [Settings(model="openai/gpt-5-codex")]
    assert of(session, Compaction)[0].snapshot == "The parser was mended in src/parse.rs."


def test_codex_commands_and_patches_become_our_tools():
    session = read(SAMPLES / "codex.jsonl")
    named = calls(session)
    assert [name for name, _ in named] == ["bash", "todo", "edit", "write", "apply_patch", "bash"]
    assert (named[0][1]["command"], named[5][1]["command"]) == ("cargo test", "cargo test")
    assert named[2][1] == {
        "file_path": "src/parse.rs",
        "old_string": "fn parse() {\n    old();\n}",
        "new_string": "fn parse() {\n    new();\n}",
    }
    assert named[3][1] == {"file_path": "notes.md", "content": "# Notes\ndone\n"}
    results = of(session, ToolResult)
    assert (results[0].output, results[0].status, results[0].metadata) == (
        "test parse ... FAILED\n",
        "error",
        {"exit_code": 101},
    )
    assert (results[5].output, results[5].metadata) == ("test parse ... ok\n", {"exit_code": 0})
    assert of(session, Todo) == [Todo((TodoItem("Mend", "in_progress"), TodoItem("Test")))]


def test_an_early_codex_session_is_read_too():
    session = read(SAMPLES / "codex-early.jsonl")
    assert prompts(session) == ["Say hello"]
    assert calls(session) == [("bash", {"command": "echo hello"})]
    assert of(session, ToolResult)[0].output == "hello\n"
