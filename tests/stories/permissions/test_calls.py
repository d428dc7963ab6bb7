"""Which calls of tools run, and in which words the others are asked about, in each mode and beside rules."""

import sys
from pathlib import Path

import pytest

from tests.permissions.calls import answered, made, read

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="folders of the system are other ones elsewhere")


def test_calls_are_answered_as_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = made(tmp_path.resolve())
    monkeypatch.setenv("HOME", str(workspace.home))
    expected = {call: answer for answer, call in read()}
    assert len(expected) > 150
    assert {call: answered(call, workspace) for call in expected} == expected
