"""Text of a new extension and of its test."""

CODE = '''\
"""NAME: an extension of agentcli. `agentcli help extensions` explains it."""

from __future__ import annotations

from agentcli.extension import Context, Decision, ToolCall, command, on, tool


@tool(effect="read")
def NAME_lookup(query: str, limit: int = 10) -> str:
    """Look something up.

    query: words to look for
    """
    return f"Nothing found about {query} (limit {limit})."


@command("/NAME")
async def show(ctx: Context, text: str = "") -> str:
    """Count how often this command was called."""
    ctx.state["calls"] = ctx.state.get("calls", 0) + 1
    return f"Call {ctx.state['calls']}: {text or 'no text'}"


@on("tool_call")
def guard(call: ToolCall, ctx: Context) -> Decision | None:
    """Ask before a command that deletes files."""
    if call.name == "bash" and "rm -r" in call.input["command"]:
        return call.ask("It deletes files.")
    return None
'''
TEST = '''\
"""Tests of NAME: run them with pytest."""

from __future__ import annotations

from agentcli.extension import ToolCall

from NAME import NAME_lookup, guard


def test_lookup_names_the_query() -> None:
    assert "cats" in NAME_lookup("cats")


def test_deleting_is_asked_about() -> None:
    assert guard(ToolCall("bash", {"command": "rm -r build"}), None).kind == "ask"
    assert guard(ToolCall("bash", {"command": "ls"}), None) is None
'''
