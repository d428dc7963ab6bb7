"""Nothing gets out of the box, neither as root nor as an ordinary user."""

import fcntl
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agentcli.permissions.sandbox import Sandbox
from agentcli.permissions.sandbox import landlock as landlock_box
from agentcli.permissions.sandbox.aftermath import Aftermath
from tests.attack import sandbox_escapes
from tests.attack.sandbox_escapes import Scene, knocked, succeeded, users
from tests.attack.ways_out import ATTEMPTS, SECRET
from tests.guards import material
from tests.guards.sandbox import open_ways
from tests.permissions.sandbox.running import sandbox_of
from tests.sampling import sampled


@pytest.fixture(autouse=True)
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Only one process of the test run at a time: what the attacks try to change is the machine's."""
    shared = tmp_path_factory.getbasetemp().parent / "sandbox-escapes.lock"
    with shared.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture(params=["self", "nobody"])
def scene(request: pytest.FixtureRequest) -> Iterator[Scene]:
    if request.param not in users():
        pytest.skip("only root can try as somebody else as well, who must be able to read the program")
    with sandbox_escapes.scene(request.param) as made:
        yield made


@pytest.fixture(params=["bubblewrap", "landlock"])
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    return sandbox_of(request.param)


def test_enough_ways_out_are_tried() -> None:
    assert len(ATTEMPTS) >= 105


@pytest.mark.full
@pytest.mark.parametrize("reader", sampled([True, False], 2))
def test_all_attempts_together_do_not_get_out(scene: Scene, sandbox: Sandbox, reader: bool) -> None:
    before = scene.state()
    script = "\n".join(f"timeout 10 bash -c {shlex.quote(attempt)}" for attempt in ATTEMPTS.values())
    done = scene.run(sandbox, script, reader=reader)
    assert SECRET not in done.stdout + done.stderr
    assert "ESCAPED" not in done.stdout, done.stdout
    assert scene.state() == before


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("reader", [False, True])
def test_no_attempt_gets_out(scene: Scene, sandbox: Sandbox, reader: bool) -> None:
    assert succeeded(scene, sandbox, reader=reader) == []


def test_without_a_box_most_attempts_succeed(scene: Scene) -> None:
    """The attempts are real: otherwise the test above could not fail."""
    before = scene.state()
    open_air = Sandbox("none", "on purpose")
    for name in (
        "overwrite a file",
        "read the secret",
        "write a hook",
        "a connection over the network",
        "a socket in the file system",
    ):
        done = scene.run(open_air, ATTEMPTS[name])
        after = scene.state()
        assert SECRET in done.stdout or after != before, name
        before = after


@pytest.mark.full
def test_ordinary_work_goes_on_inside(scene: Scene, sandbox: Sandbox) -> None:
    work = """
        set -e
        echo text > src/new; mkdir -p src/deep/er; mv src/new src/deep/er/; cat src/deep/er/new
        tmp=$(mktemp); echo x > $tmp; test -s $tmp
        python3 -c 'import sys, tempfile, subprocess; tempfile.TemporaryFile(); subprocess.run(["true"], check=True); print("python")'
        ls / > /dev/null; cat .git/HEAD; echo x > /dev/null; (sleep 0.01 & wait)
        exit 7
    """
    done = scene.run(sandbox, work)
    assert done.returncode == 7, done.stderr
    assert done.stdout.split() == ["text", "python", "ref:", "refs/heads/main"]
    assert (scene.workspace.cwd / "src/deep/er/new").read_text() == "text\n"


def test_the_network_is_there_only_when_asked_for(scene: Scene, sandbox: Sandbox) -> None:
    knock = "exec 3<>/dev/tcp/127.0.0.1/$PORT"
    assert scene.run(sandbox, knock).returncode != 0
    assert scene.run(sandbox, knock, network=True).returncode == 0
    assert knocked(scene.servers[0])


def test_what_a_command_made_of_protected_names_can_be_seen(scene: Scene, sandbox: Sandbox) -> None:
    left = Aftermath().inside(scene.workspace, aside=True)
    scene.run(sandbox, "mkdir -p src/.vscode; echo x > src/.envrc")
    assert sorted(left()) == ["src/.envrc (now .envrc.made-in-sandbox)", "src/.vscode (now .vscode.made-in-sandbox)"]
    assert not (scene.workspace.cwd / "src/.vscode").exists()


@pytest.mark.full
def test_local_sockets_stay_closed_even_with_the_network(scene: Scene, sandbox: Sandbox) -> None:
    before = scene.state()
    scene.run(sandbox, ATTEMPTS["a socket in the file system"], network=True)
    if sandbox.kind == "landlock":  # bubblewrap shares the names of abstract sockets along with the network
        scene.run(sandbox, ATTEMPTS["a socket without a file"], network=True)
    assert scene.state() == before
    resolve = """python3 -c 'import socket; socket.getaddrinfo("localhost", 80); socket.socket(socket.AF_INET, socket.SOCK_DGRAM)'"""
    assert scene.run(sandbox, resolve, network=True).returncode == 0


def test_a_further_root_is_writable_and_its_repository_is_not(scene: Scene, sandbox: Sandbox) -> None:
    other = scene.top / "other"
    (other / ".git").mkdir(parents=True)
    (other / "src").mkdir()
    subprocess.run(["chown", "-R", f"--reference={scene.workspace.cwd}", str(other)], check=True)
    wider = Scene(
        scene.top,
        replace(scene.workspace, roots=(scene.workspace.cwd, other)),
        scene.env,
        scene.drop,
        scene.sentinel,
        scene.servers,
    )
    done = wider.run(sandbox, f"echo x > {other}/src/a && ! (echo x > {other}/.git/a)")
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in other.rglob("*")) == [".git", "a", "src"]


def test_the_launcher_fails_closed(tmp_path: Path) -> None:
    launcher = Path(landlock_box.__file__).with_name("launch.py")
    for arguments in (
        ["{}", "true"],
        ["nonsense", "true"],
        ['{"unset":[],"cwd":"/nowhere","writable":[],"readable":[],"listable":["/"],"network":false}', "true"],
    ):
        done = subprocess.run(
            [sys.executable, "-I", "-S", str(launcher), *arguments], capture_output=True, timeout=30, check=False
        )
        assert done.returncode == 126


def test_public_ways_out_are_real() -> None:
    """Without a sandbox they lead out: otherwise their figure in `tests/guards.md` would say nothing."""
    ways = material("sandbox")["bad"]
    assert len(ways) >= 68
    assert len(open_ways(Sandbox("none"))) >= len(ways) - 8
