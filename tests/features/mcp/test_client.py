"""Answers of servers as the model gets them, and those of a search among their tools."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from agentcli.core.event import PermissionDecided
from agentcli.core.mcp_servers import (
    Content,
    ServerAnswer,
)
from agentcli.providers.scripted.model import say
from tests.agent.open_session import Person, open_session, results, say_to
from tests.features.mcp.played_servers import PIXEL, STATUS, Played, calls, through_gate
from tests.tables import each_row


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


@each_row(
    ("given", "said"),
    [
        (
            {"tool": "stats"},
            "'stats' is not a tool of a server: its whole name is mcp__server__tool. Did you mean mcp__git__status? "
            "There are: mcp__git__status. mcp_search describes them.",
        ),
        ({"tool": "git__stats"}, "Did you mean mcp__git__status?"),
        ({}, "'' is not a tool of a server: its whole name is mcp__server__tool. There are: mcp__git__status."),
        ({"tool": "mcp__git__status", "arguments": "{"}, "The arguments of mcp__git__status must be a JSON object."),
    ],
)
def test_a_gate_call_of_no_tool_fails_before_any_question_with_the_tools_that_there_are(
    tmp_path: Path, given: dict[str, str], said: str
) -> None:
    person = Person()
    session = open_session(tmp_path, [calls("mcp_call", **given), say("ok")], servers=Played(STATUS), person=person)
    events = say_to(session, "go")
    (result,) = results(session)
    assert (result.status, person.asked) == ("error", [])
    assert said in result.output
    assert not [event for event in events if isinstance(event, PermissionDecided)]


def test_a_gate_call_of_no_tool_lists_no_endless_names(tmp_path: Path) -> None:
    many = [replace(STATUS, name=f"mcp__git__s{n}", tool=f"s{n}") for n in range(99)]
    session = open_session(tmp_path, [calls("mcp_call", tool="other"), say("ok")], servers=Played(*many))
    say_to(session, "go")
    assert "mcp__git__s49 and 49 more. mcp_search" in results(session)[0].output


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


@pytest.mark.parametrize(("step", "once"), [(1, True), (7_919, False)])
def test_a_large_structure_is_given_once_where_the_text_repeats_it_in_order(
    tmp_path: Path, step: int, once: bool
) -> None:
    rows = [f"the row with the number {number:05}" for number in range(3_000)]
    text = "\n".join(rows[number * step % len(rows)] for number in range(len(rows)))
    answer = ServerAnswer((Content("text", text),), {"rows": rows})
    replies = [through_gate("mcp__git__status"), say("ok")]
    session = open_session(tmp_path, replies, servers=Played(STATUS, answer=answer), mode="yolo")
    say_to(session, "go")
    assert (f"of {len(text):,} bytes left out here" in results(session)[0].output) == once


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
