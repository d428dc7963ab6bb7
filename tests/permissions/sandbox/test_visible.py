"""What a command that runs unasked sees: the system, the workspace with its repository, and programs; nothing else."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agentcli.core.message import ToolCall
from agentcli.permissions.paths import Workspace
from agentcli.permissions.rules import parse_rules, paths_shown
from agentcli.permissions.sandbox import Sandbox, detect
from agentcli.permissions.sandbox.box import box_for_reader, unseen
from agentcli.permissions.sandbox.visible import private_in, visible
from agentcli.system import probe
from agentcli.system.programs import hardened
from tests.permissions.deciding import NO_RULES, explain
from tests.permissions.sandbox.running import completed, sandbox_of

PATH = os.environ["PATH"]


@pytest.fixture
def top() -> Iterator[Path]:
    """A home folder with a workspace in it, not below a folder for temporary files, which a sandbox covers anyway."""
    with tempfile.TemporaryDirectory(prefix=".agentcli-reading-", dir=Path.home()) as folder:
        home = Path(folder).resolve()
        for name in ("work/src", "other", ".ssh"):
            (home / name).mkdir(parents=True)
        (home / "work/src/a.txt").write_text("inside\n")
        for name in ("other/secret.txt", ".ssh/id", "secret.txt"):
            (home / name).write_text("secret\n")
        yield home


@pytest.fixture(params=["bubblewrap", "landlock"])
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    return sandbox_of(request.param)


def ran(sandbox: Sandbox, home: Path, command: str, path: str = PATH) -> subprocess.CompletedProcess[str]:
    workspace = Workspace(home / "work", (home / "work",), home)
    boxed = sandbox.wrap_reader(["bash", "--noprofile", "--norc", "-c", command], workspace, path)
    env = hardened({"PATH": path, "HOME": str(home), "LANG": "C.UTF-8"})
    return completed(boxed, workspace.cwd, env)


def git(folder: Path, *arguments: str) -> None:
    name = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    subprocess.run(["git", *name, *arguments], cwd=folder, check=True, capture_output=True)


def test_the_workspace_and_the_system_are_read(sandbox: Sandbox, top: Path) -> None:
    done = ran(
        sandbox, top, "cat src/a.txt; grep -r inside . | wc -l; sort /etc/passwd | wc -l; ls -l src; date > /dev/null"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("inside\n1\n"), done.stderr


def test_nothing_else_is_read_and_nothing_is_written(sandbox: Sandbox, top: Path) -> None:
    done = ran(sandbox, top, "cat ../secret.txt ../other/* ~/.ssh/id; grep -rs secret ~; ls ~/other ~/.ssh; ls -a ..")
    assert "secret" not in done.stdout.replace("cat: ../secret.txt", "")
    assert ran(sandbox, top, "echo x > src/new").returncode != 0
    assert ran(sandbox, top, "rm -f src/a.txt").returncode != 0 or (top / "work/src/a.txt").exists()
    assert [file.name for file in (top / "work/src").iterdir()] == ["a.txt"]


def test_no_socket_is_opened(sandbox: Sandbox, top: Path) -> None:
    for family in ("AF_INET", "AF_UNIX"):
        done = ran(sandbox, top, f"python3 -c 'import socket; socket.socket(socket.{family})'")
        assert "PermissionError" in done.stderr, done


def test_git_reads_the_repository_wherever_it_lies(sandbox: Sandbox, top: Path) -> None:
    git(top / "other", "init", "-q", "-b", "main")
    git(top / "other", "commit", "-q", "--allow-empty", "-m", "from the repository")
    (top / "work/src/a.txt").unlink()
    (top / "work/src").rmdir()
    (top / "work").rmdir()
    git(top / "other", "worktree", "add", "-q", "-b", "two", str(top / "work"))
    (top / "work/new.txt").write_text("x")
    (top / ".gitconfig").write_text("[user]\n\tname = Somebody\n")
    done = ran(sandbox, top, "git log --format=%s; git status --short; git config user.name")
    assert done.stdout == "from the repository\n?? new.txt\nSomebody\n", done.stderr


def test_git_reads_the_repository_around_a_workspace(sandbox: Sandbox, top: Path) -> None:
    git(top, "init", "-q", "-b", "main")
    git(top, "commit", "-q", "--allow-empty", "-m", "around")
    done = ran(sandbox, top, "git log --format=%s")
    assert done.stdout == "around\n", done.stderr
    assert "secret" not in ran(sandbox, top, "cat ~/.ssh/id").stdout


def test_credentials_beside_fetched_packages_are_not_read(sandbox: Sandbox, top: Path) -> None:
    for name in (".pub-cache/credentials.json", ".local/share/gem/credentials", ".dotnet/corefx/my/x.pfx"):
        (top / name).parent.mkdir(parents=True)
        (top / name).write_text("secret\n")
        assert (
            explain(
                ToolCall("c", "read", {"file_path": str(top / name)}),
                NO_RULES,
                "auto",
                Workspace(top / "work", (top / "work",), top),
            ).decision
            == "ask"
        )
    (top / ".pub-cache/hosted").mkdir()
    (top / ".pub-cache/hosted/a").write_text("fetched\n")
    done = ran(sandbox, top, "cat ~/.pub-cache/hosted/a; grep -rs secret ~/.pub-cache ~/.local ~/.dotnet")
    assert done.stdout == "fetched\n"


def test_programs_in_the_home_folder_run_with_what_they_were_installed_with(sandbox: Sandbox, top: Path) -> None:
    for folder in (
        ".tools/versions/bin",
        ".tools/versions/lib",
        ".local/bin",
        ".local/share/app/bin",
        ".local/share/app/lib",
    ):
        (top / folder).mkdir(parents=True)
    (top / ".tools/versions/lib/words").write_text("installed\n")
    (top / ".local/share/app/lib/words").write_text("linked\n")
    (top / ".local/share/secret").write_text("secret\n")
    for file in (".tools/versions/bin/first", ".local/share/app/bin/second"):
        (top / file).write_text('#!/bin/sh\ncat "$(dirname "$(realpath "$0")")/../lib/words"\n')
        (top / file).chmod(0o755)
    (top / ".local/bin/second").symlink_to("../share/app/bin/second")
    path = f"{top}/.tools/versions/bin:{top}/.local/bin:{PATH}"
    done = ran(sandbox, top, "first; second; cat ~/.local/share/secret", path)
    assert done.stdout == "installed\nlinked\n", done.stderr


def test_a_program_of_environments_starts_what_is_installed_in_them(sandbox: Sandbox, top: Path) -> None:
    for folder in ("conda/condabin", "conda/lib", "conda/envs/sci/bin"):
        (top / folder).mkdir(parents=True)
    (top / "conda/condabin/conda").write_text('#!/bin/sh\nbin="$(dirname "$0")/../envs/$3/bin"\nshift 3\n"$bin/$@"\n')
    (top / "conda/envs/sci/bin/fit").write_text('#!/bin/sh\necho "fitted $1"; cat ~/.ssh/id\n')
    for file in ("conda/condabin/conda", "conda/envs/sci/bin/fit"):
        (top / file).chmod(0o755)
    done = ran(sandbox, top, "conda run -n sci fit all; echo x > ~/conda/lib/new", f"{top}/conda/condabin:{PATH}")
    assert done.stdout == "fitted all\n", done.stderr
    assert not (top / "conda/lib/new").exists()


def test_a_folder_on_path_does_not_open_what_lies_around_it(top: Path) -> None:
    (top / "bin").mkdir()
    (top / "lib").mkdir()
    (top / "work/bin").mkdir()
    (top / "work/bin/tool").symlink_to(top / "other/secret.txt")
    box = box_for_reader(Workspace(top / "work", (top / "work",), top), f"{top}/bin:{top / 'work' / 'bin'}:.::bin")
    assert box.readable is not None
    assert [path for path in box.readable if path.is_relative_to(top)] == [top / "bin", top / "work"]


def test_without_a_sandbox_a_reader_runs_as_it_is(top: Path) -> None:
    assert Sandbox("none").wrap_reader(["ls"], Workspace(top), PATH).argv == ["ls"]


def inside(
    sandbox: Sandbox, home: Path, command: str, workspace: Workspace | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command of mode auto."""
    workspace = workspace or Workspace(home / "work", (home / "work",), home)
    boxed = sandbox.wrap(["bash", "--noprofile", "--norc", "-c", command], workspace)
    return completed(boxed, workspace.cwd, {"PATH": PATH, "HOME": str(home), "LANG": "C.UTF-8"})


