"""`agentcli demo`: a complete session without any key. The model is scripted; tools, store, permissions and compaction are real."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from agentcli.demo.project import build
from agentcli.demo.script import CHECK, COMPRESS, TASK
from agentcli.options import Options

if TYPE_CHECKING:
    from agentcli.ui.early import EarlyTerminal

SMALL_WINDOW = (
    "models.demo.window=16000",
    "models.demo.max_output=4000",
    'permissions.allow=["bash(python3 -m unittest *)", "bash(python3 report.py *)"]',
)
"""A window that one long file fills, so that the demo shows a compaction; and the two commands of the project."""


def play(options: Options, early: EarlyTerminal | None = None) -> int:
    """Run the demo in a throw-away copy of its project and return the exit code. Headless, edits need no approval."""
    from agentcli.run import run_options

    folder = Path(tempfile.mkdtemp(prefix="agentcli-demo-"))
    try:
        build(folder)
        mode = "auto-edit" if options.print else "ask"
        settings = (*SMALL_WINDOW, *options.settings)
        asked = replace(options, prompt=TASK, then=(COMPRESS, CHECK), model="demo/demo", mode=mode)
        return run_options(replace(asked, cwd=str(folder), settings=settings), early)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
