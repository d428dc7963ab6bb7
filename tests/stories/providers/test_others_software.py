"""Software of others in between: a LiteLLM proxy in front of the loopback server, and a llama.cpp with random weights behind."""

from __future__ import annotations

import base64
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agentcli.providers.scripted.model import Reply, call, say
from tests.loopback import Asked, Loopback
from tests.providers.tiny_model import SCRIPT
from tests.stories.providers.test_adapters import PIXEL

pytestmark = [pytest.mark.ecosystem, pytest.mark.timeout(1500)]
KEY = "sk-loopback-0123456789abcdef0123456789"
PATIENCE = 240.0
"""Seconds in which a server must have started."""


def installed(folder: Path, *packages: str) -> Path:
    """The folder of the programs of a virtual environment with these packages."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    subprocess.run([folder / "bin/pip", "install", "-q", *packages], check=True, capture_output=True)
    return folder / "bin"


@contextmanager
def running(command: Sequence[str | Path], url: str, folder: Path, **env: str) -> Iterator[None]:
    """A server, from when it answers at this address on."""
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(command, cwd=folder, env={**os.environ, **env}, stdout=log, stderr=log)
        try:
            _wait(server, url, folder)
            yield
        finally:
            server.terminate()
            server.wait(30)


def _wait(server: subprocess.Popen[bytes], url: str, folder: Path) -> None:
    began = time.monotonic()
    while time.monotonic() - began < PATIENCE:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            assert server.poll() is None, (folder / "server.log").read_text()
            time.sleep(0.5)
    raise AssertionError("the server did not start")


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def agentcli(folder: Path, *arguments: str, **settings: Any) -> dict[str, Any]:
    """The result of a one-shot run in this folder."""
    homes = {f"XDG_{kind}_HOME": str(folder / f"home-{kind.lower()}") for kind in ("DATA", "CONFIG", "STATE", "CACHE")}
    given = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
    done = subprocess.run(
        [sys.executable, "-m", "agentcli", *arguments, *given, "-o", "json"],
        cwd=folder,
        env={**os.environ, **homes, "NO_PROXY": "127.0.0.1", "PROXY_KEY": KEY},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {**json.loads(done.stdout), "stderr": done.stderr}


def work(asked: Asked, step: int) -> Reply:
    """A tool loop with parallel calls, thoughts, a picture, and enough text for a compaction."""
    if step == 0:
        return say("Both.", call("read", file_path="a.txt"), call("read", file_path="a.png"), thinking="Two at a time.")
    if step < 8:
        return say("", call("read", file_path="big.txt", offset=step * 60, limit=60), thinking=f"thought {step}")
    return say("All done.")


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Loopback, str]]:
    """The loopback server, and the address of a LiteLLM proxy in front of it."""
    folder, port = tmp_path_factory.mktemp("litellm"), free_port()
    programs = installed(folder / "venv", "litellm[proxy]")
    with Loopback() as server:
        models = {
            "chatty": {"model": "openai/chatty", "api_base": f"{server.url}/v1"},
            "gpt-6-luna": {"model": "openai/gpt-6-luna", "api_base": f"{server.url}/v1"},
            "claude-haiku-4-5": {"model": "anthropic/claude-haiku-4-5", "api_base": server.url},
        }
        listed = [{"model_name": name, "litellm_params": {**one, "api_key": "k"}} for name, one in models.items()]
        (folder / "config.json").write_text(json.dumps({"model_list": listed}))
        url = f"http://127.0.0.1:{port}"
        command = (programs / "litellm", "--config", "config.json", "--host", "127.0.0.1", "--port", str(port))
        env = {"NO_PROXY": "127.0.0.1", "LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_MASTER_KEY": KEY}
        with running(command, f"{url}/health/liveliness", folder, **env):
            yield server, url


@pytest.mark.parametrize(
    ("wire", "path", "model"),
    [
        ("chat", "/v1/chat/completions", "chatty"),
        ("responses", "/v1/responses", "gpt-6-luna"),
        ("messages", "/v1/messages", "claude-haiku-4-5"),
    ],
)
def test_a_session_goes_through_a_proxy(
    proxy: tuple[Loopback, str], tmp_path: Path, wire: str, path: str, model: str
) -> None:
    server, url = proxy
    steps = iter(range(99))
    server.plan = lambda asked: work(asked, next(steps))
    server.asked.clear()
    (tmp_path / "a.txt").write_text("alpha")
    (tmp_path / "a.png").write_bytes(base64.b64decode(PIXEL))
    (tmp_path / "big.txt").write_text(
        "\n".join(f"line {number} of a file with some words in it" for number in range(2000))
    )
    kind = (
        {"providers.proxy.kind": "anthropic"}
        if wire == "messages"
        else {"providers.proxy.kind": "openai", "providers.proxy.wire": wire}
    )
    settings = {
        **kind,
        "providers.proxy.base_url": url,
        "providers.proxy.api_key_env": "PROXY_KEY",
        f"models.{model}.window": 16_000,
    }
    settings |= {"retry.attempts": 1, "agent.titles": "false", "context.prune.enabled": "false"}
    result = agentcli(tmp_path, "-p", "read them", "-m", f"proxy/{model}", "--mode", "yolo", **settings)
    assert result["text"] == "All done."
    assert "Summarised" in result["stderr"]
    requests = server.requests
    assert {asked.path for asked in requests} == {path}
    assert [asked.refused for asked in requests if asked.refused] == []
    assert "alpha" in requests[1].body.decode()
    assert PIXEL[:40] in requests[1].body.decode()
    assert "Two at a time." in requests[1].body.decode()


def test_a_real_llama_with_random_weights_answers(tmp_path: Path) -> None:
    programs, port = installed(tmp_path / "venv", "cyllama", "gguf", "numpy"), free_port()
    subprocess.run([programs / "python", "-c", SCRIPT, "tiny.gguf"], cwd=tmp_path, check=True)
    command = [
        programs / "cyllama",
        "server",
        "-m",
        "tiny.gguf",
        "--port",
        str(port),
        "--ctx-size",
        "16384",
        "--gpu-layers",
        "0",
    ]
    with running(command, f"http://127.0.0.1:{port}/v1/models", tmp_path):
        settings = {"providers.llamacpp.base_url": f"http://127.0.0.1:{port}/v1", "agent.max_output": 64}
        result = agentcli(tmp_path, "-p", "say hi", "-m", "llamacpp/tiny", "--system-prompt", "x", **settings)
    assert result["text"]
    assert result["usage"]["input"] > 0
