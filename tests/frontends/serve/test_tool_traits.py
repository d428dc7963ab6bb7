"""Traits on the wire: other versions of the program read them."""

from __future__ import annotations

from dataclasses import replace

from agentcli.core.tool import Subject, ToolServer, Traits
from agentcli.frontends.serve.tool_traits import shown, told
from agentcli.tools.registry import TRAITS

WIRE = {
    "read": {"effect": "read", "subject": "file_path", "reads_files": True},
    "multi_edit": {
        "effect": "write",
        "subject": "file_path",
        "edits_files": True,
        "allowed_as": "edit",
        "dispensable": True,
    },
    "apply_patch": {"effect": "write", "subject": "input", "edits_files": True, "patches": True},
    "grep": {"effect": "read", "subject": "path", "searches": True, "name_filter": "glob"},
    "bash": {"subject": "command", "background": "run_in_background"},
    "task": {"effect": "none", "delegates": True, "dispensable": True},
    "mcp_call": {"gate": True},
    "ask_user": {"effect": "ask", "needs_person": True, "for_people": True, "dispensable": True},
}


def test_traits_are_one_flat_object_without_the_values_of_an_unknown_tool() -> None:
    assert {name: told(TRAITS[name]) for name in WIRE} == WIRE
    server = ToolServer("git", reads_only=True, interacts=True, shadows=True)
    flags = {"shadows": True, "reads_only": True, "interacts": True}
    assert told(Traits("read", server=server)) == {"effect": "read", "server": "git", **flags}


def test_an_editor_learns_what_it_shows_a_call_by() -> None:
    for name, traits in TRAITS.items():
        subject = Subject(traits.subject.field, traits.subject.kind)
        assert shown(told(traits)) == replace(traits, subject=subject), name
    assert shown({"effect": "none", "of_a_later_version": 1}) == Traits("none")
