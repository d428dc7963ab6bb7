"""Sessions of Claude Code, Gemini CLI and Codex become records of ours."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from agentcli.core.codec.encode import decode, encode
from agentcli.core.errors import InputError
from agentcli.core.history import fold
from agentcli.core.message import File, Image, Message, Text, Thinking, ToolResult, Usage
from agentcli.core.record import Compaction, Failure, Record, Settings, Title, Todo, TodoItem
from agentcli.extras.importers.sessions import Imported, Timed, read
from tests.sampling import sampled
from tests.tables import each_row

SAMPLES = Path(__file__).parent / "sessions" / "samples"
ALL = sorted(path.name for path in SAMPLES.iterdir())


def of(session: Imported, kind: type) -> list[Any]:
    return [body for _, body in session.bodies if isinstance(body, kind)]


def prompts(session: Imported) -> list[str]:
    return [body.text for body in of(session, Message) if body.role == "user" and body.text]


def calls(session: Imported) -> list[tuple[str, Any]]:
    return [(call.name, dict(call.input)) for body in of(session, Message) for call in body.calls]


@each_row("name", ALL)
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


@each_row("name", ALL)
def test_times_never_run_backwards_and_turns_count_the_prompts(name: str):
    session = read(SAMPLES / name)
    history = fold([Record(seq, "", time, "", body) for seq, (time, body) in enumerate(session.bodies, 1)])
    assert history.turn == len(prompts(session))
    assert (history.title, history.model) == (session.title, session.model)
    assert [time for time, _ in session.bodies] == sorted(time for time, _ in session.bodies)


def with_line(name: str, folder: Path, *damage: str, at: int = 2) -> Path:
    """The sample with other lines put in."""
    lines = (SAMPLES / name).read_text().split("\n")
    file = folder / name
    file.write_text("\n".join([*lines[:at], *damage, *lines[at:]]))
    return file


@pytest.mark.parametrize("damage", ["\0\0", '{"type": "mess', "[1]", "7"])
@each_row("name", [name for name in ALL if name.endswith("l")])
def test_a_line_that_is_damaged_is_left_out_and_named(name: str, damage: str, tmp_path: Path):
    whole, read_again = read(SAMPLES / name), read(with_line(name, tmp_path, damage))
    assert read_again.bodies == whole.bodies
    assert [note for note in read_again.notes if note not in whole.notes] == ["line 3 is damaged and left out"]


def test_damaged_lines_are_named_together_and_the_first_ten_of_many(tmp_path: Path):
    some = read(with_line("codex.jsonl", tmp_path, "\0", "\0"))
    assert some.notes == ("lines 3, 4 are damaged and left out",)
    lines = len((SAMPLES / "codex.jsonl").read_text().splitlines())
    many = read(with_line("codex.jsonl", tmp_path, *["\0"] * (lines - 1)))
    assert many.notes == (f"lines 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 and {lines - 11} more are damaged and left out",)


def test_a_line_that_is_no_text_is_left_out_too(tmp_path: Path):
    file = with_line("codex.jsonl", tmp_path, "damage")
    file.write_bytes(file.read_bytes().replace(b"damage", b'{"type": "\xff\xfe"}'))
    assert read(file).notes == ("line 3 is damaged and left out",)


def test_a_file_that_is_mostly_damaged_is_refused(tmp_path: Path):
    lines = len((SAMPLES / "codex.jsonl").read_text().splitlines())
    with pytest.raises(InputError, match=rf"line 3: not JSON .*and {lines} more of {2 * lines + 1} lines"):
        read(with_line("codex.jsonl", tmp_path, *["\0"] * (lines + 1)))


@pytest.mark.parametrize("name", ["gemini-cli.json", "opencode-1.18.33.json"])
def test_one_object_that_is_damaged_is_refused(name: str, tmp_path: Path):
    with pytest.raises(InputError, match="not a session"):
        read(with_line(name, tmp_path, "\0\0"))


def test_an_entry_without_what_belongs_in_it_is_left_out_and_named(tmp_path: Path):
    odd = '{"timestamp": "2025-10-29T00:59:01Z", "type": "response_item", "payload": {"type": "message"}}'
    assert read(with_line("codex.jsonl", tmp_path, odd)).notes == ("line 3: no field 'role'; it was left out",)


def test_a_file_of_nothing_but_a_subagents_work_is_refused(tmp_path: Path):
    file = tmp_path / "agent.jsonl"
    lines = (SAMPLES / "claude-code.jsonl").read_text().splitlines()
    file.write_text("\n".join(json.dumps({**json.loads(line), "isSidechain": True}) for line in lines))
    with pytest.raises(InputError, match="only a subagent's work: import the file of the session that started it"):
        read(file)


@pytest.mark.parametrize("name", ["codex.jsonl", "claude-code.jsonl", "pi-0.74.2.jsonl"])
def test_a_file_in_which_nothing_was_said_is_refused(name: str, tmp_path: Path):
    file = tmp_path / name
    kinds = ("session_meta", "session", "system")
    kept = [line for line in (SAMPLES / name).read_text().splitlines() if json.loads(line).get("type") in kinds]
    file.write_text("\n".join(kept))
    with pytest.raises(InputError, match="contains no prompt and no reply"):
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


def test_a_codex_output_that_begins_with_its_command_has_an_exit_code_too(tmp_path: Path):
    text = (SAMPLES / "codex-0.169.0.jsonl").read_text()
    file = tmp_path / "rollout.jsonl"
    file.write_text(
        text.replace('"output": "Chunk ID: ', r'"output": "Command: /bin/zsh -lc \"cat a\nls\"\nChunk ID: ')
    )
    before, after = (of(read(path), ToolResult) for path in (SAMPLES / "codex-0.169.0.jsonl", file))
    assert file.read_text() != text
    assert [(one.output, one.metadata) for one in after] == [(one.output, one.metadata) for one in before]


def test_an_early_codex_session_is_read_too():
    session = read(SAMPLES / "codex-early.jsonl")
    assert prompts(session) == ["Say hello"]
    assert calls(session) == [("bash", {"command": "echo hello"})]
    assert of(session, ToolResult)[0].output == "hello\n"


def test_codex_compaction_keeps_the_persons_words_and_its_summary_is_no_reply():
    session = read(SAMPLES / "codex-0.169.0.jsonl")
    (cut,) = of(session, Compaction)
    assert [(words.turn, words.text) for words in cut.user_words] == [
        (1, "Totals are off by a cent. Fix cart.py; never touch the tests."),
        (2, "What is left?"),
        (3, "Run the slow thing."),
        (4, "Say something long."),
        (5, "Is the server there?"),
        (6, "Now a big one."),
    ]
    for words in cut.user_words:
        assert session.bodies[words.seq - 1][1].text == words.text
    assert cut.snapshot.endswith("SUMMARY: cart.py rounds now; the tests are untouched.")
    assert (cut.model, cut.usage) == ("rig/gpt-5.5", Usage(input=7000, output=30))
    assert not [said for said in of(session, Message) if said.text.startswith("SUMMARY")]


def test_codex_words_that_a_compaction_shortened_are_known_by_their_beginning(tmp_path: Path):
    file = tmp_path / "short.jsonl"
    lines = [json.loads(line) for line in (SAMPLES / "codex-0.169.0.jsonl").read_text().splitlines()]
    (compacted,) = [line["payload"] for line in lines if line["type"] == "compacted"]
    said = compacted["replacement_history"]
    said[0]["content"][0]["text"] = "Totals are off by a cent. Fix cart.py; never […]"
    said[1]["content"][0]["text"] = "Nobody said this."
    file.write_text("\n".join(map(json.dumps, lines)))
    kept = of(read(file), Compaction)[0].user_words
    assert [words.text for words in kept][:2] == [said[0]["content"][0]["text"], "Run the slow thing."]


def test_codex_compaction_that_only_its_provider_can_read_leaves_all_in_view(tmp_path: Path):
    file = tmp_path / "sealed.jsonl"
    lines = [json.loads(line) for line in (SAMPLES / "codex-0.169.0.jsonl").read_text().splitlines()]
    for line in lines:
        if line["type"] == "compacted":
            sealed = {"type": "compaction", "encrypted_content": "gAAAA"}
            line["payload"] |= {"message": "", "replacement_history": [sealed]}
    file.write_text("\n".join(map(json.dumps, lines)))
    session = read(file)
    assert not of(session, Compaction)
    assert session.notes == ("the summary of a compaction (1 in all) is encrypted: what came before stays in view",)


def test_codex_failures_and_the_usage_of_each_reply_are_read():
    session = read(SAMPLES / "codex-0.169.0.jsonl")
    assert of(session, Failure) == [Failure("bad thing", "model")]
    killed = next(said for said in of(session, Message) if said.text == "It may take a while.")
    assert killed.usage == Usage(input=6500, output=20, cache_read=5000)
    assert all(said.usage for said in of(session, Message) if said.role == "assistant")


def test_the_title_of_a_codex_session_that_begins_with_a_picture_is_its_prompt(tmp_path: Path):
    content = [
        {"type": "input_text", "text": "<image name=[Image #1]>"},
        {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="},
        {"type": "input_text", "text": "</image>"},
        {"type": "input_text", "text": "[Image #1] Why is this red?"},
    ]
    said = {"type": "message", "role": "user", "content": content}
    meta = {"id": "x", "timestamp": "2026-01-05T09:00:00.000Z", "cwd": "/home/dev"}
    lines = [{"type": "session_meta", "payload": meta}, {"type": "response_item", "payload": said}]
    file = tmp_path / "rollout.jsonl"
    file.write_text("\n".join(json.dumps({"timestamp": meta["timestamp"], **line}) for line in lines))
    session = read(file)
    assert session.title == "[Image #1] Why is this red?"
    [message] = of(session, Message)
    assert message.parts == (Image("image/png", "iVBORw0KGgo="), Text("[Image #1] Why is this red?"))


def test_codex_patches_have_their_diff_and_pictures_are_read():
    session = read(SAMPLES / "codex-0.169.0.jsonl")
    edit = next(result for result in of(session, ToolResult) if result.name == "edit")
    assert (edit.metadata["path"], edit.metadata["additions"]) == ("/home/dev/shop/cart.py", 1)
    assert "+    return round(sum(items), 2)\n" in edit.metadata["diff"]
    assert ("read", {"file_path": "/home/dev/shop/logo.png"}) in calls(session)
    assert [(r.name, r.status) for r in of(session, ToolResult) if r.output.startswith("unsupported")] == [
        ("todo", "error")
    ]


def test_claude_code_tasks_are_the_todo_list():
    session = read(SAMPLES / "claude-code-2.1.197.jsonl")
    assert [[(item.content, item.status) for item in todo.items] for todo in of(session, Todo)] == [
        [("Round totals", "pending")],
        [("Round totals", "pending"), ("Run the tests", "pending")],
        [("Round totals", "completed"), ("Run the tests", "pending")],
        [("Round totals", "completed"), ("Run the tests", "in_progress")],
    ]
    assert of(session, Compaction)[0].carry.todo == of(session, Todo)[-1].items


def test_claude_code_words_put_in_a_replys_place_are_no_failure():
    session = read(SAMPLES / "claude-code-2.1.197.jsonl")
    assert "No response requested." in (SAMPLES / "claude-code-2.1.197.jsonl").read_text()
    assert [failure.message for failure in of(session, Failure)] == ["API Error: 400 bad thing"]


def test_claude_code_compaction_keeps_what_it_preserved(tmp_path: Path):
    file = tmp_path / "kept.jsonl"
    lines = [json.loads(line) for line in (SAMPLES / "claude-code-2.1.197.jsonl").read_text().splitlines()]
    head = next(line["uuid"] for line in lines if (line.get("message") or {}).get("content") == "Run the slow thing.")
    for line in lines:
        if "compactMetadata" in line:
            line["compactMetadata"]["preservedSegment"]["headUuid"] = head
    file.write_text("\n".join(map(json.dumps, lines)))
    session = read(file)
    (cut,) = of(session, Compaction)
    assert session.bodies[cut.kept_from - 1][1].text == "Run the slow thing."


def attachment(key: str, parent: str, **raw: Any) -> dict[str, Any]:
    return {
        "parentUuid": parent,
        "isSidechain": False,
        "attachment": raw,
        "type": "attachment",
        "uuid": key,
        "timestamp": "2026-11-22T06:57:00.000Z",
        "cwd": "/home/dev/shop",
        "version": "2.1.197",
    }


def test_claude_code_attachments_stand_ahead_of_the_words_of_their_prompt(tmp_path: Path):
    said = {
        "sessionId": "s",
        "isSidechain": False,
        "timestamp": "2026-11-22T06:57:00.000Z",
        "cwd": "/home/dev/shop",
        "version": "2.1.197",
    }
    text = {"filePath": "/home/dev/shop/cart.py", "content": "x = 1\n", "numLines": 2, "startLine": 1, "totalLines": 2}
    picture = {"base64": "aGk=", "type": "image/png", "originalSize": 2}
    pdf = {"filePath": "/home/dev/shop/a.pdf", "base64": "aGk=", "originalSize": 2}
    asked = {"role": "user", "content": "Look at @cart.py, @a.png, @a.pdf and @tests"}
    answer = {
        "id": "m",
        "role": "assistant",
        "model": "claude-sonnet-4-5",
        "content": [{"type": "text", "text": "Seen."}],
    }
    lines = [
        {"type": "user", "uuid": "a", "parentUuid": None, "message": asked, **said},
        attachment(
            "b",
            "a",
            type="file",
            filename="/home/dev/shop/cart.py",
            content={"type": "text", "file": text},
            displayPath="cart.py",
        ),
        attachment("c", "b", type="skill_listing", content="…"),
        attachment("d", "c", type="file", filename="/home/dev/shop/a.png", content={"type": "image", "file": picture}),
        attachment("e", "d", type="file", filename="/home/dev/shop/a.pdf", content={"type": "pdf", "file": pdf}),
        attachment(
            "f", "e", type="directory", path="/home/dev/shop/tests", content="test_cart.py", displayPath="tests"
        ),
        attachment("g", "f", type="file", filename="/home/dev/shop/odd.py", content={"type": "text"}),
        {"type": "assistant", "uuid": "h", "parentUuid": "g", "message": answer, **said},
    ]
    file = tmp_path / "session.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    session = read(file)
    prompt, reply = of(session, Message)
    assert prompt.parts == (
        File("text/plain", "/home/dev/shop/cart.py", "x = 1\n"),
        Image("image/png", "aGk=", "/home/dev/shop/a.png"),
        File("application/octet-stream", "/home/dev/shop/a.pdf"),
        File("inode/directory", "/home/dev/shop/tests", "test_cart.py"),
        Text(asked["content"]),
    )
    assert reply.text == "Seen."
    assert session.notes == ("line 7: no field 'file'; it was left out",)


def test_claude_code_files_that_were_read_again_after_a_compaction_are_nobodys_attachment():
    session = read(SAMPLES / "claude-code-2.1.197.jsonl")
    assert not any(isinstance(part, File) for message in of(session, Message) for part in message.parts)


def test_pi_edits_of_several_places_are_multi_edits():
    session = read(SAMPLES / "pi-0.74.2.jsonl")
    asked = [given for name, given in calls(session) if name == "multi_edit"]
    assert asked[0] == {
        "file_path": "cart.py",
        "edits": [
            {"old_string": "sum(items)", "new_string": "round(sum(items), 2)"},
            {"old_string": "def total", "new_string": "def grand_total"},
        ],
    }
    told = next(result for result in of(session, ToolResult) if result.name == "multi_edit")
    assert (told.metadata["additions"], told.metadata["deletions"]) == (2, 2)


def test_claude_code_commands_that_are_prompts_are_the_users_words_and_the_title(tmp_path: Path):
    said = {"sessionId": "s", "isSidechain": False, "timestamp": "2026-11-22T06:57:00.000Z", "cwd": "/x"}
    tags = "<command-message>fix</command-message>\n<command-name>/fix</command-name>\n<command-args>the <b>cart</b></command-args>"
    carried_out = (
        "<command-name>/model</command-name>\n<command-message>model</command-message>\n<command-args></command-args>"
    )
    body = [{"type": "text", "text": "Fix the cart, then test."}]
    answer = {
        "id": "m",
        "role": "assistant",
        "model": "claude-opus-4-8",
        "content": [{"type": "text", "text": "Done."}],
    }
    lines = [
        {"type": "user", "uuid": "a", "parentUuid": None, "message": {"role": "user", "content": tags}, **said},
        {
            "type": "user",
            "uuid": "b",
            "parentUuid": "a",
            "isMeta": True,
            "message": {"role": "user", "content": body},
            **said,
        },
        {"type": "assistant", "uuid": "c", "parentUuid": "b", "message": answer, **said},
        {"type": "user", "uuid": "d", "parentUuid": "c", "message": {"role": "user", "content": carried_out}, **said},
    ]
    file = tmp_path / "session.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    session = read(file)
    assert prompts(session) == ["/fix the <b>cart</b>"]
    assert any("Fix the cart, then test." in str(message.parts) for message in of(session, Message))


# Nothing is lost: what a file of today holds, counted in its own terms, against what was imported of it.


WIDE = ("prompts", "replies", "calls", "results", "pictures", "failures", "compactions", "input", "output")


def counts(
    *,
    prompts: int,
    replies: int,
    calls: Iterable[str],
    results: Iterable[str],
    usage: Iterable[tuple[int, int]],
    **more: int,
) -> dict[str, int]:
    spent = list(usage)
    found = {"prompts": prompts, "replies": replies, "calls": len({*calls}), "results": len({*results}), **more}
    return {**found, "input": sum(given for given, _ in spent), "output": sum(made for _, made in spent)}


def in_codex(lines: list[dict[str, Any]]) -> dict[str, int]:
    items = [line["payload"] for line in lines if line["type"] == "response_item"]
    tokens = [line["payload"] for line in lines if line["type"] == "token_usage_record"]
    done = [
        line["payload"] for line in lines if line["type"] == "event_msg" and line["payload"]["type"] == "task_complete"
    ]
    return counts(
        prompts=sum(
            item["type"] == "message" and item["role"] == "user" and not item["content"][0]["text"].startswith("<")
            for item in items
        ),
        replies=len(tokens) - sum(line["type"] == "compacted" for line in lines),
        calls=(item["call_id"] for item in items if item["type"].endswith("_call")),
        results=(item["call_id"] for item in items if item["type"].endswith("_output")),
        pictures=sum("data:image" in str(item.get("output")) for item in items),
        failures=sum("error" in event for event in done),
        compactions=sum(line["type"] == "compacted" for line in lines),
        usage=((each["usage"]["input_tokens"], each["usage"]["output_tokens"]) for each in tokens),
    )


def in_claude_code(lines: list[dict[str, Any]]) -> dict[str, int]:
    replies = {
        line["message"]["id"]: line["message"]
        for line in lines
        if line["type"] == "assistant" and line["message"]["model"] != "<synthetic>"
    }
    blocks = [
        block
        for line in lines
        if line["type"] in ("user", "assistant") and isinstance(line["message"]["content"], list)
        for block in line["message"]["content"]
    ]
    given = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return counts(
        prompts=sum("promptSource" in line for line in lines),
        replies=len(replies),
        calls=(block["id"] for block in blocks if block["type"] == "tool_use"),
        results=(block["tool_use_id"] for block in blocks if block["type"] == "tool_result"),
        pictures=sum(str(block.get("content")).count("'type': 'image'") for block in blocks),
        failures=sum(line.get("isApiErrorMessage") is True for line in lines),
        compactions=sum(line.get("subtype") == "compact_boundary" for line in lines),
        usage=(
            (sum(said["usage"][name] for name in given), said["usage"]["output_tokens"]) for said in replies.values()
        ),
    )


def in_pi(lines: list[dict[str, Any]]) -> dict[str, int]:
    said = [line["message"] for line in lines if line["type"] == "message"]
    replies = [message for message in said if message["role"] == "assistant" and message["content"]]
    return counts(
        prompts=sum(message["role"] == "user" for message in said),
        replies=len(replies),
        calls=(block["id"] for message in replies for block in message["content"] if block["type"] == "toolCall"),
        results=(message["toolCallId"] for message in said if message["role"] == "toolResult"),
        pictures=sum(
            block["type"] == "image"
            for message in said
            if message["role"] == "toolResult"
            for block in message["content"]
        ),
        failures=sum(message.get("stopReason") == "error" for message in said),
        compactions=sum(line["type"] == "compaction" for line in lines),
        usage=(
            (sum(message["usage"][name] for name in ("input", "cacheRead", "cacheWrite")), message["usage"]["output"])
            for message in replies
        ),
    )


def in_opencode(lines: list[dict[str, Any]]) -> dict[str, int]:
    (whole,) = lines
    infos = [message["info"] for message in whole["messages"]]
    parts = [part for message in whole["messages"] for part in message["parts"]]
    tools = [part for part in parts if part["type"] == "tool"]
    finished = [part["tokens"] for part in parts if part["type"] == "step-finish"]
    compactions = sum(part["type"] == "compaction" for part in parts)
    cut = sum(info["role"] == "assistant" and "finish" not in info and "error" not in info for info in infos)
    empty = sum(part["type"] == "text" and not part["text"] for part in parts)
    return counts(
        prompts=sum(info["role"] == "user" for info in infos) - compactions,
        replies=len(finished) - compactions + cut - empty,
        calls=(part["callID"] for part in tools),
        results=(part["callID"] for part in tools if part["state"]["status"] in ("completed", "error")),
        pictures=sum(len(part["state"].get("attachments", ())) for part in tools),
        failures=sum("error" in info for info in infos),
        compactions=compactions,
        usage=(
            (tokens["input"] + tokens["cache"]["read"] + tokens["cache"]["write"], tokens["output"])
            for tokens in finished
        ),
    )


def imported(path: Path) -> dict[str, int]:
    bodies = [body for _, body in read(path).bodies]
    messages = [body for body in bodies if isinstance(body, Message)]
    results = [body for body in bodies if isinstance(body, ToolResult)]
    replies = [message for message in messages if message.role == "assistant"]
    compactions = [body for body in bodies if isinstance(body, Compaction)]
    spent = [*(reply.usage or Usage() for reply in replies), *(each.usage for each in compactions)]
    return counts(
        prompts=sum(bool(message.text) for message in messages if message.role == "user"),
        replies=len(replies),
        calls=(call.call_id for reply in replies for call in reply.calls),
        results=(result.call_id for result in results if result.status != "interrupted"),
        pictures=sum(isinstance(image, Image) for result in results for image in result.images),
        failures=sum(isinstance(body, Failure) for body in bodies),
        compactions=len(compactions),
        usage=((usage.prompt, usage.output) for usage in spent),
    )


@each_row(
    ("name", "held"),
    [
        ("claude-code-2.1.197.jsonl", in_claude_code),
        ("codex-0.169.0.jsonl", in_codex),
        ("opencode-1.18.33.json", in_opencode),
        ("pi-0.74.2.jsonl", in_pi),
    ],
)
def test_all_that_a_file_holds_is_imported(name: str, held: Callable[[list[dict[str, Any]]], dict[str, int]]):
    text = (SAMPLES / name).read_text()
    lines = [json.loads(text)] if name.endswith(".json") else [json.loads(line) for line in text.splitlines()]
    there = held(lines)
    assert imported(SAMPLES / name) == there
    # Each was run afresh, resumed, killed in a call, killed in a reply, refused by its server, and compacted.
    assert min(there[kind] for kind in WIDE) > 0
    assert there["results"] == there["calls"] - 1


# Whatever stands in a file, it is taken over or refused with a reason; never a traceback, never a session that cannot be written.


STRANGE: list[Any] = [
    None,
    True,
    0,
    -1,
    1.5,
    10**30,
    "",
    "x",
    [],
    {},
    [1],
    {"type": "text"},
    [None],
    "\ud800",
    "2026-99-99",
]


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a JSON value at which something else could stand."""
    keys: Any = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from places(value[key])


