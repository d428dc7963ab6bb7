from __future__ import annotations

import base64
from hashlib import sha256
from pathlib import Path

import pytest

from agentcli.core.errors import InputError
from agentcli.core.images import IMAGE_BYTES
from agentcli.core.message import GOES_ON, File, Image, Part, Text
from agentcli.frontends.terminal.input.attachments import FILE_BYTES, with_attachments
from tests.tables import each_row

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def attached(text: str, folder: Path) -> tuple[Part, ...]:
    return with_attachments(text, folder).parts[:-1]


def test_a_file_a_folder_and_a_picture_are_attached_ahead_of_the_words(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "b.py").touch()
    (tmp_path / "shot.png").write_bytes(PNG)
    said = with_attachments("look at @a.py, (@lib/) and @shot.png.", tmp_path)
    assert said.parts == (
        File("text/plain", str(tmp_path / "a.py"), "x = 1\n", sha256=sha256(b"x = 1\n").hexdigest()),
        File("inode/directory", str(tmp_path / "lib"), "b.py"),
        Image("image/png", base64.b64encode(PNG).decode(), str(tmp_path / "shot.png")),
        Text("look at @a.py, (@lib/) and @shot.png."),
    )


@each_row(
    ("mention", "name", "text"),
    [
        ("@a.py:2-3", "a.py:2-3", "line 2\nline 3\n"),
        ("(@a.py:2).", "a.py:2", "line 2\n"),
        ("@a.py:4-9,", "a.py:4-5", "line 4\nline 5"),
        ('@"a.py":2', "a.py:2", "line 2\n"),
        ("@b.py:1-2", "b.py:1-2", "a file of that name"),
    ],
)
def test_lines_of_a_file_are_attached_where_no_file_has_that_name(
    tmp_path: Path, mention: str, name: str, text: str
) -> None:
    (tmp_path / "a.py").write_text("\n".join(f"line {n}" for n in range(1, 6)))
    (tmp_path / "b.py:1-2").write_text("a file of that name")
    (tmp_path / "b.py").write_text("another\n")
    (part,) = attached(f"look at {mention}", tmp_path)
    assert isinstance(part, File)
    assert (part.path, part.text, bool(part.sha256)) == (str(tmp_path / name), text, name == "b.py:1-2")


def test_lines_of_an_unsaved_file_are_those_of_its_buffer(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("old\n")
    (part, _) = with_attachments("@a.py:2", tmp_path, buffers={file: b"one\ntwo\n"}).parts
    assert part == File("text/plain", f"{file}:2", "two\n")


@each_row(
    ("data", "text"),
    [
        ("one\nzwö\n".encode("utf-16"), "zwö\n"),
        (b"one\nzw\xf6\n", "zwö\n"),
        ("\ufeffone\r\nzwö".encode(), "zwö"),
        ("one\rzwö\r".encode(), "zwö\r"),
        (b"one\n" + b"x" * 3 * FILE_BYTES, "x" * FILE_BYTES + GOES_ON),
    ],
)
def test_lines_are_those_that_the_tool_reads(tmp_path: Path, data: bytes, text: str) -> None:
    (tmp_path / "a").write_bytes(data)
    assert attached("@a:2", tmp_path) == (File("text/plain", f"{tmp_path / 'a'}:2", text),)


def test_of_many_lines_no_more_are_read_and_named_than_a_file_may_have(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(("x" * 999 + "\n") * 1_000)
    (part,) = attached("@a:2-900", tmp_path)
    assert isinstance(part, File)
    assert part.path.endswith("a:2-102")
    assert len(part.text) == FILE_BYTES + len(GOES_ON)


def test_a_long_file_is_decoded_though_a_character_is_cut_at_the_end_of_what_is_attached(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(("\ufeff" + "é" * FILE_BYTES).encode())
    (part,) = attached("@a", tmp_path)
    assert isinstance(part, File)
    assert set(part.text.removesuffix(GOES_ON)) == {"é"}


def test_lines_of_a_binary_file_are_told_like_the_whole(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\x7fELF\0\1\n" + bytes(30) + b"\nabc\n")
    assert attached("@a:3", tmp_path) == attached("@a", tmp_path)


@each_row("lines", ["lines 7-9", "line 7", "line 0", "lines 3-2"])
def test_lines_that_a_file_does_not_have_are_an_error(tmp_path: Path, lines: str) -> None:
    (tmp_path / "a.py").write_text("one\ntwo\nthree\nfour\n")
    with pytest.raises(InputError, match=f"has no {lines}"):
        with_attachments(f"@a.py:{lines.split()[1]}", tmp_path)


def test_a_name_with_spaces_is_quoted(tmp_path: Path) -> None:
    (tmp_path / "two words.txt").write_text("x")
    (part,) = attached('see @"two words.txt" now', tmp_path)
    assert isinstance(part, File)
    assert (part.path, part.text) == (str(tmp_path / "two words.txt"), "x")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"caf\xe9 au lait\n", "café au lait\n"),
        ("größer".encode("utf-16"), "größer"),
        (b"\xef\xbb\xbfx\r\n", "x\r\n"),
    ],
)
def test_a_file_is_attached_as_the_tool_reads_it_and_may_then_be_edited(tmp_path: Path, data: bytes, text: str) -> None:
    (tmp_path / "a.txt").write_bytes(data)
    assert attached("@a.txt", tmp_path) == (
        File("text/plain", str(tmp_path / "a.txt"), text, sha256=sha256(data).hexdigest()),
    )


def test_of_a_binary_file_the_model_learns_that_it_is_one(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"\x7fELF\0\1" + bytes(3_000_000))
    (part,) = attached("@a.bin", tmp_path)
    assert isinstance(part, File)
    assert part.text == "[binary file of 3,000,006 bytes, which are not attached]"


def test_a_picture_is_what_its_bytes_say_whatever_its_name(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(PNG)
    (tmp_path / "b.png").write_text("no picture at all")
    image, file = attached("@a.jpg @b.png", tmp_path)
    assert isinstance(image, Image)
    assert image.mime == "image/png"
    assert isinstance(file, File)


def test_a_picture_that_no_model_can_read_is_left_out_and_named(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PNG[:-20])
    (part,) = attached("@a.png", tmp_path)
    assert part == File(
        "image/png", str(tmp_path / "a.png"), "[an image that no model can read: it is cut off; it is not attached]"
    )


def test_a_picture_that_is_too_large_is_told_and_not_sent(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PNG[:20] + bytes(IMAGE_BYTES))
    with pytest.raises(InputError, match="Make it smaller"):
        with_attachments("@a.png", tmp_path)


@each_row("text", ["mail me@home.org", "@nothing", "@" + "x" * 5_000, "@~nobody-of-this-name/x", "@a\0b"])
def test_what_names_no_file_is_just_words(tmp_path: Path, text: str) -> None:
    assert with_attachments(text, tmp_path).parts in ((), (Text(text),))
