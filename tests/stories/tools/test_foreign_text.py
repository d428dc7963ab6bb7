"""Text in other encodings, and other forms of the same letters, are read, found, shown and edited as all text is."""

from __future__ import annotations

from pathlib import Path
from unicodedata import normalize

import pytest

from tests.tools.conftest import Call
from tests.tools.workplace import Bench

GERMAN = "# Prüfung der Größe\nmeldung = 'Übergröße für Straße'\n"
RUSSIAN = "# Проверка размера\nсообщение = 'Слишком большой размер'\n"
JAPANESE = "# サイズの確認\nメッセージ = 'ファイルが大きすぎます'\n"
FILES = {
    "latin-1": GERMAN,
    "cp1251": RUSSIAN,
    "cp932": JAPANESE,
    "utf-16": GERMAN,
    "utf-16-le": "plain words in ASCII\n" * 3,
}


@pytest.mark.parametrize("encoding", FILES)
def test_grep_finds_what_read_shows(call: Call, ctx: Bench, encoding: str) -> None:
    text = FILES[encoding]
    (ctx.cwd / "a.txt").write_bytes(text.encode(encoding))
    (ctx.cwd / "b.txt").write_text(text)
    assert text.rstrip("\n") in call("read", file_path="a.txt").output
    word = text.split()[-1].strip("'")
    found = call("grep", pattern=word, output_mode="files_with_matches").output
    assert found.split() == ["a.txt", "b.txt"]
    assert text.split("\n")[-2] in call("grep", pattern=word, path="a.txt").output


@pytest.mark.parametrize("encoding", [name for name in FILES if name != "utf-16-le"])
def test_the_output_of_a_command_keeps_its_letters(call: Call, ctx: Bench, encoding: str) -> None:
    (ctx.cwd / "a.txt").write_bytes(FILES[encoding].encode(encoding))
    assert FILES[encoding] in call("bash", command="cat a.txt").output


@pytest.mark.parametrize(("here", "there"), [("NFC", "NFD"), ("NFD", "NFC")])
def test_letters_with_accents_match_in_both_forms_and_the_file_keeps_its_own(
    call: Call, ctx: Bench, here: str, there: str
) -> None:
    text = "one\ncafé = 'über'\nthree é\n"
    (ctx.cwd / "a.txt").write_text(normalize(here, text))
    call("read", file_path="a.txt")
    assert "a.txt" in call("grep", pattern=normalize(there, "café"), output_mode="files_with_matches").output
    old, new = (normalize(there, each) for each in ("café = 'über'", "café = 'größer'"))
    assert call("edit", file_path="a.txt", old_string=old, new_string=new).status == "success"
    assert normalize("NFC", (ctx.cwd / "a.txt").read_text()) == "one\ncafé = 'größer'\nthree é\n"
    if here == "NFD":
        assert (ctx.cwd / "a.txt").read_text() == normalize("NFD", "one\ncafé = 'größer'\nthree é\n")


@pytest.mark.parametrize(("here", "there"), [("NFC", "NFD"), ("NFD", "NFC")])
def test_a_name_in_another_form_of_its_letters_is_the_same_file(call: Call, ctx: Bench, here: str, there: str) -> None:
    folder = ctx.cwd / normalize(here, "Übung")
    folder.mkdir()
    (folder / normalize(here, "café.txt")).write_text("text\n")
    asked = normalize(there, "Übung/café.txt")
    assert "text" in call("read", file_path=asked).output
    call("write", file_path=asked, content="new\n")
    assert [path.read_text() for path in ctx.cwd.rglob("*.txt")] == ["new\n"]


def test_of_a_progress_bar_its_last_frame_reaches_the_model_and_the_whole_is_kept(call: Call) -> None:
    bar = r"""for n in $(seq 1 300); do printf '\r\033[32m%3d%%\033[0m |%-60s|' $((n / 3)) '####################'; done; echo; echo done"""
    result = call("bash", command=bar)
    assert result.output == f"100% |{'#' * 20:60}|\ndone\n"
    assert not result.truncated
    assert Path(result.output_file).read_bytes().count(b"\r") == 300


def test_colours_and_links_are_no_text(call: Call) -> None:
    result = call("bash", command=r"printf '\033[1;31mred\033[0m \033]8;;http://x\007link\033]8;;\007\n'")
    assert result.output == "red link\n"
    assert not result.output_file
