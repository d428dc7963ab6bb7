"""Denied files in a repository's history: their names, the ids of their contents, and pathspecs that exclude them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentcli.permissions.denied.history import Held
from tests.tables import each_row


@each_row(
    ("given", "any_"),
    [({}, False), ({"names": frozenset({"a"})}, True), ({"known": False}, True), ({"blobs": frozenset({"a"})}, False)],
)
def test_a_repository_holds_some_if_it_names_some_or_is_not_known(given: Mapping[str, Any], any_: bool) -> None:
    assert Held(Path("/"), (), **given).any is any_
