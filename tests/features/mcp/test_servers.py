"""Servers of the Model Context Protocol: their life, their faults, and what is left of them."""

from __future__ import annotations

import asyncio
import gc
import json
import socket
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agentcli.core.errors import ToolError
from agentcli.core.mcp_servers import Elicitation, ServerState, ServerTool
from agentcli.features.mcp.config import definition
from agentcli.features.mcp.servers import ranked
from tests.features.mcp.fake_http import serving
from tests.features.mcp.running import (
    FAKE,
    call,
    fake,
    is_alive,
    pids,
    refusing,
    servers,
    settled,
    text,
    until,
    wait,
)
from tests.tables import each_row


def offers(folder: Path, *names: str) -> None:
    """Have the fake servers offer other tools."""
    (folder / "tools.json").write_text(
        json.dumps([{"name": name, "inputSchema": {"type": "object"}} for name in names])
    )


def test_a_server_is_connected_listed_called_and_ended(tmp_path: Path) -> None:
    with servers(tmp_path, {"fake": fake("chatter", "latin", "pages")}) as made:
        assert made.states() == [ServerState("fake", "connecting", origin="test")]
        (state,) = settled(made)
        assert (state.status, state.tools, state.instructions) == ("connected", 5, "Use echo to say things.")
        assert [tool.name for tool in made.tools()] == [
            f"mcp__fake__{name}" for name in ("die", "echo", "hang", "peek", "sensitive")
        ]
        assert text(call(made, "mcp__fake__echo", text="grüße")) == "grüße"
        (pid,) = pids(tmp_path)
        assert is_alive(pid)
    assert not is_alive(pid)


def test_what_keeps_a_server_from_connecting_is_said_with_its_last_words(tmp_path: Path) -> None:
    given = {
        "gone": {"command": "no-such-program-anywhere"},
        "exits": fake("exits"),
        "silent": fake("silent", startupTimeout=0.5),
        "unset": {"command": "x", "args": ["${NO_SUCH_VARIABLE}"]},
        "off": fake(disabled=True),
        "works": fake(),
    }
    with servers(tmp_path, given) as made:
        states = {state.name: str(state) for state in settled(made)}
        assert states == {
            "gone": "failed: no-such-program-anywhere was not found",
            "exits": "failed: Connection closed (no licence found)",
            "silent": "connecting: it has not answered within 0.5 s (`startupTimeout` in its definition sets how long that may take);"
            " it is waited for in the background",
            "unset": "failed: it needs $NO_SUCH_VARIABLE, which is not set",
            "off": "disabled",
            "works": "connected, 5 tools",
        }
        assert made.obstacle("mcp__gone__x").startswith("Server gone is not connected: no-such-program")
        assert "Did you mean mcp__works__echo" in made.obstacle("mcp__works__ecko")
        assert made.obstacle("mcp__other__x").startswith(
            "Server other is not connected: it is not configured here. Servers: "
        )
        assert text(call(made, "mcp__works__echo", text="all the same")) == "all the same"
        assert "Server unset needs $NO_SUCH_VARIABLE, which is not set." in made.changes()
        assert "Server gone failed: no-such-program-anywhere was not found." in made.changes()
    assert not [pid for pid in pids(tmp_path) if is_alive(pid)]


def test_a_call_waits_for_its_own_server_alone(tmp_path: Path) -> None:
    with servers(tmp_path, {"hangs": fake("silent", startupTimeout=100), "works": fake()}) as made:
        asyncio.run(made.settle(None, "mcp__works__echo"))
        assert [state.status for state in made.states()] == ["connecting", "connected"]


def test_a_server_that_dies_in_a_call_is_started_again_at_the_next_however_often(tmp_path: Path) -> None:
    with servers(tmp_path, {"fake": fake()}, reconnects=(0.01, 0.02)) as made:
        settled(made)
        for _ in range(6):
            with pytest.raises(ToolError, match=r"ended during the call \(fatal: out of cheese\)"):
                call(made, "mcp__fake__die")
        assert text(call(made, "mcp__fake__echo", text="back")) == "back"
    assert len(pids(tmp_path)) == 7


