from __future__ import annotations

import asyncio
import os
import pty
import tty
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys

from agentcli.frontends.terminal.input.attachments import Pastes, mention_of_picture
from agentcli.frontends.terminal.input.keyboard import Keyboard

TYPED = "ab\x1b[A\x1b[200~one\ntwo\x1b[Zé日\x1b[201~c\x1b[200~\x1b[201~d\x1b[B"


@pytest.fixture(scope="module")
def terminal() -> int:
    _, slave = pty.openpty()
    return slave


def keys(terminal: int, pieces: list[bytes]) -> list[tuple[object, str]]:
    with os.fdopen(os.dup(terminal)) as stdin:
        keyboard = Keyboard(stdin)
        found = [key for piece in pieces for key in keyboard.keys_of(piece)]
        return [(key.key, key.data) for key in [*found, *keyboard.flush_keys()]]


@given(st.lists(st.integers(1, 7), min_size=1))
def test_however_the_bytes_are_cut_the_keys_are_the_same(terminal: int, sizes: list[int]) -> None:
    data, pieces, n = TYPED.encode(), [], 0
    while data:
        size = sizes[n % len(sizes)]
        pieces.append(data[:size])
        data, n = data[size:], n + 1
    expected = [
        ("a", "a"), ("b", "b"), (Keys.Up, "\x1b[A"), (Keys.BracketedPaste, "one\ntwo\x1b[Zé日"), ("c", "c"), (Keys.BracketedPaste, ""),
        ("d", "d"), (Keys.Down, "\x1b[B"),
    ]  # fmt: skip
    assert keys(terminal, pieces) == expected


def test_a_lone_escape_is_a_key_once_nothing_follows(terminal: int) -> None:
    assert keys(terminal, [b"\x1b"]) == [(Keys.Escape, "\x1b")]


def test_shift_enter_is_a_new_line_where_the_terminal_tells_it(terminal: int) -> None:
    assert [key for key, _ in keys(terminal, [b"\x1b[27;2;13~", b"\x1b[13;2u"])] == [Keys.ControlJ, Keys.ControlJ]


def test_alt_enter_is_the_same_however_the_terminal_tells_it(terminal: int) -> None:
    for told in (b"\x1b\r", b"\x1b[27;3;13~", b"\x1b[13;3u"):
        assert [key for key, _ in keys(terminal, [told])] == [Keys.Escape, Keys.ControlM]


def test_a_long_paste_is_a_label_and_comes_back_whole() -> None:
    pastes = Pastes()
    long, wide = "x\n" * 40, "y" * 5_000
    draft = f"see {pastes.fold(long)} and {pastes.fold(wide)} and {pastes.fold('short')}"
    assert draft == "see [Pasted text #1, 40 lines] and [Pasted text #2, 5,000 characters] and short"
    assert pastes.unfold(draft) == f"see {long} and {wide} and short"


def test_a_picture_is_a_label_that_becomes_its_mention() -> None:
    pastes = Pastes()
    draft = f"see {pastes.picture(Path('/tmp/a.png'))} and {pastes.picture(Path('/tmp/a b.png'))}"
    assert draft == "see [Image #1] and [Image #2]"
    assert pastes.unfold(draft) == 'see @/tmp/a.png and @"/tmp/a b.png"'
    sent = f'see @"/tmp/a b/pictures/{"a" * 12}.png" and /tmp/pictures/{"b" * 12}.png'
    again = pastes.with_labels(sent)
    assert again == f"see [Image #3] and /tmp/pictures/{'b' * 12}.png"
    assert (pastes.unfold(again), pastes.with_labels(sent)) == (sent, again)


def test_a_label_that_was_typed_stands_for_nothing() -> None:
    assert Pastes().unfold("[Pasted text #7, 3 lines]") == "[Pasted text #7, 3 lines]"


