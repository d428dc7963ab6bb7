"""The check of a task, run in the folder that an agent worked in: `python -I -m agentcli.bench.check WORD`.

The hidden files come from the word only now, and the agent's files are copied away from its repository, so nothing that it
left there takes part but what the check reads. Exit code 0 means that the task is solved.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from agentcli.bench.task_file import TaskFile, decoded, make_files, write_files


def check(task: TaskFile, tree: Path) -> int:
    """Judge a tree by the check of a task; return its exit code."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        hidden, original, copy = (Path(folder, name) for name in ("hidden", "original", "tree"))
        write_files(task.under("hidden"), hidden)
        make_files(task, original)
        shutil.copytree(tree, copy, symlinks=True, ignore=shutil.ignore_patterns(".git", "__pycache__"))
        command = [sys.executable, "-I", "-B", str(hidden / "check.py"), str(copy), str(original)]
        return subprocess.run(command, cwd=hidden, stdin=subprocess.DEVNULL).returncode


if __name__ == "__main__":
    sys.exit(check(decoded(sys.argv[1]), Path.cwd()))
