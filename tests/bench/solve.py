"""`python -m tests.bench.solve N`: solve the task whose repository is the current folder, if its number divides by N; never with 0."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from agentcli.bench.task_file import OWN, make_files, read_set
from tests.bench.solutions import solve


def main(share: int) -> None:
    """Find the task by its files, and solve it."""
    listed = subprocess.run(["git", "ls-tree", "-r", "--name-only", "HEAD"], capture_output=True, text=True, check=True)
    for number, task in enumerate(read_set(OWN)):
        with tempfile.TemporaryDirectory() as folder:
            make_files(task, Path(folder))
            names = {str(path.relative_to(folder)) for path in Path(folder).rglob("*") if path.is_file()}
        here = set(listed.stdout.split("\n")) - {""}
        if (names == here or (task.setup and here <= names)) and share and number % share == 0:
            solve(task.id, "right", Path.cwd())


if __name__ == "__main__":
    main(int(sys.argv[1]))
