"""`agentcli demo`: a complete session without any key. The model is scripted; tools, store, permissions and compaction are real."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from agentcli.core.errors import InputError
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
    """Run the demo in a throw-away copy of its project and return the exit code.

    Where no terminal is, it plays to its end by itself, and edits need no approval.
    """
    from agentcli.run import has_terminal, run_options

    folder = _throw_away()
    try:
        build(folder)
        alone = options.print or not has_terminal()
        mode = "auto-edit" if alone else "ask"
        settings = (*SMALL_WINDOW, *options.settings)
        asked = replace(options, prompt=TASK, then=(COMPRESS, CHECK), model="demo/demo", mode=mode, print=alone)
        return run_options(replace(asked, cwd=str(folder), settings=settings), early)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _throw_away() -> Path:
    try:
        return Path(tempfile.mkdtemp(prefix="agentcli-demo-"))
    except OSError as error:
        raise InputError(
            f"The demo needs a folder for temporary files: {error.strerror}. Name one in TMPDIR."
        ) from error
