"""Programs of the folder that PATH leads to: whatever they are called, none starts unasked.

    python -m tests.attack.programs_through_path [count]

Each run plants programs with the names of everything that reads or that the agent itself may start, sets PATH in one of the
ways in which a folder's own programs come first, and has the model list, search and read in a mode that asks for commands.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from agentcli.permissions.shell.programs.readers import READERS
from tests.attack.headless import Call, Victim

SYSTEM = "/usr/local/bin:/usr/bin:/bin"
PLACES = (
    (".", "."),
    ("", "."),
    ("./node_modules/.bin", "node_modules/.bin"),
    ("WORK/node_modules/.bin", "node_modules/.bin"),
    ("WORK/.venv/bin", ".venv/bin"),
    ("WORK/../" + "work/bin", "bin"),
    ("BASE/link", "bin"),
)
"""Entries of PATH, each with the folder of the workspace that it leads to."""
HELPERS = [
    "rg",
    "git",
    "bwrap",
    "bash",
    "sh",
    "env",
    "ps",
    "lsof",
    "tmux",
    "uname",
    "lsb_release",
    "gzip",
    "ldconfig",
    "gcc",
    "less",
    "vi",
    "xclip",
    "wl-paste",
]
MODES = ("ask", "auto-edit", "plan", "auto")
CALLS: Sequence[Call] = (
    ("glob", {"pattern": "**/*.md"}),
    ("grep", {"pattern": "text"}),
    ("list", {}),
    *(
        ("bash", {"command": command})
        for command in (
            "ls",
            "ls -la && cat README.md | head -3",
            "git status",
            "git log --oneline",
            "rg text",
            "grep -rn text README.md",
            "find . -maxdepth 1 -name '*.md'",
            "pip list",
            "pip --version",
            "python3 --version",
            "node --version",
            "which ls && tree -L 1",
            "wc -l README.md; sort README.md; jq . package.json",
            "tar tzf a.tgz",
        )
    ),
)


def attack(base: Path, entry: str, folder: str, mode: str) -> list[str]:
    """Plant the programs, run, and tell which of them started."""
    victim = Victim(base)
    victim.prepare()
    (victim.work / "README.md").write_text("text\n")
    (victim.work / "package.json").write_text("{}\n")
    (base / "link").symlink_to(victim.work / "bin")
    for name in {*READERS, *HELPERS} - {":"}:
        victim.program(victim.work / folder / name)
    first = entry.replace("WORK", str(victim.work)).replace("BASE", str(base))
    victim.run(CALLS, f"{first}:{SYSTEM}", "--mode", mode)
    return victim.started()


def attacks(count: int) -> Iterator[tuple[str, str, str]]:
    """So many ways: every entry in the first mode, then in the next."""
    ways = [(entry, folder, mode) for mode in MODES for entry, folder in PLACES]
    return (ways[number % len(ways)] for number in range(count))


def main(count: int) -> int:
    """Run the attacks and say what started; the number of those that succeeded."""
    succeeded = 0
    for entry, folder, mode in attacks(count):
        with tempfile.TemporaryDirectory() as base:
            started = attack(Path(base), entry, folder, mode)
        succeeded += bool(started)
        print(f"PATH={entry}:… mode {mode}: {', '.join(started) or 'nothing'} started", flush=True)
    print(f"{succeeded} of {count} attacks started a program")
    return succeeded


if __name__ == "__main__":
    os.umask(0o077)
    sys.exit(bool(main(int(sys.argv[1]) if len(sys.argv) > 1 else len(PLACES) * len(MODES))))
