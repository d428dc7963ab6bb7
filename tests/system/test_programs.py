"""Programs that start without anybody being asked come from outside the workspace."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from agentcli.system import programs
from agentcli.system.programs import (
    GIT_HARDENED_CONFIG,
    OWN_PROGRAM,
    SCRUBBED_VARIABLES,
    find_program,
    hardened,
    trusted_path,
)
from tests.tables import each_row


def program(folder: Path, name: str, script: str = "echo ran") -> Path:
    """A program of that name in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)
    return folder / name


def test_entries_that_the_workspace_fills_are_left_out(tmp_path: Path) -> None:
    work, outside = tmp_path / "work", tmp_path / "outside"
    (work / ".venv/bin").mkdir(parents=True)
    outside.mkdir()
    (tmp_path / "link").symlink_to(work / ".venv/bin")
    given = (
        f".::./node_modules/.bin:bin:{work}/.venv/bin:{tmp_path}/link:{outside}/../work:{outside}:/usr/bin:{outside}:"
    )
    assert trusted_path(given, [work]) == f"{outside}:/usr/bin"


@each_row("given", ["", ".", ":", "bin"])
def test_a_path_of_which_nothing_is_left_names_the_system(given: str, tmp_path: Path) -> None:
    assert trusted_path(given, [tmp_path]) == os.defpath


def test_the_repository_around_the_workspace_is_part_of_it_unless_it_holds_the_home_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "repo/.git").mkdir(parents=True)
    (tmp_path / "repo/packages/a").mkdir(parents=True)
    given = f"{tmp_path}/repo/node_modules/.bin:/usr/bin"
    assert trusted_path(given, [tmp_path / "repo/packages/a"]) == "/usr/bin"
    monkeypatch.setenv("HOME", str(tmp_path / "repo"))
    assert trusted_path(given, [tmp_path / "repo/packages/a"]) == given


def test_a_helper_is_found_outside_or_not_at_all(tmp_path: Path) -> None:
    work, outside = tmp_path / "work", tmp_path / "outside"
    evil = program(work / "bin", "helper")
    outside.mkdir()
    (outside / "linked").symlink_to(evil)
    path = f"{work}/bin:{outside}"
    assert find_program("helper", [work], path) == ""
    assert find_program("linked", [work], path) == ""
    good = program(outside, "helper")
    assert find_program("helper", [work], path) == str(good)


def test_a_command_that_runs_unasked_finds_no_program_of_the_workspace(tmp_path: Path) -> None:
    program(tmp_path, "ls", "echo pwned")
    for path in (f".:{os.defpath}", f":{os.defpath}", f"{tmp_path}:{os.defpath}"):
        script = ["/bin/bash", "--noprofile", "--norc", "-c", "ls"]
        for environment, pwned in (({"PATH": path}, True), (hardened({"PATH": path}, [tmp_path]), False)):
            done = subprocess.run(script, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True)
            assert ("pwned" in done.stdout) is pwned, path


def test_a_command_that_runs_unasked_finds_no_module_of_python_in_its_folder(tmp_path: Path) -> None:
    (tmp_path / "tabnanny.py").write_text("print('pwned')")
    for environment, pwned in ((dict(os.environ), True), (hardened(os.environ), False)):
        done = subprocess.run(
            [sys.executable, "-m", "tabnanny"],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ("pwned" in done.stdout) is pwned


def test_the_process_searches_outside_from_then_on_and_still_knows_path_as_it_was(tmp_path: Path) -> None:
    script = (
        "import os, shutil; from pathlib import Path; from agentcli.system.programs import leave_out, search_path\n"
        "for more in ('a', 'b'):\n"
        "    leave_out([Path(more).resolve()])\n"
        "print(os.environ['PATH'], search_path(), shutil.which('rg'), sep='\\n')\n"
        "os.environ['PATH'] = '/else'\n"
        "print(search_path())"
    )
    for folder in ("a", "b"):
        program(tmp_path / folder, "rg")
    path = f"{tmp_path}/a:.:{tmp_path}/b:/nowhere"
    root = Path(__file__).parents[2]
    environment = {"PATH": path, "PYTHONPATH": str(root), "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["/nowhere", path, "None", "/else"]


def test_what_could_change_a_command_is_gone_and_the_rest_stays() -> None:
    named = (
        "DIR",
        "WORK_TREE",
        "INDEX_FILE",
        "EXTERNAL_DIFF",
        "TRACE",
        "TRACE2_EVENT",
        "EXEC_PATH",
        "SSH_COMMAND",
        "ATTR_SOURCE",
    )
    more = ("BASH_FUNC_ls%%", "GIT_CONFIG_KEY_99", "GIT_CONFIG_VALUE_99", *(f"GIT_{name}" for name in named))
    hostile = dict.fromkeys((*SCRUBBED_VARIABLES, *more), "x")
    clean = hardened({**hostile, "PATH": "/bin", "LANG": "C"})
    assert clean["PATH"] == "/bin"
    assert clean["LANG"] == "C"
    assert hardened({"GIT_AUTHOR_NAME": "me", "GIT_CONFIG_GLOBAL": "x"}).items() >= {"GIT_AUTHOR_NAME": "me"}.items()
    assert set(hostile) & set(clean) == set()


def test_a_function_of_the_environment_replaces_no_command(tmp_path: Path) -> None:
    hostile = {
        "PATH": os.environ["PATH"],
        "BASH_FUNC_ls%%": "() { echo pwned; }",
        "BASH_ENV": str(tmp_path / "rc"),
        "CDPATH": "/",
    }
    (tmp_path / "rc").write_text("echo pwned")
    (tmp_path / "usr").mkdir()
    hostile |= {"SHELLOPTS": "xtrace", "PS4": "$(echo pwned > traced)"}
    script = ["bash", "--noprofile", "--norc", "-c", "ls; cd usr && pwd"]
    before = subprocess.run(
        script, env=hostile, cwd=tmp_path, capture_output=True, text=True, timeout=30, check=False
    ).stdout
    (tmp_path / "traced").unlink(missing_ok=True)  # root takes no PS4 from its environment
    (tmp_path / "usr/traced").unlink(missing_ok=True)
    after = subprocess.run(
        script, env=hardened(hostile), cwd=tmp_path, capture_output=True, text=True, timeout=30, check=False
    ).stdout
    assert "pwned" in before
    assert after.split() == ["rc", "usr", str(tmp_path / "usr")]


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
def test_git_takes_every_hardened_setting() -> None:
    for key, value in GIT_HARDENED_CONFIG:
        done = subprocess.run(
            ["git", "config", "--get", key],
            env=hardened(os.environ),
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        assert done.stdout == value + "\n"


def test_a_folder_does_not_replace_the_program_that_is_started_in_it(tmp_path: Path) -> None:
    (tmp_path / "agentcli").mkdir()
    (tmp_path / "agentcli" / "__main__.py").write_text("print('theirs')")
    ran = subprocess.run([*OWN_PROGRAM, "--version"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("agentcli ")
    sources = Path(programs.__file__).parents[1].rglob("*.py")
    assert [file.name for file in sources if '"-m", "agentcli"' in file.read_text("utf-8")] == ["programs.py"]
