"""A feature that is not used costs nothing: the requests of a session are the same bytes as without it, on every wire."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from agentcli.agent.ports import Prompt
from agentcli.frontends.features import FEATURES
from agentcli.frontends.opening import program_of
from agentcli.program.feature import Feature
from agentcli.program.options import Options
from agentcli.program.program import Program
from agentcli.providers.scripted.model import call, say
from tests.loopback import Loopback
from tests.providers.hearing import ALL, CHAT
from tests.tables import each_row

STEPS = [
    say("", call("read", file_path="a.py")),
    say("", call("edit", file_path="a.py", old_string="old", new_string="new"), call("bash", command="cat a.py")),
    say("Done."),
    say("Explained."),
]


def program(
    folder: Path, env: dict[str, str], model: str, features: Sequence[Feature[Program]], *settings: str
) -> Program:
    (folder / "work").mkdir(exist_ok=True)
    (folder / "work/a.py").write_text("old = 1\n")
    places = {f"XDG_{kind}_HOME": str(folder / kind) for kind in ("CONFIG", "DATA", "STATE", "CACHE")}
    options = Options(
        model=model, cwd=str(folder / "work"), mode="yolo", no_session=True, settings=settings, trust=True
    )
    return program_of(options, {**env, **places, "HOME": str(folder), "PATH": "/usr/bin:/bin"}, features=features)


def sent(folder: Path, model: str, features: Sequence[Feature[Program]] = FEATURES, *settings: str) -> list[bytes]:
    """The requests of two turns with tools."""

    async def turns(made: Program) -> str:
        session = made.sessions.new()
        for text in ("Rename it.", "Explain it."):
            async for _ in session.turn(Prompt(text), asyncio.Event()):
                pass
        session.close()
        await made.close()
        return session.journal.id

    with Loopback(STEPS) as server:
        chat = f"providers.{CHAT.partition('/')[0]}"
        settings = (f"{chat}.base_url={server.url}/v1", f"{chat}.api_key_env=OPENAI_API_KEY", *settings)
        own = asyncio.run(turns(program(folder, server.env, model, features, *settings)))
        return [request.body.replace(own.encode(), b"ID") for request in server.requests]


@each_row("name", ALL)
def test_features_that_are_not_used_leave_every_request_as_it_is(tmp_path: Path, name: str) -> None:
    made = program(tmp_path, {}, name, FEATURES)
    needed = [feature for feature in made.active if feature.tools() and feature.offers(made)]
    unused = {feature.name for feature in FEATURES} - {feature.name for feature in needed}
    assert unused >= {
        "goal",
        "timers",
        "checks",
        "web search",
        "accounts",
        "cost",
        "output schema",
    }
    requests = sent(tmp_path, name)
    assert len(requests) == len(STEPS)
    assert requests == sent(tmp_path, name, needed)


@pytest.mark.parametrize("setting", ["lsp=true", "tools.web_search=vendor"])
def test_features_that_are_used_do_change_them(tmp_path: Path, setting: str) -> None:
    assert sent(tmp_path, "haiku") != sent(tmp_path, "haiku", FEATURES, setting)
