"""Servers that cannot be reached: the run ends with 75, soon, and says what to look at."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest

from agentcli.providers.scripted.model import say
from tests.e2e.faults import MODELS
from tests.e2e.program import Program
from tests.loopback import Loopback
from tests.loopback.server import KEY, black_hole

VENDORS = {"anthropic": "api.anthropic.com", "google": "generativelanguage.googleapis.com"}
QUICK = ("--set", "retry.first=0.001", "--set", "retry.longest=0.002", "--set", "retry.attempts=5")


@contextlib.contextmanager
def refused() -> Iterator[str]:
    """A port that nobody listens on."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{held.getsockname()[1]}"


@contextlib.contextmanager
def refusing_proxy(status: str) -> Iterator[str]:
    """A proxy that answers every request with this status."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            with contextlib.suppress(OSError):
                while True:
                    client, _ = listening.accept()
                    with client:
                        client.recv(65_536)
                        client.sendall(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n".encode())

        threading.Thread(target=answer, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def unknown_name() -> Iterator[str]:
    """A name that is reserved for never being one."""
    yield "http://nobody.invalid"


_REFUSED = "connection refused. Start the server that should listen there, or correct"
_SILENT = "no answer within 0.2 s. Check the network, the proxy and"
_UNKNOWN = "there is no such host. Check the network, the proxy and"


@pytest.mark.parametrize(
    ("place", "wire", "why"),
    [
        (refused, "google", _REFUSED),
        (black_hole, "anthropic", _SILENT),
        (unknown_name, "anthropic", _UNKNOWN),
        pytest.param(black_hole, "google", _SILENT, marks=pytest.mark.slow),
        pytest.param(unknown_name, "google", _UNKNOWN, marks=pytest.mark.slow),
    ],
)
def test_a_server_that_cannot_be_reached_ends_the_run_with_75(
    program: Program, place: Callable[[], AbstractContextManager[str]], wire: str, why: str
) -> None:
    with place() as url:
        program.more = {
            "ANTHROPIC_BASE_URL": url,
            "GOOGLE_GEMINI_BASE_URL": url,
            "ANTHROPIC_API_KEY": KEY,
            "GEMINI_API_KEY": KEY,
        }
        ran = program.ask("-p", "hi", "-m", MODELS[wire], *QUICK, "--set", f"providers.{wire}.connect_timeout=0.2")
    assert (ran.code, ran.result["subtype"], ran.result["exit_code"]) == (75, "transient", 75)
    variable = {"anthropic": "ANTHROPIC_BASE_URL", "google": "GOOGLE_GEMINI_BASE_URL"}[wire]
    address = url.removeprefix("http://")
    assert f"Can't reach {address if ':' in address else address + ':80'}: {why}" in ran.result["error"]
    assert variable in ran.result["error"]


def test_the_cure_of_a_host_or_a_key_that_is_missing_is_a_whole_sentence(program: Program) -> None:
    program.more = {"ANTHROPIC_API_KEY": "", "GEMINI_API_KEY": ""}
    keyless = program.ask("-p", "hi", "-m", MODELS["anthropic"]).result["error"]
    assert keyless.startswith("No key for anthropic. Run `agentcli auth set anthropic` or set ANTHROPIC_API_KEY or ")
    program.more = {"MY_KEY": KEY}
    program.config('[providers.mine]\nkind = "anthropic"\nbase_url = "http://nobody.invalid"\napi_key_env = "MY_KEY"\n')
    unknown = program.ask("-p", "hi", "-m", "mine/x", *QUICK).result["error"]
    assert "Check the network, the proxy and base_url in [providers.mine], which sets the address." in unknown


@pytest.mark.full
def test_a_local_server_that_does_not_run_ends_the_run_within_seconds_with_the_command_that_starts_it(
    program: Program,
) -> None:
    with refused() as url:
        program.config(f'[providers.ollama]\nbase_url = "{url}/v1"\n')
        ran = program.ask("-p", "hi", "-m", "ollama/qwen3")
    assert (ran.code, ran.result["subtype"]) == (75, "transient")
    waits = ran.of("retry")
    assert sum(wait["delay"] for wait in waits) <= 3
    assert all("Start Ollama: `ollama serve`" in wait["reason"] for wait in waits)
    assert "Start Ollama: `ollama serve`" in ran.result["error"]


@pytest.mark.full
def test_a_host_that_does_not_exist_ends_the_run_within_seconds(program: Program) -> None:
    program.more = {"ANTHROPIC_BASE_URL": "http://nobody.invalid", "ANTHROPIC_API_KEY": KEY}
    ran = program.ask("-p", "hi", "-m", MODELS["anthropic"])
    assert (ran.code, ran.result["subtype"]) == (75, "transient")
    assert len(ran.of("retry")) >= 1
    assert sum(wait["delay"] for wait in ran.of("retry")) <= 3
    assert _UNKNOWN in ran.result["error"]


@pytest.mark.full
def test_a_person_may_start_the_local_server_meanwhile(program: Program) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        program.config(
            f'[providers.ollama]\nbase_url = "http://127.0.0.1:{port}/v1"\napi_key_env = "LOCAL_KEY"\n[retry]\nlongest = 0.2\n'
        )
        program.more = {"LOCAL_KEY": KEY}
        with program.terminal("-m", "ollama/qwen3", columns=120, rows=30) as t:
            t.until("/112k")
            t.send("hi\r", until="Start Ollama: `ollama serve`")
            t.until("attempt 20")
            held.close()
            server = Loopback([say("here I am")])
            server.port = port
            with server:
                t.until("here I am")
            t.settle()
            t.send("\x04")
            assert t.wait() == 0


def test_a_base_url_without_http_is_named_with_the_variable_that_holds_it(program: Program) -> None:
    program.more = {"ANTHROPIC_BASE_URL": "localhost:8080", "ANTHROPIC_API_KEY": KEY}
    ran = program.ask("-p", "hi", "-m", MODELS["anthropic"], *QUICK)
    assert ran.code == 1
    assert "begins with neither http:// nor https://. Correct ANTHROPIC_BASE_URL or" in ran.result["error"]


@pytest.mark.parametrize("wire", ["anthropic", "google"])
@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        (
            "SSL_CERT_FILE",
            "/nobody/has.pem",
            "Can't read the certificates in SSL_CERT_FILE (/nobody/has.pem): No such file",
        ),
        ("SSL_CERT_FILE", __file__, "): it contains none in PEM form"),
        (
            "ALL_PROXY",
            "socks5://127.0.0.1:1",
            "is a SOCKS proxy, for which a package is missing: `",
        ),
        ("HTTPS_PROXY", "ftp://user:secret@proxy", "ALL_PROXY is not an address such as http://host:port"),
    ],
)
def test_an_environment_with_which_nothing_can_be_sent_is_named(
    program: Program, wire: str, variable: str, value: str, said: str
) -> None:
    url = "https://127.0.0.1:1"
    program.more = {
        "ANTHROPIC_BASE_URL": url,
        "GOOGLE_GEMINI_BASE_URL": url,
        "ANTHROPIC_API_KEY": KEY,
        "GEMINI_API_KEY": KEY,
        variable: value,
    }
    ran = program.ask("-p", "hi", "-m", MODELS[wire], *QUICK)
    assert ran.code == 1
    assert said in ran.result["error"]
    assert "secret" not in ran.out + ran.err


@pytest.mark.parametrize("wire", ["anthropic", "google"])
@pytest.mark.parametrize(("status", "code"), [("407 Authentication Required", 1), ("502 Bad Gateway", 75)])
def test_a_proxy_that_refuses_is_named(program: Program, wire: str, status: str, code: int) -> None:
    with refusing_proxy(status) as proxy:
        program.more = {"HTTPS_PROXY": proxy, "ANTHROPIC_API_KEY": KEY, "GEMINI_API_KEY": KEY}
        ran = program.ask("-p", "hi", "-m", MODELS[wire], *QUICK)
    assert ran.code == code
    assert f"does not connect to {VENDORS[wire]}: {status}. Check its address" in ran.result["error"]
    assert len(ran.of("retry")) == (4 if code == 75 else 0)


def test_a_base_url_that_is_no_address_is_bad_configuration(program: Program) -> None:
    program.more = {"ANTHROPIC_BASE_URL": "http://[::1", "ANTHROPIC_API_KEY": KEY}
    ran = program.ask("-p", "hi", "-m", MODELS["anthropic"])
    assert ran.code == 52
    assert "is not an address such as https://host:port. Correct ANTHROPIC_BASE_URL or" in ran.result["error"]
    assert "warn  endpoint of anthropic: http://[::1" in program.run("doctor").out
