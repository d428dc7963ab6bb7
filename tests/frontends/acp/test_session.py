"""Sessions of an editor, through the SDK's own client."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from acp import RequestError
from acp.schema import (
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    McpServerStdio,
    ResourceContentBlock,
    TextContentBlock,
    TextResourceContents,
)

from agentcli.providers.scripted.model import say
from tests.features.mcp import fake_server
from tests.frontends.acp.editor import Editor, Json, editing, in_loop
from tests.loopback import Loopback

EDIT: Json = {"name": "edit", "input": {"file_path": "a.py", "old_string": "hi", "new_string": "ho"}}
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def told(editor: Editor, call_id: str) -> list[str]:
    """The statuses that the client was told of a call, in order."""
    calls = [update for update in editor.person.updates if update.get("toolCallId") == call_id]
    return list(dict.fromkeys(update["status"] for update in calls))


@pytest.mark.parametrize(
    ("choice", "after", "statuses"),
    [
        ("once", "ho", ["pending", "in_progress", "completed"]),
        ("no", "hi", ["pending", "failed"]),
        (None, "hi", ["pending", "failed"]),
        ("nonsense", "hi", ["pending", "failed"]),
    ],
)
@in_loop
async def test_an_edit_is_shown_as_a_diff_and_made_only_if_the_person_allows_it(
    choice: str | None, after: str, statuses: list[str], tmp_path: Path
) -> None:
    (tmp_path / "work").mkdir()
    file = tmp_path / "work" / "a.py"
    file.write_text("print('hi')\n")
    replies = [{"calls": [{**EDIT, "id": "c1"}]}, {"thinking": "so", "text": "Done."}]
    async with editing(tmp_path, *replies, choose=lambda _: choice) as editor:
        session = await editor.new()
        assert await editor.say(session, "go") == "end_turn"
        assert file.read_text() == f"print('{after}')\n"
        assert editor.person.text == "Done."
        assert [update["content"]["text"] for update in editor.person.of("agent_thought_chunk")] == ["so"]
        [question] = editor.person.questions
        proposal = question["call"]["content"][0]
        assert (proposal["oldText"], proposal["newText"]) == ("print('hi')\n", "print('ho')\n")
        assert [option["kind"] for option in question["options"]][0::3] == ["allow_once", "reject_once"]
        assert told(editor, "c1") == statuses
        assert editor.person.of("tool_call")[0]["locations"] == [{"path": str(file)}]
        if choice == "once":
            assert editor.person.of("tool_call_update")[-1]["content"] == [proposal]


@in_loop
async def test_a_prompt_that_a_hook_keeps_back_is_refused_with_the_reason(tmp_path: Path) -> None:
    hook = {"type": "command", "command": "grep -q secret && echo no secrets here >&2 && exit 2; exit 0"}
    config = tmp_path / "CONFIG" / "agentcli"
    config.mkdir(parents=True)
    (config / "hooks.json").write_text(json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": [hook]}]}}))
    async with editing(tmp_path, {"text": "Done."}) as editor:
        session = await editor.new()
        assert await editor.say(session, "my secret") == "refusal"
        assert "blocked the prompt: no secrets here" in editor.person.text
        assert await editor.say(session, "hello") == "end_turn"
        assert editor.person.text.endswith("Done.")


@in_loop
async def test_hooks_of_the_beginning_run_with_the_session_and_not_with_its_first_prompt(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    os.mkfifo(ran)
    source = r"""sed -E 's/.*"source": *"([a-z]+)".*/\1/'"""
    hook = {"type": "command", "command": f"{source} > {ran}; echo '{json.dumps({'systemMessage': 'Well begun.'})}'"}
    config = tmp_path / "CONFIG" / "agentcli"
    config.mkdir(parents=True)
    (config / "hooks.json").write_text(json.dumps({"hooks": {"SessionStart": [{"hooks": [hook]}]}}))
    async with editing(tmp_path, {"text": "Done."}) as editor:
        cwd, connection = str(editor.work), editor.connection
        session = await editor.new()
        assert await asyncio.to_thread(ran.read_text) == "startup"
        assert editor.person.of("agent_thought_chunk") == []
        assert await editor.say(session, "hello") == "end_turn"
        assert [update["content"]["text"] for update in editor.person.of("agent_thought_chunk")] == ["sed: Well begun."]
        await connection.load_session(cwd=cwd, session_id=session, mcp_servers=[])
        assert await asyncio.to_thread(ran.read_text) == "resume"
        await connection.fork_session(cwd=cwd, session_id=session, mcp_servers=[])
        assert await asyncio.to_thread(ran.read_text) == "fork"


@in_loop
async def test_a_folder_outside_is_added_to_the_session_when_asked_about(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    for name in "ab":
        (tmp_path / "lib" / name).write_text(f"this is {name}\n")
    reads = [{"calls": [{"name": "read", "input": {"file_path": f"../lib/{name}"}}]} for name in "ab"]
    async with editing(tmp_path, *reads, {"text": "Done."}, choose=lambda _: "folder") as editor:
        await editor.say(await editor.new(), "go")
        [question] = editor.person.questions
        assert f"Allow, and add to this session: {tmp_path / 'lib'}" in [one["name"] for one in question["options"]]
        assert "this is b" in str(editor.person.updates)


@in_loop
async def test_a_cancelled_question_and_a_cancelled_turn_end_it_as_cancelled(tmp_path: Path) -> None:
    replies = [{"calls": [{"name": "bash", "input": {"command": "touch x"}, "id": f"c{n}"}]} for n in range(3)]
    async with editing(tmp_path, *replies, choose=lambda _: "cancelled") as editor:
        session = await editor.new()
        assert await editor.say(session, "go") == "cancelled"
        editor.person.choose = lambda _: "wait"
        editor.person.asked.clear()
        turn = asyncio.create_task(editor.say(session, "again"))
        await editor.person.asked.wait()
        with pytest.raises(RequestError, match="A turn is running; cancel it first"):
            await editor.say(session, "meanwhile")
        await editor.connection.cancel(session_id=session)
        assert await turn == "cancelled"
        assert not (editor.work / "x").exists()
        assert [told(editor, f"c{n}")[-1] for n in (0, 1)] == ["failed", "failed"]


@in_loop
async def test_a_plan_list_and_a_plan_that_was_approved_are_reported(tmp_path: Path) -> None:
    todo = {"todos": [{"content": "one", "status": "in_progress", "activeForm": "doing"}]}
    replies = [
        {"calls": [{"name": "todo", "input": todo}]},
        {"calls": [{"name": "exit_plan", "input": {"plan": "# Do it"}}]},
        {"text": "ok"},
    ]
    async with editing(tmp_path, *replies, choose=lambda _: "session") as editor:
        session = await editor.new()
        await editor.connection.set_session_mode(session_id=session, mode_id="plan")
        assert await editor.say(session, "plan it") == "end_turn"
        assert editor.person.of("plan") == [
            {
                "sessionUpdate": "plan",
                "entries": [{"content": "one", "priority": "medium", "status": "in_progress"}],
            }
        ]
        assert [update["currentModeId"] for update in editor.person.of("current_mode_update")] == ["plan", "auto-edit"]
        assert editor.person.of("config_option_update")[-1]["configOptions"][0]["currentValue"] == "auto-edit"
        assert editor.person.questions[0]["call"]["kind"] == "switch_mode"
        usage = editor.person.of("usage_update")[-1]
        assert usage["used"] > 0
        assert usage["size"] > usage["used"]


ASKED = {
    "questions": [
        {"question": "Which?", "header": "DB", "options": [{"label": "A"}, {"label": "B"}]},
        {"question": "Name?", "header": "", "options": []},
    ]
}


@pytest.mark.parametrize(
    ("form", "choice", "answer"),
    [
        ({"q1": "A", "q2": "x"}, "0", "Which?\n→ A\nName?\n→ x"),
        ({"q1": "A", "q1_text": "mine"}, "0", "Which?\n→ mine\nName?\n→ (no answer)"),
        (None, "1", "Which?\n→ B\nName?\n→ (no answer)"),
        (None, "no", "The user declined to answer. Decide yourself, and say what you assumed."),
        (None, None, "The user declined to answer. Decide yourself, and say what you assumed."),
    ],
)
@in_loop
async def test_the_models_questions_are_a_form_or_choices(
    form: Json | None, choice: str | None, answer: str, tmp_path: Path
) -> None:
    replies = [{"calls": [{"name": "ask_user", "input": ASKED, "id": "c1"}]}, {"text": "ok"}]
    async with editing(tmp_path, *replies, choose=lambda _: choice, form=form) as editor:
        await editor.say(await editor.new(), "go")
        [end] = [update for update in editor.person.of("tool_call_update") if update.get("status") != "in_progress"]
        assert end["content"][0]["content"]["text"] == answer


@in_loop
async def test_pictures_resources_and_links_go_with_the_prompt(tmp_path: Path) -> None:
    async with editing(tmp_path, {"text": "ok"}) as editor:
        (editor.work / "b c.txt").write_text("linked")
        session = await editor.new()
        blocks = [
            TextContentBlock(type="text", text="Look at "),
            ResourceContentBlock(type="resource_link", name="b", uri=f"file://{editor.work}/b%20c.txt"),
            ResourceContentBlock(type="resource_link", name="page", uri="https://example.com/x"),
            ImageContentBlock(type="image", data=PNG, mime_type="image/png"),
            EmbeddedResourceContentBlock(
                type="resource", resource=TextResourceContents(uri="file:///e.txt", text="embedded")
            ),
        ]
        await editor.connection.prompt(session_id=session, prompt=blocks)
        await editor.connection.close_session(session_id=session)
        editor.person.updates.clear()
        await editor.connection.load_session(cwd=str(editor.work), session_id=session, mcp_servers=[])
        first, second, third = (update["content"] for update in editor.person.of("user_message_chunk"))
        assert first["mimeType"] == "image/png"
        assert second["text"] == "[/e.txt]\n"
        assert third["text"] == f'Look at @"{editor.work}/b c.txt" page (https://example.com/x)'
        assert editor.person.text == "ok"


@in_loop
async def test_sessions_are_listed_loaded_resumed_and_forked(tmp_path: Path) -> None:
    replies = [{"calls": [{"name": "read", "input": {"file_path": "a.py"}}]}, {"text": "It is empty."}]
    async with editing(tmp_path, *replies) as editor:
        (editor.work / "a.py").touch()
        cwd, connection = str(editor.work), editor.connection
        session = await editor.new()
        await editor.say(session, "What is in a.py?")
        listed = await connection.list_sessions(cwd=cwd)
        assert [(each.session_id, each.title) for each in listed.sessions] == [(session, "What is in a.py?")]
        assert (await connection.list_sessions(cwd=str(tmp_path))).sessions == []
        editor.person.updates.clear()
        loaded = await connection.load_session(cwd=cwd, session_id=session, mcp_servers=[])
        assert loaded.modes is not None
        assert editor.person.of("user_message_chunk")[0]["content"]["text"] == "What is in a.py?"
        assert editor.person.of("tool_call_update")[-1]["status"] == "completed"
        assert editor.person.text == "It is empty."
        editor.person.updates.clear()
        await connection.resume_session(cwd=cwd, session_id=session, mcp_servers=[])
        assert not editor.person.of("user_message_chunk")
        assert await editor.say(session, "And now?") == "end_turn"
        fork = (await connection.fork_session(cwd=cwd, session_id=session, mcp_servers=[])).session_id
        assert fork != session
        assert len((await connection.list_sessions()).sessions) == 2
        await connection.close_session(session_id=fork)
        with pytest.raises(RequestError, match="is not open here"):
            await editor.say(fork, "hm")


@in_loop
async def test_a_connection_that_ends_in_the_middle_of_a_turn_leaves_a_session_that_can_be_resumed(
    tmp_path: Path,
) -> None:
    sleep = {"calls": [{"name": "bash", "input": {"command": "echo began; sleep 600"}, "id": "c1"}]}
    async with editing(tmp_path, sleep, mode="yolo") as editor:
        session = await editor.new()
        turn = asyncio.create_task(editor.say(session, "go"))
        await editor.person.until(lambda updates: "began" in str(updates))
    await asyncio.gather(turn, return_exceptions=True)
    async with editing(tmp_path, {"text": "Here again."}) as editor:
        await editor.connection.load_session(cwd=str(editor.work), session_id=session, mcp_servers=[])
        assert told(editor, "c1") == ["pending", "failed"]
        assert await editor.say(session, "go on") == "end_turn"
        assert editor.person.text == "Here again."


@in_loop
async def test_settings_are_switched_and_unknown_ones_refused(tmp_path: Path) -> None:
    async with editing(tmp_path, {"text": "ok"}) as editor:
        session = await editor.new()
        set_option = editor.connection.set_config_option
        options = (await set_option(config_id="mode", session_id=session, value="auto-edit")).config_options
        assert next((option.id, option.current_value) for option in options) == ("mode", "auto-edit")
        assert {option.id for option in options} >= {"mode", "model"}
        await set_option(config_id="model", session_id=session, value="script:echo")
        assert await editor.say(session, "echo") == "end_turn"
        for setting, value in (("mode", "wild"), ("colour", "red"), ("model", "nobody/none")):
            with pytest.raises(RequestError) as refused:
                await set_option(config_id=setting, session_id=session, value=value)
            assert refused.value.code == -32602


@in_loop
async def test_slash_commands_are_listed_and_answer(tmp_path: Path) -> None:
    async with editing(tmp_path, {"text": "ok"}) as editor:
        session = await editor.new()
        assert await editor.say(session, "/context") == "end_turn"
        assert "Context window of script" in editor.person.text
        [commands] = editor.person.of("available_commands_update")
        assert {"compress", "context", "usage", "undo"} <= {each["name"] for each in commands["availableCommands"]}
        with pytest.raises(RequestError, match=r"undo|Nothing|nothing"):
            await editor.say(session, "/undo")
        editor.person.updates.clear()
        assert await editor.say(session, "/usr/bin is what?") == "end_turn"
        assert editor.person.text == "ok"


@in_loop
async def test_every_report_of_the_terminal_works_in_an_editor(tmp_path: Path) -> None:
    acts = {
        "btw",
        "compress",
        "uncompress",
        "undo",
        "redo",
        "pin",
        "rename",
        "init",
        "review",
        "status",
    }
    async with editing(tmp_path, {"text": "ok"}) as editor:
        session = await editor.new()
        await editor.say(session, "/budget")
        assert (
            editor.person.text
            == "```\nNo budget is set. For example: budget.session.cost = 5.0 in config, or --set budget.task.tokens=200000.\n```"
        )
        [commands] = editor.person.of("available_commands_update")
        names = {each["name"] for each in commands["availableCommands"]}
        assert names >= acts
        for name in sorted(names - acts):
            editor.person.updates.clear()
            assert await editor.say(session, f"/{name}") == "end_turn"
            assert editor.person.text.startswith("```\n"), name
        assert await editor.say(session, "/rename mine") == "end_turn"
        assert "Session renamed to mine." in editor.person.text


@in_loop
@pytest.mark.parametrize("prompt", ["/nonsense", "/model ", "/git:typo x"])
async def test_an_unknown_slash_command_is_refused_and_one_with_a_space_before_it_is_sent(
    tmp_path: Path, prompt: str
) -> None:
    async with editing(tmp_path, {"text": "ok"}) as editor:
        session = await editor.new()
        with pytest.raises(RequestError, match=rf"Unknown command {prompt.split()[0]}\. Put a space before it"):
            await editor.say(session, prompt)
        assert await editor.say(session, f" {prompt}") == "end_turn"
        assert editor.person.text == "ok"


@in_loop
async def test_commands_and_skills_of_files_are_listed_and_sent_as_prompts(tmp_path: Path) -> None:
    folder = tmp_path / "CONFIG" / "agentcli" / "commands"
    folder.mkdir(parents=True)
    (folder / "greet.md").write_text("---\ndescription: Greets somebody\n---\nSay hello to $ARGUMENTS.\n")
    async with editing(tmp_path, model="script:echo") as editor:
        session = await editor.new()
        await editor.say(session, "/greet Ada")
        assert "Say hello to Ada." in editor.person.text
        [commands] = editor.person.of("available_commands_update")
        assert {"name": "greet", "description": "Greets somebody"}.items() <= commands["availableCommands"][-1].items()


@pytest.mark.slow
@in_loop
async def test_servers_of_the_editor_are_started_unasked_and_end_with_the_session(tmp_path: Path) -> None:
    call = {"name": "mcp_call", "input": {"tool": "mcp__fake__echo", "arguments": {"text": "heard"}}, "id": "c1"}
    fake = Path(fake_server.__file__)
    async with editing(tmp_path, {"calls": [call]}, {"text": "ok"}) as editor:
        server = McpServerStdio(name="fake", command=sys.executable, args=[str(fake)], env=[])
        session = await editor.connection.new_session(cwd=str(editor.work), mcp_servers=[server])
        assert await editor.say(session.session_id, "go") == "end_turn"
        assert "heard" in str(editor.person.of("tool_call_update")[-1])
        await editor.connection.close_session(session_id=session.session_id)
        [started] = [line for line in (editor.work / "fake.log").read_text().splitlines() if line.startswith("start")]
        assert not Path(f"/proc/{started.split()[1]}").exists()


@in_loop
async def test_a_session_needs_a_key_and_a_folder(tmp_path: Path) -> None:
    async with editing(tmp_path) as editor:
        with pytest.raises(RequestError) as refused:
            await editor.new()
        assert refused.value.code == -32000
        assert len(str(refused.value).splitlines()) >= 5
        for cwd in ("relative", str(tmp_path / "missing")):
            with pytest.raises(RequestError) as refused:
                await editor.connection.new_session(cwd=cwd, mcp_servers=[])
            assert refused.value.code == -32602
        with pytest.raises(RequestError) as refused:
            await editor.connection.load_session(cwd=str(editor.work), session_id="20260101-000000-x", mcp_servers=[])
        assert refused.value.code == -32002


@in_loop
async def test_the_first_message_names_what_an_untrusted_folder_does_not_load(tmp_path: Path) -> None:
    async with editing(tmp_path, {"text": "ok"}) as editor:
        (editor.work / ".agentcli").mkdir()
        (editor.work / ".agentcli" / "config.toml").write_text('[general]\nmode = "yolo"\n')
        session = await editor.new()
        await editor.say(session, "hi")
        assert "agentcli acp --trust" in editor.person.text.partition("ok")[0]
        assert "config.toml" in editor.person.text
        editor.person.updates.clear()
        await editor.say(session, "hi")
        assert editor.person.text == "ok"


@in_loop
async def test_a_failed_turn_is_an_error_and_a_limit_a_stop_reason(tmp_path: Path) -> None:
    fault: dict[str, Any] = {"cause": "bad_request", "message": "no such thing", "status": 400}
    async with editing(tmp_path, {"fault": fault}) as editor:
        with pytest.raises(RequestError, match="no such thing"):
            await editor.say(await editor.new(), "hi")
    async with editing(tmp_path, {"text": "\ud83d half"}, max_turns=0) as editor:
        assert await editor.say(await editor.new(), "hi") == "max_turn_requests"


@in_loop
async def test_half_a_surrogate_pair_does_not_break_a_message(tmp_path: Path) -> None:
    replies = [{"text": "\ud83d", "calls": [{"name": "bash", "input": {"command": "echo '\ud83d'"}}]}, {"text": "ok"}]
    async with editing(tmp_path, *replies) as editor:
        assert await editor.say(await editor.new(), "hi") == "end_turn"


@in_loop
async def test_a_session_that_is_closed_gives_back_the_connections_of_its_models(tmp_path: Path) -> None:
    with Loopback(lambda _: say("Hello.")) as server:
        async with editing(tmp_path, more=server.env, model="anthropic/claude-sonnet-5") as editor:
            session = await editor.new()
            assert await editor.say(session, "go") == "end_turn"
            assert server.open == 1
            await editor.connection.close_session(session_id=session)
            async with asyncio.timeout(10):
                while server.open:  # noqa: ASYNC110 (the server sets no event)
                    await asyncio.sleep(0.01)


@in_loop
async def test_a_side_question_is_answered_and_is_no_part_of_the_session(tmp_path: Path) -> None:
    async with editing(tmp_path, {"text": "One."}, {"text": "It is **42**."}, {"text": "Two."}) as editor:
        session = await editor.new()
        assert await editor.say(session, "first") == "end_turn"
        before = len(editor.person.text)
        assert await editor.say(session, "/btw what is it?") == "end_turn"
        assert editor.person.text[before:] == "It is **42**."
        assert any("Side question: $" in json.dumps(update) for update in editor.person.updates)
        editor.person.updates.clear()
        await editor.connection.load_session(cwd=str(editor.work), mcp_servers=[], session_id=session)
        assert editor.person.text == "One."
