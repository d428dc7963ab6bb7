"""Tools of servers in a session: behind the gate, up front, decided about by their own name, and never a change of what was sent."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from agentcli.agent.ports import ApprovalResponse
from agentcli.core.event import Noticed, PermissionDecided, Warned
from agentcli.core.message import Message
from agentcli.core.model import Request
from agentcli.core.record import Compaction, Mode
from agentcli.permissions.rules import parse_rules
from agentcli.program.config.general import McpSettings
from agentcli.program.prompt_files.discover import discover
from agentcli.providers.scripted.model import Reply, call, say
from tests.agent.open_session import Person, messages, open_session, results, say_to
from tests.features.mcp.played_servers import LARGE, STATUS, Played, calls, reminders, through_gate
from tests.tables import each_row


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


def test_a_tools_own_name_suffices_for_the_gate_if_one_server_has_it(tmp_path: Path) -> None:
    servers = Played(STATUS)
    session = open_session(tmp_path, [through_gate("status"), say("ok")], servers=servers)
    session.core.approval.rules = parse_rules(["mcp__git__status"])
    say_to(session, "go")
    assert servers.called == [("mcp__git__status", {})]


@each_row(
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
    session.core.approval.rules = parse_rules([allow], (), [deny] if deny else [])
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
    session.core.approval.rules = parse_rules(["mcp__git"])
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


def test_a_subagent_that_explores_has_no_gate(tmp_path: Path) -> None:
    session = open_session(
        tmp_path,
        [calls("task", description="look", prompt="look", agent="explore"), say("done"), say("ok")],
        servers=Played(STATUS),
    )
    say_to(session, "go")
    assert isinstance(messages(session)[-1], Message)


@each_row(
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
        prompt_files=lambda: discover(None, tmp_path / "home", tmp_path / "config"),
    )
    events = say_to(session, "go")
    assert {name for name, _ in servers.called} == allowed
    assert {tool.name for tool in asked[0].tools if "__" in tool.name} <= allowed
    shown = str([message.parts for message in asked[1].messages][-1])
    assert ("mcp__big__do: " in shown) == ("mcp__big__do" in allowed)
    assert not [event for event in events if isinstance(event, Noticed) and "do not exist here" in event.message]


def test_tools_that_each_request_lists_are_not_searched_for(tmp_path: Path) -> None:
    direct = open_session(
        tmp_path / "a", lambda _: say("ok"), servers=Played(STATUS), mcp=McpSettings(upfront_tokens=9_000)
    )
    say_to(direct, "one")
    (catalogue,) = [text for text in reminders(direct) if text.startswith("MCP servers")]
    assert "Call their tools by name." in catalogue
    assert "mcp_search" not in catalogue
    assert "mcp__git__status" not in catalogue
    both = open_session(tmp_path / "b", lambda _: say("ok"), servers=Played(STATUS, LARGE))
    say_to(both, "one")
    (catalogue,) = [text for text in reminders(both) if text.startswith("MCP servers")]
    assert "mcp_search" in catalogue


def test_a_run_without_a_person_says_beforehand_which_servers_it_denies(tmp_path: Path) -> None:
    def told(name: str, mode: Mode, *allow: str) -> tuple[str, list[str]]:
        session = open_session(
            tmp_path / name,
            lambda _: say("ANSWERED"),
            servers=Played(STATUS),
            attended=False,
            mode=mode,
            rules=parse_rules(allow=allow),
        )
        events = [event.message for event in say_to(session, "What is new?") if isinstance(event, Warned)]
        (catalogue,) = [text for text in reminders(session) if text.startswith("MCP servers")]
        return catalogue, [event for event in events if "MCP" in event]

    catalogue, warned = told("denied", "auto")
    assert catalogue.endswith("No one can approve calls of these servers: git.")
    assert warned == ["No one can approve calls of MCP servers. Allow them: --allow 'mcp__git__*'."]
    for name, mode, allow in (("allowed", "auto", ["mcp__git__*"]), ("yolo", "yolo", [])):
        catalogue, warned = told(name, mode, *allow)  # type: ignore[arg-type]
        assert "No one can approve" not in catalogue
        assert not warned