def test_a_command_of_mode_auto_reads_nothing_of_the_home_folder(sandbox: Sandbox, top: Path) -> None:
    for name in (
        ".aws/credentials",
        ".config/rclone/rclone.conf",
        ".vault-token",
        "Documents/notes.txt",
        ".bash_history",
    ):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text("secret\n")
    done = inside(
        sandbox, top, "cat ~/.aws/* ~/.config/*/* ~/.vault-token ~/Documents/* ~/.bash_history ~/secret.txt ../other/*"
    )
    assert "secret\n" not in done.stdout
    script = f"python3 -c 'import os; print(*[open(os.path.join(d, f)).read() for d, _, fs in os.walk({str(top)!r}) for f in fs if d != os.getcwd()])'"
    assert "secret\n" not in inside(sandbox, top, script.replace("print", "import sys; print")).stdout
    done = inside(sandbox, top, "cat src/a.txt; echo x > src/b.txt; cat src/b.txt")
    assert done.stdout == "inside\nx\n", done.stderr


def test_what_a_rule_about_reading_names_is_seen_and_what_is_private_in_it_is_not(sandbox: Sandbox, top: Path) -> None:
    (top / "other/.ssh").mkdir()
    shown = paths_shown(parse_rules(["read(~/other/**)", "read(~/secret.txt)", "read(*.md)", "bash(ls)"]).allow, top)
    assert shown == (top / "other", top / "secret.txt")
    workspace = Workspace(top / "work", (top / "work",), top, shown=lambda: (*shown, top / ".ssh"))
    done = inside(sandbox, top, "cat ~/other/secret.txt ~/secret.txt; cat ~/.ssh/id", workspace)
    assert done.stdout == "secret\nsecret\n", done.stderr
    assert inside(sandbox, top, "echo x > ~/other/new", workspace).returncode != 0


