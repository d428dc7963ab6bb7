"""The program put together: what configuration makes of models."""

import asyncio
import json
import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentcli.agent.ports import ApprovalRequest, ApprovalResponse
from agentcli.context.settings import TiktokenSettings
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.tokens.estimators import Calibrated, Tiktoken, vocabularies
from agentcli.core.errors import InputError
from agentcli.core.message import Message, Text
from agentcli.core.model import Request, ToolSchema
from agentcli.frontends.opening import program_of
from agentcli.program.front_end import FrontEnd
from agentcli.program.options import Options
from agentcli.program.program import Program
from agentcli.providers.anthropic import request as anthropic_request
from agentcli.providers.google import request as google_request
from agentcli.providers.openai import chat_request, responses_request
from agentcli.providers.settings import BUILT_IN, ProviderSettings
from agentcli.sessions.in_memory import MemorySession


def program(
    tmp_path: Path, *settings: str, front_end: FrontEnd | None = None, more: Mapping[str, str] | None = None
) -> Program:
    env = {
        name: str(tmp_path) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")
    }
    return program_of(Options(cwd=str(tmp_path), settings=settings), {**env, **(more or {})}, front_end)


def test_a_model_knows_what_its_summaries_cost(tmp_path: Path) -> None:
    opus = program(tmp_path).models.spec("anthropic/claude-opus-4-5")
    cheap = program(tmp_path).models.spec(opus.summary_model)
    assert opus.prices
    assert cheap.prices
    assert opus.summary_prices == cheap.prices
    assert cheap.prices.input < opus.prices.input


def test_the_model_that_is_configured_for_summaries_counts_instead(tmp_path: Path) -> None:
    given = program(tmp_path, "context.compression_model.default=anthropic/claude-opus-4-5")
    haiku = given.models.spec("anthropic/claude-haiku-4-5")
    assert haiku.summary_model == "anthropic/claude-opus-4-5"
    assert haiku.summary_prices == given.models.spec("anthropic/claude-opus-4-5").prices
    with pytest.raises(InputError, match="Unknown provider 'nobody'"):
        program(tmp_path, "context.compression_model.default=nobody/nothing").models.spec("anthropic/claude-haiku-4-5")


def test_the_subagents_of_a_session_are_those_that_it_sent_since_a_record(tmp_path: Path) -> None:
    sessions = program(tmp_path, "checkpoints.seconds=0").sessions
    parent = sessions._fresh()
    sent = []
    for task in ("First?", "Second?"):
        parent.append(Message("user", (Text("go"),), 1))
        child = sessions.child(parent)
        child.append(Message("user", (Text(task),), 1))
        child.close()
        sent.append((child.id, task))
    assert sessions.children(parent, 0) == sessions.children(parent, 1) == sent
    assert sessions.children(parent, 2) == sent[1:]
    assert not sessions.children(parent, 3)
    parent.close()


MOST_TOKENS = 2_400
"""Tokens of o200k in a first request with a short prompt, before the instructions of the user and the project."""
MOST_TOKENS_OF_SMALL = 2_400
"""Tokens of system prompt and tools in a small window, as they are estimated without a vocabulary."""
CHARACTERS_A_TOKEN, OF_RESPONSES = 4.22, 4.1
"""Characters of a first request to a token of o200k (4.16 to 4.24, and 4.10 to 4.13, were measured), for machines without its vocabulary."""
WIRES: Mapping[str, Callable[[Request, ProviderSettings], Any]] = {
    "anthropic/claude-sonnet-4-6": anthropic_request.to_wire,
    "google/gemini-3.1-pro-preview": lambda request, settings: google_request.to_body(
        request, settings, google_request.Former()
    ),
    "openrouter/qwen/qwen3-coder": chat_request.to_wire,
    "openrouter/openai/gpt-oss-120b": chat_request.to_wire,
    "openai/gpt-5.4": responses_request.to_wire,
}
MANIFEST = """[project]
name = "cart"
[project.optional-dependencies]
dev = ["pytest", "ruff", "mypy", "tox", "pre-commit", "sphinx"]
"""


