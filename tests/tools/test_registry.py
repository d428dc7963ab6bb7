"""What models see of the tools, and how a call is run."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from agentcli.core.model import ToolSchema
from agentcli.core.tool import Tool, ToolOutput, Traits
from agentcli.tools.registry import run, tools
from tests.tools.conftest import Call
from tests.tools.workplace import Bench

ROOT = Path(__file__).parents[2]
SHOUT = """
from agentcli.core.tool import ToolOutput, Traits
from agentcli.tools.entry import Entry


async def shout(ctx, call_id: str, text: str) -> ToolOutput:
    return ToolOutput(text.upper())


SHOUT = Entry("shout", shout, lambda given: f"Shout {given.get('text', '')}", Traits("none"))
"""
CONTRACT = {
    "read": (["file_path"], ["offset", "limit"]),
    "write": (["file_path", "content"], []),
    "edit": (["file_path", "old_string", "new_string"], ["replace_all"]),
    "multi_edit": (["file_path", "edits"], []),
    "glob": (["pattern"], ["path"]),
    "grep": (["pattern"], ["path", "glob", "output_mode", "-i", "-n", "-A", "-B", "-C", "head_limit"]),
    "list": ([], ["path"]),
    "bash": (["command"], ["timeout", "description", "run_in_background"]),
    "bash_output": (["id"], ["wait"]),
    "bash_stop": (["id"], []),
    "todo": ([], ["todos"]),
    "ask_user": (["questions"], []),
    "web_fetch": (["url"], ["prompt"]),
    "exit_plan": (["plan"], []),
    "task": (["description", "prompt"], ["agent", "resume", "run_in_background"]),
    "recall": ([], ["id", "pattern", "role", "from", "to", "offset", "limit"]),
}


def test_every_tool_has_the_parameters_that_the_contract_names() -> None:
    schemas = {tool.name: tool.takes for tool in tools(CONTRACT)}
    assert set(schemas) == set(CONTRACT)
    for name, (required, optional) in CONTRACT.items():
        assert schemas[name].get("required", []) == required, name
        assert {*required, *optional} <= {*schemas[name]["properties"]} <= {*required, *optional, "wake_on"}, name


def test_descriptions_and_schemas_together_stay_small() -> None:
    wire = [
        json.dumps({"name": tool.name, "description": tool.schema.description, "input_schema": tool.schema.parameters})
        for tool in tools(CONTRACT)
    ]
    assert sum(map(len, wire)) < 7_200


def test_tools_can_be_chosen_by_name() -> None:
    assert [tool.name for tool in tools({"bash", "read"})] == ["read", "bash"]


def test_only_what_changes_nothing_runs_together() -> None:
    assert {tool.name for tool in tools() if tool.traits.effect in ("write", "run")} == {
        "write",
        "edit",
        "multi_edit",
        "apply_patch",
        "bash",
        "mcp_call",
    }
    assert all(tool.traits.parallel for tool in tools({"read", "glob", "grep", "list", "recall", "todo"}))


def test_wrong_input_is_answered_with_what_is_wrong(call: Call) -> None:
    outcome = call("read", place="a.py")
    assert outcome.status == "error"
    assert outcome.output == "Missing file_path. This tool takes file_path, offset, limit."


def test_harmless_mistakes_in_input_are_mended(call: Call, ctx: Bench) -> None:
    (ctx.cwd / "a").write_text("one\ntwo\nthree\n")
    outcome = call("read", file_path="a", offset="2", limit=None)
    assert outcome.status == "success"
    assert outcome.output.split("\n")[0].strip() == "2\ttwo"
    assert outcome.title == "Read a (from line 2)"


def test_the_title_of_a_call_spells_out_what_would_hide_in_a_path(ctx: Bench) -> None:
    names = ["a\nb", "a b", "a  b", "a\tb", "a\r\x1b[2Jb", "a\u202eb", "a\n"]
    titles = [tool.title({"file_path": name}) for tool in tools({"write"}) for name in names]
    assert titles == [
        r"Write a\nb", "Write a b", "Write a  b", r"Write a\tb", r"Write a\x0d\x1b[2Jb", r"Write a\u202eb", r"Write a\n"
    ]  # fmt: skip


def test_a_tool_that_takes_any_input_gets_it_as_it_is(ctx: Bench) -> None:
    async def foreign(ctx: Any, call_id: str, **given: Any) -> ToolOutput:
        return ToolOutput(json.dumps(given))

    tool = Tool(ToolSchema("foreign", "", {"type": "object", "properties": {"-x": {}}}), foreign, Traits())
    assert asyncio.run(run(tool, ctx, "c1", {"-x": 1})).output == '{"-x": 1}'


def test_a_tool_is_its_file_and_its_page(tmp_path: Path) -> None:
    """Add both to a copy of the program, and have a model call the tool."""
    copy = tmp_path / "copy"
    for folder in ("agentcli/tools", "agentcli", "prompts/tools", "prompts"):
        (copy / folder).mkdir(parents=True, exist_ok=True)
        for each in (ROOT / folder).iterdir():
            if each.name != "__pycache__" and not (copy / folder / each.name).exists():
                (copy / folder / each.name).symlink_to(each)
    (copy / "agentcli/tools/shout.py").write_text(SHOUT)
    (copy / "prompts/tools/shout.md").write_text("Writes a text in capitals.\n")
    script = tmp_path / "script.json"
    script.write_text(
        json.dumps({"replies": [{"calls": [{"name": "shout", "input": {"text": "aye"}}]}, {"text": "Done."}]})
    )
    done = subprocess.run(
        [sys.executable, "-B", "-m", "agentcli", "-p", "go", "-m", f"script:{script}", "-o", "stream-json"],
        capture_output=True, text=True, cwd=copy, env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}, check=False,
    )  # fmt: skip
    assert '"AYE"' in done.stdout, done.stdout + done.stderr
