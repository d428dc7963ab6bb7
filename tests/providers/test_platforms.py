"""Claude on Amazon Bedrock and Vertex AI, Gemini on Vertex AI."""

from __future__ import annotations

import asyncio
import json
import struct
import sys
import zlib
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from agentcli.core.errors import ConfigError, InputError, ModelError
from agentcli.core.message import Image, Text, Thinking, ToolResult
from agentcli.core.model import RequestMessage
from agentcli.frontends.sections import SCHEMA
from agentcli.program.config import Config
from agentcli.program.models import Models
from agentcli.providers.anthropic.request import to_wire
from agentcli.providers.connect import connect
from agentcli.providers.platforms import PLATFORMS, vendor_id
from agentcli.providers.registry import PROVIDERS
from agentcli.providers.scripted.model import call, say
from agentcli.providers.settings import ProviderSettings
from tests.loopback import Asked, Bytes, Loopback, anthropic_wire
from tests.loopback.plan import Answer
from tests.providers.hearing import ONCE, Heard, hear, reply_turn, request
from tests.tables import each_row

DOT = Image("image/png", b64encode(b"\xff\xd8\xff\xfb\xef\xbe a picture\xff\xd9").decode())
SENT = DOT.data.translate({ord("+"): "-", ord("/"): "_"})
"""The same in the alphabet of base64 that the Gemini SDK writes."""
BEDROCK = ProviderSettings("aws", "anthropic", platform="bedrock")


@each_row(
    ("listed", "own"),
    [
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
        ("global.anthropic.claude-opus-4-6-v1", "claude-opus-4-6"),
        ("anthropic.claude-opus-5-5", "claude-opus-5-5"),
        ("claude-haiku-4-5@20251001", "claude-haiku-4-5"),
        ("claude-sonnet-5-5", "claude-sonnet-5-5"),
        ("gemini-3.8-flash", "gemini-3.8-flash"),
        ("arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-opus-4-6-v1:0", "claude-opus-4-6"),
    ],
)
def test_ids_of_platforms_lead_to_the_figures_of_the_model(listed: str, own: str) -> None:
    assert vendor_id(listed) == own


@each_row(
    ("own", "bedrock", "vertex"),
    [
        ("claude-sonnet-4-5", "global.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5@20250929"),
        ("claude-haiku-4-5", "global.anthropic.claude-haiku-4-5-20251001-v1:0", "claude-haiku-4-5@20251001"),
        ("claude-opus-4-6", "global.anthropic.claude-opus-4-6-v1", "claude-opus-4-6"),
        ("claude-sonnet-4-6", "global.anthropic.claude-sonnet-4-6", "claude-sonnet-4-6"),
        ("opus", "global.anthropic.claude-opus-5-5", "claude-opus-5-5"),
        ("us.anthropic.claude-opus-5-5", "us.anthropic.claude-opus-5-5", "us.anthropic.claude-opus-5-5"),
        ("claude-opus-4-5@20251101", "claude-opus-4-5@20251101", "claude-opus-4-5@20251101"),
    ],
)
def test_the_vendors_own_names_of_models_become_those_of_the_platform(own: str, bedrock: str, vertex: str) -> None:
    clouds = {name: {"kind": "anthropic", "platform": name} for name in ("bedrock", "vertex")}
    models = Models(Config(SCHEMA, providers=clouds), {})
    assert [models.spec(f"{name}/{own}").id for name in clouds] == [bedrock, vertex]


def test_every_model_of_the_table_leads_back_to_its_figures() -> None:
    for name in ("bedrock", "vertex"):
        for model in PROVIDERS["anthropic"].models:
            assert vendor_id(PLATFORMS[name].listed(model.id)) == model.id


def test_a_model_of_a_platform_keeps_its_own_id_and_has_no_price() -> None:
    models = Models(Config(SCHEMA, providers={"aws": {"kind": "anthropic", "platform": "bedrock"}}), {})
    spec = models.spec("aws/us.anthropic.claude-sonnet-4-5-20250929-v1:0")
    assert (spec.id, spec.window, spec.thinking) == ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", 200_000, "budget")
    assert spec.prices is None
    assert spec.known


def test_a_platform_of_another_vendor_is_refused() -> None:
    with pytest.raises(ConfigError, match='platform = "bedrock" is for kind = "anthropic"'):
        _ = Models(Config(SCHEMA, providers={"aws": {"kind": "google", "platform": "bedrock"}}), {}).providers


def test_credentials_are_seen_where_the_sdk_would_find_them(tmp_path: Path) -> None:
    aws = PLATFORMS["bedrock"]
    assert aws.found({}, tmp_path) == ""
    assert aws.found({"AWS_PROFILE": "work"}, tmp_path) == "AWS_PROFILE"
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws/credentials").touch()
    assert aws.found({}, tmp_path) == "~/.aws/credentials"
    assert [*aws.missing({})] == ["AWS_REGION or AWS_DEFAULT_REGION or AWS_PROFILE"]
    assert [*aws.missing({"AWS_REGION": "us-east-1"})] == []


