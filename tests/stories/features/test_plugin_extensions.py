"""Extensions of plugins from a git repository: shown, added, and left out once their files have changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentcli.frontends.cli import run
from agentcli.frontends.opening import program_of
from agentcli.program.options import Options
from tests.program.prompt_files.test_installed_plugins import home, written
from tests.program.prompt_files.test_plugin_source import committed

__all__ = ["home"]
GREET = '''"""Greets."""
from agentcli.extension import Context, command, on

@command("/greet")
def greet(ctx: Context) -> str:
    """Greet."""
    return "hello"

@on("tool_call")
def seen(call): ...
'''


def commands() -> list[str]:
    """The slash commands that extensions add to a new run."""
    program = program_of(Options(model="script:echo"))
    return [one.name for part in program.parts for one in part.commands()]


def test_a_repository_with_extensions_is_added_and_a_changed_file_is_left_out(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    top = written(home / "greeter", {"README.md": "Greets.", "extensions/greet.py": GREET})
    committed(top, "v1")
    assert run(["extensions", "add", f"file://{top}"]) == 42
    assert f"agentcli plugins add file://{top}" in capsys.readouterr().err
    assert run(["plugins", "add", f"file://{top}@v1", "--yes"]) == 0
    told = "Python code that runs with your rights and can read your keys (command /greet; event tool_call)"
    assert f"extension greet: {told}" in " ".join(capsys.readouterr().out.split())
    assert commands() == ["greet"]
    copy = home / "DATA/agentcli/plugins/greeter/extensions/greet.py"
    copy.write_text(GREET.replace("hello", "changed"))
    assert commands() == []
    copy.write_text(GREET)
    assert commands() == ["greet"]
    assert run(["plugins", "disable", "greeter"]) == 0
    assert commands() == []


def test_a_plugin_that_changes_while_a_session_runs_keeps_nothing_loaded(home: Path) -> None:
    top = written(home / "greeter", {"extensions/greet.py": GREET})
    assert run(["plugins", "add", str(top), "--link", "--yes"]) == 0
    program = program_of(Options(model="script:echo"))
    [part] = [part for part in program.parts if part.commands()]
    (top / "extensions/greet.py").write_text(GREET.replace("/greet", "/other"))
    part.tools()
    assert part.commands() == ()
    assert [note for note in part.notes() if "its files have changed" in note]