@pytest.mark.parametrize(
    ("colour", "light"),
    [("ffff/ffff/ffff", True), ("00/00/00", False), ("fdfd/f6f6/e3e3", True), ("1e1e/1e1e/2e2e", False)],
)
@pytest.mark.parametrize("size", [1, 5, 100])
def test_the_terminals_answer_about_its_background_is_no_key(
    terminal: int, colour: str, light: bool, size: int
) -> None:
    answer = f"a\x1b]11;rgb:{colour}\x1b\\b".encode()
    with os.fdopen(os.dup(terminal)) as stdin:
        keyboard = Keyboard(stdin)
        found = [key.data for n in range(0, len(answer), size) for key in keyboard.keys_of(answer[n : n + size])]
        assert found == ["a", "b"]
        assert keyboard.light is light


def test_a_dropped_picture_becomes_a_mention(tmp_path: Path) -> None:
    picture = tmp_path / "shot.png"
    picture.touch()
    assert mention_of_picture(f"'{picture}' ") == f"@{picture} "
    assert mention_of_picture(f"file://{picture}") == f"@{picture} "
    spaced = tmp_path / "a shot (1).png"
    spaced.touch()
    for typed in (f"'{spaced}'", str(spaced).replace(" ", "\\ ").replace("(", "\\(").replace(")", "\\)")):
        assert mention_of_picture(typed) == f'@"{spaced}" '
    assert mention_of_picture(f"{tmp_path}/none.png") == ""
    assert mention_of_picture("a.png is what I mean") == ""
    for odd in ("~no-such-user/a.png", "a\0.png", "x" * 4_000 + ".png"):
        assert mention_of_picture(odd) == ""


def test_the_terminals_answer_about_its_width_is_no_key_and_wakes_nobody() -> None:
    master, slave = pty.openpty()
    tty.setraw(slave)

    async def run() -> tuple[list[int], list[object]]:
        widths: asyncio.Queue[int] = asyncio.Queue()
        found: asyncio.Queue[object] = asyncio.Queue()
        with os.fdopen(slave) as stdin:
            keyboard = Keyboard(stdin)
            keyboard.on_width = widths.put_nowait
            with keyboard.attach(lambda: found.put_nowait([key.key for key in keyboard.read_keys()])):
                os.write(master, b"\x1b[24;80R")
                first = await widths.get()
                assert found.empty()
                os.write(master, b"a\x1b[24;81Rb\x1b[1;2R")
                return [first, await widths.get()], [await found.get()]

    widths, found = asyncio.run(run())
    os.close(master)
    assert widths == [80, 81]
    assert found == [["a", "b", Keys.CPRResponse]]  # the last is how Shift-F3 is read


def test_answers_do_not_put_off_a_lone_escape_for_which_the_rest_is_awaited() -> None:
    master, slave = pty.openpty()
    tty.setraw(slave)

    async def run() -> list[object]:
        widths: asyncio.Queue[int] = asyncio.Queue()
        waits: asyncio.Queue[list[KeyPress]] = asyncio.Queue()
        with os.fdopen(slave) as stdin:
            keyboard = Keyboard(stdin)
            keyboard.on_width = widths.put_nowait
            with keyboard.attach(lambda: waits.put_nowait(keyboard.read_keys())):
                os.write(master, b"\x1b")
                assert await waits.get() == []
                for _ in range(2):
                    os.write(master, b"\x1b[24;80R")
                    await widths.get()
                assert waits.empty()
                return [key.key for key in keyboard.flush_keys()]

    assert asyncio.run(run()) == [Keys.Escape]
    os.close(master)


def test_the_last_answers_are_read_before_another_program_gets_the_keys() -> None:
    master, slave = pty.openpty()
    tty.setraw(slave)
    with os.fdopen(slave) as stdin:
        keyboard = Keyboard(stdin)
        widths: list[int] = []
        keyboard.on_width = widths.append
        os.write(master, b"x\x1b[24;80R")
        keyboard.await_widths(lambda: not widths, 10)
        assert widths == [80]
        assert [key.key for key in keyboard.read_keys()] == ["x"]
    os.close(master)