def test_what_is_not_installed_is_named_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "botocore", None)
    model = Models(Config(SCHEMA), {}).spec("anthropic/claude-sonnet-4-5")
    with pytest.raises(InputError, match=r"pip install .*'anthropic\[bedrock\]'"):
        connect(model, BEDROCK, {})


@pytest.mark.full
def test_claude_on_vertex_is_asked_by_its_own_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CLOUD_ML_REGION", "europe-west1")
    monkeypatch.setenv("ANTHROPIC_VERTEX_PROJECT_ID", "project")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))
    heard, server = asked_on("vertex", "claude-haiku-4-5@20251001", say("never"))
    assert isinstance(heard.error, ModelError)
    assert heard.error.cause == "auth"
    assert "CLOUD_ML_REGION" in str(heard.error)
    assert server.asked == []


def test_a_region_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLOUD_ML_REGION", raising=False)
    heard, _ = asked_on("vertex", "claude-haiku-4-5@20251001", say("never"))
    assert heard.error is not None
    assert heard.error.cause == "auth"
    assert "Can't ask Vertex AI" in str(heard.error)


@each_row(
    ("model", "version"),
    [
        ("us.anthropic.claude-3-5-haiku-20241022-v1:0", "bedrock-2023-05-31"),
        ("anthropic.claude-opus-4-20250514-v1:0", "bedrock-2023-05-31"),
        ("global.anthropic.claude-haiku-4-5-20251001-v1:0", "bedrock-2023-05-31"),
        ("claude-opus-4-6", "bedrock-2023-05-31"),
        ("global.anthropic.claude-sonnet-4-6", "bedrock-2023-05-31"),
        ("global.anthropic.claude-opus-4-7", None),
        ("global.anthropic.claude-opus-5-5", None),
        ("arn:aws:bedrock:us-east-1:1:application-inference-profile/abc", None),
    ],
)
def test_models_up_to_4_6_are_asked_on_bedrock_by_the_version_that_they_know(model: str, version: str | None) -> None:
    assert sent_to(BEDROCK, model).get("anthropic_version") == version


def test_a_version_in_extra_body_goes_before_that_of_the_platform() -> None:
    own = replace(BEDROCK, extra_body={"anthropic_version": "mine", "top_k": 1})
    assert sent_to(own, "claude-haiku-4-5") == {"anthropic_version": "mine", "top_k": 1}
    assert sent_to(replace(BEDROCK, platform="vertex"), "claude-haiku-4-5") == {}


def sent_to(settings: ProviderSettings, model: str) -> dict[str, Any]:
    """The fields of a request that the SDK adds to its own."""
    models = Models(Config(SCHEMA, providers={"aws": {"kind": "anthropic", "platform": settings.platform}}), {})
    extra: dict[str, Any] = to_wire(request(models.spec(f"aws/{model}"), "hello"), settings).get("extra_body", {})
    return extra


@pytest.mark.full  # in CI, which installs botocore for it
def test_claude_on_bedrock_streams_in_amazons_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("botocore")
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "token")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    reply = say("Reading.", call("read", file_path="a"), thinking="Hm.")
    heard, server = asked_on("bedrock", "us.anthropic.claude-haiku-4-5-20251001-v1:0", reply)
    assert heard.error is None
    assert [type(part) for part in heard.parts[:2]] == [Thinking, Text]
    assert heard.calls[0].input == {"file_path": "a"}
    [asked] = server.asked
    assert asked.path.endswith("/invoke-with-response-stream")
    assert asked.json["anthropic_version"] == "bedrock-2023-05-31"
    assert asked.headers["authorization"] == "Bearer token"


