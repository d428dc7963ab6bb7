"""The SDKs without what is never used of them. Most tests run a process of their own: an import happens once."""

import json
import subprocess
import sys

import pytest

from agentcli.providers.scripted.model import say
from tests.e2e.program import ROOT, Program
from tests.loopback import Loopback, Refuse
from tests.providers.hearing import ask
from tests.tables import each_row

REAL = ("anthropic", "google.genai", "openai")


def run(program: str) -> str:
    ran = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


@each_row(
    ("kind", "sdk", "client"), [("anthropic", "anthropic", "AsyncAnthropic"), ("google", "google.genai", "Client")]
)
def test_a_copy_leaves_the_sdk_to_others_and_has_none_of_its_models(kind, sdk, client):
    program = f"""
import sys
from agentcli.providers.sdk_import import _StandIn, sdk_of, warm
warm({kind!r})
print(sorted({REAL!r} & sys.modules.keys()))
copy = sdk_of({kind!r})
print(isinstance(copy.{client}, type), copy.{client}(api_key="k") is not None)
print([name for name, module in sys.modules.items() if isinstance(module, _StandIn) and not name.startswith(copy.__name__)])
import {sdk} as real
print(real is copy, real.__name__)
"""
    assert run(program).splitlines() == ["[]", "True True", "[]", f"False {sdk}"]


def test_a_count_before_any_request_imports_no_more_of_the_sdk_than_a_request():
    program = """
import asyncio, sys
from agentcli.providers.scripted.model import say
from tests.loopback import Loopback
from tests.providers.hearing import ONCE, connected, request
async def ask():
    model = connected(server, "haiku", ONCE)
    print(await model.count(request(model.spec, "hello")) > 0)
    await model.close()
with Loopback([say("one")]) as server:
    asyncio.run(ask())
print("anthropic" in sys.modules, "agentcli_copy_of_anthropic.types.message" in sys.modules)
"""
    assert run(program).splitlines() == ["True", "False False"]


USES = {
    "anthropic": """
import anthropic, pickle, typing
from anthropic.resources.beta import AsyncBeta
from anthropic.types.beta import BetaMessage
client = anthropic.AsyncAnthropic(api_key="k")
assert type(client.beta.messages).__module__.startswith("anthropic."), type(client.beta.messages)
assert isinstance(client.beta, AsyncBeta) and isinstance(client.messages, anthropic.resources.AsyncMessages)
assert hasattr(anthropic.AnthropicFoundry, "messages") and issubclass(anthropic.AsyncAnthropicBedrock, object)
assert "content" in BetaMessage.model_fields and anthropic.types.beta.BetaMessage is BetaMessage
usage = anthropic.types.Usage(input_tokens=1, output_tokens=2)
assert pickle.loads(pickle.dumps(usage)) == usage
assert issubclass(type("Mine", (anthropic.BaseModel,), {}), anthropic.BaseModel)
assert "text" in typing.get_type_hints(anthropic.types.TextBlockParam)
assert anthropic.beta_tool(lambda: None).__class__.__module__.startswith("anthropic.")
""",
    "google.genai": """
import pickle, typing
import google.genai as genai
from google.genai import errors, live, types
from google.genai.batches import Batches
client = genai.Client(api_key="k")
assert type(client.aio.live) is live.AsyncLive and type(client.batches) is Batches
assert client.chats.create(model="m").__class__.__module__ == "google.genai.chats"
part = types.Part(text="a")
assert pickle.loads(pickle.dumps(part)) == part
assert issubclass(errors.ClientError, errors.APIError)
assert "text" in typing.get_type_hints(types.Part)
""",
}
"""What a program does with an SDK, with assertions that it is the whole and real one."""
MODELS = {"anthropic": "haiku", "google.genai": "flash"}
EMBEDDING = """
import asyncio, sys, threading
import agentcli
from agentcli.providers.scripted.model import say
from tests.loopback import Loopback

def use():
    try:
        exec({use!r}, {{"__name__": "__main__"}})
        sys.stdout.write("used\\n")
    except BaseException as error:
        print(type(error).__name__, error)

def ask(server):
    result = asyncio.run(agentcli.run("hi", cwd={cwd!r}, env={env!r} | dict(server.env), model={model!r}))
    print(result.text or result)

with Loopback(lambda _: say("hello")) as server:
    {steps}
"""
STEPS = {
    "before": "use(); ask(server); use()",
    "after": "ask(server); use(); ask(server)",
    "while": "\n    ".join(
        (
            "threads = [threading.Thread(target=use) for _ in range(4)]",
            "[thread.start() for thread in threads]; ask(server); [thread.join() for thread in threads]; use()",
        )
    ),
}


@pytest.mark.full
@each_row("when", list(STEPS))
@each_row("sdk", list(USES))
def test_a_program_with_sessions_uses_the_whole_sdk_at_any_time(tmp_path, sdk, when):
    (tmp_path / "work").mkdir()
    env = Program(tmp_path).env
    program = EMBEDDING.format(use=USES[sdk], cwd=str(tmp_path / "work"), env=env, model=MODELS[sdk], steps=STEPS[when])
    assert set(run(program).splitlines()) == {"used", "hello"}


