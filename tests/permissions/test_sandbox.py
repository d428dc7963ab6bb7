"""What deny rules name is hidden from commands: in every box, and alone around a command that is free in all else."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agentcli.core.tool import Boxed
from agentcli.permissions.denied.files import Hidden
from agentcli.permissions.paths import Workspace
from agentcli.permissions.sandbox import Sandbox, detect
from agentcli.permissions.sandbox.seatbelt import masked
from tests.permissions.sandbox.running import completed

SECRET = "the-secret-of-the-house"


@pytest.fixture
def work() -> Iterator[Path]:
    """A workspace outside of the folders for temporary files, which a sandbox covers anyway."""
    with tempfile.TemporaryDirectory(prefix=".agentcli-masking-", dir=Path.home()) as folder:
        top = Path(folder).resolve() / "work"
        (top / "above/secrets").mkdir(parents=True)
        (top / "above/secrets/key.txt").write_text(f"{SECRET}\n")
        (top / "server.pem").write_text(f"{SECRET}\n")
        (top / "plain.txt").write_text("plain\n")
        yield top


def hidden(work: Path) -> Hidden:
    return Hidden((work / "server.pem",), (work / "above/secrets",))


@pytest.fixture(params=["mask", "box", "reader", "reader by landlock"])
def run(request: pytest.FixtureRequest, work: Path) -> Callable[[str], str]:
    """Runs a command with the secrets hidden, in one of the ways."""
    way = str(request.param)
    sandbox = detect(path="/nowhere") if "landlock" in way else detect()
    if not sandbox.working or (way == "mask" and not sandbox.masks):
        pytest.skip(f"no sandbox for this: {sandbox.why}")

    def ran(command: str) -> str:
        argv, workspace = ["bash", "--noprofile", "--norc", "-c", command], Workspace(work, (work,))
        done = completed(wrapped(sandbox, way, argv, workspace), work, os.environ)
        return done.stdout + done.stderr

    return ran


def wrapped(sandbox: Sandbox, way: str, argv: list[str], workspace: Workspace) -> Boxed:
    match way:
        case "mask":
            return sandbox.mask(argv, hidden(workspace.cwd), workspace)
        case "box":
            return sandbox.wrap(argv, workspace, hidden=hidden(workspace.cwd))
        case _:
            return sandbox.wrap_reader(argv, workspace, os.environ["PATH"], hidden(workspace.cwd))


@pytest.mark.parametrize(
    "command",
    [
        "cat server.pem above/secrets/key.txt",
        "cat */secrets/* *.pem; grep -r secret .",
        "tar cf - . | tar xOf -",
        "mv above/secrets s; mv above other; mv server.pem x; cat s/* other/secrets/* x",
        "ln server.pem x; cat x; ln -s server.pem y; cat y",
        "umount server.pem; umount above/secrets; cat server.pem above/secrets/key.txt",
        "unshare -Urm sh -c 'umount -l server.pem; umount -l above/secrets; cat server.pem above/secrets/key.txt'",
        "for p in /proc/[0-9]*; do cat $p/root$PWD/server.pem $p/cwd/server.pem; done",
        "chmod 777 server.pem; cat server.pem; rm -rf above/secrets; cat above/secrets/key.txt",
    ],
)
def test_nothing_shows_what_is_hidden_and_it_stays_where_it_is(
    command: str, run: Callable[[str], str], work: Path
) -> None:
    said = run(f"{command}; cat plain.txt; ls")
    assert "plain\n" in said
    assert "plain.txt\n" in said
    assert SECRET not in said
    assert (work / "above/secrets/key.txt").read_text() == (work / "server.pem").read_text() == f"{SECRET}\n"


def test_a_masked_command_is_free_in_all_else(work: Path) -> None:
    sandbox = detect()
    if not sandbox.masks:
        pytest.skip("no sandbox here hides files")
    outside = work.parent / "outside"
    boxed = sandbox.mask(
        ["sh", "-c", f"echo x > made && echo y > {outside} && pwd"], hidden(work), Workspace(work, (work,))
    )
    done = subprocess.run(boxed.argv, cwd=work, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(work)
    assert ((work / "made").read_text(), outside.read_text()) == ("x\n", "y\n")


@pytest.mark.parametrize("git", [True, False])
def test_no_path_of_the_workspace_is_mounted_twice(work: Path, git: bool) -> None:
    sandbox = detect()
    if sandbox.kind != "bubblewrap":
        pytest.skip("no bubblewrap here")
    secrets = (work / ".env", work / "above/.env")
    for secret in secrets:
        secret.write_text(f"{SECRET}\n")
    (work / ".git").mkdir()
    boxed = sandbox.wrap(["cat", *map(str, secrets)], Workspace(work, (work,)), git=git, hidden=Hidden(secrets))
    mounts = [
        after for word, _, after in zip(boxed.argv, boxed.argv[1:], boxed.argv[2:], strict=False) if "bind" in word
    ]
    inside = [path for path in mounts if path.startswith(str(work))]
    assert {str(work), *map(str, secrets), str(work / "above")} <= set(inside)
    assert len(inside) == len(set(inside))
    done = completed(boxed, work, os.environ)
    assert SECRET not in done.stdout + done.stderr


def test_git_does_not_take_hidden_files_for_deleted_and_records_nothing_of_them(work: Path) -> None:
    sandbox = detect()
    if not sandbox.masks:
        pytest.skip("no sandbox here hides files")
    for words in ("init -q", "add -A", "-c user.name=a -c user.email=b commit -qm first"):
        subprocess.run(["git", *words.split()], cwd=work, check=True, capture_output=True)
    what = Hidden((), (work / "above/secrets",), kept=(work / "above/secrets/key.txt",))
    boxed = sandbox.mask(["git", "add", "-A"], what, Workspace(work, (work,)))
    assert subprocess.run(boxed.argv, cwd=work, capture_output=True, check=False).returncode != 0
    assert not subprocess.run(["git", "status", "--porcelain"], cwd=work, check=True, capture_output=True).stdout


def test_seatbelt_closes_what_is_hidden_and_keeps_the_folders_above_where_they_are() -> None:
    (_, _, profile, *argv) = masked(Hidden((Path("/w/a.pem"),), (Path("/w/s"),)), [Path("/w")], ["true"]).argv
    assert argv == ["true"]
    assert profile.splitlines() == [
        "(version 1)",
        "(allow default)",
        '(deny file-write-unlink (literal "/w"))',
        '(deny file-read-data file-write* (subpath "/w/a.pem"))',
        '(deny file-read-data file-write* (subpath "/w/s"))',
    ]