def test_a_server_that_dies_again_and_again_is_started_after_a_growing_pause(tmp_path: Path) -> None:
    async def impatient() -> None:
        tool = next(tool for tool in made.tools() if tool.tool == "echo")
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(made.call(tool, {}, lambda _: None), 0.2)

    with servers(tmp_path, {"fake": fake()}, reconnects=(0.01, 50.0)) as made:
        settled(made)
        for said in ("next call.", "next call.", "next call, after a pause of 50 s."):
            with pytest.raises(ToolError, match=f"started again at the {said}"):
                call(made, "mcp__fake__die")
        asyncio.run(impatient())
        assert len(pids(tmp_path)) == 3
        assert asyncio.run(made.restart("fake")).status == "connected", "the person need not wait"
        assert text(call(made, "mcp__fake__echo", text="back")) == "back"
        with pytest.raises(ToolError, match=r"started again at the next call\."):
            call(made, "mcp__fake__die")


def test_a_server_that_starts_slowly_is_waited_for_in_the_background(tmp_path: Path) -> None:
    with servers(tmp_path, {"fake": fake("late", startupTimeout=0.2)}) as made:
        (state,) = settled(made)
        assert "`startupTimeout`" in state.obstacle
        for _ in range(2):
            asyncio.run(made.settle(0.1, "mcp__fake__echo", again=True))
            assert made.states()[0].status == "connecting"
        (tmp_path / "go").touch()
        asyncio.run(made.settle(None, "mcp__fake__echo", again=True))
        assert made.states()[0].status == "connected"
        assert text(call(made, "mcp__fake__echo", text="at last")) == "at last"
        assert "Server fake is connected, 5 tools." in made.changes()
    assert len(pids(tmp_path)) == 1
    assert not is_alive(pids(tmp_path)[0])


@pytest.mark.full
def test_a_server_that_still_starts_is_ended_with_the_others(tmp_path: Path) -> None:
    with servers(tmp_path, {"fake": fake("late", startupTimeout=0.2)}) as made:
        settled(made)
        asyncio.run(until(lambda: (tmp_path / "fake.log").exists()))
    assert not is_alive(pids(tmp_path)[0])


@pytest.mark.full
@pytest.mark.parametrize("faults", [("lingers",), ("lingers", "exits")], ids=["dies in a call", "exits at its start"])
def test_the_end_of_a_server_that_is_just_ending_waits_for_its_process(tmp_path: Path, faults: tuple[str, ...]) -> None:
    """The SDK's wait for the process is not cancelled: a transport that nothing waited for would warn here."""
    with servers(tmp_path, {"fake": fake(*faults)}) as made:
        if "exits" in faults:
            made.start()
            asyncio.run(until(lambda: (tmp_path / "fake.log").exists()))
            time.sleep(0.2)
        else:
            settled(made)
            with pytest.raises(ToolError):
                call(made, "mcp__fake__die")
        (pid,) = pids(tmp_path)
        assert is_alive(pid)
    assert not is_alive(pid)
    gc.collect()


def test_a_server_that_failed_is_tried_again_at_the_next_call(tmp_path: Path) -> None:
    program = tmp_path / "program"
    with servers(tmp_path, {"fake": {"command": str(program)}}) as made:
        (state,) = settled(made)
        assert state.status == "failed"
        program.write_text(f"#!/bin/sh\nexec {sys.executable} -I -S {FAKE}\n")
        program.chmod(0o755)
        asyncio.run(made.settle(None))
        assert made.states()[0].status == "failed", "a look changes nothing"
        asyncio.run(made.settle(None, "mcp__fake__echo", again=True))
        assert text(call(made, "mcp__fake__echo", text="now")) == "now"