def damaged(text: str, dice: random.Random) -> str:
    """The file with a value or two replaced by something that does not belong there."""
    try:
        rows = [json.loads(text)]
    except ValueError:
        rows = [json.loads(line) for line in text.split("\n") if line]
    for _ in range(dice.randint(1, 3)):
        holder, key = dice.choice(list(places(rows)))
        if dice.random() < 0.3 and isinstance(holder, dict):
            holder.pop(key, None)
        elif isinstance(holder, dict) or key < len(holder):
            holder[key] = copy.deepcopy(dice.choice(STRANGE))  # what is shared would be damaged in every file
    return "\n".join(map(json.dumps, rows))


def bodies(file: Path) -> Sequence[Timed]:
    """The bodies imported; none where the file was refused."""
    try:
        return read(file).bodies
    except InputError:
        return ()


@pytest.mark.parametrize("sample", sampled(sorted(SAMPLES.iterdir()), 3), ids=lambda path: path.name)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**9))
@example(seed=1659)  # a tool whose name is a number
@example(seed=4096)  # a call whose id is not text, in a later line of a reply
def test_a_file_with_something_strange_in_it_is_taken_over_or_refused(sample: Path, seed: int, tmp_path: Path):
    file = tmp_path / "strange"
    file.write_text(damaged(sample.read_text(), random.Random(seed)), encoding="utf-8", errors="surrogatepass")
    for seq, (time, body) in enumerate(bodies(file), 1):
        assert decode(encode(Record(seq, "r", time, "", body))).body == body
