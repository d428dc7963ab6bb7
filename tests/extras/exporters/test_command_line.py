"""`agentcli sessions export` for Claude Code and Codex."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.program import Program


@pytest.mark.full
@pytest.mark.parametrize(("form", "folder"), [("claude-code", ".claude/projects"), ("codex", ".codex/sessions")])
def test_a_session_is_placed_once_and_never_replaces_what_may_have_been_continued(
    program: Program, form: str, folder: str
) -> None:
    program.run("-p", "Who forbids the sk-ant-api03-aaaaaaaaaaaaaaaaaaaaaaaaaaaa key?", "-m", "script:echo")
    [record] = program.sessions.rglob("session.json")
    session = record.parent
    ran = program.run("sessions", "export", session.name, "-f", form, "--install")
    home = Path(program.env["HOME"])
    [file] = (home / folder).rglob("*.jsonl")
    assert (ran.code, ran.out.splitlines()[0]) == (0, f"Written to {file}.")
    assert file.stem.endswith(ran.out.split()[-1])
    assert "Removed secrets" in ran.err
    assert (file.stat().st_mode & 0o777, "aaaaaaaa" in file.read_text()) == (0o600, False)
    again = program.run("sessions", "export", session.name, "-f", form, "--install")
    assert again.code == 42
    assert "may have been continued there" in again.err
    plain = program.run("sessions", "export", session.name, "-f", form)
    assert plain.out == file.read_text()


@pytest.mark.parametrize("more", [["-f", "md"], [], ["-f", "codex", "-o", "x.jsonl"]])
def test_only_formats_of_agents_can_be_installed_and_only_where_they_look(program: Program, more: list[str]) -> None:
    ran = program.run("sessions", "export", "x", "--install", *more)
    assert (ran.code, "--install needs -f claude-code or codex, and no -o." in ran.err) == (2, True)


def test_a_folder_that_cannot_be_made_is_told(program: Program) -> None:
    program.run("-p", "hi", "-m", "script:echo")
    [record] = program.sessions.rglob("session.json")
    (Path(program.env["HOME"]) / ".codex").write_text("a file")
    ran = program.run("sessions", "export", record.parent.name, "-f", "codex", "--install")
    assert (ran.code, "Can't write" in ran.err, "-o" in ran.err) == (42, True, True)
