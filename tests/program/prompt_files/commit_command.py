"""A repository with a change that is not committed yet, and the text that a command with the output of git sends there."""

from __future__ import annotations

import subprocess
from pathlib import Path

from agentcli.core.message import Text
from agentcli.frontends.opening import program_of
from agentcli.program.options import Options
from tests.agent.open_session import messages, say_to


def changed_repository(folder: Path) -> Path:
    """A repository with one commit, of a file that was changed since."""
    folder.mkdir()
    (folder / "file.txt").write_text("old\n")
    who = ["-c", "user.name=n", "-c", "user.email=e"]
    for command in (["init", "-q", "-b", "main"], ["add", "."], [*who, "commit", "-q", "-m", "First"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    (folder / "file.txt").write_text("new\n")
    return folder


def sent(folder: Path, line: str) -> str:
    """The text of the user's message that a prompt becomes in a folder."""
    session = program_of(Options(model="script:echo", cwd=str(folder))).sessions.new()
    say_to(session, line)
    text = "".join(part.text for part in messages(session)[0].parts if isinstance(part, Text))
    session.close()
    return text


def assert_shows_git(text: str) -> None:
    """Assert that a text holds what `git status`, `git diff HEAD` and `git log` print in the repository."""
    assert '<shell-output command="git status">\nOn branch main\n' in text
    assert "modified:   file.txt" in text
    assert '<shell-output command="git diff HEAD">\ndiff --git' in text
    assert "\n-old\n+new\n</shell-output>" in text
    assert '<shell-output command="git log --oneline -10">\n' in text
    assert " First\n</shell-output>" in text
