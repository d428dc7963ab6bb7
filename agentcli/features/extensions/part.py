"""Part of a session with extensions: what happens between calls and replies."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from agentcli.agent.calls.execute import CallStages
from agentcli.agent.core import SessionCore
from agentcli.agent.feature import SessionPart
from agentcli.agent.ports import Prompt
from agentcli.agent.tool_context import offer
from agentcli.core.event import Emit, Event, TurnEnded, emit_all
from agentcli.core.tasks import run_beside
from agentcli.extension import Changed, FileChanged, Idle, Request, TurnEnd
from agentcli.features.extensions.context import Shown
from agentcli.features.extensions.hooks import ExtensionHooks
from agentcli.features.extensions.session import MOST, SessionHost
from agentcli.tools.function_tool import Contexts

if TYPE_CHECKING:
    from pathlib import Path

    from agentcli.agent.feature import See
    from agentcli.extension import Status
    from agentcli.features.extensions.loading import Extension, Handling, Loaded


class ExtensionsSession(SessionPart):
    """Extensions in a session."""

    name = "extensions"
    follows = True

    def __init__(self, run: Loaded, core: SessionCore) -> None:
        self.host = SessionHost(run, core)
        self.services = [offer(Contexts, self.host)]
        if core.setup.settings.limits.web_search == "extension":
            from agentcli.features.extensions.searching import ExtensionSearch
            from agentcli.tools.web_search import SearchEngine

            self.services.append(offer(SearchEngine, ExtensionSearch(lambda: self.host)))
        self._core, self._hooks = core, core.hooks if isinstance(core.hooks, ExtensionHooks) else None
        if self._hooks is not None:
            self._hooks.host = self.host
        self._last = time.monotonic()
        self._model, self._mode = core.model.name, str(core.approval.mode)
        self._seen: dict[Path, int] = {}
        self._beside: asyncio.Task[object] | None = None

    @property
    def status(self) -> str:  # type: ignore[override]
        """Texts of the extensions for the status line."""
        return " · ".join(filter(None, self.host.status.values()))

    @property
    def reads_status(self) -> bool:  # type: ignore[override]
        """True if an extension handles `status`."""
        return next(self.host.handlers("status"), None) is not None

    async def refresh_status(self, now: Status) -> bool:
        return await self.host.refresh_status(now)

    async def opened(self, interrupt: asyncio.Event) -> None:
        """Load changed extension files again, and tell extensions what changed since the last turn."""
        if self.host.is_subagent:
            return
        if self.host.run.refresh():
            self._take_over()
        await self._changes()

    def _take_over(self) -> None:
        """Use the new code of the tools that the session has; report those that it does not have."""
        stages, tools = self._core.ctx.service(CallStages), self.host.run.present_tools()
        assert stages is not None
        known = stages.prepare.tools
        known.update({tool.name: tool for tool in tools if tool.name in known})
        lacking = [tool.name for tool in tools if tool.name not in known]
        more = f" /extensions reload offers the model: {', '.join(lacking)}." if lacking else ""
        off = "".join(f" {one.name} ({one.file}) is off until you approve it." for one in self.host.run.waiting())
        off += " /extensions hooks approve asks." if off else ""
        self.host.show(Shown(f"Extensions were loaded again.{more}{off}"))

    @contextmanager
    def watch(self) -> Iterator[See]:
        yield lambda event: None
        self._last = time.monotonic()

    def notices(self) -> Iterable[Event]:
        return self.host.take_events()

    async def asides(self) -> Sequence[str]:
        if self.host.is_subagent:
            return ()
        await self._changes()
        decisions = await self.host.each("before_request", lambda: Request(self._core.model.name))
        return [one.text for one in decisions if one.text]

    def before_request(self) -> Iterable[Event]:
        return self.host.take_events()

    async def ended(self, ended: TurnEnded) -> Iterable[Event]:
        if not self.host.is_subagent:
            decisions = await self.host.each("turn_end", lambda: TurnEnd(ended.text, ended.ending))
            for one in decisions:
                if one.text:
                    self.host.add_prompt(one.text)
        return self.host.take_events()

    async def after_turn(self, ended: TurnEnded, interrupt: asyncio.Event, emit: Emit) -> Prompt | None:
        if self.host.is_subagent or not self.host.prompts or ended.ending != "done" or interrupt.is_set():
            return None
        if self.host.prolonged >= MOST:
            why = f"Extensions have continued the work {MOST} times in a row; now they are ignored."
            self.host.show(Shown(why))
            self.host.prompts.clear()
            await emit_all(self.host.take_events(), emit)
            return None
        self.host.prolonged += 1
        return self._next()

    def is_due(self) -> bool:
        if self.host.is_subagent:
            return False
        if (self._beside is None or self._beside.done()) and (due := self.host.idle_due(self._last)):
            self._beside = run_beside(self._idle(due))
        return bool(self.host.prompts or self.host.events)

    async def due(self, interrupt: asyncio.Event, emit: Emit) -> Prompt | None:
        await emit_all(self.host.take_events(), emit)
        return self._next() if self.host.prompts else None

    def closed(self) -> None:
        if self._beside is not None:
            self._beside.cancel()

    def _next(self) -> Prompt:
        if self._hooks is not None:
            self._hooks.continued = True
        return self.host.prompts.pop(0)

    async def _idle(self, due: Sequence[tuple[Extension, Handling, float]]) -> None:
        for extension, handler, seconds in due:
            await self.host.fire(extension, handler, Idle(seconds))
        await self._changes()

    async def _changes(self) -> None:
        """Tell extensions of another model, another mode, and changed files."""
        model, mode = self._core.model.name, str(self._core.approval.mode)
        if model != self._model:
            old, self._model = self._model, model
            await self.host.each("model_changed", lambda: Changed(old, model))
        if mode != self._mode:
            former, self._mode = self._mode, mode
            await self.host.each("mode_changed", lambda: Changed(former, mode))
        if next(self.host.handlers("file_changed"), None) is not None:
            for path in self._changed_files():
                await self.host.each("file_changed", lambda path=path: FileChanged(path))  # type: ignore[misc]

    def _changed_files(self) -> Sequence[Path]:
        """Return the files that the model has seen and that were changed elsewhere since the last look."""
        now = {path: _written(path) for path in self._core.seen}
        changed = []
        for path, written in now.items():
            if path in self._seen and self._seen[path] != written and self._differs(path):
                changed.append(path)
        self._seen = now
        return changed

    def _differs(self, path: Path) -> bool:
        try:
            return self._core.seen.knowledge(path, path.read_bytes()) != "current"
        except OSError:
            return True


def _written(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
