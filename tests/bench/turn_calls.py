"""Counts the calls of Python functions between the requests of a program.

    python -m tests.bench.turn_calls FILE ARGUMENT ...

It runs agentcli with these arguments in this process, and writes the number of calls before each request into FILE as JSON.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import FrameType

from agentcli.__main__ import main
from agentcli.agent.request_builder import CacheMonitor


def counted(file: Path, arguments: list[str]) -> int:
    """Run the program and write the counts; return its exit code."""
    calls, marks, sent = 0, list[int](), CacheMonitor.note_request.__code__

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal calls
        if event == "call":
            calls += 1
            if frame.f_code is sent:
                marks.append(calls)

    sys.setprofile(count)
    code = main(arguments)
    sys.setprofile(None)
    file.write_text(json.dumps(marks))
    return code


if __name__ == "__main__":
    os._exit(counted(Path(sys.argv[1]), sys.argv[2:]))
