"""Which commands run, and in which words the others are asked about, over some thousand commands of the corpora."""

import sys
from pathlib import Path

import pytest

from agentcli.core.record import Mode
from tests.permissions.answers import answered, read, workspace_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="folders of the system are other ones elsewhere")


def check(mode: Mode, top: Path) -> None:
    workspace = workspace_of(top.resolve())
    expected = {command: answer for each, answer, command in read() if each == mode}
    assert len(expected) > 300
    assert {command: answered(command, mode, workspace) for command in expected} == expected


def test_commands_are_answered_as_before_in_mode_ask(tmp_path: Path) -> None:
    check("ask", tmp_path)


def test_commands_are_answered_as_before_in_mode_auto(tmp_path: Path) -> None:
    check("auto", tmp_path)


def test_commands_are_answered_as_before_in_mode_yolo(tmp_path: Path) -> None:
    check("yolo", tmp_path)
