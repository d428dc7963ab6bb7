"""`agentcli demo`: a complete session without any key. The model is scripted; tools, store, permissions and compaction are real."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from agentcli.core.errors import InputError
from agentcli.program.demo.project import build
from agentcli.program.demo.script import CHECK, COMPRESS, TASK
from agentcli.program.options import Options

SMALL_WINDOW = (
    "models.demo.window=16000",
    "models.demo.max_output=4000",
    'permissions.allow=["bash(python3 -m unittest *)", "bash(python3 report.py *)"]',
)
"""A window that one long file fills, so that the demo shows a compaction; and the project's two commands."""


@contextmanager
def prepared(options: Options, *, alone: bool) -> Iterator[Options]:
    """Yield the demo's options in a temporary copy of its project, which is removed at the end.

    `alone`: nobody is there; the demo plays to its end by itself, and edits need no approval.
    """
    folder = _throw_away()
    try:
        build(folder)
        yield replace(
            options,
            cwd=str(folder),
            prompt=TASK,
            then=(COMPRESS, CHECK),
            model="demo/demo",
            mode="auto-edit" if alone else "ask",
            print=alone,
            settings=(*SMALL_WINDOW, *options.settings),
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _throw_away() -> Path:
    try:
        return Path(tempfile.mkdtemp(prefix="agentcli-demo-"))
    except OSError as error:
        raise InputError(
            f"The demo needs a folder for temporary files: {error.strerror}. Set TMPDIR to one."
        ) from error
