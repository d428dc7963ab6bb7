"""Answers of MCP servers as results: text and images; other data goes to files that the text names."""

from __future__ import annotations

import base64

from agentcli.core.mcp_servers import Content
from agentcli.tools.lib.server_answers import DATA_BYTES, kept_data
from tests.tables import each_row

KEPT: dict[str, bytes] = {}


def keep(name: str, data: bytes, ending: str) -> str:
    KEPT[name + ending] = data
    return f"outputs/{name}{ending}"


@each_row(
    ("mime", "ending"),
    [
        ("application/pdf", ".pdf"),
        ("Audio/MPEG; codecs=x", ".mp3"),
        ("text/plain", ".bin"),  # `.txt` is for what the model reads
        ("../../etc/passwd", ".bin"),
        ("", ".bin"),
    ],
)
def test_a_file_of_a_server_is_kept_as_it_is_and_named_by_its_type_alone(mime: str, ending: str) -> None:
    content = Content("blob", data=base64.b64encode(b"\0data").decode(), mime=mime, uri="file:///../x.sh")
    assert f"5 bytes, in outputs/c-1{ending}]" in kept_data(keep, "c-1", content)
    assert KEPT[f"c-1{ending}"] == b"\0data"


def test_a_file_that_is_too_large_or_damaged_is_left_out_and_says_so() -> None:
    large = Content("audio", data=base64.b64encode(bytes(DATA_BYTES + 1)).decode(), mime="audio/wav")
    assert "25,000,001 bytes are more than the 25,000,000 that are kept" in kept_data(keep, "large", large)
    assert "no valid base64" in kept_data(keep, "bad", Content("audio", data="A\x1b[2J", mime="audio/\x1b[2Jwav"))
    assert "\x1b" not in kept_data(keep, "bad", Content("audio", data="A", mime="audio/\x1b[2Jwav"))
    assert not {"large.wav", "bad.bin"} & KEPT.keys()