@pytest.mark.full
def test_a_session_uses_the_sdk_that_the_program_around_it_has_imported(tmp_path):
    (tmp_path / "work").mkdir()
    steps = "import anthropic; ask(server); print([name for name in sys.modules if name.startswith('agentcli_copy')])"
    program = EMBEDDING.format(
        use="", cwd=str(tmp_path / "work"), env=Program(tmp_path).env, model="haiku", steps=steps
    )
    assert run(program).splitlines() == ["hello", "[]"]


@each_row(
    ("status", "code"),
    [
        (402, "linked_organization_billing_unavailable"),
        (404, "environment_not_found"),
        (429, "ramp_limit_exceeded"),
        (529, "compaction_unavailable"),
        (400, "unheard_of"),
    ],
)
def test_an_error_for_which_the_sdk_has_a_class_of_its_own_is_told_as_the_server_tells_it(status, code):
    error = {"type": "any_error", "message": "the reason", "details": {"error_code": code}}
    heard, _ = ask("haiku", [Refuse(status, body=json.dumps({"type": "error", "error": error}).encode())])
    assert (heard.error.status, "the reason" in str(heard.error)) == (status, True)


@pytest.mark.full
def test_a_request_to_openai_imports_none_of_its_models_and_others_get_the_real_ones():
    pytest.importorskip("openai")
    program = """
import asyncio, sys
from agentcli.providers.scripted.model import say
from tests.loopback import Loopback
from tests.providers.hearing import CHAT, ONCE, RESPONSES, connected, hear, request
async def ask(name):
    model = connected(server, name, ONCE)
    print((await hear(model, request(model.spec, "hello"))).text, await model.count(request(model.spec, "hello")))
    await model.close()
with Loopback([say("one"), say("two")]) as server:
    asyncio.run(ask(RESPONSES))
    asyncio.run(ask(CHAT))
print("openai" in sys.modules, "agentcli_copy_of_openai.types.responses.response" in sys.modules)
import openai
from openai.types.responses import Response
print("output" in Response.model_fields, type(openai.AsyncOpenAI(api_key="k").responses).__name__)
"""
    assert run(program).splitlines() == ["one None", "two None", "False False", "True AsyncResponses"]


def test_an_sdk_that_does_not_bear_it_is_imported_whole(tmp_path):
    package = tmp_path / "fragile"
    (package / "beta").mkdir(parents=True)
    (package / "__init__.py").write_text("from .beta import LIMIT\nassert LIMIT + 1 == 4\n")
    (package / "beta" / "__init__.py").write_text("LIMIT = 3\n")
    program = f"""
import sys; sys.path.insert(0, {str(tmp_path)!r})
from agentcli.providers.sdk_import import import_partly
sdk = import_partly("fragile", ["beta"])
import fragile.beta
print(sdk is fragile, sdk.LIMIT, fragile.beta.LIMIT, [name for name in sys.modules if "copy_of" in name])
"""
    assert run(program) == "True 3 3 []"


def test_what_a_copy_imports_later_meets_the_stand_ins_too_but_errors_are_real(tmp_path):
    package = tmp_path / "partial"
    (package / "types" / "inner").mkdir(parents=True)
    (package / "__init__.py").write_text(
        "def later():\n    from .types.inner import Size, a_error\n    return Size, a_error\n"
    )
    (package / "types" / "__init__.py").write_text("raise AssertionError\n")
    (package / "types" / "inner" / "__init__.py").write_text("raise AssertionError\n")
    (package / "types" / "inner" / "a_error.py").write_text("class AError(Exception): pass\n")
    program = f"""
import sys; sys.path.insert(0, {str(tmp_path)!r})
from agentcli.providers.sdk_import import import_partly
copy = import_partly("partial", ["types"])
from importlib import import_module
print(issubclass(import_module(copy.__name__ + ".types.inner.a_error").AError, Exception), copy.later()[0].__name__)
"""
    assert run(program) == "True Size"


def test_no_garbage_is_looked_for_during_an_import_and_a_program_keeps_its_choice(tmp_path):
    (tmp_path / "large.py").write_text("kept = [[] for _ in range(100_000)]\n")
    program = f"""
import gc, sys; sys.path.insert(0, {str(tmp_path)!r})
from agentcli.providers.sdk_import import import_partly
searches, sys.kept = [], True
gc.callbacks.append(lambda *_: searches.append(not hasattr(sys.modules.get("large", sys), "kept")))
import_partly("large", [])
print(any(searches), gc.isenabled())
gc.disable()
import_partly("large", [])
print(gc.isenabled())
"""
    assert run(program).split() == ["False", "True", "False"]


@pytest.mark.ecosystem
@each_row("sdk", ["anthropic==2.11.0", "anthropic<3"])
def test_a_session_runs_on_every_version_of_the_sdk_that_is_allowed(tmp_path, sdk):
    """The first and the newest; install others by hand to try them."""
    install = [sys.executable, "-m", "pip", "install", "-q", "--target", str(tmp_path / "sdk"), sdk]
    if subprocess.run(install, capture_output=True).returncode:
        pytest.skip("the package index cannot be reached")
    with Loopback(lambda _: say("hello")) as server:
        program = Program(tmp_path, {**server.env, "PYTHONPATH": f"{tmp_path / 'sdk'}:{ROOT}"})
        process = program.start("-m", "claude-sonnet-4-5", "-p", "hi")
        out, errors = process.communicate(timeout=60)
    assert (process.returncode, out.strip()) == (0, "hello"), errors
