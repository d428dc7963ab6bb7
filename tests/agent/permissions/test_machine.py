"""Lines that look at the machine are told from those that look at files."""

import pytest

from agentcli.agent.permissions.commands import looks_at_machine
from agentcli.agent.permissions.plain import NotPlain, read_plain


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ps aux", "only"),
        ("ps aux | grep node | head -5", "only"),
        ("ss -tln; pgrep -fl node", "only"),
        ("df -h", "only"),
        ("df -h .", "also"),
        ("ps aux; cat a.txt", "also"),
        ("cd src && ps aux", "also"),
        ("ps aux && git status", "also"),
        ("ps aux && find . -name a", "also"),
        ("cat a.txt", ""),
        ("uname -a; git status", ""),
    ],
)
def test_what_a_line_looks_at(line: str, expected: str) -> None:
    commands = read_plain(line)
    assert not isinstance(commands, NotPlain)
    assert looks_at_machine(commands) == expected