def test_claude_on_vertex_streams_a_call(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CLOUD_ML_REGION", "europe-west1")
    monkeypatch.setenv("ANTHROPIC_VERTEX_PROJECT_ID", "project")
    reply = say("Reading.", call("read", file_path="a"), thinking="Hm.")
    with logged_in(monkeypatch, tmp_path):
        heard, server = asked_on("vertex", "claude-haiku-4-5@20251001", reply)
    assert heard.error is None
    assert [type(part) for part in heard.parts[:2]] == [Thinking, Text]
    assert heard.calls[0].input == {"file_path": "a"}
    assert heard.stop is not None
    [asked] = server.asked
    models = "/projects/project/locations/europe-west1/publishers/anthropic/models"
    assert asked.path == f"{models}/claude-haiku-4-5@20251001:streamRawPredict"
    assert asked.json["anthropic_version"]
    assert asked.headers["authorization"] == "Bearer token"


def asked_on(platform: Any, model: str, reply: Any) -> tuple[Heard, Loopback]:
    """One request to a platform that is played on this machine."""

    def answer(asked: Asked) -> Answer:
        asked.__dict__["body"] = json.dumps({**asked.json, "model": model}).encode()
        asked.forget()
        events = anthropic_wire.events(asked, reply, server)
        if platform == "vertex":
            return Bytes(b"".join(events))
        return Bytes(b"".join(map(frame, events)), "application/vnd.amazon.eventstream")

    with Loopback(answer, strict=False) as server:
        settings = ProviderSettings("cloud", "anthropic", base_url=server.url, platform=platform)

        async def run() -> Heard:
            models = Models(Config(SCHEMA, providers={"cloud": {"kind": "anthropic", "platform": platform}}), {})
            connected = connect(models.spec(f"cloud/{model}"), settings, {}, ONCE)
            heard = await hear(connected, request(connected.spec, "hello"))
            await connected.close()  # type: ignore[attr-defined]
            return heard

        return asyncio.run(run()), server


@contextmanager
def logged_in(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Iterator[None]:
    """A service account of Google Cloud whose tokens come from this machine, where Google's own library looks for one."""
    pytest.importorskip("google.auth.transport.requests")
    rsa = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.rsa")
    from cryptography.hazmat.primitives import serialization as forms

    class Tokens(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.dumps({"access_token": "token", "expires_in": 3600, "token_type": "Bearer"}).encode()
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing is logged."""

    private = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        forms.Encoding.PEM, forms.PrivateFormat.PKCS8, forms.NoEncryption()
    )
    with ThreadingHTTPServer(("127.0.0.1", 0), Tokens) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        account = {
            "type": "service_account",
            "client_email": "agent@project.iam.gserviceaccount.com",
            "private_key": private.decode(),
            "project_id": "project",
            "token_uri": f"http://127.0.0.1:{server.server_port}/token",
        }
        (folder / "account.json").write_text(json.dumps(account))
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(folder / "account.json"))
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        try:
            yield
        finally:
            server.shutdown()


def frame(event: bytes) -> bytes:
    """A server-sent event as a message of Amazon's event stream."""
    data = event.split(b"data: ", 1)[1].strip()
    payload = json.dumps({"bytes": b64encode(data).decode()}).encode()
    named = ((":event-type", "chunk"), (":content-type", "application/json"), (":message-type", "event"))
    headers = b"".join(
        bytes([len(name)]) + name.encode() + b"\x07" + struct.pack("!H", len(value)) + value.encode()
        for name, value in named
    )
    prelude = struct.pack("!II", 16 + len(headers) + len(payload), len(headers))
    message = prelude + struct.pack("!I", zlib.crc32(prelude)) + headers + payload
    return message + struct.pack("!I", zlib.crc32(message))


@pytest.mark.parametrize("location", ["europe-west1", ""])
def test_gemini_on_vertex_without_credentials_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, location: str
) -> None:
    for name in ("GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_CLOUD_LOCATION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "project")
    if location:
        monkeypatch.setenv("GOOGLE_CLOUD_LOCATION", location)
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))
    settings = ProviderSettings("cloud", "google", platform="vertexai")

    async def run() -> Heard:
        models = Models(Config(SCHEMA, providers={"cloud": {"kind": "google", "platform": "vertexai"}}), {})
        connected = connect(models.spec("cloud/gemini-3.8-flash"), settings, {}, ONCE)
        heard = await hear(connected, request(connected.spec, "hello"))
        await connected.close()  # type: ignore[attr-defined]
        return heard

    heard = asyncio.run(run())
    assert heard.error is not None
    assert heard.error.cause == "auth"
    assert "none.json" in str(heard.error)


def test_gemini_on_vertex_streams_calls_and_gets_its_history_back(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "project")
    monkeypatch.setenv("GOOGLE_CLOUD_LOCATION", "europe-west1")
    plan = [say("Reading.", call("read", file_path="a"), thinking="Hm."), say("A dot.")]
    with logged_in(monkeypatch, tmp_path), Loopback(plan) as server:
        settings = ProviderSettings("cloud", "google", base_url=server.url, platform="vertexai")

        async def run() -> list[Heard]:
            models = Models(Config(SCHEMA, providers={"cloud": {"kind": "google", "platform": "vertexai"}}), {})
            model = connect(models.spec("cloud/gemini-3.8-flash"), settings, {}, ONCE)
            hello = RequestMessage("user", (Text("hello"), DOT))
            first = await hear(model, request(model.spec, hello))
            results = [ToolResult(one.call_id, one.name, "success", "ok", images=(DOT,)) for one in first.calls]
            turns = (hello, reply_turn(model.spec, first.parts), RequestMessage("user", tuple(results)))
            second = await hear(model, request(model.spec, *turns))
            await model.close()  # type: ignore[attr-defined]
            return [first, second]

        first, second = asyncio.run(run())
    assert (first.error, second.error) == (None, None)
    assert first.calls[0].input == {"file_path": "a"}
    assert second.text == "A dot."
    models = "/v1beta1/projects/project/locations/europe-west1/publishers/google/models"
    assert {asked.path for asked in server.asked} == {f"{models}/gemini-3.8-flash:streamGenerateContent"}
    assert {asked.headers["authorization"] for asked in server.asked} == {"Bearer token"}
    hello, called, answered = server.asked[1].turns
    assert hello["parts"][1]["inlineData"]["data"] == SENT
    [made] = [part for part in called["parts"] if "functionCall" in part]
    assert made["thoughtSignature"]
    response = answered["parts"][0]["functionResponse"]
    assert response["id"] == made["functionCall"]["id"] == first.calls[0].call_id
    assert response["parts"][0]["inlineData"]["data"] == SENT
