"""Patches and malformed calls through gateways of others, aimock and LiteLLM, which stand between the program and a model."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agentcli.providers.scripted.model import call, say
from tests.e2e.program import Program
from tests.ecosystem.software import npm_packages, python_package
from tests.loopback import Loopback
from tests.tools.lib.test_patching import AFTER, PATCH, WIRES, _broken, state

pytestmark = [pytest.mark.ecosystem, pytest.mark.timeout(900)]
SECONDS = 180
Through = Callable[..., tuple[Program, Loopback]]


def _port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def _started(argv: list[str], url: str, folder: Path) -> subprocess.Popen[bytes]:
    """Start a gateway and wait until it answers; the test is skipped if it never does."""
    log = folder / "gateway.log"
    with log.open("wb") as output:
        env = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "NO_PROXY": "*"}
        env["LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY"] = "true"
        process = subprocess.Popen(argv, stdout=output, stderr=subprocess.STDOUT, env=env, cwd=folder)
    until = time.monotonic() + SECONDS
    while time.monotonic() < until and process.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=5)
        except OSError:  # also an answer with another status: that is another program
            time.sleep(0.2)
        else:
            return process
    process.kill()
    process.wait()
    pytest.skip(f"the gateway does not start: {log.read_text()[-300:]}")


@pytest.fixture(scope="module")
def aimock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return npm_packages(tmp_path_factory.mktemp("npm"), "@copilotkit/aimock") / "llmock"


@pytest.fixture(scope="module")
def litellm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    local = os.environ.get("AGENTCLI_TEST_LITELLM")
    return Path(local) if local else python_package("litellm[proxy]", folder=tmp_path_factory.mktemp("pip")) / "litellm"


def _aimock(program: Path, server: Loopback, folder: Path) -> tuple[list[str], str]:
    port = _port()
    (folder / "none.json").write_text('{"fixtures": []}')
    providers = [f"--provider-{name}" for name in ("openai", "anthropic", "gemini")]
    forwarded = [word for option in providers for word in (option, server.url)]
    argv = [str(program), "--port", str(port), "--proxy-only", "--fixtures", str(folder / "none.json"), *forwarded]
    return argv, f"http://127.0.0.1:{port}"


def _litellm(program: Path, server: Loopback, folder: Path) -> tuple[list[str], str]:
    port = _port()
    kinds = {"responses": "openai", "chat": "openai", "claude": "anthropic", "gemini": "gemini"}
    models = [
        {
            "model_name": WIRES[wire].partition("/")[2],
            "litellm_params": {
                "model": f"{kind}/{WIRES[wire].partition('/')[2]}",
                "api_base": f"{server.url}/v1" if kind == "openai" else server.url,
                "api_key": "k",
            },
        }
        for wire, kind in kinds.items()
    ]
    (folder / "config.json").write_text(json.dumps({"model_list": models, "litellm_settings": {"telemetry": False}}))
    argv = [str(program), "--config", str(folder / "config.json"), "--host", "127.0.0.1", "--port", str(port)]
    return argv, f"http://127.0.0.1:{port}"


@dataclass(frozen=True, slots=True)
class Gateway:
    """A gateway that runs, and the server behind it, whose plan each test sets."""

    url: str
    server: Loopback


@pytest.fixture(scope="module", params=["aimock", "litellm"])
def gateway(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    software, folder = request.getfixturevalue(request.param), tmp_path_factory.mktemp(request.param)
    with Loopback() as server:
        argv, url = (_aimock if request.param == "aimock" else _litellm)(software, server, folder)
        health = "health" if request.param == "aimock" else "health/liveliness"
        process = _started(argv, f"{url}/{health}", folder)
        try:
            yield Gateway(url, server)
        finally:
            process.kill()
            process.wait()


@pytest.fixture
def through(gateway: Gateway, program: Program) -> Through:
    """A program whose providers are all the gateway, behind which the loopback server gives these replies."""

    def begin(*replies: Any) -> tuple[Program, Loopback]:
        left = [*replies]
        gateway.server.asked.clear()
        gateway.server.plan = lambda _: left.pop(0)
        env = {name: value.replace(gateway.server.url, gateway.url) for name, value in gateway.server.env.items()}
        (program.work / "a.py").write_text("x = 1\n")
        (program.work / "gone.py").write_text("z = 1\n")
        made = Program(program.base, {**program.more, **env}, program.command)
        own = f'[providers.mine]\nkind = "openai"\nbase_url = "{gateway.url}/v1"\napi_key_env = "OPENAI_API_KEY"\n'
        made.config(f'{own}[providers.google]\nversion = "v1beta"\n')  # aimock knows no other
        return made, gateway.server

    return begin


@pytest.mark.parametrize("wire", WIRES)
def test_a_patch_is_carried_out_through_a_gateway(through: Through, wire: str) -> None:
    program, server = through(say("", call("apply_patch", input=PATCH)), say("Done."))
    ran = program.ask("-p", "go", "-m", WIRES[wire], "--mode", "auto-edit")
    assert (ran.code, ran.result["text"]) == (0, "Done."), ran.err
    assert state(program.work) == AFTER, ran.out
    assert not [asked.refused for asked in server.asked if asked.refused]


@pytest.mark.parametrize("wire", ["chat", "claude", "responses"])
@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ('{"command": "echo one", }', "one\n(the arguments were mended: a comma before the end)"),
        ('{"command": "echo one" "timeout": 5}', "The arguments were not JSON: expected ',' at character 24."),
    ],
)
def test_a_malformed_call_is_mended_or_explained_through_a_gateway(
    through: Through, wire: str, text: str, answer: str
) -> None:
    program, server = through(_broken(text, wire), say("Done."))
    ran = program.ask("-p", "go", "-m", WIRES[wire])
    assert (ran.code, ran.result["text"]) == (0, "Done."), ran.err
    assert ran.of("tool_result")[0]["output"].startswith(answer)
    assert not [asked.refused for asked in server.asked if asked.refused]


@pytest.mark.parametrize("wire", WIRES)
def test_a_call_written_as_text_is_carried_out_through_a_gateway(through: Through, wire: str) -> None:
    written = '<tool_call>\n{"name": "write", "arguments": {"file_path": "b.py", "content": "y = 1\\n"}}\n</tool_call>'
    program, server = through(say(written), say("Done."))
    ran = program.ask("-p", "write b.py", "-m", WIRES[wire], "--mode", "auto-edit")
    assert (ran.code, ran.result["text"]) == (0, "Done."), ran.err
    assert (program.work / "b.py").read_text() == "y = 1\n"
    assert not [asked.refused for asked in server.asked if asked.refused]
