"""Sessions through the Python API, with a scripted model and folders of their own."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def environment(tmp_path: Path, **more: str) -> dict[str, str]:
    """The environment of a run whose home is a folder of the test."""
    return {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"], **more}


def workspace(tmp_path: Path) -> Path:
    """A folder to work in."""
    folder = tmp_path / "work"
    folder.mkdir(exist_ok=True)
    return folder


def script(tmp_path: Path, *replies: Mapping[str, Any] | str) -> str:
    """The model that gives these replies in turn; a text is one that only says it."""
    file = tmp_path / f"script-{len(list(tmp_path.glob('script-*')))}.json"
    said = [{"text": reply} if isinstance(reply, str) else dict(reply) for reply in replies]
    file.write_text(json.dumps({"replies": said}))
    return f"script:{file}"


def calls(tool: str, /, **given: Any) -> Mapping[str, Any]:
    """A reply that makes one call."""
    return {"calls": [{"name": tool, "input": given}]}


def options(tmp_path: Path, *replies: Mapping[str, Any] | str, **more: Any) -> Any:
    """The options of a run in a folder of its own with these replies."""
    given = {"cwd": workspace(tmp_path), "env": environment(tmp_path), "model": script(tmp_path, *replies)}
    return {**given, **more}
