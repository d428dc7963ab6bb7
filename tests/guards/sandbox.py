"""The sandbox: public ways out of sandboxes of agents, and recorded commands that must work in it as outside.

`tests/bench/bench_sandbox.py` runs whole recorded sessions in the repositories in which they were made.
"""

from __future__ import annotations

import json
import shlex
import socket
import subprocess
import tempfile
import unittest
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path

from agentcli.permissions.paths import Workspace
from agentcli.permissions.sandbox import Sandbox, detect
from agentcli.permissions.sandbox.aftermath import Aftermath
from tests.guards import Figures, material
from tests.permissions.sandbox.running import completed

SECRET = "the-secret-of-the-house"
EVIL = "EVIL"
_PATH = "/usr/local/bin:/usr/bin:/bin"
_MARK = "=== "
_WHO = {
    f"GIT_{role}_{part}": "2026-01-01T00:00:00Z" if part == "DATE" else "A"
    for role in ("AUTHOR", "COMMITTER")
    for part in ("NAME", "EMAIL", "DATE")
}
_FILES = {
    "README.md": "# Inventory\n\nCounts what is in stock.\n",
    "src/app.py": "import sys\n\n\ndef main() -> int:\n    print('TODO: stock')\n    return 0\n\n\nif __name__ == '__main__':\n    sys.exit(main())\n",
    "tests/test_app.py": "import unittest\n\nfrom src.app import main\n\n\nclass Stock(unittest.TestCase):\n    def test_main(self):\n        self.assertEqual(main(), 0)\n",
    "cmd/tool/main.go": 'package main\n\nimport "fmt"\n\nfunc main() {\n\tfmt.Println("stock")\n}\n',
    "package.json": '{"name": "inventory", "version": "1.0.0", "scripts": {"build": "echo built"}}\n',
    "Makefile": "build:\n\t@echo built\n",
    "docs/guide.md": "# Guide\n\n- first\n- second\n",
    "guarded/AGENTS.md": "Be good.\n",
    ".env": f"KEY={SECRET}\n",
    "packages/app/.env.production": f"KEY={SECRET}\n",
}


def figures() -> Iterator[Figures]:
    """The figures of bubblewrap, which is what the table is about; nothing is measured where it does not work."""
    sandbox = detect()
    if sandbox.kind != "bubblewrap":
        raise unittest.SkipTest(f"bubblewrap does not work here: {sandbox.why}")
    ways, good = (material("sandbox")[kind] for kind in ("bad", "good"))
    out = open_ways(sandbox)
    yield Figures(
        "ways out of the sandbox",
        len(ways) - len(out),
        len(ways),
        0,
        0,
        "advisories and issues of other sandboxes, in scripts of our own",
    )
    others = different(sandbox)
    yield Figures(
        "commands in the sandbox",
        0,
        0,
        len(others),
        len(good),
        "commands of recorded sessions of Claude Code, every own word replaced",
    )


@cache
def open_ways(sandbox: Sandbox) -> Sequence[str]:
    """Return the names of the ways that lead out: they show the secret, say so, or leave a file that acts later."""
    ways = material("sandbox")["bad"]
    with _scene(sockets=True) as top:
        workspace = _workspace(top)
        left = Aftermath().inside(workspace, aside=sandbox.working)
        printed = _ran(sandbox, workspace, [way["script"] for way in ways])
        left()
        return [
            way["name"]
            for way, text in zip(ways, printed, strict=True)
            if SECRET in text or "ESCAPED" in text or (way["leaves"] and _holds(workspace.cwd / way["leaves"]))
        ]


def different(sandbox: Sandbox) -> Sequence[str]:
    """Return the commands that end otherwise, or print something else, in the sandbox than outside."""
    commands = material("sandbox")["good"]
    both = []
    for way in (sandbox, Sandbox("none")):
        with _scene(sockets=False) as top:
            texts = _ran(way, _workspace(top), commands)
            both.append([text.replace(str(top), "TOP") for text in texts])
    return [command for command, inside, outside in zip(commands, *both, strict=True) if inside != outside]


def _holds(file: Path) -> bool:
    return file.is_file() and EVIL in file.read_text(errors="replace")


def _workspace(top: Path) -> Workspace:
    return Workspace(top / "work", (top / "work",), top / "home", path=_PATH)


def _ran(sandbox: Sandbox, workspace: Workspace, scripts: Sequence[str]) -> Sequence[str]:
    """Run scripts one after the other in one box; return what each prints, with its exit code."""
    each = (
        f"timeout 10 bash --norc -c {shlex.quote(script)} 2>&1; echo \"[$?]\"; echo; echo '{_MARK}'"
        for script in scripts
    )
    argv = ["bash", "--noprofile", "--norc", "-c", "\n".join(each)]
    env = {
        "PATH": _PATH, "HOME": str(workspace.home), "OUT": str(workspace.home.parent / "outside"), "LANG": "C.UTF-8", **_WHO,
    }  # fmt: skip
    done = completed(sandbox.wrap(argv, workspace), workspace.cwd, env, seconds=10.0 * len(scripts) + 60)
    printed = done.stdout.split(f"{_MARK}\n")[:-1]
    if len(printed) != len(scripts):
        raise RuntimeError(f"the box did not start: {done.stderr}")
    return printed


@contextmanager
def _scene(sockets: bool) -> Iterator[Path]:
    """A home with secrets, a repository, and a folder outside; not below /tmp, which a sandbox covers anyway."""
    with tempfile.TemporaryDirectory(prefix=".agentcli-guard-", dir=Path.home()) as folder:
        top = Path(folder).resolve()
        for name, text in _FILES.items():
            (top / "work" / name).parent.mkdir(parents=True, exist_ok=True)
            (top / "work" / name).write_text(text)
        (top / "outside").mkdir()
        for name in material("sandbox")["private"]:
            (top / "home" / name).parent.mkdir(parents=True, exist_ok=True)
            (top / "home" / name).write_text(f"{SECRET}\n")
        (top / "work/committed-link").symlink_to(top / "home/.ssh")
        work = top / "work"
        git = f"git init -q -b main {work}/vendor/sub && git init -q -b main {work}/vendor/two; cd {work}; git init -q -b main .; printf '.env*\\n*-link\\nvendor\\n' > .gitignore; git add -A; git commit -qm one"
        subprocess.run(["bash", "-c", git], env={"PATH": _PATH, **_WHO}, check=True)
        with closing(socket.socket(socket.AF_UNIX)) as agent:
            if sockets:
                (top / "home/.agent").mkdir()
                agent.bind(str(top / "home/.agent/s"))
                agent.listen()
            yield top


if __name__ == "__main__":
    print(json.dumps({"open": open_ways(detect()), "different": different(detect())}, indent=1))
