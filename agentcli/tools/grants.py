"""What was allowed once reaches the tools: a path outside the workspace, resolved at the moment it was decided about."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentcli.core.tool import Tool, Workplace
from agentcli.tools._paths import resolve

_TAKE_PATHS = frozenset({"file_path", "path"})


def grant(work: Workplace, tool: Tool, given: Mapping[str, Any]) -> Path | None:
    """To be called when a call has been allowed: the path that it names may be used although it lies outside.

    `work.options["outside_ok"]` must be a set; the resolved path joins it and is returned, or None for a call that names no path
    outside. A link that leads elsewhere by the time the call runs is then refused. Raises ToolError for what is no path.
    """
    path = given.get(tool.subject)
    allowed = work.options.get("outside_ok")
    if tool.subject not in _TAKE_PATHS or not isinstance(path, str) or not isinstance(allowed, set):
        return None
    real = resolve(work.cwd, path)
    if any(real.is_relative_to(root.resolve()) for root in work.roots):
        return None
    allowed.add(real)
    return real