def test_what_a_server_wrote_before_its_last_answer_is_no_cause_of_its_end(tmp_path: Path) -> None:
    offers(tmp_path, "echo", "vanish", "die")
    with servers(tmp_path, {"fake": fake("wordy")}) as made:
        settled(made)
        with pytest.raises(ToolError, match=r"ended during the call\. "):
            call(made, "mcp__fake__vanish")
        call(made, "mcp__fake__echo")
        with pytest.raises(ToolError, match=r"ended during the call\. "):
            call(made, "mcp__fake__vanish")
        with pytest.raises(ToolError, match=r"\(fatal: out of cheese\)"):
            call(made, "mcp__fake__die")


def test_an_answer_that_the_sdk_cannot_read_is_read_all_the_same(tmp_path: Path) -> None:
    offers(tmp_path, "echo", "unreadable")
    given = {"deep": fake("deep", startupTimeout=500), "fake": fake(timeout=500)}
    with servers(tmp_path, given) as made:
        deep, _ = settled(made)
        assert deep.status == "connected"
        assert deep.odd == ("tool deep: its schema is nested too deeply, so it takes any arguments",)
        assert text(call(made, "mcp__fake__unreadable")) == "[block 1 does not have the form of the protocol] 5"
        assert text(call(made, "mcp__fake__echo", text="on")) == "on"


def test_a_server_that_lists_no_resources_has_no_tool_for_them_up_front(tmp_path: Path) -> None:
    with servers(tmp_path, {"fake": fake("no-resources"), "other": fake("resources")}) as made:
        states = settled(made)
        assert [state.tools for state in states] == [5, 7]
        found = {tool.name: tool.aside for tool in made.tools() if "resource" in tool.tool}
        assert found == {
            "mcp__fake__read_resource": True,  # an answer may name some
            "mcp__other__read_resource": False,
            "mcp__other__list_resources": False,
        }


def test_a_server_of_the_newest_protocol_is_spoken_to_in_a_revision_in_which_it_can_ask(tmp_path: Path) -> None:
    asked: list[Elicitation] = []

    async def ask(question: Elicitation) -> dict[str, str]:
        asked.append(question)
        return {"name": "Ann"}

    offers(tmp_path, "ask")
    with servers(tmp_path, {"fake": fake("newest")}, ask=ask) as made:
        settled(made)
        assert "Ann" in text(call(made, "mcp__fake__ask"))
    assert len(asked) == 1


def test_a_call_that_gets_no_answer_is_cancelled_and_the_server_works_on(tmp_path: Path) -> None:
    with servers(tmp_path, {"fake": fake(timeout=0.2)}) as made:
        settled(made)
        with pytest.raises(ToolError, match=r"did not answer within 0.2 s. The call was cancelled"):
            call(made, "mcp__fake__hang")
        assert made.states()[0].status == "connected"
        asyncio.run(until(lambda: "cancelled" in (tmp_path / "fake.log").read_text()))


def test_an_interrupted_call_is_cancelled_at_the_server(tmp_path: Path) -> None:
    async def interrupted() -> None:
        tool = next(tool for tool in made.tools() if tool.tool == "hang")
        task = asyncio.create_task(made.call(tool, {}, lambda _: None))
        await until(lambda: "call hang" in (tmp_path / "fake.log").read_text())
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await until(lambda: "cancelled" in (tmp_path / "fake.log").read_text())

    with servers(tmp_path, {"fake": fake()}) as made:
        settled(made)
        asyncio.run(interrupted())


@pytest.mark.slow  # the SDK gives a program two seconds, twice
@each_row("faults", [["stubborn"], ["stubborn", "silent"]])
def test_a_server_that_will_not_end_is_killed(tmp_path: Path, faults: list[str]) -> None:
    with servers(tmp_path, {"fake": fake(*faults, startupTimeout=5)}) as made:
        made.start()
        asyncio.run(until(lambda: (tmp_path / "fake.log").exists()))
        if "silent" not in faults:
            settled(made)
        (pid,) = pids(tmp_path)
    assert not is_alive(pid)


