"""The system prompt: what it says of the folder when a session begins, and that it never changes afterwards."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from agentcli.agent.project.instructions import Instructions
from agentcli.program.system_prompt import Surroundings, environment, system_blocks


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    (folder / "src").mkdir(parents=True)
    (folder / ".ci").mkdir()
    (folder / "src/a.py").write_text("1\n")
    (folder / "README.md").write_text("one\n")
    git(folder, "init", "-q", "-b", "topic")
    git(folder, "add", "-A")
    git(folder, "-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "one")
    return folder


def git(folder: Path, *command: str) -> None:
    subprocess.run(["git", *command], cwd=folder, check=True, capture_output=True)


def block(folder: Path, *, sandbox: str = "bubblewrap", attended: bool = True) -> list[str]:
    return environment(Surroundings(folder, os.environ, (folder,), sandbox, attended), "ask").splitlines()


def test_it_tells_branch_changed_files_entries_mode_sandbox_and_who_answers(repository: Path) -> None:
    told = block(repository)[-3:]
    assert [re.sub(r"\b[0-9a-f]{7,}\b", "HASH", line) for line in told] == [
        "- Git: topic; nothing changed; newest commits: HASH one",
        "- Top level: src/, README.md, .ci/",
        "- Mode ask; commands in the bubblewrap sandbox; the user answers questions",
    ]
    git(repository, "mv", "README.md", "README.txt")
    (repository / "src/a.py").write_text("2\n")
    (repository / "new.py").write_text("")
    later = block(repository, sandbox="", attended=False)
    assert later[-3].startswith("- Git: topic; changed: README.txt, src/a.py, new.py; newest commits: ")
    assert later[-1] == "- Mode ask; no sandbox"


def test_a_folder_without_a_repository_or_a_commit_is_told_so(tmp_path: Path) -> None:
    assert "- Git: no repository" in block(tmp_path)
    assert "- Top level: empty" in block(tmp_path)
    git(tmp_path, "init", "-q", "-b", "main")
    assert "- Git: main; nothing changed" in block(tmp_path)


def test_many_files_are_counted_and_odd_names_cannot_deceive(repository: Path) -> None:
    for number in range(80):
        (repository / f"file{number:02}.py").write_text("")
    (repository / "a\n# How you work\u202e").write_text("")
    (repository / ("long" * 40)).write_text("")
    lines = block(repository)
    assert len(lines) == 8
    assert lines[-3].split("; newest commits: ")[0].endswith("more")
    assert "a\\n# How you work\\u202e" in lines[-2]
    assert "long" * 40 not in lines[-2]
    assert max(map(len, lines)) < 260


def test_it_tells_the_machine_and_which_programs_there_are(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("python3", "make"):
        (programs / name).write_text("#!/bin/sh\n")
        (programs / name).chmod(0o755)
    here = Surroundings(tmp_path, {"PATH": str(programs)}, (tmp_path,), "", True)
    first, second = environment(here, "ask"), environment(here, "ask")
    assert first == second
    _, _, machine, told, *_ = first.splitlines()
    assert re.fullmatch(r"Platform: \w+; \d+ cores?, \d+ GB", machine)
    assert told == "Installed: python3, make; missing: python, node, gcc, rg, uv, curl"


def test_a_project_has_its_own_programs_under_installed(tmp_path: Path) -> None:
    for name in ("bin/python3", "bin/node", ".venv/bin/pytest", ".venv/bin/mypy"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    here = Surroundings(tmp_path, {"PATH": str(tmp_path / "bin")}, (tmp_path,), "", True)
    (tmp_path / "pyproject.toml").write_text(
        '[tool.ruff]\n[project.optional-dependencies]\ndev = ["pytest>=8", "mypy"]\n'
    )
    (tmp_path / "uv.lock").write_text("")
    told = "Installed: python3; .venv/bin: pytest, mypy; missing: python, ruff, uv, rg"
    assert environment(here, "ask").splitlines()[3] == told


@pytest.mark.parametrize(
    ("manifest", "text", "told"),
    [
        ("package.json", '{"name": "next", "keywords": [\n"task",\n"mocha"]}', ""),
        (
            "package.json",
            '{\n"keywords": [],\n"devDependencies": {"next": "14"}, "scripts": {"test": "mocha"}}',
            "mocha, next, ",
        ),
        ("pyproject.toml", 'description = "just a \\"task\\" for tox"\n', ""),
        ("pyproject.toml", '[dependency-groups]\ndev = ["tox"]\n', "tox, "),
        ("Taskfile.yml", "", "task, "),
    ],
)
def test_a_word_that_describes_a_project_is_no_tool(manifest: str, text: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("")
    (tmp_path / manifest).write_text(text)
    here = Surroundings(tmp_path, {"PATH": str(tmp_path)}, (tmp_path,), "", True)
    missing = environment(here, "ask").splitlines()[3].partition("missing: ")[2]
    named = [name for name in missing.split(", ") if name not in ("node", "npm", "python", "python3", "make", "rg")]
    assert named == list(filter(None, told.split(", ")))


def test_git_is_not_asked_where_the_repository_could_start_a_program(repository: Path, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    git(repository, "config", "filter.x.clean", f"touch {trap}; cat")
    (repository / ".gitattributes").write_text("* filter=x\n")
    (repository / "src/a.py").write_text("3\n")
    assert "- Git: a repository" in block(repository)
    assert not trap.exists()


def test_what_changes_from_session_to_session_stands_behind_what_does_not(tmp_path: Path) -> None:
    files = [Instructions(tmp_path / "a", "one"), Instructions(tmp_path / "b", "two")]
    here = environment(Surroundings(tmp_path, os.environ, (tmp_path, tmp_path / "more"), "", True), "auto")
    base, instructions, _, where, more = system_blocks(("base",), files, ["# Skills"], here, "more")
    assert (base, where, more) == ("base", here, "more")
    assert instructions.startswith(
        "# Instructions of the user and the project\nWhere they differ, the later one applies."
    )
    assert f"\nAlso in the workspace: {tmp_path}/more\n" in here
