"""Each test has a folder of its own to work in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentcli.core.tool import ToolOutput
from agentcli.tools.registry import run, tools
from tests.tools.workplace import Bench

Call = Callable[..., ToolOutput]


@pytest.fixture
def ctx(tmp_path: Path) -> Bench:
    project = tmp_path / "project"
    project.mkdir()
    return Bench(project, tmp_path / "outputs")


@pytest.fixture
def call(ctx: Bench) -> Call:
    """Run a tool by name, as the agent does."""
    by_name = {tool.name: tool for tool in (*tools(), *tools({"task"}))}

    def _call(name: str, call_id: str = "c1", **given: Any) -> ToolOutput:
        return asyncio.run(run(by_name[name], ctx, call_id, given))

    return _call
