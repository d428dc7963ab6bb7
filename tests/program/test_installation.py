"""`agentcli update` names the tool that installed this copy, and its own commands."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import Distribution, PathDistribution
from pathlib import Path

import pytest

from agentcli.core.errors import InputError
from agentcli.program.installation import installation, run
from tests.e2e.program import Program


def package(folder: Path, installer: str, source: object = None) -> Distribution:
    """Return a package as `installer` leaves it, with its source as PEP 610 records it."""
    info = folder / "agentcli-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: agentcli\nVersion: 1\n")
    (info / "INSTALLER").write_text(f"{installer}\n")
    if source is not None:
        (info / "direct_url.json").write_text(json.dumps(source))
    return PathDistribution(info)


def checkout(folder: Path) -> tuple[Path, dict[str, object]]:
    place = folder / "the checkout"
    (place / ".git").mkdir(parents=True)
    return place, {"url": place.as_uri(), "dir_info": {}}


def test_each_tool_upgrades_what_it_installed_from_an_index(tmp_path: Path) -> None:
    pip, pipx, uv = (tmp_path / name for name in ("pip", "pipx", "uv"))
    for folder in (pip, pipx, uv):
        folder.mkdir()
    (pipx / "pipx_metadata.json").touch()
    (uv / "uv-receipt.toml").touch()
    found = [[*installation(package(folder, "pip"), folder).upgrade] for folder in (pip, pipx, uv)]
    assert found == [
        [[sys.executable, "-m", "pip", "install", "--upgrade", "agentcli"]],
        [["pipx", "upgrade", "agentcli"]],
        [["uv", "tool", "upgrade", "agentcli"]],
    ]


def test_a_checkout_is_pulled_before_it_is_installed_again(tmp_path: Path) -> None:
    place, source = checkout(tmp_path)
    pull = ["git", "-C", str(place), "pull", "--ff-only"]
    pip = [sys.executable, "-m", "pip", "install"]
    plain = installation(package(tmp_path, "pip", source), tmp_path)
    assert plain.how == f"pip, from {place}"
    assert [*plain.upgrade] == [pull, [*pip, str(place)]]
    other = tmp_path / "other"
    other.mkdir()
    editable = installation(package(other, "pip", {**source, "dir_info": {"editable": True}}), other)
    assert [*editable.upgrade] == [pull, [*pip, "-e", str(place)]]
    (other / "pipx_metadata.json").touch()
    assert [*installation(PathDistribution(other / "agentcli-1.dist-info"), other).upgrade] == [
        pull,
        ["pipx", "install", "--force", str(place)],
    ]


def test_a_repository_keeps_its_branch_and_a_file_or_a_system_package_is_left_to_the_person(tmp_path: Path) -> None:
    folders = [tmp_path / str(number) for number in range(3)]
    for folder in folders:
        folder.mkdir()
    source = {"url": "https://git.example/agentcli", "vcs_info": {"vcs": "git", "requested_revision": "next"}}
    upgrade = installation(package(folders[0], "uv", source), folders[0]).upgrade
    assert {command[-1] for command in upgrade} == {"git+https://git.example/agentcli@next"}
    wheel = installation(package(folders[1], "pip", {"url": "file:///tmp/a.whl", "archive_info": {}}), folders[1])
    assert (wheel.how, [*wheel.upgrade]) == ("pip, from file:///tmp/a.whl", [])
    assert not installation(package(folders[2], "debian"), folders[2]).upgrade


def test_the_commands_stop_at_the_first_that_fails(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    touch = [sys.executable, "-c", "import sys; open(sys.argv[1], 'w')"]
    assert (
        run([[*touch, str(tmp_path / "first")], [sys.executable, "-c", "exit(3)"], [*touch, str(tmp_path / "last")]])
        == 3
    )
    assert [path.name for path in tmp_path.iterdir()] == ["first"]
    assert "Not updated" in capfd.readouterr().err
    assert run([[*touch, str(tmp_path / "last")]]) == 0
    with pytest.raises(InputError, match="Can't run"):
        run([[str(tmp_path / "nothing")]])


def test_nothing_is_updated_without_a_yes(tmp_path: Path) -> None:
    ran = Program(tmp_path).run("update")
    assert ran.code == 1
    assert "To update it:" in ran.out
    assert "Run this? [y/N]" in ran.err
    assert "Updated" not in ran.out


WINDOWS = """
import os, pathlib, signal, subprocess, sys
sys.builtin_module_names += ("nt",)
for name in ("fcntl", "termios", "tty", "pty", "pwd", "grp", "resource"):
    sys.modules[name] = None
for name in ("SIGHUP", "SIGKILL", "SIGTSTP", "SIGWINCH"):
    delattr(signal, name)
del os.set_blocking
from agentcli.__main__ import main
sys.exit(main(sys.argv[1:]))
"""


def test_windows_without_wsl_gets_one_line_and_can_read_the_help() -> None:
    def ran(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-c", WINDOWS, *words], capture_output=True, text=True, check=False)

    started = ran()
    assert (started.returncode, started.stdout, started.stderr.count("\n")) == (1, "", 1)
    assert "in WSL" in started.stderr
    assert ran("--version").stdout.startswith("agentcli ")
    assert "Usage: agentcli" in ran("--help").stdout
    assert "wsl --install" in ran("help", "start").stdout
    assert "fail  system: agentcli runs on Windows in WSL" in ran("doctor").stdout
    assert json.loads(ran("doctor", "--json").stdout)[0]["ok"] is False
