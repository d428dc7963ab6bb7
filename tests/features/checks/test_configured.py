"""Checks of a project: approved one by one, protected, listed, and suggested by its own files without being switched on."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest

from agentcli.features.checks.configured import in_force
from agentcli.frontends.headless.print_mode import print_mode
from agentcli.frontends.opening import program_of
from agentcli.program.doctor import examine
from agentcli.program.options import Options
from agentcli.program.program import Program
from agentcli.program.project import TRUSTED
from agentcli.program.trust import trust

USER = '[checks]\n"*.py" = "mine {file}"\n"*.md" = ""\n'
PROJECT = '[checks]\n"*.py" = "theirs {file}"\n"*.md" = "theirs {file}"\n"*.js" = "./lint.sh {file}"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in (("CONFIG/agentcli/config.toml", USER), ("work/.agentcli/config.toml", PROJECT)):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def program(folder: Path, **options: Any) -> Program:
    env = {f"XDG_{kind}_HOME": str(folder / kind) for kind in ("CONFIG", "DATA", "STATE", "CACHE")}
    asked = Options(model="script:echo", cwd=str(folder / "work"), no_session=True, **options)
    return program_of(asked, {**env, "HOME": str(folder), "PATH": "/usr/bin:/bin"})


def commands(made: Program) -> list[str]:
    return [check.command for check in in_force(made)]


def test_a_project_adds_checks_and_changes_none_of_the_users(folder: Path) -> None:
    made = program(folder)
    assert commands(made) == [], "even one's own linters load code of an untrusted folder"
    trust(made.cwd, made.dirs.state / TRUSTED)
    made.reload()
    assert commands(made) == ["mine {file}"], "approved are none yet"
    [wanted] = made.definitions()
    assert (str(wanted), wanted.starts) == ("check *.js of .agentcli/config.toml", "./lint.sh {file}")
    assert not [warning for warning in made.config.warnings if "checks" in warning]
    made.approvals.decide([(wanted, True)])
    assert commands(made) == ["mine {file}", "./lint.sh {file}"]


def test_a_changed_command_asks_again_and_what_it_runs_is_protected(folder: Path) -> None:
    made = program(folder, trust=True)
    [wanted] = made.definitions()
    script = made.cwd / "lint.sh"
    assert made.workspace_policy.workspace().started()[script] == "the check of *.js runs lint.sh"
    trusting = program(folder)
    trust(trusting.cwd, trusting.dirs.state / TRUSTED)
    trusting.approvals.decide([(wanted, True)])
    (folder / "work/.agentcli/config.toml").write_text(PROJECT.replace("./lint.sh", "./other.sh"))
    trusting.reload()
    assert commands(trusting) == ["mine {file}"]


def test_a_run_without_a_person_names_the_checks_that_nobody_approved(folder: Path) -> None:
    made = program(folder)
    trust(made.cwd, made.dirs.state / TRUSTED)
    made.reload()
    notes = made.sessions.new().core.setup.run.notes
    assert [note for note in notes if "Check *.js of .agentcli/config.toml was not started" in note]


def test_checks_are_listed_with_their_state(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    monkeypatch.setattr("sys.stdin", None)
    made = program(folder, prompt="/checks", print=True)
    trust(made.cwd, made.dirs.state / TRUSTED)
    made.reload()
    assert print_mode(made, made.options) == 0
    assert capsys.readouterr().out.splitlines() == [
        '"*.py" = "mine {file}"    # on',
        '"*.js" = "./lint.sh {file}"    # waits for approval: /extensions hooks approve',
    ]


def test_what_the_projects_files_suggest_is_shown_and_not_switched_on(folder: Path) -> None:
    work = folder / "work"
    (work / "eslint.config.mjs").write_text("")
    (work / "pyproject.toml").write_text("[tool.ruff]\nline-length = 100\n[tool.mypy]\n")
    installed(work / "node_modules/.bin/eslint")
    installed(work / ".venv/bin/ruff")
    installed(work / ".venv/bin/mypy")
    (folder / "CONFIG/agentcli/config.toml").write_text("")
    made = program(folder)
    rows = [finding.line for finding in examine(made) if finding.what == "check suggested"]
    assert rows == [
        'ok    check suggested: "*.py" = ".venv/bin/ruff check --quiet --output-format concise {file}; '
        '.venv/bin/mypy --no-error-summary {file}"    # pyproject.toml',
        'ok    check suggested: "*.{js,jsx,ts,tsx}" = "node_modules/.bin/eslint {file}"    # eslint.config.mjs',
    ]
    assert not commands(made)


def installed(file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("#!/bin/sh\n")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)


def test_doctor_names_the_program_of_a_check_that_is_not_installed(folder: Path) -> None:
    (folder / "CONFIG/agentcli/config.toml").write_text(
        '[checks]\n"*.py" = "cd . && true; no-such-linter {file}"\n"*.sh" = "sh -n {file}"\n"*.md" = "./none {file}"\n'
    )
    rows = [finding.line for finding in examine(program(folder, trust=True)) if finding.what == "check"]
    assert [row for row in rows if "lint.sh" not in row] == [
        'warn  check: "*.py" = "cd . && true; no-such-linter {file}" (no-such-linter is not installed)',
        'ok    check: "*.sh" = "sh -n {file}" (on)',
        'warn  check: "*.md" = "./none {file}" (./none is not installed)',
    ]
