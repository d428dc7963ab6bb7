"""Content of unsaved buffers."""

from __future__ import annotations

from agentcli.agent.buffers import content_of
from tests.tables import each_row


@each_row(
    ("text", "saved"),
    [
        ("a\nb\n", b"a\nb\n"),
        ("a\nb\n", b"a\r\nb\r\n"),
        ("a\nb", b"a\nb\n"),
        ("a\n", b"\xef\xbb\xbfa\n"),
        ("", b""),
    ],
)
def test_a_buffer_that_differs_by_what_editors_leave_out_is_the_file_on_disk(text: str, saved: bytes) -> None:
    assert content_of(text, saved) is None


@each_row(
    ("text", "saved", "content"),
    [
        ("a\nc\n", b"a\nb\n", b"a\nc\n"),
        ("a\nc\n", b"a\r\nb\r\n", b"a\r\nc\r\n"),
        ("a\nc", b"a\nb\n", b"a\nc\n"),
        ("a\nc", b"a\nb", b"a\nc"),
        ("c\n", b"\xef\xbb\xbfa\n", b"\xef\xbb\xbfc\n"),
        ("", b"a\n", b""),
        ("new\n", b"", b"new\n"),
        ("ä\n", b"a\n", b"\xc3\xa4\n"),
    ],
)
def test_unsaved_text_becomes_bytes_as_the_file_would_have_them(text: str, saved: bytes, content: bytes) -> None:
    assert content_of(text, saved) == content
