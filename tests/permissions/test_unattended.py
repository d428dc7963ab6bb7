"""A run without a person says beforehand what it will deny."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agentcli.core.record import MODES, Mode
from agentcli.permissions.unattended import for_model, for_person
from tests.tables import each_row


@each_row("mode", MODES)
@pytest.mark.parametrize("sandboxed", [True, False])
def test_the_model_is_told_what_works_in_its_mode(mode: Mode, sandboxed: bool) -> None:
    told = for_model(mode, sandboxed=sandboxed, gated=False, rules=False)
    assert told.startswith("Non-interactive run, no one can approve calls: ")
    words = {
        "ask": "edits and commands that may change files are denied",
        "auto-edit": "edits outside the workspace, are denied",
        "plan": "no plan can be approved",
        "yolo": "access to protected files is denied",
    }
    words["auto"] = "is irreversible is denied" if sandboxed else "no sandbox works here"
    assert words[mode] in told
    with_rules = for_model(mode, sandboxed=sandboxed, gated=False, rules=True)
    assert with_rules == (told if mode == "plan" else told[:-1] + ", unless a rule of the user allows them.")


def test_the_person_is_told_what_is_denied_and_how_to_allow_it_unless_almost_nothing_is() -> None:
    for mode in ("yolo", "plan"):
        assert for_person(mode, sandboxed=True, gated=False, rules=False) == ""  # type: ignore[arg-type]
    asking = for_person("ask", sandboxed=True, gated=False, rules=False)
    assert "mode ask: edits and commands that may change files are denied" in asking
    assert asking.endswith("Allow more: --mode auto or yolo, or single commands with --allow 'bash(npm test)'.")
    auto = for_person("auto", sandboxed=False, gated=False, rules=True)
    assert "no sandbox works here" in auto
    assert "are denied unless a rule allows them. " in auto
    assert auto.endswith("Allow more: single commands with --allow 'bash(npm test)'.")
    contained = for_person("auto", sandboxed=True, gated=False, rules=False)
    assert contained.endswith("--allow 'bash(git push)'."), "the mode itself includes npm test"


@each_row("text", [for_model, for_person])
def test_hosts_that_the_sandbox_lets_through_are_not_called_denied(text: Callable[..., str]) -> None:
    gated = text("auto", sandboxed=True, gated=True, rules=False)
    assert "reaches hosts other than package registries and git remotes" in gated
    assert "uses the network" in text("auto", sandboxed=True, gated=False, rules=False)
    assert "no sandbox works here" in text("auto", sandboxed=False, gated=True, rules=False)
