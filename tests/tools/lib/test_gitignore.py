"""Rules of .gitignore files are read as git reads them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from agentcli.tools.lib.gitignore import walk
from tests.tables import each_row

NAMES = (
    "a",
    "b",
    "Z",
    "7",
    "a.b",
    ".x",
    "a b",
    "[a]",
    "]",
    "!a",
    "#a",
    "-",
    "_",
    "a\t",
    "d/a",
    "d/]",
    "d/e/b",
    "d/e/7",
)


@each_row(
    "rules",
    [
        "[[:alpha:]]",
        "[![:alnum:]]",
        "[[:digit:]_]",
        "[[:upper:][:digit:]]",
        "[[:punct:]]",
        "d/**/[[:digit:]]",
        "[[:nonsense:]]",
        r"[\]]",
        r"[!\]]",
        r"[\[]a]",
        "[]-a]",
        "[a[]",
        "a\t",
        "b   \r",
        "*\n!d/\n!d/**/[[:lower:]]",
        "[a",
        "?",
        "a\\ b",
        "**/e/*",
    ],
)
def test_a_walk_leaves_out_what_git_ignores(tmp_path: Path, rules: str) -> None:
    for name in NAMES:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")
    (tmp_path / ".gitignore").write_bytes(f"{rules}\n".encode())
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}
    git = ["git", "-C", str(tmp_path)]
    subprocess.run([*git, "init", "-q"], env=env, check=True)
    listed = subprocess.run([*git, "ls-files", "-zo", "--exclude-standard"], env=env, check=True, capture_output=True)
    assert {*walk(tmp_path)} - {".gitignore"} == {*listed.stdout.decode().split("\0")} - {"", ".gitignore"}
