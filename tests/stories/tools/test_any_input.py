"""Whatever a model sends, a tool answers: it never raises, and what it says can be stored and sent."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcli.core.tool import ToolLimits
from agentcli.tools.registry import run, tools
from tests.tools.workplace import Bench

TOOLS = {tool.name: tool for tool in (*tools(), *tools({"task"})) if tool.name != "bash"}
HOSTILE = [
    "", " ", "\0", "a\0b", "\ud800", "\udcff", "a" * 5_000, "a.txt", ".", "..", "/", "~", "~nobody/x", "-", "--help", "-e", "(", "[", "{", "{a", "[z-a]",
    "*", "**", "**/", "/**", "a{b,{c}", "\\", "\\x", "(?P<a", "(a*)*$", "a\nb", "\n", "\r\n", "😀", "\u202e", "é.txt", "link/../a.txt", "http://", "http://\ud800/",
    "http://[", "job-1", "%s", "${HOME}", "$(touch pwned)", "`touch pwned`", "; touch pwned", "content", "count", "null",
]  # fmt: skip
ANY = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(max_size=30),
    st.integers(-5, 10**12),
    st.booleans(),
    st.none(),
    st.just([]),
    st.just({}),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with awkward names in it."""
    base = tmp_path_factory.mktemp("any") / "project"
    (base / "sub").mkdir(parents=True)
    (base / "a.txt").write_text("one\ntwo\n")
    (base / "sub/é.txt").write_text("content\n")
    (base / "link").symlink_to("sub")
    (base / "loop").symlink_to("loop")
    with suppress(OSError):  # some file systems take UTF-8 names only
        Path(f"{base}/bad\udcff.txt").write_text("content\n")
    return base


@settings(max_examples=150)
@given(data=st.data())
def test_no_input_makes_a_tool_raise(folder: Path, data: st.DataObject) -> None:
    tool = TOOLS[data.draw(st.sampled_from(sorted(TOOLS)))]
    properties = tool.schema.parameters["properties"]
    chosen = {name: data.draw(_likely(schema), label=name) for name, schema in properties.items()}
    given_ = {name: value for name, value in chosen.items() if value is not None}
    ctx = Bench(folder, folder.parent / "outputs", limits=ToolLimits(fetch_seconds=0.05, matches=3, read_lines=3))
    outcome = asyncio.run(run(tool, ctx, "c1", given_))
    assert outcome.output
    assert "\n" not in tool.title(given_)
    (outcome.output + outcome.title + repr(outcome.metadata)).encode()
    assert sorted(path.name for path in folder.parent.iterdir() if path.name != "outputs") == ["project"]


def test_names_that_are_no_text_are_shown_replaced(folder: Path) -> None:
    if not Path(f"{folder}/bad\udcff.txt").exists():
        pytest.skip("this file system takes UTF-8 names only")
    ctx = Bench(folder, folder.parent / "outputs")
    calls: list[tuple[str, dict[str, Any]]] = [
        ("list", {}),
        ("glob", {"pattern": "bad*"}),
        ("grep", {"pattern": "content"}),
    ]
    for name, given_ in calls:
        assert "bad\ufffd.txt" in asyncio.run(run(TOOLS[name], ctx, "c1", given_)).output


def _likely(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Mostly values of the right type, so that calls get past the check of their input."""
    match schema.get("type"):
        case "string":
            right: st.SearchStrategy[Any] = st.sampled_from([*HOSTILE, *schema.get("enum", [])])
        case "integer":
            right = st.sampled_from([-1, 0, 1, 2, 10**12])
        case "boolean":
            right = st.booleans()
        case "array":
            right = st.lists(_likely(schema["items"]), max_size=3)
        case _:
            right = st.fixed_dictionaries(
                {name: _likely(inner) for name, inner in schema.get("properties", {}).items()}
            )
    return st.one_of(right, right, right, ANY)
