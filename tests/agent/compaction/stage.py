"""Sessions against a loopback server, in a folder of files to read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from agentcli.agent.ports import Prompt
from agentcli.agent.session import AgentSession
from agentcli.context.settings import ContextSettings
from agentcli.core.event import Event
from agentcli.core.model import Model
from agentcli.core.tasks import emitted
from tests.agent.open_session import open_session
from tests.loopback import Loopback
from tests.providers.hearing import connected


@dataclass
class Stage:
    """One event loop for the sessions of a test; their connections are closed at its end."""

    folder: Path
    runner: asyncio.Runner
    context: ContextSettings
    models: list[Any] = field(default_factory=list)

    def connect(self, server: Loopback, name: str) -> Model:
        model: Model = connected(server, name)
        self.models.append(model)
        return model

    def session(
        self, server: Loopback, name: str = "opus", context: ContextSettings | None = None, **more: Any
    ) -> AgentSession:
        model = self.connect(server, name)
        settings = context or self.context
        return open_session(self.folder, [], model=model.spec, wrapped=lambda _: model, context=settings, **more)

    def say(self, session: AgentSession, *texts: str, each: Callable[[Event], None] = lambda _: None) -> list[Event]:
        async def collect() -> list[Event]:
            events = []
            for text in texts:
                async for event in session.turn(Prompt(text), asyncio.Event()):
                    events.append(event)
                    each(event)
            return events

        return self.runner.run(collect())

    def compress(self, session: AgentSession) -> list[Event]:
        """Compact the conversation as /compress does."""

        async def collect() -> list[Event]:
            compact = partial(session.compactor.compact, asyncio.Event(), trigger="manual")
            return [event async for event in emitted(compact)]

        return self.runner.run(collect())


@contextmanager
def stage_in(folder: Path, context: ContextSettings, files: Mapping[str, str]) -> Iterator[Stage]:
    """Give a stage with these files in its folder."""
    for name, text in files.items():
        (folder / name).write_text(text)
    with asyncio.Runner() as runner:
        made = Stage(folder, runner, context)
        yield made
        for model in made.models:
            runner.run(model.close())
