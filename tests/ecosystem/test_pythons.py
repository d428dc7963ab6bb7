"""A release in a fresh environment: each Python that it names, with its lowest and with its highest dependencies."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from agentcli import __version__
from agentcli.providers.scripted.model import say
from tests.e2e.program import ROOT, Program
from tests.ecosystem.software import installed_python, python_package
from tests.frontends.serve.server import Serving
from tests.loopback import Loopback

pytestmark = [pytest.mark.ecosystem, pytest.mark.timeout(1200)]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MINORS = [int(found[1]) for each in PROJECT["classifiers"] if (found := re.search(r":: 3\.(\d+)$", each))]
EXTRAS = tuple(extra for extra in PROJECT["optional-dependencies"] if extra not in ("dev", "ray", "keyring"))
"""The extras that are installed: Ray is as large as all others together, and tests have a keyring of their own."""
TESTS = ("tests/core", "tests/providers", "tests/system", "tests/tools/lib")
"""The project's own tests that run in each environment."""
SECONDS = 240
"""Time limit of a run: the first ones in an environment are slow on a busy machine."""
MODELS = ("sonnet", "flash", "luna", "ollama/qwen3")
"""A model of each wire."""
SERVER = """
from mcp.server import MCPServer
server = MCPServer("adder")
@server.tool()
def add(one: int, other: int) -> str:
    "Add two numbers."
    return f"The sum is {one + other}."
server.run()
"""


@dataclass(frozen=True)
class Installed:
    """An environment with the release; `risen` names what has no wheel at its lowest version for this Python."""

    bin: Path
    risen: Mapping[str, str]


def requirements(*extras: str) -> list[Requirement]:
    """What the project needs with these extras, without itself."""
    named = [*PROJECT["dependencies"], *(each for extra in extras for each in PROJECT["optional-dependencies"][extra])]
    return [needed for needed in map(Requirement, named) if needed.name != PROJECT["name"]]


def ran(*command: str | Path, cwd: Path | None = None) -> str:
    done = subprocess.run([*map(str, command)], cwd=cwd, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, (done.stdout + done.stderr)[-8000:]
    return done.stdout


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the wheel and the sdist, built by the command of a release."""
    folder = tmp_path_factory.mktemp("dist")
    ran(sys.executable, "-m", "build", "-q", "--no-isolation", "--outdir", folder, ROOT)
    return folder


@pytest.fixture(scope="module")
def uv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The installer that can choose the lowest versions."""
    found = shutil.which("uv")
    return Path(found) if found else python_package("uv", folder=tmp_path_factory.mktemp("uv")) / "uv"


@pytest.fixture(params=["lowest", "highest"])
def dependencies(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=MINORS)
def installed(request: pytest.FixtureRequest, dependencies: str, release: Path, uv: Path, tmp_path: Path) -> Installed:
    """The wheel in an environment of its own."""
    python, venv = installed_python(request.param), tmp_path / "venv"
    ran(uv, "venv", "-q", "--seed", "--python", python, venv)
    needed = requirements(*EXTRAS)
    install = (
        uv,
        "pip",
        "install",
        "-q",
        "--compile-bytecode",
        "--only-binary",
        ":all:",
        "--python",
        venv / "bin/python",
    )
    resolution = "lowest-direct" if dependencies == "lowest" else "highest"
    (wheel,) = release.glob("*.whl")
    ran(*install, "--resolution", resolution, wheel, *map(str, needed))
    versions = {each["name"]: each["version"] for each in listed(uv, venv)}
    # What the tests need beside it, which changes nothing that is there.
    kept = [f"{name}=={version}" for name, version in versions.items() if name != PROJECT["name"]]
    ran(*install, *kept, *map(str, requirements("dev")))
    risen = {}
    for each in needed if dependencies == "lowest" else ():
        (lowest,) = [bound.version for bound in each.specifier if bound.operator == ">="] or ["0"]
        if each.name in versions and Version(versions[each.name]) != Version(lowest) != Version("0"):
            risen[each.name] = f"{versions[each.name]} ({lowest})"
    print(f"3.{request.param}, {dependencies}: {len(versions)} packages; risen: {risen or 'none'}")
    return Installed(venv / "bin", risen)


def listed(uv: Path, venv: Path) -> list[dict[str, str]]:
    found: list[dict[str, str]] = json.loads(
        ran(uv, "pip", "list", "-q", "--format", "json", "--python", venv / "bin/python")
    )
    return found


def test_a_release_works_and_passes_its_tests(installed: Installed, release: Path, tmp_path: Path) -> None:
    program = Program(tmp_path, python=str(installed.bin / "python"))
    starts(program, installed.bin)
    speaks(program)
    calls_a_server(program)
    with Serving(program) as serving:
        assert serving.get("/").status == 200
    assert serving.process.returncode == 0
    passes_its_tests(installed, release, tmp_path / "sdist")


def starts(program: Program, bin_: Path) -> None:
    assert ran(bin_ / "agentcli", "--version") == f"agentcli {__version__}\n"
    assert "# Getting started" in program.run("help", "start").out
    assert program.run("demo", "-p", "fix it", seconds=SECONDS).code == 0
    checks = json.loads(program.run("doctor", "--json").out)
    version = ran(program.python, "-c", "import platform; print(platform.python_version())").strip()
    assert checks[0]["detail"] == f"agentcli {__version__} on Python {version}"
    assert all(check["ok"] for check in checks if check["what"].endswith(("configuration", "folder"))), checks


def speaks(program: Program) -> None:
    """One prompt on each wire, to a server that refuses what the vendors refuse."""
    for model in MODELS:
        with Loopback([say("It speaks.")]) as server:
            own = f'base_url = "{server.url}/v1"\napi_key_env = "OPENAI_API_KEY"'
            program.config(f"[agent]\ntitles = false\n[providers.ollama]\n{own}\n")
            asked = Program(program.base, server.env, python=program.python).run(
                "-p", "hi", "-m", model, seconds=SECONDS
            )
            assert asked.out == "It speaks.\n", asked.err


def calls_a_server(program: Program) -> None:
    """A tool of a server of the SDK that is installed beside the program."""
    (program.work / "server.py").write_text(SERVER)
    own = {"mcpServers": {"adder": {"command": program.python, "args": ["server.py"]}}}
    (program.work / ".mcp.json").write_text(json.dumps(own))
    call = {"name": "mcp_call", "input": {"tool": "mcp__adder__add", "arguments": {"one": 2, "other": 3}}}
    script = program.base / "script.json"
    script.write_text(json.dumps({"replies": [{"calls": [call]}, {"text": "ok"}]}))
    ended = program.ask("--trust", "--allow", "mcp__*", "-m", f"script:{script}", "-p", "go", seconds=SECONDS)
    assert [each["output"] for each in ended.of("tool_result")] == ["The sum is 5."], ended


def passes_its_tests(installed: Installed, release: Path, folder: Path) -> None:
    """The tests of the sdist, on the code of the wheel."""
    (sdist,) = release.glob("*.tar.gz")
    with tarfile.open(sdist) as packed:
        packed.extractall(folder, filter="data")
    (root,) = folder.iterdir()
    shutil.rmtree(root / "agentcli")
    options = ("-q", "-n", "2", "-p", "no:randomly", "-p", "no:cacheprovider")
    said = ran(installed.bin / "python", "-m", "pytest", *options, *TESTS, cwd=root)
    print(said.strip().splitlines()[-1])
