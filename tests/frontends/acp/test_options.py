"""Modes and settings that an editor offers for a session."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from agentcli.frontends.acp.options import modes


@pytest.mark.parametrize("sandboxed", [True, False])
def test_the_mode_auto_is_offered_where_commands_can_be_sandboxed(sandboxed: bool) -> None:
    session: Any = SimpleNamespace(core=SimpleNamespace(approval=SimpleNamespace(mode="ask")))
    offered = [mode.id for mode in modes(session, sandboxed).available_modes]
    assert sorted(offered) == sorted(["ask", "auto-edit", "plan", "yolo", *["auto"] * sandboxed])