def checkout(folder: Path) -> Path:
    """A Python project of the usual size with three commits."""
    names = (
        "README.md LICENSE CHANGELOG.md CONTRIBUTING.md setup.py tox.ini docs/index.md src/cart.py tests/test_cart.py"
    )
    for name in (*names.split(), ".github/ci.yml", ".gitignore", ".pre-commit-config.yaml"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    (folder / "pyproject.toml").write_text(MANIFEST)
    commit = ("git", "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "--allow-empty", "-m")
    for command in (
        ("git", "init", "-q"),
        ("git", "add", "."),
        *((*commit, f"Sums of the cart are right in case {n} (#{n})") for n in range(3)),
    ):
        subprocess.run(command, cwd=folder, check=True)
    return folder


@pytest.mark.parametrize("attended", [False, True])
def test_a_first_request_stays_small_on_every_wire(tmp_path: Path, attended: bool) -> None:
    work = checkout(tmp_path / "work")
    found = [each for each in vocabularies(TiktokenSettings().encodings, ()) if "o200k_base" in each]
    keys = {f"{name}_API_KEY": "x" for name in ("ANTHROPIC", "GEMINI", "OPENAI", "OPENROUTER")} | {
        "PATH": os.environ["PATH"]
    }
    sizes = {}
    for model, to_wire in WIRES.items():
        given = program(tmp_path, front_end=FrontEnd(somebody) if attended else None, more=keys)
        given.cwd = work
        given.options = replace(given.options, model=model, no_session=True)
        session = given.sessions.new()
        asyncio.run(session.prepare(asyncio.Event()))
        request = session.conversation.builder.aside((Text("Fix the failing test."),))
        body = to_wire(request, BUILT_IN[model.partition("/")[0]])
        text = json.dumps(body, separators=(",", ":"), ensure_ascii=False)
        sizes[model] = (
            Tiktoken(*found[0]).size(text)
            if found
            else len(text) / (OF_RESPONSES if model.startswith("openai/") else CHARACTERS_A_TOKEN)
        )
        session.close()
    assert {model: size for model, size in sizes.items() if size > MOST_TOKENS} == {}


def test_a_family_of_models_has_its_own_paragraph(tmp_path: Path) -> None:
    given = program(tmp_path)
    gemini = given.system_prompt((), given.models.spec("google/gemini-3.8-flash"), "ask")
    claude = given.system_prompt((), given.models.spec("anthropic/claude-sonnet-5"), "ask")
    assert [block.splitlines()[0] for block in gemini if block not in claude] == ["# Tool calls"]
    for name in ("openai/gpt-6.2-sol", "ollama/gpt-oss:20b", "openrouter/openai/gpt-5.3-codex"):
        gpt = given.system_prompt((), given.models.spec(name), "ask")
        assert [block.splitlines()[0] for block in gpt if block not in claude] == ["# How you change files"]


def test_the_system_prompt_is_written_once_whatever_the_folder_becomes(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "first.py").touch()
    env = {
        name: str(tmp_path) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")
    }
    journal = MemorySession()
    begun = program_of(Options(cwd=str(work), model="demo"), env).sessions.session_for(journal)
    asyncio.run(begun.prepare(asyncio.Event()))
    before = begun.history.system
    assert any("first.py" in block and "Mode ask" in block for block in before)
    (work / "second.py").touch()
    again = program_of(
        Options(cwd=str(work), mode="yolo", model="google/gemini-3.8-flash"),
        env | {"GEMINI_API_KEY": "x"},
    )
    resumed = again.sessions.session_for(journal)
    assert resumed.history.system == before
    assert resumed.conversation.builder.system == before


async def somebody(_: ApprovalRequest) -> ApprovalResponse | None:
    return None


ATTENDED = FrontEnd(somebody)


def test_tools_that_wait_for_a_person_come_with_the_first_one_and_stay(tmp_path: Path) -> None:
    journal = MemorySession()

    def run(*settings: str, attended: bool) -> list[str]:
        given = program(tmp_path, *settings, front_end=ATTENDED if attended else None)
        given.options = replace(given.options, model="demo/demo")
        session = given.sessions.session_for(journal)
        asyncio.run(session.prepare(asyncio.Event()))
        names = [str(tool["name"]) for tool in journal.history.tools]
        assert names == [tool.name for tool in session.conversation.builder.tools]
        return names

    alone = run(attended=False)
    assert not {"ask_user", "exit_plan"} & {*alone}
    assert run(attended=False) == alone
    joined = run(attended=True)
    assert joined == [*alone, "ask_user", "exit_plan"]
    assert run(attended=False) == run(attended=True) == joined

    journal = MemorySession()
    small = run("models.demo.window=8000", attended=False)
    assert run("models.demo.window=8000", attended=True) == [*small, "exit_plan"]
    assert run(attended=True) == [*small, "exit_plan"]


def test_a_session_in_a_small_window_begins_with_less(tmp_path: Path) -> None:
    def begun(*settings: str) -> tuple[int, set[str]]:
        given = program(tmp_path, "models.demo.window=8000", *settings, front_end=ATTENDED)
        given.options = replace(given.options, model="demo/demo", no_session=True)
        session = given.sessions.new()
        asyncio.run(session.prepare(asyncio.Event()))
        counter = TokenCounter(Calibrated())
        names = {str(tool["name"]) for tool in session.history.tools}
        fixed = counter.overhead(session.history.system, [*map(ToolSchema.recorded, session.history.tools)])
        session.close()
        return fixed, names

    usual, all_tools = begun("agent.small_window=0")
    small, tools = begun()
    assert all_tools - tools == {"multi_edit", "list", "todo", "ask_user", "web_fetch", "task"}
    assert small < MOST_TOKENS_OF_SMALL < usual
