"""Sessions of these tests are seldom closed: what they leave in the folder for temporary files goes with the test's own."""

import tempfile

import pytest


@pytest.fixture(autouse=True)
def _temporary_files(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("temporary")))
