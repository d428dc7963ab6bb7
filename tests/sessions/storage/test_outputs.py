"""Names of the files in which outputs are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentcli.sessions.storage.writer import Outputs, output_name
from agentcli.system.disk import Disk
from tests.tables import each_row


@pytest.mark.parametrize("call_id", ["a", "toolu_01-b", "x" * 100])
def test_a_plain_id_is_the_name(call_id: str) -> None:
    assert output_name(call_id) == f"{call_id}.txt"


@each_row(
    ("call_id", "beginning"),
    [("", ""), ("../a", "___a"), ("a b", "a_b"), ("é", "_"), ("x" * 101, "x" * 100), ("\ud800", "_")],
)
def test_any_other_id_is_told_apart_by_a_number_made_from_it(call_id: str, beginning: str) -> None:
    stem, _, number = output_name(call_id).removesuffix(".txt").rpartition("-")
    assert (stem, len(number)) == (beginning, 12)
    assert output_name(call_id + "!") != output_name(call_id)


def test_an_id_that_is_used_again_in_another_session_of_the_server_gets_a_number(tmp_path: Path) -> None:
    for expected in ("a.txt", "a-2.txt", "a-3.txt"):
        outputs = Outputs(tmp_path, Disk())
        assert outputs.add("a", "text") == str(tmp_path / expected)
        assert outputs.add("a", expected) == str(tmp_path / expected), "the same call keeps its file"
        outputs.save()
        assert (tmp_path / expected).read_text() == expected


def test_bytes_keep_their_ending_and_text_that_is_no_unicode_is_spelled(tmp_path: Path) -> None:
    outputs = Outputs(tmp_path, Disk())
    assert outputs.add("p", b"\x89PNG", ".png") == str(tmp_path / "p.png")
    assert outputs.add("p2", "a\ud800") == str(tmp_path / "p2.txt")
    outputs.save()
    assert (tmp_path / "p.png").read_bytes() == b"\x89PNG"
    assert (tmp_path / "p2.txt").read_text() == "a\\ud800"
