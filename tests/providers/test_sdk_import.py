"""The SDKs without what is never used of them. Most tests run a process of their own: an import happens once."""

import subprocess
import sys

import pytest

from agentcli.providers.scripted.model import say
from tests.e2e.program import ROOT, Program
from tests.loopback import Loopback
from tests.tables import each_row

UNUSED = ("anthropic.types.beta.", "anthropic.resources.beta.", "anthropic.lib.tools.")


def run(program: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()


WARM = "import sys; from agentcli.providers.sdk_import import warm; warm('anthropic'); import anthropic\n"


def test_unused_packages_of_the_sdk_are_not_imported_and_no_stand_in_is_left():
    program = f"""{WARM}
from agentcli.providers.sdk_import import _StandIn
print(sorted(name for name in sys.modules if name.startswith({UNUSED!r})))
print([name for name, module in sys.modules.items() if isinstance(module, _StandIn)])
print(anthropic.AsyncAnthropic(api_key="k").messages is not None)
"""
    assert run(program).splitlines() == ["[]", "[]", "True"]


def test_the_sdk_of_gemini_is_imported_without_web_sockets_which_others_get_afterwards():
    program = """
import sys
from agentcli.providers.sdk_import import warm
warm("google")
print("google.genai.live" in sys.modules, [name for name in sys.modules if name.startswith("websockets")])
from websockets.frames import Close
print(Close.__module__)
"""
    assert run(program).splitlines() == ["True []", "websockets.frames"]


def test_a_count_before_any_request_imports_no_more_of_the_sdk_than_a_request():
    program = f"""
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
print(sorted(name for name in sys.modules if name.startswith({UNUSED!r})))
"""
    assert run(program).splitlines() == ["True", "[]"]


@pytest.mark.full
def test_whoever_needs_such_a_package_afterwards_gets_the_real_one():
    program = f"""{WARM}
from anthropic.types.beta import BetaMessage
print("content" in BetaMessage.model_fields)
print(type(anthropic.AsyncAnthropic(api_key="k").beta.messages).__name__)
"""
    assert run(program).splitlines() == ["True", "AsyncMessages"]


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
print([name for name in sys.modules if name.startswith("openai.types")])
import openai
from openai.types.responses import Response
print("output" in Response.model_fields, type(openai.AsyncOpenAI(api_key="k").responses).__name__)
"""
    assert run(program).splitlines() == ["one None", "two None", "[]", "True AsyncResponses"]


def test_an_sdk_that_does_not_bear_it_is_imported_whole(tmp_path):
    package = tmp_path / "fragile"
    (package / "beta").mkdir(parents=True)
    (package / "__init__.py").write_text("from .beta import LIMIT\nassert LIMIT + 1 == 4\n")
    (package / "beta" / "__init__.py").write_text("LIMIT = 3\n")
    program = f"""
import sys; sys.path.insert(0, {str(tmp_path)!r})
from agentcli.providers.sdk_import import import_partly
import_partly(["fragile"], ["fragile.beta"])
import fragile, fragile.beta
print(fragile.LIMIT, fragile.beta.LIMIT)
"""
    assert run(program) == "3 3"


def test_an_sdk_that_does_not_bear_it_keeps_nothing_of_another_package_either(tmp_path):
    (tmp_path / "wires.py").write_text("LIMIT = 3\n")
    package = tmp_path / "fragile"
    package.mkdir()
    (package / "__init__.py").write_text("from . import inner\nassert inner.LIMIT + 1 == 4\n")
    (package / "inner.py").write_text("from wires import LIMIT\n")
    program = f"""
import sys; sys.path.insert(0, {str(tmp_path)!r})
from agentcli.providers.sdk_import import import_partly
import_partly(["fragile"], ["wires"])
import fragile.inner
print(fragile.inner.LIMIT)
"""
    assert run(program) == "3"


def test_no_garbage_is_looked_for_during_an_import_and_a_program_keeps_its_choice(tmp_path):
    (tmp_path / "large.py").write_text("kept = [[] for _ in range(100_000)]\n")
    program = f"""
import gc, sys; sys.path.insert(0, {str(tmp_path)!r})
from agentcli.providers.sdk_import import import_partly
searches, sys.kept = [], True
gc.callbacks.append(lambda *_: searches.append(not hasattr(sys.modules.get("large", sys), "kept")))
import_partly(["large"], [])
print(any(searches), gc.isenabled())
gc.disable()
import_partly(["large"], [])
print(gc.isenabled())
"""
    assert run(program).split() == ["False", "True", "False"]


def test_other_modules_may_be_imported_while_one_is_looked_for(tmp_path):
    package = tmp_path / "fragile"
    package.mkdir()
    (package / "__init__.py").write_text("import fragile.unused\n")
    (package / "unused.py").write_text("")
    program = f"""
import sys; sys.path.insert(0, {str(tmp_path)!r})
from agentcli.providers.sdk_import import import_partly
class Another:
    @property
    def __class__(self):  # as another thread does it
        sys.modules["imported meanwhile"] = sys
        return object
sys.modules["another"] = Another()
import_partly(["fragile"], ["fragile.unused"])
print([name for name in sys.modules if name.startswith("fragile")])
"""
    assert run(program) == "['fragile']"


@pytest.mark.full
def test_a_package_that_is_imported_already_stays_as_it_is():
    program = f"""
import anthropic.types.beta as real
{WARM}
print(sys.modules["anthropic.types.beta"] is real is anthropic.types.beta)
"""
    assert run(program) == "True"


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