@each_row(
    ("status", "given", "said"),
    [
        (401, {"type": "http"}, "needs login: run `/mcp login web` or `agentcli mcp login web`"),
        (401, {"type": "sse"}, "needs login: run `/mcp login web` or `agentcli mcp login web`"),
        (404, {"type": "http"}, "failed: it answered 404 Not Found at http://127.0.0.1:PORT; check its path"),
        (500, {"type": "http"}, "failed: it answered 500 Internal Server Error at http://127.0.0.1:PORT"),
    ],
)
def test_a_server_that_refuses_is_failed_or_needs_a_login(
    tmp_path: Path, status: int, given: dict[str, str], said: str
) -> None:
    with refusing(status) as url, servers(tmp_path, {"web": {**given, "url": url}}) as made:
        (state,) = settled(made)
        assert str(state) == said.replace("PORT", url.partition("1:")[2].partition("/")[0])


@pytest.mark.parametrize("kind", ["http", "sse"])
def test_a_server_that_cannot_be_reached_is_named_with_its_address_and_no_key(tmp_path: Path, kind: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    with servers(tmp_path, {"web": {"type": kind, "url": f"http://me:secret@{address}/secret?key=secret"}}) as made:
        (state,) = settled(made)
    why = f"can't reach it at http://{address} (Connection refused); start it, or correct its address"
    assert (str(state), state.sentence) == (f"failed: {why}", f"Server web failed: {why}.")


def test_progress_of_a_call_is_told(tmp_path: Path) -> None:
    (tmp_path / "tools.json").write_text('[{"name": "slow", "inputSchema": {"type": "object"}}]')
    shown: list[str] = []

    async def slow() -> None:
        await made.call(made.tools()[0], {}, shown.append)
        await until(lambda: len(shown) == 3)

    with servers(tmp_path, {"fake": fake()}) as made:
        settled(made)
        asyncio.run(slow())
    assert shown == ["progress (0 of 3)\n", "progress (1 of 3)\n", "progress (2 of 3)\n"]


def test_a_question_of_a_server_goes_to_the_person_or_is_declined(tmp_path: Path) -> None:
    (tmp_path / "tools.json").write_text('[{"name": "ask", "inputSchema": {"type": "object"}}]')

    async def answer(asked: Elicitation) -> Mapping[str, Any] | None:
        assert [(field.name, field.required) for field in asked.fields] == [("name", True)]
        return {"name": "Ada"}

    with servers(tmp_path, {"fake": fake()}, ask=answer) as made:
        settled(made)
        assert json.loads(text(call(made, "mcp__fake__ask"))) == {"action": "accept", "content": {"name": "Ada"}}
    with servers(tmp_path, {"fake": fake()}) as made:
        settled(made)
        assert json.loads(text(call(made, "mcp__fake__ask")))["action"] == "decline"


def test_changed_tools_are_listed_anew_and_told(tmp_path: Path) -> None:
    with servers(tmp_path, {"fake": fake("changes")}) as made:
        settled(made)
        schema = {"type": "object"}
        (tmp_path / "tools.json").write_text(
            json.dumps([{"name": name, "inputSchema": schema} for name in ("echo", "new")])
        )
        call(made, "mcp__fake__echo")
        asyncio.run(until(lambda: any("changed its tools" in line for line in made.changes())))
        assert [tool.tool for tool in made.tools()] == ["echo", "new"]
        assert made.changes()[-1] == (
            "Server fake has changed its tools. new: mcp__fake__new; "
            "gone: mcp__fake__die, mcp__fake__hang, mcp__fake__peek, mcp__fake__sensitive; changed: mcp__fake__echo."
        )


def test_a_server_sees_the_workspace_and_no_key_of_ours(tmp_path: Path) -> None:
    names = ("environment", "roots")
    (tmp_path / "tools.json").write_text(
        json.dumps([{"name": name, "inputSchema": {"type": "object"}} for name in names])
    )
    with servers(tmp_path, {"fake": fake(env={"OWN": "x"})}) as made:
        settled(made)
        seen = json.loads(text(call(made, "mcp__fake__environment")))
        assert "SECRET_KEY" not in seen
        assert (seen["OWN"], seen["CLAUDE_PROJECT_DIR"]) == ("x", str(tmp_path))
        assert json.loads(text(call(made, "mcp__fake__roots")))["roots"][0]["uri"] == tmp_path.as_uri()


def test_resources_and_prompts_can_be_read(tmp_path: Path) -> None:
    with servers(tmp_path, {"fake": fake("resources")}) as made:
        settled(made)
        assert text(call(made, "mcp__fake__read_resource", uri="note://1")) == "buy milk"
        assert text(call(made, "mcp__fake__list_resources")) == "note://1  first note"
        (prompt,) = made.prompts()
        assert prompt.arguments == (("topic", True), ("style", False))
        (said,) = asyncio.run(made.prompt("fake", "summarise", {"topic": "milk"}))
        assert said.text == "Summarise {'topic': 'milk'}"


def test_a_content_block_of_an_unknown_kind_is_named_and_the_others_are_kept(tmp_path: Path) -> None:
    (tmp_path / "tools.json").write_text('[{"name": "blocks", "inputSchema": {"type": "object"}}]')
    blocks = [
        {"type": "text", "text": "before"},
        {"type": "hologram\x1b", "data": {}},
        {"type": "text", "text": "after"},
    ]
    with servers(tmp_path, {"fake": fake()}) as made:
        settled(made)
        answer = call(made, "mcp__fake__blocks", blocks=blocks)
        assert [content.text for content in answer.contents] == [
            "before",
            "[hologram\\x1b: left out, since this kind of content is not known]",
            "after",
        ]
        odd = text(call(made, "mcp__fake__blocks", blocks=[{"type": "image"}]))
        assert odd == '[block 1 does not have the form of the protocol] {"type": "image"}'


def test_include_and_exclude_choose_among_the_tools(tmp_path: Path) -> None:
    with servers(tmp_path, {"fake": fake(includeTools=["e*", "p*"], excludeTools=["peek"])}) as made:
        settled(made)
        assert [tool.tool for tool in made.tools()] == ["echo"]


def test_servers_are_told_when_the_folders_of_the_workspace_change(tmp_path: Path) -> None:
    (tmp_path / "tools.json").write_text(json.dumps([{"name": "roots", "inputSchema": {"type": "object"}}]))
    folders = [tmp_path]
    with servers(tmp_path, {"fake": fake()}, roots=lambda: folders) as made:
        settled(made)
        folders.append(tmp_path / "more")
        made.define([*definition("fake", fake(), "test").servers.values()])
        wait(until(lambda: "roots changed" in (tmp_path / "fake.log").read_text()))
        listed = json.loads(text(call(made, "mcp__fake__roots")))["roots"]
        assert [root["uri"] for root in listed] == [folder.as_uri() for folder in folders]


def test_a_server_over_http_that_goes_away_fails_the_call_alone_and_is_reached_again(tmp_path: Path) -> None:
    with serving() as port:
        pass
    with servers(tmp_path, {"web": {"url": f"http://127.0.0.1:{port}/mcp"}}, reconnects=[0.01] * 3) as made:
        with serving(port):
            (state,) = settled(made)
            assert (state.status, text(call(made, "mcp__web__echo", text="moved"))) == ("connected", "moved")
        with pytest.raises(ToolError, match="Server web"):
            call(made, "mcp__web__echo", text="gone")
        asyncio.run(until(lambda: made.states()[0].status == "failed"))
        assert made.changes()[-1].startswith("Server web failed: can't reach it at ")
        with serving(port):
            assert wait(made.restart("web")).status == "connected"
            assert text(call(made, "mcp__web__echo", text="back")) == "back"


def test_a_server_that_sends_us_to_another_host_is_not_followed(tmp_path: Path) -> None:
    with (
        serving() as port,
        servers(tmp_path, {"web": {"type": "http", "url": f"http://127.0.0.1:{port}/away"}}) as made,
    ):
        (state,) = settled(made)
        assert state.status == "failed"


@pytest.mark.full
@pytest.mark.parametrize("fault", ["nonsense-relist", "refuses-relist"])
def test_a_list_that_cannot_be_read_anew_leaves_the_old_one_and_the_connection(tmp_path: Path, fault: str) -> None:
    with servers(tmp_path, {"fake": fake("changes", fault)}) as made:
        settled(made)
        for number in (1, 2):
            call(made, "mcp__fake__echo", text="a")
            asyncio.run(until(lambda: (tmp_path / "fake.log").read_text().count("tools/list") > number))  # noqa: B023
        assert text(call(made, "mcp__fake__echo", text="still here")) == "still here"
        assert len(made.tools()) == 5
    assert len(pids(tmp_path)) == 1


def test_a_server_that_never_answers_the_second_list_ends_with_the_others(tmp_path: Path) -> None:
    with servers(tmp_path, {"fake": fake("changes", "hangs-relist")}) as made:
        settled(made)
        call(made, "mcp__fake__echo", text="a")
        asyncio.run(until(lambda: (tmp_path / "fake.log").read_text().count("tools/list") > 1))
        (pid,) = pids(tmp_path)
    assert not is_alive(pid)


def test_a_server_that_refuses_to_list_its_prompts_keeps_its_tools(tmp_path: Path) -> None:
    with servers(tmp_path, {"fake": fake("refuses-prompts")}) as made:
        (state,) = settled(made)
        assert (state.status, made.prompts(), made.resources()) == ("connected", [], [])
        assert text(call(made, "mcp__fake__echo", text="works")) == "works"


@pytest.mark.slow  # waits for both limits
def test_progress_keeps_a_call_alive_until_its_last_limit(tmp_path: Path) -> None:
    (tmp_path / "tools.json").write_text('[{"name": "crawl", "inputSchema": {"type": "object"}}]')
    with servers(tmp_path, {"fake": fake(timeout=3)}, call_seconds=4) as made:
        settled(made)
        with pytest.raises(ToolError, match=r"Server fake did not end within 4 s. The call was cancelled"):
            call(made, "mcp__fake__crawl")
        (tmp_path / "enough").touch()


def test_a_server_whose_definition_has_changed_is_started_anew(tmp_path: Path) -> None:
    with servers(tmp_path, {"fake": fake()}) as made:
        settled(made)
        made.define([*definition("fake", fake(env={"FAKE_NAME": "second"}), "test").servers.values()])
        wait(until(lambda: "second" in (tmp_path / "fake.log").read_text()))
        wait(until(lambda: made.states()[0].status == "connected"))
        old, new = pids(tmp_path)
        wait(until(lambda: not is_alive(old)))
        assert is_alive(new)
        made.define([*definition("fake", fake(env={"FAKE_NAME": "second"}), "test").servers.values()])
        assert text(call(made, "mcp__fake__echo", text="the same one")) == "the same one"
        assert len(pids(tmp_path)) == 2


def test_text_on_stdout_and_wrong_bytes_reach_no_terminal(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with servers(tmp_path, {"fake": fake("chatter", "latin"), "exits": fake("exits")}) as made:
        settled(made)
        call(made, "mcp__fake__echo", text="a")
    out, err = capfd.readouterr()
    assert (out, "Traceback" in err, "no licence" in err) == ("", False, False)


def test_the_search_ranks_names_before_descriptions_and_takes_names_themselves() -> None:
    def tool(name: str, description: str = "") -> ServerTool:
        return ServerTool(f"mcp__s__{name}", "s", name, description, {"type": "object"})

    tools = [tool("createIssue", "Open a ticket."), tool("list", "List issues and pull requests."), tool("other")]
    assert [found.tool for found in ranked("create an issue", tools, 5)] == ["createIssue", "list"]
    assert ranked("weather", tools, 5) == []
    assert [found.tool for found in ranked("select:mcp__s__other, list", tools, 5)] == ["other", "list"]
    assert len(ranked("issue", tools, 1)) == 1
