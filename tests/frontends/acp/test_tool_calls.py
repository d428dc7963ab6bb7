"""Tool calls as the protocol describes them: kind, locations, content."""

from __future__ import annotations

from agentcli.frontends.acp.tool_calls import fenced, kind_of
from agentcli.tools.registry import TRAITS


def test_a_fence_is_longer_than_any_within() -> None:
    assert fenced("````\nx\n````") == "`````\n````\nx\n````\n`````"


def test_each_tool_has_the_kind_by_which_editors_know_it() -> None:
    kinds = {name: kind_of(traits) for name, traits in TRAITS.items()}
    assert {name for name, kind in kinds.items() if kind == "edit"} == {"apply_patch", "edit", "multi_edit", "write"}
    assert {name for name, kind in kinds.items() if kind == "execute"} == {"bash"}
    wanted = {"read": "read", "grep": "search", "glob": "search", "web_fetch": "fetch", "task": "think"}
    assert wanted.items() <= kinds.items()
    assert kinds["exit_plan"] == "switch_mode"
