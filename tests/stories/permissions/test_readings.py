"""What happens to some hundred commands beside denied files, with and without a sandbox and a repository that has the files."""

from pathlib import Path

import pytest

from tests.permissions.denied.readings import PROJECTS, answered, made, read
from tests.sampling import sampled


@pytest.mark.parametrize("project", sampled(PROJECTS, 2))
def test_commands_beside_denied_files_are_answered_as_before(project: str, tmp_path: Path) -> None:
    workspace = made(project, tmp_path.resolve())
    expected = {command: answer for each, answer, command in read() if each == project}
    assert len(expected) > 150
    assert {command: answered(command, workspace) for command in expected} == expected
