"""Token estimators: five small classes, each with a rule of its own."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from agentcli.context.tokens.estimators import (
    NO_VOCABULARY,
    VOCABULARIES,
    estimator,
    vocabulary,
)


def test_tiktoken_without_its_vocabulary_is_stood_in_for_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, _ = VOCABULARIES["o200k_base"]
    (tmp_path / name).write_bytes(b"not the vocabulary")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    found = estimator("tiktoken")
    assert (found.name, found.note) == ("calibrated", NO_VOCABULARY)
    assert (tmp_path / name).read_bytes() == b"not the vocabulary"


def test_a_vocabulary_counts_only_if_it_is_the_right_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    name, digest = VOCABULARIES["cl100k_base"]
    assert len(digest) == len(hashlib.sha256().hexdigest())
    (tmp_path / name).write_bytes(b"x")
    assert vocabulary("cl100k_base", [tmp_path]) is None
