"""Text of any origin is read in its encoding, and written back byte for byte."""

from __future__ import annotations

from agentcli.core.text.encodings import Encoding, decode, encode, is_binary, readable
from tests.tables import each_row

TEXTS = {
    "latin-1": "Größe und Überschrift, Straße: Prüfung beendet.\n",
    "cp1252": "“Größe” – naïve façade…\n",
    "cp932": "ファイルを読み込めませんでした。\nもう一度お試しください。\n",
    "euc_jp": "ファイルを読み込めませんでした。\nもう一度お試しください。\n",
    "gb18030": "无法读取文件，请检查路径是否正确，然后再试一次。\n",
    "big5": "無法讀取檔案，請檢查路徑是否正確，然後再試一次。\n",
    "cp949": "파일을 읽을 수 없습니다. 경로를 확인하고 다시 시도하십시오.\n",
    "cp1251": "Не удалось прочитать файл. Проверьте путь и повторите попытку.\n",
    "koi8_r": "Не удалось прочитать файл. Проверьте путь и повторите попытку.\n",
    "cp1253": "Δεν ήταν δυνατή η ανάγνωση του αρχείου.\n",
}


@each_row("name", TEXTS)
def test_an_older_encoding_is_known_by_its_letters_and_kept_byte_for_byte(name: str) -> None:
    data = f"# comment\nmessage = {TEXTS[name]}".encode(name)
    decoded = decode(data)
    assert decoded is not None
    assert decoded[0].endswith(TEXTS[name])
    assert encode(*decoded, "a file") == data
    assert readable(data).endswith(TEXTS[name])


@each_row("name", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_a_mark_is_never_part_of_the_text(name: str) -> None:
    text = "model = 'x'\n# größer\nmode = 'ask'\n"
    assert readable(text.encode(name)) == text
    assert not is_binary(text.encode(name))


def test_an_output_may_mix_encodings_and_each_line_is_read_in_its_own() -> None:
    data = "naïve → π\n".encode() + "größe übel\n".encode("latin-1") + b"plain\n"
    assert readable(data) == "naïve → π\ngröße übel\nplain\n"


@each_row("data", [b"\x7fELF\x02\x01\x01\0\0\0\0", bytes(range(256)) * 4, b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"])
def test_binary_files_are_no_text(data: bytes) -> None:
    assert decode(data) is None
    assert is_binary(data)


def test_a_text_without_letters_of_its_own_is_utf_8() -> None:
    assert decode(b"") == ("", Encoding())
    assert decode(b"plain\n") == ("plain\n", Encoding())


@each_row(
    ("data", "text"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x01\n\xff\xd8\xe9\n", "[binary data left out]\n"),
        (b"before\n" + bytes(range(256)) * 8 + b"\nafter\n", "before\n[binary data left out]\nafter\n"),
        (b"a line of text\n" * 900 + b"x\0\0\0\xff\xfe\xfd\n", "a line of text\n" * 900 + "[binary data left out]\n"),
        (
            "eine größere Übersicht\n".encode("latin-1") + b"\0\0\0\0\n",
            "eine größere Übersicht\n[binary data left out]\n",
        ),
        (b"a.py\0b/c.py\0", "a.py\0b/c.py\0"),
        (b"PATH=/bin\0\0HOME=/root\0", "PATH=/bin\0\0HOME=/root\0"),
    ],
)
def test_binary_data_in_an_output_is_left_out_and_its_text_stays(data: bytes, text: str) -> None:
    assert readable(data) == text