def test_secrets_of_the_workspace_look_empty_and_cannot_be_changed(top: Path) -> None:
    if detect().kind != "bubblewrap":
        pytest.skip("bubblewrap does not work here")
    (top / "work/deep").mkdir()
    for name in (".env", "deep/.env.production", ".env.example"):
        (top / "work" / name).write_text("SECRET=1\n")
    (top / "work/.env.local").symlink_to("deep/settings")
    (top / "work/deep/settings").write_text("SECRET=1\n")
    done = inside(
        detect(),
        top,
        "cat .env deep/.env.production .env.local deep/settings; grep -rc SECRET . | sort; echo x > .env; rm -f .env",
    )
    counts = "./.env.example:1\n./.env:0\n./deep/.env.production:0\n./deep/settings:0\n./src/a.txt:0\n"
    assert done.stdout == counts, done.stderr
    assert (top / "work/.env").read_text() == "SECRET=1\n"


def test_an_environment_in_the_workspace_finds_the_python_that_it_is_built_on(top: Path) -> None:
    base = top / ".local/share/uv/python/cpython-3.12"
    (base / "bin").mkdir(parents=True)
    (base / "lib/python3.12").mkdir(parents=True)
    (base / "lib/python3.12/os.py").write_text("found\n")
    (top / "work/.venv").mkdir()
    (top / "work/.venv/pyvenv.cfg").write_text(f"home = {base}/bin\n")
    workspace = Workspace(top / "work", (top / "work",), top, path="/usr/bin")
    assert [path for path in visible(workspace).personal if path.is_relative_to(base)] == [base]
    (top / "work/.venv/pyvenv.cfg").write_text(f"home = {top}/other\n")
    assert top / "other" not in visible(workspace).personal


def test_a_folder_of_toolchains_that_a_variable_names_is_seen(top: Path) -> None:
    (top / "rust/toolchains/stable/bin").mkdir(parents=True)
    workspace = Workspace(top / "work", (top / "work",), top, path="/usr/bin")
    for folder, seen in (("rust", True), ("other", False)):
        named = replace(workspace, env={"RUSTUP_HOME": str(top / folder)})
        assert (top / folder in visible(named).personal) == seen, folder


def test_settings_with_credentials_are_shown_to_git_alone(top: Path) -> None:
    (top / ".gitconfig").write_text('[url "https://name:word@host/"]\n\tinsteadOf = x\n')
    workspace = Workspace(top / "work", (top / "work",), top, path="/usr/bin")
    assert top / ".gitconfig" not in visible(workspace).personal
    assert top / ".gitconfig" in visible(workspace, credentials=True).personal
    (top / ".gitconfig").write_text("[user]\n\tname = Somebody\n")
    assert top / ".gitconfig" in visible(workspace).personal


def test_a_path_that_the_sandbox_does_not_show_is_known(top: Path) -> None:
    workspace = Workspace(top / "work", (top / "work",), top, path="/usr/bin")
    assert unseen(workspace, "~/secret.txt")
    assert unseen(workspace, str(top / "other/secret.txt"))
    for path in ("~/nothing", str(top / "work/src/a.txt"), "/etc/passwd", "src/a.txt"):
        assert not unseen(workspace, path)


def test_a_system_file_that_only_root_may_read_is_forgotten_once_it_is_removed(tmp_path: Path) -> None:
    file = tmp_path / "shadow"
    file.touch(0o600)
    while not probe.is_settled(probe.stamp_of(str(tmp_path)) or (0, 0, 0)):
        time.sleep(0.005)
    assert private_in(str(tmp_path)).own == (file,)
    file.unlink()
    assert private_in(str(tmp_path)).own == ()
