"""Nothing gets out of the box, neither as root nor as an ordinary user."""

import ctypes
import os
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import tty
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from agentcli.agent.permissions import Place
from agentcli.agent.sandbox import Sandbox, box_for, detect, protected_since
from agentcli.agent.sandbox import landlock as landlock_box
from tests.agent.sandbox.attempts import ATTEMPTS, SECRET

NOBODY = 65534
ROOT = os.geteuid() == 0
PATH = os.environ["PATH"]


@dataclass(frozen=True)
class Scene:
    """A workspace to be boxed in, with everything around it that must stay as it is."""

    top: Path
    place: Place
    env: dict[str, str]
    drop: tuple[str, ...]
    sentinel: subprocess.Popen[bytes]
    servers: tuple[socket.socket, ...]

    def run(self, sandbox: Sandbox, script: str, network: bool = False) -> subprocess.CompletedProcess[str]:
        argv = [*self.drop, *sandbox.wrap(["bash", "--noprofile", "--norc", "-c", script], self.place, network)]
        return subprocess.run(
            argv,
            cwd=self.place.cwd,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            errors="replace",
        )

    def state(self) -> list[tuple[str, object]]:
        """Everything outside that an attempt could change, and what is protected inside."""
        outside = [
            self.top / "outside",
            self.top / "home",
            *(self.place.cwd / name for name in (".git", ".vscode", "AGENTS.md", "sub/CLAUDE.md")),
        ]
        files = [file for folder in outside for file in (folder, *sorted(folder.rglob("*")))]
        facts: list[tuple[str, object]] = [(str(file), _facts(file)) for file in files]
        facts.append(("sentinel", self.sentinel.poll()))
        facts.append(("knocks", [_knocked(server) for server in self.servers]))
        facts.append(("shm", _facts(Path("/dev/shm/agentcli-probe"))))
        facts.append(("shared", _LIBC.shmget(int(self.env["KEY"]), 4096, 0)))
        return facts


def _facts(file: Path) -> object:
    if not os.path.lexists(file):
        return None
    status = file.lstat()
    content = file.read_bytes() if file.is_file() and not file.is_symlink() else b""
    return (status.st_mode, status.st_uid, status.st_mtime_ns if file.is_file() else 0, content)


def _knocked(server: socket.socket) -> bool:
    try:
        if server.type == socket.SOCK_DGRAM:
            server.recv(10)
        else:
            server.accept()[0].close()
    except BlockingIOError:
        return False
    return True


def _listen(port_top: Path) -> tuple[tuple[socket.socket, ...], int]:
    tcp = socket.create_server(("127.0.0.1", 0))
    port = tcp.getsockname()[1]
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("127.0.0.1", port))
    servers = [tcp, udp]
    if socket.has_ipv6:
        with suppress(OSError):  # a machine may have no IPv6 loopback
            servers.append(socket.create_server(("::1", port), family=socket.AF_INET6))
    for address in (str(port_top / "socket"), f"\0agentcli-{port}"):
        local = socket.socket(socket.AF_UNIX)
        local.bind(address)
        local.listen()
        servers.append(local)
    os.chmod(port_top / "socket", 0o777)
    for server in servers:
        server.setblocking(False)
    return tuple(servers), port


def _build(top: Path) -> None:
    for folder in ("outside/empty", "home/.ssh", "work/.git/hooks", "work/.vscode", "work/src", "work/sub"):
        (top / folder).mkdir(parents=True)
    for name, text in (
        ("outside/victim", "whole"),
        ("home/.ssh/id_rsa", SECRET),
        ("home/.bashrc", ""),
        ("work/.git/config", "[core]\n"),
        ("work/.git/HEAD", "ref: refs/heads/main\n"),
        ("work/AGENTS.md", "be good"),
        ("work/sub/CLAUDE.md", "be good"),
        ("work/.vscode/tasks.json", "{}"),
        ("work/src/a", "a"),
    ):
        (top / name).write_text(text)


_LIBC = ctypes.CDLL(None)
_LIBC.shmat.restype = ctypes.c_void_p


@contextmanager
def _shared_memory() -> Iterator[int]:
    """The key of shared memory that anybody may read and that holds the secret."""
    key = 0x41470000 + os.getpid() % 0xFFFF
    segment = _LIBC.shmget(key, 4096, 0o1666)
    ctypes.memmove(_LIBC.shmat(segment, None, 0), SECRET.encode(), len(SECRET))
    try:
        yield key
    finally:
        _LIBC.shmctl(segment, 0, None)


@contextmanager
def _terminal() -> Iterator[str]:
    """A terminal that anybody may open, on which the secret was just typed."""
    keyboard, screen = os.openpty()
    tty.setraw(screen)
    os.chmod(os.ttyname(screen), 0o666)
    os.write(keyboard, SECRET.encode())
    try:
        yield os.ttyname(screen)
    finally:
        os.close(keyboard)
        os.close(screen)


