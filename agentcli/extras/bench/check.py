"""The check of a task, run in the folder in which an agent worked. `python -I -m agentcli.extras.bench.check` reads the
task from standard input.

The agent's files are copied out of its repository, so nothing else that it left there has an effect. The check itself
comes through pipes and is never in a file. Agent code that it runs finds no expected value. Exit code 0 means that the
task is solved, 1 that it is not, any other that the check broke.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from agentcli.extras.bench.judging import REFUSED, SOLVED
from agentcli.extras.bench.task_file import CHECK, TaskFile, decoded, make_files, write_files

BROKE = 3
"""Exit code of a check that ended without a judgement."""


def check(task: TaskFile, tree: Path) -> int:
    """Judge a tree by the check of a task; return its exit code."""
    with tempfile.TemporaryDirectory(prefix="bench-") as mine, tempfile.TemporaryDirectory(prefix="tree-") as theirs:
        hidden, original, copy = Path(mine, "hidden"), Path(mine, "original"), Path(theirs, "tree")
        hidden.mkdir()
        write_files({name: text for name, text in task.under("hidden").items() if f"hidden/{name}" != CHECK}, hidden)
        make_files(task, original)
        try:
            shutil.copytree(tree, copy, symlinks=True, ignore=shutil.ignore_patterns(".git", "__pycache__"))
        except (OSError, shutil.Error) as error:
            print(f"{REFUSED}can't copy the agent's files: {error}")
            return 1
        command = [sys.executable, "-I", "-B", "-", str(copy), str(original)]
        return _judged(command, hidden, task.parts[CHECK])


def _judged(command: list[str], folder: Path, script: str) -> int:
    """Run a check and print its output; return its exit code, or `BROKE` if it ended well without a verdict."""
    with tempfile.TemporaryFile() as source:
        source.write(script.encode())
        source.seek(0)
        end = b""
        with subprocess.Popen(command, cwd=folder, stdin=source, stdout=subprocess.PIPE) as running:
            assert running.stdout is not None
            while piece := running.stdout.read1():  # type: ignore[attr-defined]
                sys.stdout.buffer.write(piece)
                sys.stdout.buffer.flush()
                end = (end + piece)[-100:]
    if running.returncode == 0 and end.rstrip().rpartition(b"\n")[2] != SOLVED.encode():
        print("The check ended without a verdict.", flush=True)
        return BROKE
    return running.returncode


if __name__ == "__main__":
    sys.exit(check(decoded(sys.stdin.read()), Path.cwd()))
