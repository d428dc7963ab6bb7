"""A wrong command line ends with one line that names what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentcli.frontends.cli import run
from tests.tables import each_row


@each_row(
    ("arguments", "words"),
    [
        (["-p", "fix", "the tests"], "two prompts, 'fix' and 'the tests'"),
        (["resume", "one", "more", "-p", "x"], "two prompts, 'x' and 'more'"),
        (["fix", "the", "tests"], "put quotes around"),
        (["--fork", "-p", "x"], "`agentcli -c --fork`"),
        (["--fork"], "`agentcli resume SESSION --fork`"),
        (["resume", "one", "--last", "-p", "x"], "Omit --last or 'one'"),
        (["resume", "--last", "one"], "Omit --last or 'one'"),
        (["-p", "x", "--max-turns", "many"], "'--max-turns'"),
        (["-p", "x", "-o", "xml"], "'--output-format': 'xml'"),
        (["sessions", "lits"], "Did you mean list? See `agentcli sessions --help`."),
        (["sessions"], "needs a command: list, show,"),
        (["sessions", "shwo"], "`agentcli sessions --help`"),
        (["config", "get"], "`agentcli config get --help`"),
    ],
)
def test_a_wrong_command_line_is_told_by_name(
    arguments: list[str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    assert run(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert words in err
    assert err.count("\n") == 1
