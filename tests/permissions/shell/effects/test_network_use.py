"""Ports of this machine that a command asks."""

from __future__ import annotations

from agentcli.permissions.shell.effects.network_use import network_problem, ports_asked
from agentcli.permissions.shell.syntax.parse import UNKNOWN
from tests.tables import each_row


@each_row(
    ("words", "ports"),
    [
        ("", None),
        ("x", None),
        ("localhost", [80]),
        ("127.0.0.1:8000", [8000]),
        ("127.1.2.3:8000/x?y", [8000]),
        ("0.0.0.0", [80]),
        ("[::1]:8000", [8000]),
        ("[::]", [80]),
        ("http://localhost", [80]),
        ("https://localhost/x", [443]),
        ("WSS://localhost", [443]),
        ("http://me@localhost:81", [81]),
        ("localhost 8000", [8000]),
        ("localhost/x 8000", [80]),
        ("http://localhost 8000", [80]),
        ("localhost:81 8000", [81]),
        (f"localhost:{UNKNOWN}", []),
        ("localhost:81 http://127.0.0.1:82", [81, 82]),
        ("-X POST localhost:81", [81]),
        ("localhost https://example.org", None),
        ("https://example.org", None),
        ("localhosts", None),
        ("128.0.0.1", None),
    ],
)
def test_ports_of_this_machine_are_read_from_the_words(words: str, ports: list[int] | None) -> None:
    assert ports_asked(words.split()) == ports


def test_a_port_that_a_program_outside_serves_is_a_reason_to_ask() -> None:
    words = ["curl", "localhost:81", "localhost:82"]
    assert network_problem(words, None) == "curl uses the network"
    assert network_problem(["curl", "x"], lambda _: True) == "curl uses the network"
    assert network_problem(words, lambda _: True) == ""
    outside = "which a program outside the sandbox serves"
    assert network_problem(words, lambda port: port != 82) == f"curl asks port 82, {outside}"
    assert network_problem(words, lambda _: False) == f"curl asks port 81, {outside}"
