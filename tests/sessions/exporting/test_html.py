"""HTML export: one file without network access or scripts, for small and large screens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agentcli.core.message import File, Image, Message, Text, Thinking, ToolCall, ToolResult
from agentcli.core.record import (
    KINDS,
    Body,
    Checkpoint,
    Compaction,
    Failure,
    FeatureState,
    InnerCall,
    Pin,
    Prune,
    Retry,
    Settings,
    Title,
    Todo,
    TodoItem,
    Undo,
    Unknown,
    Unpin,
    VerbatimText,
)
from agentcli.core.sanitise import is_safe
from agentcli.sessions.exporting import collect, export
from agentcli.sessions.exporting.html import plain
from tests.sessions.test_exporting import HOSTILE, PNG, Page, journal


def hostile_copies(value: Any) -> Iterator[Any]:
    """The value once for each string in it, with that one hostile."""
    match value:
        case str():
            yield HOSTILE
        case Mapping():
            for name, inner in value.items():
                yield {**{key: each for key, each in value.items() if key != name}, HOSTILE: inner}
                yield from ({**value, name: copy} for copy in hostile_copies(inner))
        case tuple() | list():
            for index, inner in enumerate(value):
                yield from ((*value[:index], copy, *value[index + 1 :]) for copy in hostile_copies(inner))
        case _ if is_dataclass(value) and not isinstance(value, type):
            for each in fields(value):
                yield from (replace(value, **{each.name: copy}) for copy in hostile_copies(getattr(value, each.name)))
        case _:
            pass


def every_kind() -> list[Body]:
    """A record of every kind, with something in every field that an export may show."""
    spoken = (Text("said", False, "reminder", {"a": "b"}), Text("note", True, "reminder"))
    call = ToolCall("c", "edit", {"file_path": "a.py", "content": "x = 1", "edits": [{"old_string": "a"}]}, {"m": "n"})
    image = Image("image/png", PNG, "a.png")
    words = (VerbatimText(1, 1, "typed"),)
    todo = (TodoItem("step", "pending", "doing it"),)
    return [
        Message("user", (*spoken, image, File("text/plain", "a.txt", "text")), 1),
        Message("assistant", (Thinking("hm", "sig"), *spoken, call), 1, "p", "m", stop="end_turn", error="broke"),
        ToolResult("c", "edit", "success", "out", True, "c.txt", "t", metadata={"diff": "-a\n+b"}, images=(image,)),
        Compaction("auto", "compressed", "auto", (1, 1), 2, "what was", {"l": "m"}, words, words, model="m", note="n"),
        Prune(("c",), 1, "old"),
        Undo(9, "prune"),
        Pin(1),
        Unpin(1),
        Retry(1, 1.0, "busy"),
        Title("title", "name", "m"),
        Todo(todo),
        Checkpoint({"before": {"a": None}}),
        Settings("m", "ask", "auto", ("system",), ({"name": "t"},), "why"),
        FeatureState("goal", {"text": "all pass"}, "m"),
        Failure("broke", "model"),
        InnerCall("c", call, ToolResult("c-1", "read", "success", "out", True, "c-1.txt", "t", metadata={"path": "a"})),
        Unknown("newer", {"kind": "newer", "text": "t"}),
    ]


def test_no_string_of_any_kind_of_record_reaches_a_page_unescaped() -> None:
    bodies = every_kind()
    assert {type(body) for body in bodies} == {*KINDS, Unknown}
    plain = collect(journal(*bodies))
    tags = {tag for tag, _ in Page(export(plain, "html")).tags} | {"a", "strong", "em", "p", "code", "span"}
    hostile = [replace(plain, info=info) for info in hostile_copies(replace(plain.info, title="t", directory="d"))]
    for index, (record, data) in enumerate(plain.records):
        for copy in hostile_copies(record):
            hostile.append(replace(plain, records=(*plain.records[:index], (copy, data), *plain.records[index + 1 :])))
    for source in hostile:
        page = export(source, "html", redacted=False)
        parsed = Page(page)
        assert {tag for tag, _ in parsed.tags} <= tags
        assert not [tag for tag, given in parsed.tags if any("zq" in name for name in given)]
        assert [given.get("http-equiv") for tag, given in parsed.tags if tag == "meta"].count("refresh") == 0
        assert "<!--" not in page


@given(st.text(st.sampled_from("ab \n\t\x00\x1b[1m\x7f\xa0\u200b\ud800é"), max_size=24))
def test_a_page_has_no_character_that_cannot_be_displayed(text: str) -> None:
    found = plain(text)
    assert is_safe(found)
    assert "\x1b" not in found
    assert plain(found) == found


def test_a_text_that_can_be_displayed_is_not_taken_apart() -> None:
    text = "é = '日本'\n\tprint(é)  # 🙂\n"
    assert plain(text) is text
