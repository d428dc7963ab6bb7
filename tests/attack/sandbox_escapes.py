"""Ways out of the sandbox, tried as root and as an ordinary user in every box that works here.

`python -m tests.attack.sandbox_escapes` tries each by itself and prints a table.
"""

from __future__ import annotations

import ctypes
import os
import platform
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

from agentcli.permissions.paths import Workspace
from agentcli.permissions.sandbox import Sandbox, detect, launch
from tests.attack.ways_out import ATTEMPTS, SECRET
from tests.permissions.sandbox.running import completed, preceded

NOBODY = 65534
_AS_NOBODY = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
ROOT = os.geteuid() == 0
PATH = os.environ["PATH"]
_PATH_OF_ALL = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class Scene:
    """A workspace to be boxed in, with everything around it that must stay as it is."""

    top: Path
    workspace: Workspace
    env: dict[str, str]
    drop: tuple[str, ...]
    sentinel: subprocess.Popen[bytes]
    servers: tuple[socket.socket, ...]

    def run(
        self, sandbox: Sandbox, script: str, network: bool = False, *, reader: bool = False
    ) -> subprocess.CompletedProcess[str]:
        """Run a script in the box, or in that of a command that only reads."""
        shell = ["bash", "--noprofile", "--norc", "-c", script]
        path = self.env["PATH"]
        boxed = (
            sandbox.wrap_reader(shell, self.workspace, path) if reader else sandbox.wrap(shell, self.workspace, network)
        )
        return completed(preceded(self.drop, boxed), self.workspace.cwd, self.env)

    def state(self) -> list[tuple[str, object]]:
        """Everything outside that an attempt could change, and what is protected inside."""
        outside = [
            self.top / "outside",
            self.top / "home",
            *(self.workspace.cwd / name for name in (".git", ".vscode", "AGENTS.md", "sub/CLAUDE.md")),
        ]
        files = [file for folder in outside for file in (folder, *sorted(folder.rglob("*")))]
        facts: list[tuple[str, object]] = [(str(file), _facts(file)) for file in files]
        facts.append(("sentinel", self.sentinel.poll()))
        facts.append(("knocks", [knocked(server) for server in self.servers]))
        facts.append(("shm", _facts(Path("/dev/shm/agentcli-probe"))))
        facts.append(("shared", _LIBC.shmget(int(self.env["KEY"]), 4096, 0)))
        return facts


def _facts(file: Path) -> object:
    if not os.path.lexists(file):
        return None
    status = file.lstat()
    content = file.read_bytes() if file.is_file() and not file.is_symlink() else b""
    return (status.st_mode, status.st_uid, status.st_mtime_ns if file.is_file() else 0, content)


def knocked(server: socket.socket) -> bool:
    """True if somebody has connected since the last check."""
    try:
        if server.type == socket.SOCK_DGRAM:
            server.recv(10)
        else:
            server.accept()[0].close()
    except BlockingIOError:
        return False
    return True


def _listen(port_top: Path, work: Path) -> tuple[tuple[socket.socket, ...], int]:
    tcp = socket.create_server(("127.0.0.1", 0))
    port = tcp.getsockname()[1]
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("127.0.0.1", port))
    servers = [tcp, udp]
    if socket.has_ipv6:
        with suppress(OSError):  # a machine may have no IPv6 loopback
            servers.append(socket.create_server(("::1", port), family=socket.AF_INET6))
    for address in (str(port_top / "socket"), str(work / "src/socket"), f"\0agentcli-{port}"):
        local = socket.socket(socket.AF_UNIX)
        local.bind(address)
        local.listen()
        servers.append(local)
    for top in (port_top, work / "src"):
        os.chmod(top / "socket", 0o777)
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
_KEYS = {"x86_64": (248, 250), "aarch64": (217, 219)}
"""The numbers of add_key and keyctl for each machine."""
_SESSION_KEYRING, _UNLINK = -3, 9
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
def _kernel_key() -> Iterator[int]:
    """A key in the keyring of the session that holds the secret; -1 where the kernel keeps none."""
    add, control = _KEYS[platform.machine()]
    key = _LIBC.syscall(add, b"user", b"agentcli-probe", SECRET.encode(), len(SECRET), _SESSION_KEYRING)
    try:
        yield key
    finally:
        _LIBC.syscall(control, _UNLINK, key, _SESSION_KEYRING)


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


