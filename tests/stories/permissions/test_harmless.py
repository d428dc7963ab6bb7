"""What is called reading is run for real, and changes nothing."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from agentcli.system.programs import hardened
from tests.permissions.corpus import commands

SAFE = commands("safe.txt") + commands("everyday.txt")


def state(top: Path) -> dict[str, tuple[int, int, bytes]]:
    """Every file with its mode, time of change and content; but git's index, which `git diff` brings up to date as it reads."""
    files = [file for file in sorted(top.rglob("*")) if not file.is_symlink() and file != top / ".git/index"]
    return {str(file): _facts(file) for file in files}


def _facts(file: Path) -> tuple[int, int, bytes]:
    status = file.stat()
    # A folder's time tells of the lock beside git's index, and of nothing that stays.
    return (status.st_mode, status.st_mtime_ns, file.read_bytes()) if file.is_file() else (status.st_mode, 0, b"")


def project(top: Path) -> Path:
    work = top / "work"
    for name in (
        "README.md",
        "src/pkg/a.py",
        "src/pkg/b.py",
        "tests/t.py",
        "a.txt",
        "b.txt",
        "numbers.txt",
        "data.csv",
        "data.tsv",
        "log.txt",
    ):
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text("foo 1,2:3\nbar\tb\n")
    (work / "package.json").write_text('{"name": "x", "scripts": {"a": "b"}}')
    env = {**hardened(os.environ), "HOME": str(top), "GIT_CONFIG_NOSYSTEM": "1"}
    for arguments in (
        ["init", "-q", "-b", "main"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"],
        ["tag", "v1"],
    ):
        subprocess.run(["git", *arguments], cwd=work, env=env, check=True, timeout=60)
    (work / "README.md").write_text("changed\n")
    (work / "a.txt").touch()
    return work


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
@pytest.mark.parametrize(
    "share",
    [
        pytest.param(12, id="sample", marks=pytest.mark.full),
        pytest.param(1, id="all", marks=[pytest.mark.slow, pytest.mark.timeout(900)]),
    ],
)
def test_running_the_safe_commands_changes_no_file(tmp_path: Path, share: int) -> None:
    work = project(tmp_path)
    before = state(work)
    env = {**hardened(os.environ), "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}
    ran = 0
    for line in SAFE[::share]:
        done = subprocess.run(
            ["timeout", "20", "bash", "--noprofile", "--norc", "-c", line],
            cwd=work,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        ran += done.returncode == 0
    assert ran > len(SAFE) // share // 3, "most of them really ran"
    assert state(work) == before