def _scene(top: Path, run: Path, user: str) -> Iterator[Scene]:
    _build(top)
    drop: tuple[str, ...] = ()
    if user == "nobody":
        drop = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
        subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", str(top)], check=True)
    shm = Path("/dev/shm/agentcli-probe")
    shm.write_text("whole")
    shm.chmod(0o666)
    servers, port = _listen(run)
    sentinel = subprocess.Popen([*drop, "sleep", "600"], env={"PATH": PATH, "TOKEN": SECRET})
    env = {
        "PATH": PATH, "HOME": str(top / "home"), "OUT": str(top / "outside"), "RUN": str(run), "PORT": str(port), "PID": str(sentinel.pid),
        "SSH_AUTH_SOCK": str(run / "socket"), "DBUS_SESSION_BUS_ADDRESS": "x",
    }  # fmt: skip
    try:
        with _shared_memory() as key, _terminal() as terminal:
            env |= {"KEY": str(key), "PTY": terminal}
            yield Scene(top, Place(top / "work", (top / "work",), top / "home"), env, drop, sentinel, servers)
    finally:
        sentinel.kill()
        sentinel.wait()
        shm.unlink(missing_ok=True)
        for server in servers:
            server.close()


@pytest.fixture(params=["self", "nobody"])
def scene(request: pytest.FixtureRequest) -> Iterator[Scene]:
    if request.param == "nobody" and not (ROOT and shutil.which("setpriv")):
        pytest.skip("only root can try as somebody else as well")
    # Not below /tmp, which a box covers anyway.
    base, run = ("/opt", "/run") if ROOT else (str(Path.home()), tempfile.gettempdir())
    with (
        tempfile.TemporaryDirectory(prefix="agentcli-box-", dir=base) as folder,
        tempfile.TemporaryDirectory(prefix="agentcli-", dir=run) as sockets,
    ):
        for path in (folder, sockets):
            os.chmod(path, 0o755)
        yield from _scene(Path(folder).resolve(), Path(sockets), request.param)


def _mechanisms() -> Sequence[str]:
    return ("bubblewrap", "landlock")


@pytest.fixture(params=_mechanisms())
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    found = detect() if request.param == "bubblewrap" else detect(path="/nowhere")
    if found.kind != request.param:
        pytest.skip(f"no {request.param} here: {found.why}")
    return found


def test_forty_and_more_ways_out_are_tried() -> None:
    assert len(ATTEMPTS) >= 90


def test_all_attempts_together_do_not_get_out(scene: Scene, sandbox: Sandbox) -> None:
    before = scene.state()
    script = "\n".join(f"timeout 10 bash -c {shlex.quote(attempt)}" for attempt in ATTEMPTS.values())
    done = scene.run(sandbox, script)
    assert SECRET not in done.stdout + done.stderr
    assert "ESCAPED" not in done.stdout, done.stdout
    assert scene.state() == before


@pytest.mark.slow
def test_no_attempt_gets_out(scene: Scene, sandbox: Sandbox) -> None:
    before = scene.state()
    for name, script in ATTEMPTS.items():
        done = scene.run(sandbox, script)
        printed = done.stdout + done.stderr
        assert SECRET not in printed, name
        assert "ESCAPED" not in done.stdout, (name, printed)
        assert scene.state() == before, (name, printed)


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
    assert (scene.place.cwd / "src/deep/er/new").read_text() == "text\n"


def test_the_network_is_there_only_when_asked_for(scene: Scene, sandbox: Sandbox) -> None:
    knock = "exec 3<>/dev/tcp/127.0.0.1/$PORT"
    assert scene.run(sandbox, knock).returncode != 0
    assert scene.run(sandbox, knock, network=True).returncode == 0
    assert _knocked(scene.servers[0])


def test_what_a_command_made_of_protected_names_can_be_seen(scene: Scene, sandbox: Sandbox) -> None:
    before = box_for(scene.place)
    scene.run(sandbox, "mkdir -p src/.vscode; echo x > src/.envrc")
    assert sorted(protected_since(scene.place, before.readonly)) == ["src/.envrc", "src/.vscode"]


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
    subprocess.run(["chown", "-R", f"--reference={scene.place.cwd}", str(other)], check=True)
    wider = Scene(
        scene.top,
        Place(scene.place.cwd, (scene.place.cwd, other), scene.place.home),
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
        ['{"unset":[],"cwd":"/nowhere","writable":[],"readable":[],"network":false}', "true"],
    ):
        done = subprocess.run(
            [sys.executable, "-I", "-S", str(launcher), *arguments], capture_output=True, timeout=30, check=False
        )
        assert done.returncode == 126
