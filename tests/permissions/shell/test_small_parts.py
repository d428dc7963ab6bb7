"""Small parts of the judgement of commands: links that are followed, ports of this machine, folders that a line ends in."""

from __future__ import annotations

from pathlib import Path

from agentcli.permissions.denied.files import paths_named
from agentcli.permissions.paths import Workspace
from agentcli.permissions.shell.effects.consequences import is_cautious, named_consequence
from agentcli.permissions.shell.effects.loopback import network_problem, ports_asked
from agentcli.permissions.shell.effects.moves import first_move, folder_after
from agentcli.permissions.shell.syntax.parse import UNKNOWN, contents
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


@each_row(
    ("words", "consequence"),
    [
        ("", ""),
        ("ls", ""),
        ("rm x", "rm deletes files"),
        ("/bin/rm x", "rm deletes files"),
        ("sudo x", "sudo runs commands as another user"),
        ("kill 1", "kill ends processes"),
        ("chmod x y", "chmod changes permissions"),
        ("mv a b", "mv moves files"),
        ("find . -delete", "find deletes files"),
        ("find . -name x", ""),
        ("rg -delete", ""),
        ("git push", "git push uses the network"),
        ("git reset --hard", "git reset discards changes"),
        ("git clean -f", "git clean deletes files"),
        ("git checkout .", "git checkout discards changes"),
        ("git checkout -- a", "git checkout discards changes"),
        ("git checkout -f main", "git checkout discards changes"),
        ("git checkout -B main", "git checkout discards changes"),
        ("git checkout main a", "git checkout discards changes"),
        ("git checkout main", ""),
        ("git checkout -b new main", ""),
        ("git log reset", ""),
        ("git", ""),
        ("npm install", "npm install uses the network"),
        ("curl x", "curl uses the network"),
    ],
)
def test_the_consequence_of_a_command_is_named(words: str, consequence: str) -> None:
    assert named_consequence(words.split(), [Path("/")]) == consequence
    assert is_cautious(consequence) is bool(consequence)


@each_row(
    ("text", "folder"),
    [
        ("cd src", "src"),
        ("  cd src && make", "src"),
        ("pushd src; make", "src"),
        ("cd 'my.dir' && make", "my.dir"),
        ("cd -- src\nmake", "src"),
        ("cd src/pkg && make", "src/pkg"),
        ("cd /src", ""),
        ("cd ../src", "../src"),
        ("cd ~", ""),
        ("cd $x", ""),
        ("cd src || make", ""),
        ("make && cd src", ""),
        ("cd", ""),
    ],
)
def test_a_line_moves_first_to_a_relative_folder(text: str, folder: str) -> None:
    assert first_move(text) == folder


@each_row(
    ("text", "succeeded", "folder"),
    [
        ("make", True, "."),
        ("make", False, "."),
        ("cd src", True, "src"),
        ("cd src", False, "src"),
        ("cd src && make", False, "src"),
        ("cd src && cd pkg", True, "src/pkg"),
        ("cd src && cd pkg", False, None),
        ("make && cd src", True, "src"),
        ("make && cd src", False, None),
        ("(cd src && make)", True, "."),
        ("cd gone", True, None),
        ("echo cd", True, "."),
    ],
)
def test_a_line_ends_in_a_folder_if_that_is_certain(
    text: str, succeeded: bool, folder: str | None, tmp_path: Path
) -> None:
    (tmp_path / "src/pkg").mkdir(parents=True)
    workspace = Workspace(tmp_path, (tmp_path,), tmp_path / "home")
    found = folder_after(text, workspace, succeeded=succeeded)
    assert found == (None if folder is None else tmp_path / folder)


@each_row(
    ("text", "found"),
    [
        ("src/a.py", True),
        ("  src/a.py  ", True),
        ("src/a.py\nx", False),
        ("x" * 4_000 + " src/a.py", True),
        ("x" * 5_000 + " src/a.py", False),
    ],
)
def test_paths_are_looked_for_in_one_line_that_is_no_longer_than_a_path(text: str, found: bool) -> None:
    assert ("src/a.py" in set(paths_named(text))) is found


def test_the_commands_of_a_word_are_found_in_the_same_order_in_every_process() -> None:
    parts, _ = contents("alias a='rm -rf x' b='ls -l'")
    found = [" ".join(piece.text for piece in part.words) for part in parts]
    assert found == ["alias a=rm -rf x b=ls -l", "-rf x", "rm -rf x", "-l", "ls -l"]
