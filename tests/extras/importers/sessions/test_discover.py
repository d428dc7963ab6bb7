"""Search for sessions to import: in files, in folders, and in other programs' stores."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentcli.core.errors import InputError
from agentcli.extras.importers.sessions.discover import candidates
from agentcli.extras.importers.sessions.import_run import ImportRun
from agentcli.sessions.store import Store


def test_a_file_in_which_nothing_was_said_is_told_as_such(tmp_path: Path):
    file = tmp_path / "session.json"
    file.write_text(
        json.dumps({"sessionId": "a", "projectHash": "b", "startTime": "2026-01-01T00:00:00Z", "messages": []})
    )
    (outcome,) = ImportRun(Store(tmp_path / "store"), tmp_path).run(candidates(file, named=True))
    assert (outcome.status, outcome.why) == ("failed", f"{file}: it contains no prompt and no reply")


def test_a_stranger_is_refused_as_one_whatever_is_chosen_in_it(tmp_path: Path):
    stranger = tmp_path / "notes.json"
    stranger.write_text('{"notes": []}\n')
    for chosen in ("", "s"):
        with pytest.raises(InputError, match="is not a session that can be imported"):
            candidates(stranger, chosen=chosen)
