"""Hooks around the turns and calls of an open session."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import subprocess
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agentcli.agent.ports import ApprovalResponse, Prompt
from agentcli.agent.session import AgentSession
from agentcli.core.errors import ModelError
from agentcli.core.event import Event, Noticed, PermissionDecided, Warned
from agentcli.core.message import Text
from agentcli.core.model import Request
from agentcli.core.record import Mode
from agentcli.core.tasks import emitted
from agentcli.features.hooks.files import Hook
from agentcli.features.hooks.transcript import Transcript
from agentcli.permissions.rules import parse_rules
from agentcli.providers.scripted.model import Reply, call, say
from agentcli.sessions.in_memory import MemorySession
from agentcli.sessions.store import Store
from agentcli.tools.seen_files import SeenFiles
from tests.agent.open_session import Person, ended, messages, open_session, results, say_to
from tests.tables import each_row

KEEP = "cat >> seen.jsonl; echo >> seen.jsonl"


def answer(event: str = "PreToolUse", **fields: Any) -> str:
    """A command that prints what a hook of this event answers."""
    return f"printf '%s' '{json.dumps({'hookSpecificOutput': {'hookEventName': event, **fields}})}'"


def hook(event: str, command: str, **more: Any) -> Hook:
    return Hook(event, command, timeout=60, source="hooks.json", **more)


def seen(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "seen.jsonl").read_text().splitlines()]


def replying(*replies: Reply) -> Any:
    """A model that gives these replies, the last one again and again."""
    left = list(replies)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


def running(
    folder: Path, command: str, *hooks: Hook, mode: Mode = "yolo", **more: Any
) -> tuple[AgentSession, list[Event]]:
    """A session whose model runs one command, and its events."""
    session = open_session(
        folder, replying(say("", call("bash", command=command)), say("done")), mode=mode, hooks=hooks, **more
    )
    return session, say_to(session, "go")


def status(session: AgentSession) -> str:
    return results(session)[0].status


def test_every_event_of_a_turn_is_fired_with_its_fields(tmp_path: Path) -> None:
    events = ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "Stop"]
    replies = replying(say("", call("bash", command="echo one")), say("", call("bash", command="exit 3")), say("done"))
    session = open_session(tmp_path, replies, mode="yolo", hooks=[hook(event, KEEP) for event in events])
    say_to(session, "go")
    found = seen(tmp_path)
    names = [one["hook_event_name"] for one in found]
    assert names == [*events[:4], "PreToolUse", "PostToolUseFailure", "Stop"]
    common = {"session_id", "transcript_path", "cwd", "hook_event_name", "permission_mode", "prompt_id"}
    assert all(common <= one.keys() for one in found)
    assert (found[0]["source"], found[1]["prompt"]) == ("startup", "go")
    assert (found[3]["tool_name"], found[3]["tool_response"]["stdout"].strip()) == ("Bash", "one")
    assert found[5]["error"].startswith("Exit code 3")
    assert (found[6]["last_assistant_message"], found[6]["stop_hook_active"]) == ("done", False)


def test_the_events_of_tools_have_every_field_that_claude_code_gives(tmp_path: Path) -> None:
    """The fields are those that Claude Code 2.1 was seen to send."""
    (tmp_path / "a.txt").write_text("aa\n")
    calls = [
        call("bash", command="echo one"),
        call("read", file_path="a.txt"),
        call("edit", file_path="a.txt", old_string="aa", new_string="bb"),
        call("write", file_path="b.txt", content="hi"),
    ]
    session = open_session(
        tmp_path,
        replying(*(say("", one) for one in calls), say("done")),
        mode="yolo",
        hooks=[hook("PostToolUse", KEEP)],
    )
    say_to(session, "go")
    found = {one["tool_name"]: one for one in seen(tmp_path)}
    top = "session_id transcript_path cwd prompt_id permission_mode effort hook_event_name tool_name tool_input tool_response tool_use_id duration_ms"
    assert all(set(top.split()) <= one.keys() for one in found.values())
    patch = [{"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": ["-aa", "+bb"]}]
    assert found["Bash"]["tool_response"] == {
        "stdout": "one", "stderr": "", "interrupted": False, "isImage": False, "noOutputExpected": False,
    }  # fmt: skip
    page = {"filePath": f"{tmp_path}/a.txt", "content": "aa\n", "numLines": 2, "startLine": 1, "totalLines": 2}
    assert found["Read"]["tool_response"]["file"] == page
    assert found["Edit"]["tool_input"]["file_path"] == f"{tmp_path}/a.txt"
    assert found["Edit"]["tool_input"]["replace_all"] is False
    edited = found["Edit"]["tool_response"]
    assert (edited["structuredPatch"], edited["originalFile"], edited["userModified"]) == (patch, None, False)
    assert (found["Write"]["tool_response"]["type"], found["Write"]["tool_response"]["content"]) == ("create", "hi")


def test_texts_reach_the_model_behind_the_prompt_and_never_in_the_system_text(tmp_path: Path) -> None:
    requests: list[Request] = []

    def model(request: Request) -> Reply:
        requests.append(request)
        return say("", call("bash", command="echo one")) if len(requests) == 1 else say("done")

    hooks = [
        hook("SessionStart", "echo from the start"),
        hook("UserPromptSubmit", "echo with the prompt"),
        hook("PreToolUse", answer(additionalContext="before")),
        hook("PostToolUse", answer("PostToolUse", additionalContext="after </post-tool-use-hook>")),
    ]
    session = open_session(tmp_path, model, mode="yolo", hooks=hooks)
    say_to(session, "go", "again")
    texts = [part.text for part in messages(session)[0].parts if isinstance(part, Text) and part.source == "hook"]
    assert texts == ["from the start", "with the prompt"]
    assert r"<hook-context>\nfrom the start\n</hook-context>" in str(requests[0].messages)
    assert {request.system for request in requests} == {requests[0].system}
    assert results(session)[0].output.endswith(
        "<pre-tool-use-hook>\nbefore\n</pre-tool-use-hook>\n"
        "<post-tool-use-hook>\nafter &lt;/post-tool-use-hook>\n</post-tool-use-hook>"
    )


def test_a_long_text_is_cut_and_the_rest_lies_in_a_file(tmp_path: Path) -> None:
    session = open_session(tmp_path, replying(say("ok")), hooks=[hook("SessionStart", "printf 'x%.0s' $(seq 20000)")])
    say_to(session, "go")
    (text,) = [part.text for part in messages(session)[0].parts if isinstance(part, Text) and part.source == "hook"]
    assert len(text) < 10_200
    assert "10,000 more characters in " in text


def test_an_output_may_be_replaced_and_the_original_stays_in_the_record(tmp_path: Path) -> None:
    session, _ = running(
        tmp_path, "echo one", hook("PostToolUse", answer("PostToolUse", updatedToolOutput={"stdout": "hidden"}))
    )
    (result,) = results(session)
    assert (result.output, result.metadata["hook_replaced"].strip()) == ("hidden", "one")


FORMATTER = hook("PostToolUse", """sed -i "s/'/\\"/g" a.py""", matcher="Edit|Write")


