"""Tools of servers in a session: behind the gate, up front, decided about by their own name, and never a change of what was sent."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentcli.agent.ports import ApprovalResponse
from agentcli.agent.settings import McpSettings
from agentcli.core.errors import ToolError
from agentcli.core.event import Noticed, PermissionDecided, Warned
from agentcli.core.message import Image, Message, Text
from agentcli.core.model import Request
from agentcli.core.record import Compaction
from agentcli.core.servers import (
    Content,
    Progress,
    ServerAnswer,
    ServerPrompt,
    ServerResource,
    Servers,
    ServerState,
    ServerTool,
)
from agentcli.integrations.extensions.discover import discover
from agentcli.permissions.rules import parse_rules
from agentcli.providers.scripted.model import Reply, call, say
from tests.agent.open_session import Person, ended, messages, open_session, results, say_to

STATUS = ServerTool(
    "mcp__git__status",
    "git",
    "status",
    "Show the state.",
    {"type": "object", "properties": {"path": {"type": "string"}}},
)
LARGE = ServerTool("mcp__big__do", "big", "do", "Do it.", {"type": "object", "description": "x" * 9_000})


PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


class Played(Servers):
    """Servers whose tools, states and changes a test lays down."""

    def __init__(self, *tools: ServerTool, answer: ServerAnswer | None = None) -> None:
        self.offered = list(tools)
        self.answer = answer or ServerAnswer((Content("text", "On branch main"),))
        self.told: list[str] = []
        self.failed: dict[str, str] = {}
        self.called: list[tuple[str, Mapping[str, Any]]] = []

    def states(self) -> Sequence[ServerState]:
        names = sorted({tool.server for tool in self.offered})
        return [
            ServerState(name, "failed", self.failed[name]) if name in self.failed else ServerState(name, "connected")
            for name in names
        ]

    def tools(self) -> Sequence[ServerTool]:
        return [tool for tool in self.offered if tool.server not in self.failed]

    async def restart(self, server: str) -> ServerState:
        return ServerState(server, "connected", tools=1)

    async def disable(self, server: str) -> None:
        return None

    def log(self, server: str) -> str:
        return "a line on stderr"

    def prompts(self) -> Sequence[ServerPrompt]:
        return [ServerPrompt("git", "explain", "Explain a commit.", (("commit", True), ("style", False)))]

    async def prompt(self, server: str, name: str, arguments: Mapping[str, str]) -> Sequence[Content]:
        return [Content("text", f"Explain {dict(arguments)}")]

    def resources(self) -> Sequence[ServerResource]:
        uris = ("note://1", "file:///a b", "x\x1b[2J")
        return [ServerResource("git", uri, "note", "A \x1b[2Jnote.") for uri in uris]

    async def read(self, server: str, uri: str) -> ServerAnswer:
        if "gone" in uri:
            raise ToolError("no such resource")
        if "picture" in uri:
            data = PIXEL if "true" in uri else "bm8gcGljdHVyZQ=="
            return ServerAnswer((Content("blob", data=data, mime="image/png", uri=uri),))
        if "song" in uri:
            return ServerAnswer((Content("blob", data="AAAA", mime="audio/mpeg", uri=uri),))
        return ServerAnswer((Content("text", "buy milk", uri=uri),))

    def search(self, query: str, limit: int) -> Sequence[ServerTool]:
        return [tool for tool in self.tools() if query in tool.name][:limit]

    def obstacle(self, name: str) -> str:
        return f"Server {name.split('__')[1]} is not connected."

    def changes(self) -> Sequence[str]:
        return list(self.told)

    async def settle(self, seconds: float | None, tool: str = "") -> None:
        return None

    async def call(self, tool: ServerTool, arguments: Mapping[str, Any], progress: Progress) -> ServerAnswer:
        self.called.append((tool.name, arguments))
        if "fail" in arguments:
            raise ToolError("Server git ended during the call.")
        return self.answer


def calls(name: str, **given: Any) -> Reply:
    return Reply((call(name, **given),))


def through_gate(tool: str, **arguments: Any) -> Reply:
    return calls("mcp_call", tool=tool, arguments=arguments)


def reminders(session: Any) -> list[str]:
    return [
        part.text
        for message in messages(session)
        for part in message.parts
        if isinstance(part, Text) and part.synthetic
    ]


def test_a_call_of_the_gate_is_decided_about_and_shown_as_the_tool_that_it_calls(tmp_path: Path) -> None:
    servers, person = Played(STATUS), Person(ApprovalResponse("once"))
    session = open_session(
        tmp_path, [through_gate("mcp__git__status", path="."), say("ok")], servers=servers, person=person
    )
    events = say_to(session, "go")
    (asked,) = person.asked
    assert (asked.call.name, asked.call.input) == ("mcp__git__status", {"path": "."})
    assert (asked.always, asked.prefixes, asked.kind) == ("mcp__git__status", ("mcp__git__*",), "input")
    assert asked.title == "git status(path: .)"
    (decided,) = [event for event in events if isinstance(event, PermissionDecided)]
    assert (decided.name, decided.decision) == ("mcp__git__status", "allow")
    (result,) = results(session)
    assert (result.name, result.metadata["tool"], result.output) == ("mcp_call", "mcp__git__status", "On branch main")
    assert servers.called == [("mcp__git__status", {"path": "."})]
    (sent,) = [message for message in messages(session) if message.calls]
    assert sent.calls[0].name == "mcp_call", "the record keeps what the model sent"


@pytest.mark.parametrize(
    ("allow", "deny", "status"),
    [
        ("mcp__git", "", "success"),
        ("mcp__git__*", "", "success"),
        ("mcp__*", "", "success"),
        ("mcp__git__status", "", "success"),
        ("mcp__gi", "", "denied"),
        ("mcp_call", "", "denied"),
        ("mcp__*", "mcp__git", "denied"),
    ],
)
def test_rules_name_a_tool_a_server_or_all_of_them(tmp_path: Path, allow: str, deny: str, status: str) -> None:
    session = open_session(tmp_path, [through_gate("mcp__git__status"), say("ok")], servers=Played(STATUS))
    session._runner.approval.rules = parse_rules([allow], (), [deny] if deny else [])
    say_to(session, "go")
    assert [result.status for result in results(session)] == [status]


def test_plan_mode_allows_only_what_is_trusted_to_read_and_asks_about_it(tmp_path: Path) -> None:
    peek = replace(STATUS, name="mcp__git__peek", tool="peek", reads=True)
    person = Person(ApprovalResponse("once"))
    session = open_session(
        tmp_path,
        [through_gate("mcp__git__status"), through_gate("mcp__git__peek"), say("ok")],
        servers=Played(STATUS, peek),
        person=person,
        mode="plan",
    )
    say_to(session, "go")
    assert [result.status for result in results(session)] == ["denied", "success"]
    assert [ask.call.name for ask in person.asked] == ["mcp__git__peek"]


def test_a_tool_that_wants_a_person_is_asked_about_in_every_mode_each_time(tmp_path: Path) -> None:
    pay = replace(STATUS, interacts=True)
    person = Person(ApprovalResponse("once"), ApprovalResponse("once"))
    session = open_session(
        tmp_path,
        [through_gate("mcp__git__status"), through_gate("mcp__git__status", path="x"), say("ok")],
        servers=Played(pay),
        person=person,
        mode="yolo",
    )
    session._runner.approval.rules = parse_rules(["mcp__git"])
    say_to(session, "go")
    assert [ask.always for ask in person.asked] == ["", ""]


def test_small_servers_stand_up_front_and_what_comes_later_changes_nothing_that_was_sent(tmp_path: Path) -> None:
    servers = Played(STATUS, LARGE)
    session = open_session(tmp_path, [say("one"), calls("mcp__git__status"), say("two")], servers=servers, mode="yolo")
    say_to(session, "first")
    tools = session.conversation.builder.tools
    assert [tool.name for tool in tools][-3:] == ["mcp_search", "mcp_call", "mcp__git__status"]
    servers.offered.append(replace(STATUS, name="mcp__new__x", server="new"))
    servers.failed["git"] = "it ended"
    servers.told.append("Server git has ended.")
    say_to(session, "second")
    assert session.conversation.builder.tools == tools
    assert "Server git has ended." in reminders(session)
    assert [result.output for result in results(session)] == ["Server git is not connected."]
    journal = session.journal
    resumed = open_session(tmp_path, [say("three")], servers=None, journal=journal)
    assert resumed.conversation.builder.tools == tools
    assert resumed.conversation.builder.system == session.conversation.builder.system


def test_a_server_that_is_always_to_stand_up_front_comes_before_smaller_ones(tmp_path: Path) -> None:
    small = replace(STATUS, description="Show the state of it. " * 40)
    large = replace(STATUS, name="mcp__zoo__feed", server="zoo", description="Feed the animals there. " * 60)
    for always, chosen in ((True, "mcp__zoo__feed"), (False, "mcp__git__status")):
        servers = Played(small, replace(large, always=always))
        session = open_session(tmp_path, [say("ok")], servers=servers, mcp=McpSettings(upfront_tokens=700))
        say_to(session, "go")
        assert [tool.name for tool in session.conversation.builder.tools if "__" in tool.name] == [chosen]


def test_a_search_that_finds_nothing_names_the_nearest_tools_and_the_servers_that_failed(tmp_path: Path) -> None:
    other = replace(STATUS, name="mcp__db__query", server="db", tool="query")
    servers = Played(STATUS, other)
    servers.failed["db"] = "it needs $TOKEN, which is not set"
    session = open_session(tmp_path, [calls("mcp_search", query="statis"), say("ok")], servers=servers)
    say_to(session, "go")
    assert results(session)[0].output.splitlines() == [
        "No tool fits 'statis'.",
        "Nearest: mcp__git__status.",
        "Server db needs $TOKEN, which is not set.",
    ]


def test_a_search_shows_five_tools_unless_asked_for_more(tmp_path: Path) -> None:
    many = [replace(STATUS, name=f"mcp__git__s{n}", tool=f"s{n}", description="y" * 3_000) for n in range(9)]
    replies = [calls("mcp_search", query="git"), calls("mcp_search", query="git", limit=7), say("ok")]
    session = open_session(tmp_path, replies, servers=Played(*many))
    say_to(session, "go")
    assert [result.metadata["matches"] for result in results(session)] == [5, 7]
    assert results(session)[0].output.splitlines()[0] == f"mcp__git__s0: {'y' * 2_048}…"


def test_the_servers_are_told_with_the_first_prompt_and_after_a_compaction(tmp_path: Path) -> None:
    session = open_session(tmp_path, lambda _: say("ok"), servers=Played(STATUS, LARGE))

    def listed() -> int:
        return sum(text.startswith("MCP servers of this session") for text in reminders(session))

    say_to(session, "one")
    (catalogue,) = [text for text in reminders(session) if text.startswith("MCP servers")]
    assert "- big (connected, 0 tools)\n  tools: mcp__big__do" in catalogue
    say_to(session, "two")
    assert listed() == 1
    last = session.history.last_seq
    session.journal.append(Compaction("manual", "compressed", "auto", (1, last), last + 1, "<state_snapshot/>"))
    say_to(session, "three")
    assert listed() == 1, "the former one has left the view"
    assert "MCP servers" in reminders(session)[-1]


def test_a_long_catalogue_counts_instead_of_naming(tmp_path: Path) -> None:
    many = [replace(STATUS, name=f"mcp__git__tool_{n}", tool=f"tool_{n}") for n in range(300)]
    session = open_session(tmp_path, lambda _: say("ok"), servers=Played(*many), mcp=McpSettings(catalogue_tokens=200))
    say_to(session, "one")
    (catalogue,) = [text for text in reminders(session) if text.startswith("MCP servers")]
    assert "tool_7" not in catalogue
    assert len(catalogue) <= 800


def test_a_server_that_failed_is_named_to_the_person_once(tmp_path: Path) -> None:
    servers = Played(STATUS)
    servers.failed["git"] = "it was not found"
    session = open_session(tmp_path, lambda _: say("ok"), servers=servers)
    warned = [event.message for event in say_to(session, "one", "two") if isinstance(event, Warned)]
    assert warned == ["Server git was not found."]


def test_a_gate_call_that_names_no_tool_says_how_to_find_one(tmp_path: Path) -> None:
    session = open_session(tmp_path, [calls("mcp_call", tool="status"), say("ok")], servers=Played(STATUS), mode="yolo")
    say_to(session, "go")
    assert "mcp_search finds it" in results(session)[0].output


def test_text_images_and_other_data_of_an_answer(tmp_path: Path) -> None:
    answer = ServerAnswer(
        (
            Content("text", "Two things: note://1"),
            Content("image", data=PIXEL, mime="image/png"),
            Content("audio", data="AAAA", mime="audio/wav"),
            Content("link", uri="note://1", name="note"),
        ),
        structured={"said": "things", "where": {"uri": "note://1"}},
    )
    session = open_session(
        tmp_path, [through_gate("mcp__git__status"), say("ok")], servers=Played(STATUS, answer=answer), mode="yolo"
    )
    say_to(session, "go")
    (result,) = results(session)
    assert [image.mime for image in result.images] == ["image/png"]
    first, audio, link = result.output.splitlines()
    assert (first, link) == ("Two things: note://1", "[resource note: note://1]")
    assert audio == "[audio audio/wav: 3 bytes, not kept: this session is not stored]"


@pytest.mark.parametrize(("text", "said"), [("", ""), ("Some were found.", "Some were found.\n")])
def test_what_only_the_structure_says_is_given_as_json(tmp_path: Path, text: str, said: str) -> None:
    answer = ServerAnswer((Content("text", text),) if text else (), structured={"count": 3}, failed=True)
    session = open_session(
        tmp_path, [through_gate("mcp__git__status"), say("ok")], servers=Played(STATUS, answer=answer), mode="yolo"
    )
    say_to(session, "go")
    assert [(result.output, result.status) for result in results(session)] == [(said + '{"count":3}', "error")]


def test_a_structure_that_the_text_repeats_is_given_once(tmp_path: Path) -> None:
    structured = {"result": "two\nlines", "übrig": ["ü", 1.5, None, True]}
    for text in (json.dumps(structured, indent=2), "two\nlines: ü, 1.5, true"):
        answer = ServerAnswer((Content("text", text),), structured)
        replies = [through_gate("mcp__git__status"), say("ok")]
        session = open_session(tmp_path, replies, servers=Played(STATUS, answer=answer), mode="yolo")
        say_to(session, "go")
        assert results(session)[0].output == text


def test_what_a_search_finds_is_cut_as_any_output_is(tmp_path: Path) -> None:
    huge = replace(STATUS, parameters={"type": "object", "description": "x" * 1_000_000})
    session = open_session(tmp_path, [calls("mcp_search", query="status"), say("ok")], servers=Played(huge))
    say_to(session, "go")
    (result,) = results(session)
    assert len(result.output) < 31_000
    assert "bytes left out here" in result.output
    assert result.metadata["tools"] == ["mcp__git__status"]


@pytest.mark.parametrize("servers", [None, Played()])
def test_a_recorded_tool_whose_server_is_gone_says_that_it_is_not_connected(
    tmp_path: Path, servers: Played | None
) -> None:
    replies = [calls("mcp__git__status"), calls("mcp_search", query="status"), say("ok")]
    session = open_session(tmp_path, replies, servers=servers, mode="yolo")
    say_to(session, "go")
    assert results(session)[0].output.startswith("Server git is not connected")


def test_a_subagent_that_explores_has_no_gate(tmp_path: Path) -> None:
    session = open_session(
        tmp_path,
        [calls("task", description="look", prompt="look", agent="explore"), say("done"), say("ok")],
        servers=Played(STATUS),
    )
    say_to(session, "go")
    assert isinstance(messages(session)[-1], Message)


@pytest.mark.parametrize(
    ("head", "allowed"),
    [
        ("", {"mcp__git__status", "mcp__big__do"}),
        ("tools: Read, mcp__git__status", {"mcp__git__status"}),
        ("tools: Read, mcp__git", {"mcp__git__status"}),
        ("disallowedTools: mcp__big__*", {"mcp__git__status"}),
        ("disallowedTools: mcp__git", {"mcp__big__do"}),
        ("tools: Read", set()),
    ],
)
def test_an_agent_calls_only_the_tools_of_servers_that_its_definition_leaves_it(
    head: str, allowed: set[str], tmp_path: Path
) -> None:
    agent = tmp_path / "home/.claude/agents/rev.md"
    agent.parent.mkdir(parents=True)
    agent.write_text(f"---\nname: rev\ndescription: d\n{head}\n---\nYou review.")
    tried = [calls("mcp_search", query="mcp__"), through_gate("mcp__git__status"), calls("mcp__big__do")]
    asked: list[Request] = []

    def script(request: Request) -> Reply:
        if not any("You are a subagent" in block for block in request.system):
            return say("", call("task", description="d", prompt="p", agent="rev")) if not asked else say("ok")
        asked.append(request)
        return tried[len(asked) - 1] if len(asked) <= len(tried) else say("done")

    servers = Played(STATUS, LARGE)
    session = open_session(
        tmp_path,
        script,
        mode="yolo",
        servers=servers,
        extensions=lambda: discover(None, tmp_path / "home", tmp_path / "config"),
    )
    events = say_to(session, "go")
    assert {name for name, _ in servers.called} == allowed
    assert {tool.name for tool in asked[0].tools if "__" in tool.name} <= allowed
    shown = str([message.parts for message in asked[1].messages][-1])
    assert ("mcp__big__do: " in shown) == ("mcp__big__do" in allowed)
    assert not [event for event in events if isinstance(event, Noticed) and "do not exist here" in event.message]


def prompted(session: Any) -> list[Any]:
    return [
        part for message in messages(session)[:1] for part in message.parts if not getattr(part, "synthetic", False)
    ]


def test_a_prompt_of_a_server_is_sent_with_its_arguments_by_position(tmp_path: Path) -> None:
    session = open_session(tmp_path, lambda _: say("ok"), servers=Played(STATUS))
    assert session.extensions.is_entry("/git:explain HEAD")
    assert session.extensions.is_entry("/mcp__git__explain HEAD")
    assert not session.extensions.is_entry("/git:other")
    say_to(session, '/git:explain "HEAD~1" very short')
    assert [part.text for part in prompted(session)] == ["Explain {'commit': 'HEAD~1', 'style': 'very short'}"]


def test_a_prompt_of_a_server_without_what_it_requires_says_so(tmp_path: Path) -> None:
    session = open_session(tmp_path, lambda _: say("ok"), servers=Played(STATUS))
    assert "needs commit. Use /git:explain COMMIT [STYLE]" in str(ended(say_to(session, "/git:explain")).error)


def test_a_mentioned_resource_is_attached(tmp_path: Path) -> None:
    session = open_session(tmp_path, lambda _: say("ok"), servers=Played(STATUS))
    say_to(session, "what about @git:note://1, and @nobody:else or a@git:b?")
    attached, typed = prompted(session)
    assert (attached.path, attached.text) == ("git:note://1", "buy milk")
    assert typed.text.startswith("what about")
    say_to(session, "and @git:song://1")
    newest = messages(session)[-2].parts
    assert [part.text for part in newest if getattr(part, "path", "")] == [
        "[blob audio/mpeg song://1: 3 bytes, not kept: this session is not stored]"
    ]
    say_to(session, "and @git:picture://true and @git:picture://false")
    true, false, _ = (part for part in messages(session)[-2].parts if not getattr(part, "synthetic", False))
    assert isinstance(true, Image)
    assert false.text == "[blob image/png picture://false: 10 bytes, not kept: this session is not stored]"
    assert "cannot be read: no such resource" in str(ended(say_to(session, "and @git:gone")).error)
