"""The part of Gemini's SDK that is used, imported for this program alone. Most tests run a process of their own: an import happens once."""

import asyncio
import subprocess
import sys
from types import SimpleNamespace

import pytest

from agentcli.providers.catalog import spec
from agentcli.providers.google.api import GeminiApi
from agentcli.providers.google.sdk import SdkApi
from agentcli.providers.preload import own_sdk
from agentcli.providers.scripted.model import say
from agentcli.providers.settings import BUILT_IN
from tests.e2e.program import ROOT
from tests.loopback import Loopback
from tests.providers.hearing import request


def run(program: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()


GEMINI = """
import asyncio, sys
from agentcli.providers.preload import own_sdk
from agentcli.providers.scripted.model import say
from tests.loopback import Loopback
from tests.providers.hearing import ONCE, connected, hear, request
async def ask():
    model = connected(server, "flash", ONCE)
    heard = await hear(model, request(model.spec, "hello"))
    print(heard.text or f"{heard.error.cause}: {heard.error}")
    print(await model.count(request(model.spec, "hello")))
    await model.close()
"""


def test_a_request_to_gemini_makes_no_models_and_others_get_the_whole_sdk():
    program = f"""{GEMINI}
def loaded():
    return [name for name in ("google.genai", "pydantic", "websockets") if name in sys.modules]
with Loopback([say("one"), say("two"), say("three")], strict=False) as server:
    asyncio.run(ask())
    print(loaded(), own_sdk("google").__name__)
    from google import genai
    from google.genai import types
    http = types.HttpOptions(base_url=server.url, headers={{"x-own": "1"}})
    client = genai.Client(api_key="loopback-key", vertexai=False)
    config = types.GenerateContentConfig(http_options=http)
    chunks = client.models.generate_content_stream(model="gemini-3.8-flash", contents="hello", config=config)
    print("".join(chunk.text for chunk in chunks))
    asyncio.run(ask())
    print(loaded(), own_sdk("google").HttpOptions is types.HttpOptions)
"""
    lines = run(program).splitlines()
    count = lines[1]
    assert int(count) > 0
    everything = ["google.genai", "pydantic", "websockets"]
    assert lines == ["one", count, "[] google.genai._api_client", "two", "three", count, f"{everything} False"]


@pytest.mark.parametrize(("status", "cause"), [(503, "overloaded"), (400, "bad_request")])
def test_the_errors_of_gemini_are_read_by_that_part_as_by_the_whole_sdk(status, cause):
    program = f"""{GEMINI}
from tests.loopback import Refuse
with Loopback([Refuse({status})] * 2) as server:
    asyncio.run(ask())
    print("google.genai" in sys.modules)
    import google.genai
    from agentcli.providers import preload
    preload._parts.clear()
    asyncio.run(ask())
"""
    lines = run(program).splitlines()
    assert lines[0].startswith(f"{cause}: ")
    assert lines == [*lines[:2], "False", *lines[:2]]


def test_a_sdk_of_gemini_that_is_imported_already_is_used_as_it_is():
    program = f"""
from google.genai import types
{GEMINI}
with Loopback([say("one")]) as server:
    asyncio.run(ask())
print(own_sdk("google").HttpOptions is types.HttpOptions)
"""
    assert run(program).splitlines()[-1] == "True"


STAND_INS = """
from . import more
from .models import Options, Kind
class Own(Options[int]):
    @Options.checked(mode="after")
    def answer(self):
        return 42
    kind: Options | Kind.ANY = None
one = Own.model_validate({"url": "http://localhost"})
other = one.model_copy()
other.seconds = 3
seen = (one.url, one.seconds, other.url, other.seconds, one.answer(), sorted(Own.model_fields), more.path.sep)
"""
NO_STAND_INS = "from .models import number\nseen = number + 1\n"


@pytest.mark.parametrize(
    ("client", "printed"),
    [
        (STAND_INS, "('http://localhost', None, 'http://localhost', 3, 42, ['url'], '/') False"),
        (NO_STAND_INS, "4 True"),
    ],
)
def test_what_a_part_passes_over_is_stood_in_for_and_imported_after_all_where_that_does_not_do(
    tmp_path, client, printed
):
    package = tmp_path / "fragile"
    package.mkdir()
    files = {
        "__init__": "from . import models",
        "models": "number = 3",
        "more": "from os import path",
        "client": client,
    }
    for name, text in files.items():
        (package / f"{name}.py").write_text(text)
    program = f"""
import sys; sys.path.insert(0, {str(tmp_path)!r})
from agentcli.providers.private_import import import_part
from agentcli.providers.registry import SdkPart
print(import_part(SdkPart("fragile.client", ("fragile.models",))).seen, "fragile" in sys.modules)
"""
    assert run(program) == printed


def test_an_sdk_of_gemini_without_the_client_that_is_used_is_asked_by_its_public_one():
    given = BUILT_IN["google"], "loopback-key"
    assert GeminiApi(*given, "http://localhost", own_sdk("google")).fits()
    assert not GeminiApi(*given, "http://localhost", SimpleNamespace(BaseApiClient=object)).fits()
    with Loopback([say("one")]) as server:
        assert asyncio.run(answered(SdkApi(*given, server.url))) == "one"
    assert server.asked[0].headers["x-goog-api-key"] == "loopback-key"


async def answered(api: SdkApi) -> str:
    """The text of a reply through the SDK's public client."""
    chunks = [chunk async for chunk in api.chunks(request(spec("flash"), "hello"))]
    await api.close()
    parts = [part for chunk in chunks for part in chunk["candidates"][0]["content"]["parts"]]
    return "".join(part["text"] for part in parts)


@pytest.mark.ecosystem
@pytest.mark.parametrize("sdk", ["google-genai==3.4.0", "google-genai<4"])
def test_the_part_does_for_every_version_of_the_sdk_that_is_allowed(tmp_path, sdk):
    """The first and the newest; install others by hand to try them."""
    install = [sys.executable, "-m", "pip", "install", "-q", "--target", str(tmp_path), sdk]
    if subprocess.run(install, capture_output=True).returncode:
        pytest.skip("the package index cannot be reached")
    program = f"""
import sys; sys.path.insert(0, {str(tmp_path)!r})
{GEMINI}
with Loopback([say("one")]) as server:
    asyncio.run(ask())
print(own_sdk("google").__file__.startswith({str(tmp_path)!r}), "google.genai" in sys.modules)
"""
    lines = run(program).splitlines()
    assert (lines[0], lines[-1]) == ("one", "True False")