@contextmanager
def scene(user: str) -> Iterator[Scene]:
    """A scene for whoever runs this (`self`), or for an ordinary user (`nobody`)."""
    # Not below /tmp, which a box covers anyway.
    base, run = ("/opt", "/run") if ROOT else (str(Path.home()), tempfile.gettempdir())
    with (
        tempfile.TemporaryDirectory(prefix="agentcli-box-", dir=base) as folder,
        tempfile.TemporaryDirectory(prefix="agentcli-", dir=run) as sockets,
    ):
        for path in (folder, sockets):
            os.chmod(path, 0o755)
        yield from _scene(Path(folder).resolve(), Path(sockets), user)


def _scene(top: Path, run: Path, user: str) -> Iterator[Scene]:
    _build(top)
    drop: tuple[str, ...] = ()
    if user == "nobody":
        drop = _AS_NOBODY
        subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", str(top)], check=True)
    shm = Path("/dev/shm/agentcli-probe")
    shm.write_text("whole")
    shm.chmod(0o666)
    servers, port = _listen(run, top / "work")
    sentinel = subprocess.Popen([*drop, "sleep", "600"], env={"PATH": PATH, "TOKEN": SECRET})
    path = _PATH_OF_ALL if drop else PATH  # what others may not look into is no part of their box
    env = {
        "PATH": path, "HOME": str(top / "home"), "OUT": str(top / "outside"), "RUN": str(run), "PORT": str(port), "PID": str(sentinel.pid),
        "SSH_AUTH_SOCK": str(run / "socket"), "DBUS_SESSION_BUS_ADDRESS": "x",
    }  # fmt: skip
    try:
        with _shared_memory() as key, _terminal() as terminal, _kernel_key() as secret:
            env |= {"KEY": str(key), "PTY": terminal, "SECRET_KEY": str(secret)}
            workspace = Workspace(top / "work", (top / "work",), top / "home", path=path, env=env)
            yield Scene(top, workspace, env, drop, sentinel, servers)
    finally:
        sentinel.kill()
        sentinel.wait()
        shm.unlink(missing_ok=True)
        for server in servers:
            server.close()


def users() -> Sequence[str]:
    """The users who can try: the one who runs this, and as root an ordinary user as well, if that one can read the program.

    Otherwise no box would start, and every attempt would seem to fail.
    """
    if not (ROOT and shutil.which("setpriv")):
        return ("self",)
    starts = [*_AS_NOBODY, sys.executable, "-c", f"open({launch.__file__!r})"]
    return ("self",) if subprocess.run(starts, cwd="/", capture_output=True).returncode else ("self", "nobody")


def boxes() -> Sequence[Sandbox]:
    """The sandboxes that work here."""
    found = {sandbox.kind: sandbox for sandbox in (detect(), detect(path="/nowhere")) if sandbox.working}
    return tuple(found.values())


def succeeded(scene: Scene, sandbox: Sandbox, *, reader: bool = False) -> Sequence[str]:
    """The ways that lead out, each tried by itself."""
    found = []
    before = scene.state()
    for name, script in ATTEMPTS.items():
        done = scene.run(sandbox, script, reader=reader)
        after = scene.state()
        if SECRET in done.stdout + done.stderr or "ESCAPED" in done.stdout or after != before:
            found.append(name)
        before = after
    return found


def main() -> int:
    """Try everything and print how it went; 1 when any way leads out."""
    failed = False
    print(f"{'sandbox':12} {'box':10} {'user':8} {'tried':>6} {'out':>4}")
    for sandbox in boxes():
        for reader in (False, True):
            for user in users():
                with scene(user) as tried:
                    out = succeeded(tried, sandbox, reader=reader)
                who = {"self": "root" if ROOT else "ordinary", "nobody": "ordinary"}[user]
                row = f"{sandbox.kind:12} {'read-only' if reader else 'writable':10} {who:8} {len(ATTEMPTS):6} {len(out):4}"
                print(row, ", ".join(out), flush=True)
                failed |= bool(out)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
