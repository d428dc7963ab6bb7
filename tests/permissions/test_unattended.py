"""A run without a person says beforehand what it will deny."""

from __future__ import annotations

import pytest

from agentcli.core.record import MODES, Mode
from agentcli.permissions.unattended import for_model, for_person


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("sandboxed", [True, False])
def test_the_model_is_told_what_works_in_its_mode(mode: Mode, sandboxed: bool) -> None:
    told = for_model(mode, sandboxed=sandboxed, rules=False)
    assert told.startswith("Nobody can allow calls in this run: ")
    words = {
        "ask": "only reading works",
        "auto-edit": "reading and edits",
        "plan": "no plan can be approved",
        "yolo": "only a person",
    }
    words["auto"] = "commands in its sandbox work" if sandboxed else "no sandbox works here"
    assert words[mode] in told
    with_rules = for_model(mode, sandboxed=sandboxed, rules=True)
    assert with_rules == (told if mode == "plan" else told[:-1] + ", unless a rule of the user allows them.")


def test_the_person_is_told_what_is_denied_and_how_to_allow_it_unless_almost_nothing_is() -> None:
    for mode in ("yolo", "plan"):
        assert for_person(mode, sandboxed=True, rules=False) == ""  # type: ignore[arg-type]
    asking = for_person("ask", sandboxed=True, rules=False)
    assert "(mode ask): only reading works" in asking
    assert asking.endswith("To allow more: --mode auto or yolo, or single commands with --allow 'bash(npm test)'.")
    auto = for_person("auto", sandboxed=False, rules=True)
    assert "no sandbox works here" in auto
    assert "are denied but for what your rules allow. " in auto
    assert auto.endswith("To allow more: single commands with --allow 'bash(npm test)'.")