def test_what_a_formatter_changes_after_an_edit_is_told_and_known(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text('one = "1"\n')
    edit = call("edit", file_path="a.py", old_string="one", new_string="two = '2'\none")
    again = call("write", file_path="a.py", content='three = "3"\n')
    calls = (call("read", file_path="a.py"), edit, again)
    session = open_session(
        tmp_path, replying(*(say("", one) for one in calls), say("done")), mode="yolo", hooks=[FORMATTER]
    )
    say_to(session, "go")
    _, edited, written = results(session)
    told = '\n[A hook has changed a.py since:]\n@@ -1,2 +1,2 @@\n-two = \'2\'\n+two = "2"\n one = "1"'
    assert edited.output.endswith(told)
    assert written.output == "Replaced a.py (1 line)."
    resumed = SeenFiles()
    resumed.add(edited)
    assert resumed.knowledge(tmp_path / "a.py", b'two = "2"\none = "1"\n') == "current"


def test_many_lines_that_a_formatter_changes_are_named_and_must_be_read(tmp_path: Path) -> None:
    written = call("write", file_path="a.py", content="x = '1'\n" * 30)
    session = open_session(
        tmp_path, replying(say("", written), say("", written), say("done")), mode="yolo", hooks=[FORMATTER]
    )
    say_to(session, "go")
    made, refused = results(session)
    assert made.output.endswith("\n[A hook has changed a.py since: lines 1-30. Read these again before you edit them]")
    assert refused.output.startswith("a.py has changed since you read it.")


def test_a_blocked_prompt_is_not_recorded(tmp_path: Path) -> None:
    session = open_session(
        tmp_path, replying(say("ok")), hooks=[hook("UserPromptSubmit", "echo no secrets >&2; exit 2")]
    )
    events = say_to(session, "go")
    assert ended(events).ending == "blocked"
    assert "no secrets" in str(ended(events).error)
    assert messages(session) == []


def test_what_is_added_to_a_running_turn_goes_before_the_hooks_of_prompts(tmp_path: Path) -> None:
    session = open_session(
        tmp_path,
        replying(say("", call("bash", command="echo x")), say("done")),
        mode="yolo",
        hooks=[hook("UserPromptSubmit", "grep -q secret && echo no secrets >&2 && exit 2; echo seen")],
    )

    async def story() -> list[Event]:
        events = []
        async for event in session.turn(Prompt("go"), asyncio.Event()):
            events.append(event)
            if isinstance(event, PermissionDecided):
                session.steer(Prompt("a secret"))
                session.steer(Prompt("more"))
        return events

    events = asyncio.run(story())
    assert [message.text for message in messages(session) if message.is_prompt] == ["go", "more"]
    assert any("no secrets" in event.message for event in events if isinstance(event, Warned))


def test_a_hook_may_have_the_turn_go_on_three_times_in_a_row(tmp_path: Path) -> None:
    session = open_session(
        tmp_path,
        replying(*(say(f"answer {n}") for n in range(6))),
        hooks=[hook("Stop", f"{KEEP}; echo not yet >&2; exit 2")],
    )
    events = say_to(session, "go")
    assert (ended(events).ending, ended(events).text) == ("done", "answer 3")
    assert [one["stop_hook_active"] for one in seen(tmp_path)] == [False, True, True, True]
    assert [event.message for event in events if isinstance(event, Warned)] == [
        "The hook cat has kept the turn going 3 times in a row; now it is ignored."
    ]


def test_text_of_a_hook_at_the_end_reaches_the_model_and_the_turn_goes_on(tmp_path: Path) -> None:
    once = f"[ -e once ] || {{ touch once; {answer('Stop', additionalContext='look at the log')}; }}"
    session = open_session(tmp_path, replying(say("one"), say("two")), hooks=[hook("Stop", once)])
    assert ended(say_to(session, "go")).text == "two"
    assert "look at the log" in str(messages(session)[2].parts)


def test_a_hook_may_end_the_turn(tmp_path: Path) -> None:
    session, events = running(
        tmp_path, "echo one", hook("PostToolUse", """echo '{"continue": false, "stopReason": "enough"}'""")
    )
    assert str(ended(events).error) == "enough"
    assert len(messages(session)) == 2


def test_a_denial_reaches_the_model_and_names_the_hook(tmp_path: Path) -> None:
    session, events = running(tmp_path, "touch made", hook("PreToolUse", "echo use rg >&2; exit 2", matcher="Bash"))
    (decided,) = [event for event in events if isinstance(event, PermissionDecided)]
    assert (decided.decision, decided.rule) == ("deny", "hook:echo")
    assert "use rg" in results(session)[0].output
    assert not (tmp_path / "made").exists()


def test_a_hook_asks_even_in_yolo(tmp_path: Path) -> None:
    person = Person(ApprovalResponse("no"))
    session, _ = running(
        tmp_path,
        "echo x",
        hook("PreToolUse", answer(permissionDecision="ask", permissionDecisionReason="sure?")),
        person=person,
    )
    assert (status(session), person.asked[0].why) == ("denied", "sure?")


@each_row(
    ("mode", "command", "rules", "allowed"),
    [
        ("ask", "touch made", {}, "success"),
        ("ask", "touch made", {"deny": ["bash(touch *)"]}, "denied"),
        ("ask", "touch made", {"ask": ["bash(touch *)"]}, "denied"),
        ("plan", "touch made", {}, "denied"),
        ("ask", "touch .git/hooks/pre-commit", {}, "denied"),
        ("ask", "rm -rf ~", {}, "denied"),
    ],
)
def test_a_hook_allows_only_what_the_mode_alone_would_ask_about(
    tmp_path: Path, mode: Mode, command: str, rules: Mapping[str, Any], allowed: str
) -> None:
    allowing = hook("PreToolUse", answer(permissionDecision="allow"))
    requested = hook("PermissionRequest", answer("PermissionRequest", decision={"behavior": "allow"}))
    for one in (allowing, requested):
        session, _ = running(tmp_path, command, one, mode=mode, rules=parse_rules(**rules))
        assert status(session) == allowed
    for one in (allowing, requested):
        theirs = Hook(one.event, one.command, project=True)
        assert status(running(tmp_path, command, theirs, mode=mode, rules=parse_rules(**rules))[0]) == "denied"


def test_a_permission_request_is_denied_in_place_of_the_person(tmp_path: Path) -> None:
    person = Person()
    denying = hook(
        "PermissionRequest", answer("PermissionRequest", decision={"behavior": "deny", "message": "not here"})
    )
    session, _ = running(tmp_path, "touch made", denying, mode="ask", person=person)
    assert (status(session), person.asked) == ("denied", [])
    assert "not here" in results(session)[0].output


def test_a_changed_input_is_decided_about_again_and_shown_as_changed(tmp_path: Path) -> None:
    changing = hook("PreToolUse", answer(updatedInput={"command": "touch two"}))
    person = Person(ApprovalResponse("once"))
    session, _ = running(tmp_path, "touch one", changing, mode="ask", person=person)
    assert person.asked[0].why.startswith("Changed by the hook printf.")
    assert person.asked[0].preview == "touch two"
    assert [(tmp_path / name).exists() for name in ("one", "two")] == [False, True]
    session, _ = running(tmp_path, "touch one", changing, rules=parse_rules(deny=["bash(touch two)"]))
    assert status(session) == "denied"


def test_two_different_changes_are_warned_about_and_the_first_counts(tmp_path: Path) -> None:
    changes = [hook("PreToolUse", answer(updatedInput={"command": f"touch {name}"})) for name in ("first", "second")]
    _, events = running(tmp_path, "touch none", *changes)
    assert (tmp_path / "first").exists()
    assert any("the first counts" in event.message for event in events if isinstance(event, Warned))


def test_a_guard_that_fails_says_that_it_blocked_nothing_unless_it_is_strict(tmp_path: Path) -> None:
    session, events = running(tmp_path, "echo x", hook("PreToolUse", "echo Oops >&2; exit 1"))
    (warning,) = [event.message for event in events if isinstance(event, Warned)]
    assert (
        warning
        == 'Hook echo failed (exit 1: Oops) and did NOT block bash. Exit 2 blocks; "strict": true blocks on any failure.'
    )
    assert status(session) == "success"
    for command, more in (("exit 1", {}), ("sleep 100", {"timeout": 0.2}), ("/none/there", {"args": ()})):
        strict = Hook("PreToolUse", command, strict=True, **more)  # type: ignore[arg-type]
        assert status(running(tmp_path, "echo x", strict)[0]) == "denied"


def test_what_a_hook_has_for_the_model_reaches_it_with_a_denial_as_well(tmp_path: Path) -> None:
    denying = hook(
        "PreToolUse", answer(permissionDecision="deny", permissionDecisionReason="No.", additionalContext="Use rg.")
    )
    [result] = results(running(tmp_path, "grep x", denying)[0])
    assert (result.status, "No." in result.output) == ("denied", True)
    assert result.output.endswith("<pre-tool-use-hook>\nUse rg.\n</pre-tool-use-hook>")


def test_a_condition_chooses_the_calls(tmp_path: Path) -> None:
    guard = hook("PreToolUse", "exit 2", matcher="Bash", condition="Bash(git *)")
    assert status(running(tmp_path, "cd . && git status", guard)[0]) == "denied"
    assert status(running(tmp_path, "echo git", guard)[0]) == "success"


@each_row(
    ("condition", "runs"),
    [
        ("Write", True),
        ("Write()", True),
        ("Write(x.txt)", True),
        ("Write(./x.txt)", True),
        ("Write(sub/**)", True),
        ("Write(/sub/x.txt)", True),
        ("Write(/**/x.txt)", True),
        ("Write(//*/x.txt)", False),
        ("Write(/x.txt)", False),
        ("Edit(x.txt)", False),
        ("Read(x.txt)", False),
        ("NotebookEdit(x.txt)", False),
    ],
)
def test_paths_in_a_condition_count_from_the_project_as_in_claude_code(
    condition: str, runs: bool, tmp_path: Path
) -> None:
    (tmp_path / ".git").mkdir()
    write = call("write", file_path="sub/x.txt", content="a")
    one = hook("PreToolUse", KEEP, condition=condition)
    say_to(open_session(tmp_path, replying(say("", write), say("done")), mode="yolo", hooks=[one]), "go")
    assert (tmp_path / "seen.jsonl").exists() == runs


def test_a_folder_with_the_letters_of_a_pattern_in_its_name_is_meant_as_it_is(tmp_path: Path) -> None:
    work = tmp_path / "a[b]*"
    (work / ".git").mkdir(parents=True)
    write = call("write", file_path="sub/x.txt", content="a")
    guard = hook("PreToolUse", KEEP, condition="Write(/sub/x.txt)")
    say_to(open_session(work, replying(say("", write), say("done")), mode="yolo", hooks=[guard]), "go")
    assert (work / "seen.jsonl").exists()


def test_paths_in_a_condition_count_from_the_worktree_that_a_subagent_works_in(tmp_path: Path) -> None:
    work = tmp_path / "worktrees/one"
    work.mkdir(parents=True)
    (work / ".git").write_text("gitdir: elsewhere")
    write = call("write", file_path="sub/x.txt", content="a")
    guard = hook("PreToolUse", KEEP, condition="Write(/sub/x.txt)", folder=tmp_path / "main")
    say_to(open_session(work, replying(say("", write), say("done")), mode="yolo", hooks=[guard]), "go")
    assert (work / "seen.jsonl").exists()


def test_arguments_need_no_shell_and_folders_in_them_are_put_in(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    one = hook("PreToolUse", "sh", args=("-c", 'echo "$0" >&2; exit 2', "${CLAUDE_PROJECT_DIR}/$(x)"))
    assert f"{tmp_path}/$(x)" in results(running(tmp_path, "echo x", one)[0])[0].output


@each_row("matcher", ["Edit|Write", "MultiEdit", "edit", "replace"])
def test_a_guard_of_edits_guards_several_edits_in_one_call(matcher: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    edits = call("multi_edit", file_path="a.txt", edits=[{"old_string": "a", "new_string": "b"}])
    guard = hook("PreToolUse", "exit 2", matcher=matcher)
    session = open_session(tmp_path, replying(say("", edits), say("done")), mode="yolo", hooks=[guard])
    say_to(session, "go")
    assert (status(session), (tmp_path / "a.txt").read_text()) == ("denied", "a")


def test_hooks_of_another_dialect_get_its_names(tmp_path: Path) -> None:
    running(tmp_path, "echo x", Hook("PreToolUse", KEEP, matcher="run_shell_command", dialect="gemini"))
    assert (seen(tmp_path)[0]["hook_event_name"], seen(tmp_path)[0]["tool_name"]) == ("BeforeTool", "run_shell_command")


def test_what_a_hook_says_to_the_person_is_shown(tmp_path: Path) -> None:
    _, events = running(tmp_path, "echo x", hook("PostToolUse", """echo '{"systemMessage": "seen"}'"""))
    assert "echo: seen" in [event.message for event in events if isinstance(event, Noticed)]


def test_nobody_waits_for_a_hook_that_runs_in_the_background(tmp_path: Path) -> None:
    slow = """printf '{"async": true}\\n'; sleep 100"""
    session, events = running(
        tmp_path, "echo x", hook("PreToolUse", slow), Hook("PostToolUse", "sleep 100; exit 2", background=True)
    )
    assert (status(session), ended(events).ending) == ("success", "done")


def test_an_interrupt_ends_a_hook_and_leaves_the_session_whole(tmp_path: Path) -> None:
    session = open_session(
        tmp_path,
        replying(say("", call("bash", command="touch made")), say("done")),
        mode="yolo",
        hooks=[hook("PreToolUse", "touch begun; sleep 100")],
    )

    async def story() -> list[Event]:
        interrupt = asyncio.Event()

        async def stop() -> None:
            while not (tmp_path / "begun").exists():  # noqa: ASYNC110 (the hook is what we wait for)
                await asyncio.sleep(0.01)
            interrupt.set()

        stopping = asyncio.create_task(stop())
        events = [event async for event in session.turn(Prompt("go"), interrupt)]
        await stopping
        return events

    assert ended(asyncio.run(story())).ending == "interrupted"
    assert status(session) == "interrupted"
    assert not (tmp_path / "made").exists()


def test_a_subagent_has_its_own_events_and_says_who_it_is(tmp_path: Path) -> None:
    def model(request: Request) -> Reply:
        texts = [part.text for message in request.messages for part in message.parts if isinstance(part, Text)]
        if "look around" in texts:
            asked = any(not isinstance(part, Text) for message in request.messages for part in message.parts)
            return say("report") if asked else say("", call("bash", command="echo x"))
        asked = any(not isinstance(part, Text) for message in request.messages for part in message.parts)
        return (
            say("done")
            if asked
            else say("", call("task", description="d", prompt="look around", agent="general-purpose"))
        )

    names = ("SessionStart", "UserPromptSubmit", "SubagentStart", "PreToolUse", "SubagentStop", "Stop")
    session = open_session(tmp_path, model, mode="yolo", hooks=[hook(name, KEEP) for name in names])
    say_to(session, "go")
    found = seen(tmp_path)
    assert [one["hook_event_name"] for one in found] == [
        "SessionStart", "UserPromptSubmit", "PreToolUse", "SubagentStart", "PreToolUse", "SubagentStop", "Stop",
    ]  # fmt: skip
    assert {one.get("agent_type") for one in found[3:6]} == {"general-purpose"}
    assert {one["session_id"] for one in found} == {session.journal.id}
    assert (found[2]["tool_name"], found[2]["tool_input"]["subagent_type"]) == ("Agent", "general-purpose")
    assert (found[5]["background_tasks"], found[5]["session_crons"]) == ([], [])


def test_a_compaction_may_be_called_off_where_nothing_forces_it(tmp_path: Path) -> None:
    session = open_session(
        tmp_path, replying(say("word " * 4_000)), hooks=[hook("PreCompact", f"{KEEP}; echo not now >&2; exit 2")]
    )
    say_to(session, *("more" for _ in range(4)))

    async def compress() -> list[Event]:
        return [
            event
            async for event in emitted(
                partial(session.compactor.compact, asyncio.Event(), trigger="manual", focus="the parser")
            )
        ]

    last = asyncio.run(compress())[-1]
    assert getattr(last, "status", "") == "noop"
    assert "not now" in getattr(last, "why", "")
    assert (seen(tmp_path)[0]["trigger"], seen(tmp_path)[0]["custom_instructions"]) == ("manual", "the parser")


def test_without_hooks_nothing_is_written(tmp_path: Path) -> None:
    running(tmp_path, "echo x")
    assert [path.name for path in tmp_path.iterdir()] == []


def begun(session: AgentSession, *texts: str) -> list[Event]:
    """The events of a session that begins before there is a prompt, and then those of its turns."""
    events: list[Event] = []

    async def play() -> None:
        session.begin(events.extend)
        for text in texts:
            events.extend([event async for event in session.turn(Prompt(text), asyncio.Event())])
        await session.end("prompt_input_exit")

    asyncio.run(play())
    return events


def test_a_session_begins_before_its_first_prompt_and_only_once(tmp_path: Path) -> None:
    start = hook("SessionStart", f"{KEEP}; echo remember the milk")
    session = open_session(tmp_path, [say("done")], hooks=[start, hook("SessionEnd", KEEP)])
    begun(session, "one", "two")
    assert [(one["hook_event_name"], one.get("source"), one.get("reason")) for one in seen(tmp_path)] == [
        ("SessionStart", "startup", None),
        ("SessionEnd", None, "prompt_input_exit"),
    ]
    first, second = (message for message in messages(session) if message.role == "user")
    assert "remember the milk" in str(first.parts)
    assert "remember the milk" not in str(second.parts)


def test_the_transcript_has_its_path_before_there_is_anything_in_it_and_nothing_is_stored_for_it(
    tmp_path: Path,
) -> None:
    journal = Store(tmp_path / "sessions").create(tmp_path)
    begun(open_session(tmp_path, [say("done")], journal=journal, hooks=[hook("SessionEnd", KEEP)]))
    assert seen(tmp_path)[0]["transcript_path"] == f"{journal.folder}/transcript.jsonl"
    assert not [*(tmp_path / "sessions").glob("*/*/")]


def test_the_transcript_of_a_session_that_is_not_stored_goes_with_its_end(tmp_path: Path) -> None:
    begun(open_session(tmp_path, [say("done")], hooks=[hook("SessionEnd", KEEP)]))
    path = Path(seen(tmp_path)[0]["transcript_path"])
    assert path.name.startswith("agentcli-transcript-")
    assert not path.exists()


def test_the_transcript_of_a_session_that_is_never_closed_goes_with_its_objects() -> None:
    transcript = Transcript(MemorySession(), Path.cwd())
    path = Path(transcript.update())
    assert path.exists()
    del transcript
    gc.collect()
    assert not path.exists()


def test_old_transcripts_of_killed_processes_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with subprocess.Popen(["true"]) as gone:
        gone.wait()
    names = [f"agentcli-transcript-{number}-{n}.jsonl" for number in (gone.pid, os.getpid()) for n in range(2)]
    impossible = f"agentcli-transcript-{10**30}-0.jsonl"
    for name in (*names, impossible):
        (tmp_path / name).touch()
    for name in (names[0], names[2], impossible):
        os.utime(tmp_path / name, (1, 1))
    transcript = Transcript(MemorySession(), Path.cwd())
    transcript.update()
    transcript.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names[1:])


def test_a_hook_that_comes_after_the_end_makes_no_new_transcript() -> None:
    transcript = Transcript(MemorySession(), Path.cwd())
    path = Path(transcript.update())
    transcript.close()
    transcript.close()
    assert not path.exists()
    assert transcript.update() == ""


def test_a_session_that_is_left_at_once_ends_the_hooks_of_its_beginning(tmp_path: Path) -> None:
    session = open_session(tmp_path, [say("done")], hooks=[hook("SessionStart", "sleep 600")])
    assert begun(session) == []


def test_what_begins_names_its_source(tmp_path: Path) -> None:
    session = open_session(tmp_path, [say("done")], hooks=[hook("SessionStart", KEEP)])
    say_to(session, "one")
    say_to(open_session(tmp_path, [say("done")], hooks=[hook("SessionStart", KEEP)], journal=session.journal), "two")
    assert [one["source"] for one in seen(tmp_path)] == ["startup", "resume"]


def test_the_same_session_opened_anew_does_not_begin_again(tmp_path: Path) -> None:
    start = hook("SessionStart", f'{KEEP}; echo context; echo "export SEEN=yes" >> "$CLAUDE_ENV_FILE"')
    script = replying(say("", call("bash", command='echo "<$SEEN>"')), say("done"))
    session = open_session(tmp_path, script, mode="yolo", hooks=[start])

    async def play() -> AgentSession:
        session.begin(lambda _: None)
        await session.conversation.hooked.admit("dropped", asyncio.Event())
        again = open_session(tmp_path, script, mode="yolo", hooks=[start], journal=session.journal)
        again.go_on_from(session)
        again.begin(lambda _: None)
        _ = [event async for event in again.turn(Prompt("go"), asyncio.Event())]
        return again

    again = asyncio.run(play())
    assert len(seen(tmp_path)) == 1
    assert "context" in str(messages(again)[0].parts)
    assert "<yes>" in results(again)[0].output


def test_hooks_of_a_beginning_set_variables_for_commands(tmp_path: Path) -> None:
    lines = """
        echo 'export GREETING="hello there"' >> "$CLAUDE_ENV_FILE"
        echo 'PLAIN=one' >> "$CLAUDE_ENV_FILE"
        echo 'export PATH="$PATH:/opt/tools"' >> "$CLAUDE_ENV_FILE"
        echo "$CLAUDE_ENV_FILE" > env-file
    """
    session, events = running(
        tmp_path,
        'echo "$GREETING/$PLAIN"; echo "${PATH##*:}"',
        hook("SessionStart", lines),
        hook("Stop", "env > later"),
    )
    assert results(session)[0].output.splitlines()[:2] == ["hello there/one", "/opt/tools"]
    assert not [event for event in events if isinstance(event, Warned)]
    assert not Path((tmp_path / "env-file").read_text().strip()).exists()
    assert "CLAUDE_ENV_FILE" not in (tmp_path / "later").read_text()


@each_row(("value", "runs"), [("/srv/www/none", False), ("build", True), ("", True)])
def test_a_command_is_judged_with_the_variables_that_hooks_have_set(tmp_path: Path, value: str, runs: bool) -> None:
    start = hook("SessionStart", f"echo 'export BUILT={value}' >> $CLAUDE_ENV_FILE")
    session, _ = running(tmp_path, 'rm -rf "$BUILT"', start)
    assert (status(session) == "success") == runs


def test_a_line_for_the_environment_that_fails_is_named(tmp_path: Path) -> None:
    session, events = running(
        tmp_path,
        'echo "$A"',
        hook("SessionStart", "echo 'export A=1' >> $CLAUDE_ENV_FILE; echo 'if' >> $CLAUDE_ENV_FILE"),
    )
    assert status(session) == "success"
    (warning,) = [event.message for event in events if isinstance(event, Warned)]
    assert "CLAUDE_ENV_FILE" in warning
    assert "syntax error" in warning


def test_a_matcher_of_subagents_knows_both_names_of_a_kind(tmp_path: Path) -> None:
    def model(request: Request) -> Reply:
        inside = any("subagent" in block for block in request.system)
        asked = any(not isinstance(part, Text) for message in request.messages for part in message.parts)
        return say("report") if inside or asked else say("", call("task", description="d", prompt="p", agent="Explore"))

    matchers = {"Explore": True, "explore": True, "general-purpose": False}
    hooks = [hook("SubagentStart", f"touch '{name}'", matcher=name) for name in matchers]
    response = hook("PostToolUse", KEEP, matcher="Agent|Task")
    session = open_session(tmp_path, model, mode="yolo", hooks=[*hooks, response])
    say_to(session, "go")
    assert {name: (tmp_path / name).exists() for name in matchers} == matchers
    found = seen(tmp_path)[0]["tool_response"]
    assert (found["status"], found["agentType"]) == ("completed", "Explore")
    assert found["content"][0]["text"].startswith("report")


def test_a_command_without_output_and_one_that_fails_are_told_plainly(tmp_path: Path) -> None:
    replies = replying(
        say("", call("bash", command="true")), say("", call("bash", command="echo bad; exit 3")), say("d")
    )
    hooks = [hook("PostToolUse", KEEP), hook("PostToolUseFailure", KEEP)]
    say_to(open_session(tmp_path, replies, mode="yolo", hooks=hooks), "go")
    ended, failed = seen(tmp_path)
    assert (ended["tool_response"]["stdout"], failed["error"]) == ("", "Exit code 3\nbad")


def test_a_permission_request_suggests_rules_as_claude_code_does(tmp_path: Path) -> None:
    running(
        tmp_path, "touch made", hook("PermissionRequest", KEEP), mode="ask", person=Person(ApprovalResponse("once"))
    )
    assert seen(tmp_path)[0]["permission_suggestions"] == [
        {"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "touch made"}], "behavior": "allow", "destination": place}
        for place in ("session", "localSettings")
    ]  # fmt: skip
    assert (tmp_path / "made").exists()


def test_a_turn_that_fails_tells_its_error_as_the_last_message(tmp_path: Path) -> None:
    def model(_: Request) -> Reply:
        raise ModelError("no such key", cause="auth")

    say_to(open_session(tmp_path, model, hooks=[hook("StopFailure", KEEP)]), "go")
    (found,) = seen(tmp_path)
    assert (found["error"], found["last_assistant_message"]) == ("authentication_failed", "no such key")
