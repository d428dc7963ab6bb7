"""The Seatbelt profile and argv as what they are: texts. The rules are applied here as Apple documents them, the last that fits goes."""

import re
import subprocess
from pathlib import Path

import pytest

from agentcli.permissions.paths import Workspace
from agentcli.permissions.sandbox.box import UNSET, Box, box_for
from agentcli.permissions.sandbox.seatbelt import PROGRAM, boxed, profile, works

RULE = re.compile(r"\((allow|deny) ([a-z0-9*\- ]+?)(?: \((.*)\))?\)")
SUBPATH = re.compile(r'subpath "((?:[^"\\]|\\.)*)"')


def verdict(text: str, operation: str, path: str = "") -> str:
    """What the profile says of an operation on a path."""
    said = ""
    for line in text.splitlines()[1:]:
        rule = RULE.fullmatch(line)
        assert rule is not None, line
        decision, operations, condition = rule.groups()
        named = any(
            operation == name or (name[-1] == "*" and operation.startswith(name[:-1])) for name in operations.split()
        )
        if (named or operations == "default") and _fits(condition, path):
            said = decision
    return said


def _fits(condition: str | None, path: str) -> bool:
    if condition is None:
        return True
    folder = SUBPATH.fullmatch(condition)
    top = re.sub(r"\\(.)", r"\1", folder[1]) if folder else ""
    return bool(folder) and (path == top or path.startswith(top + "/"))


@pytest.fixture
def box(tmp_path: Path) -> Box:
    work, home = tmp_path / 'a "quoted\\" (folder)', tmp_path / "home"
    for folder in (work / ".git", work / "src", home / ".ssh", home / ".local/share/agentcli", work / "sub/.vscode"):
        folder.mkdir(parents=True)
    (work / "AGENTS.md").write_text("")
    return box_for(Workspace(work, (work,), home, own=(home / ".local/share/agentcli",)))


def test_the_workspace_is_writable_and_what_is_protected_in_it_is_not(box: Box) -> None:
    text, work = profile(box), str(box.cwd)
    for path in (f"{work}/new", f"{work}/src/a", "/private/tmp/x", "/private/var/folders/x/y", "/dev/null"):
        assert verdict(text, "file-write-create", path) == "allow", path
    for path in (".git", ".git/hooks/pre-commit", "AGENTS.md", "sub/.vscode/tasks.json"):
        assert verdict(text, "file-write-data", f"{work}/{path}") == "deny", path
        assert verdict(text, "file-read-data", f"{work}/{path}") == "allow", path
    for path in (
        "/etc/hosts",
        "/Users/x/y",
        f"{work}-two/x",
        str(box.cwd.parent),
        "/dev/disk0",
        "/Library/LaunchAgents/x",
    ):
        assert verdict(text, "file-write-data", path) == "deny", path


def test_what_is_private_is_neither_read_nor_written(box: Box) -> None:
    text = profile(box)
    assert box.hidden
    for path in box.hidden:
        for operation in ("file-read-data", "file-read-metadata", "file-write-data", "file-write-unlink"):
            assert verdict(text, operation, f"{path}/x") == "deny", (operation, path)


def test_the_network_is_there_only_when_asked_for(box: Box) -> None:
    outside, inside = profile(Box(box.cwd, box.writable, box.readonly, box.hidden, network=True)), profile(box)
    for operation in ("network-outbound", "network-inbound", "network-bind"):
        assert verdict(inside, operation) == "deny"
        assert verdict(outside, operation) == "allow"


def test_nothing_outside_is_started_or_steered(box: Box) -> None:
    text = profile(box)
    for operation in ("lsopen", "job-creation", "appleevent-send", "mach-register", "system-socket"):
        assert verdict(text, operation) == "deny", operation
    assert "(deny signal (target others))" in text
    assert "(deny process-info* (target others))" in text
    assert text.startswith("(version 1)\n(allow default)\n(deny file-write*)")


def test_every_line_is_balanced_and_no_path_breaks_out_of_its_quotes(box: Box) -> None:
    for line in profile(box).splitlines():
        bare = re.sub(r'"(?:[^"\\]|\\.)*"', '""', line)
        assert bare.count("(") == bare.count(")"), line
        assert bare.count('"') % 2 == 0, line


def test_the_argv_drops_what_leads_outside_and_ends_with_the_command(box: Box) -> None:
    argv = boxed(box, ["bash", "-c", "x; y"]).argv
    assert argv[0] == "/usr/bin/env"
    assert argv[-3:] == ["bash", "-c", "x; y"]
    assert argv[argv.index(PROGRAM) + 1 : argv.index(PROGRAM) + 3] == ["-p", profile(box)]
    assert [argv[place + 1] for place, word in enumerate(argv) if word == "-u"] == list(UNSET)


def fake(folder: Path, script: str) -> str:
    program = folder / "sandbox-exec"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return str(program)


def test_a_program_that_holds_nothing_or_fails_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert "does not work here" in works(fake(tmp_path, 'shift 2; exec "$@"'))
    assert "unbound variable" in works(fake(tmp_path, "echo 'sandbox-exec: unbound variable: x' >&2; exit 65"))
    holding = 'shift 2; cd "$4" && : > a'
    assert works(fake(tmp_path, holding)) == ""
    assert subprocess.run(["ls", str(tmp_path)], capture_output=True, text=True, check=True).stdout == "sandbox-exec\n"
