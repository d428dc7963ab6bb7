"""The time from the start of a program in a terminal until it shows a key that was typed."""

from __future__ import annotations

import os
import re
import tempfile
import termios
import time
from pathlib import Path

from agentcli.providers.scripted.model import say
from tests.bench.peers.endpoint import Endpoint, write_files
from tests.bench.peers.programs import MODELS, Peer, Place
from tests.terminal import Terminal

KEY = "ж"
"""A letter that no program paints by itself."""
SECONDS = 60.0
EVERY = 0.03
"""Seconds after which the key is typed again."""
ANSWERS = (
    (re.compile(rb"\x1b\[6n"), b"\x1b[1;1R"),
    (re.compile(rb"\x1b\[0?c"), b"\x1b[?62;22c"),
    (re.compile(rb"\x1b\[\?u"), b"\x1b[?0u"),
    (re.compile(rb"\x1b\]10;\?"), b"\x1b]10;rgb:ffff/ffff/ffff\x1b\\"),
    (re.compile(rb"\x1b\]11;\?"), b"\x1b]11;rgb:0000/0000/0000\x1b\\"),
)
"""Questions of programs to the terminal (cursor, kind, keyboard, colours), which some wait for."""


def first_key(peer: Peer, wire: str) -> float | None:
    """Seconds until a key is echoed by the program itself; None if it never was.

    The terminal echoes nothing, and the key is typed again and again from the beginning on.
    """
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name,
        Endpoint(lambda _: say("A title")) as server,
    ):
        place = Place(Path(name), server)
        write_files(place)
        command = [*peer.program, *peer.session(wire, MODELS[wire])]
        with Terminal(command, columns=100, rows=30, env=_env(peer, place), cwd=str(place.work)) as terminal:
            _silent(terminal.master)
            return _echoed(terminal)


def _env(peer: Peer, place: Place) -> dict[str, str]:
    """The environment of a terminal without whatever this process has besides."""
    wanted = peer.env(place)
    return {**{name: "\0unset" for name in os.environ if name not in wanted}, **wanted}


def _silent(master: int) -> None:
    """Turn off the echo of the terminal itself."""
    modes = termios.tcgetattr(master)
    modes[3] &= ~termios.ECHO
    termios.tcsetattr(master, termios.TCSANOW, modes)


def _echoed(terminal: Terminal) -> float | None:
    answered = 0
    while time.monotonic() - terminal.started < SECONDS:
        terminal.send(KEY, at_once=True)
        terminal.settle(EVERY, EVERY)
        new, answered = terminal.raw[answered:], len(terminal.raw)
        for question, answer in ANSWERS:
            for _ in question.finditer(new):
                terminal.send(answer.decode(), at_once=True)
        if KEY.encode() in terminal.raw:
            return time.monotonic() - terminal.started
    return None
