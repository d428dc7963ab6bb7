"""What an extension gets of a session: its Context, which its code uses from another thread."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator, Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from agentcli.core.clock import Clock
from agentcli.core.dataclass import dataclass
from agentcli.core.event import Event, Noticed, Warned
from agentcli.core.history import History
from agentcli.core.message import Message, Text, ToolResult
from agentcli.core.message import ToolCall as CallPart
from agentcli.core.sanitise import safe
from agentcli.core.text.truncate import clip
from agentcli.extension import Answer, Cause, Completed, Fetched, Said, TurnCost
from agentcli.features.extensions.worker import PRINTED

if TYPE_CHECKING:
    from rich.console import RenderableType

    from agentcli.agent.core import SessionCore
    from agentcli.features.extensions.loading import Extension

T = TypeVar("T")
COLUMNS = 80
TEXT = 20_000
"""Characters of a text that an extension may show or give to the model at once."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Shown:
    """A text for the person; with a title it is set off from the conversation."""

    text: str
    title: str = ""
    notes: tuple[str, ...] = ()
    foot: str = ""
    warns: bool = False
    plain: bool = False
    """True if the text is no Markdown."""

    @property
    def event(self) -> Event:
        """It as an event."""
        text = safe(clip(self.whole, TEXT))
        return Warned(text) if self.warns else Noticed(text)

    @property
    def lines(self) -> Sequence[str]:
        """The text and its notes as lines."""
        return [*filter(None, [self.text]), *(f"({note})" for note in self.notes)]

    @property
    def whole(self) -> str:
        """All of it as a text."""
        return "\n".join(filter(None, [self.title, *self.lines, self.foot]))


class Output(Protocol):
    """Port to the receiver of what a call shows, prompts and asks: the session's events, or a slash command's outputs."""

    def show(self, shown: Shown) -> None:
        """Show a text to the person."""
        ...

    def add_prompt(self, text: str, more: str = "") -> None:
        """Send a prompt once no turn runs, and with it `more`, which the person does not see."""
        ...

    async def ask_aside(self, question: str) -> Answer:
        """Ask a side question. Raise AgentError."""
        ...


class Host(Output, Protocol):
    """Port to a session, as contexts use it. Only its event loop may call the methods that wait."""

    pins: list[int]
    """Numbers of messages to pin once the call has ended."""

    @property
    def core(self) -> SessionCore:
        """The session's core."""
        ...

    def state_of(self, extension: Extension) -> MutableMapping[str, Any]:
        """Return the state of an extension."""
        ...

    def settings_of(self, extension: Extension) -> Any:
        """Return the settings of an extension."""
        ...

    def set_status(self, name: str, text: str) -> None:
        """Set an extension's text in the status line."""
        ...

    async def ask(self, question: str, options: Sequence[str], default: str | None) -> str:
        """Ask the person. Raise UsageError if nobody can answer and there is no default."""
        ...

    async def run_command(self, extension: Extension, command: str, timeout: float) -> Completed:
        """Run a shell command as a call of the model would run."""
        ...

    async def execute(self, command: str, stdin: str, timeout: float) -> Completed:
        """Run a shell command of the person."""
        ...

    async def fetch(self, url: str, headers: Mapping[str, str], body: str, private: bool) -> Fetched:
        """Send a request to a web server. Raise AgentError."""
        ...

    async def ask_model(self, prompt: str, model: str, system: str) -> str:
        """Return the answer of a model. Raise AgentError."""
        ...


class SessionContext:
    """Context of one call into an extension. What it shows goes to `output`, by default to the session."""

    def __init__(self, host: Host, extension: Extension, clock: Clock, output: Output | None = None) -> None:
        self._host, self._extension, self._clock = host, extension, clock
        self._loop = asyncio.get_running_loop()
        self._output = output or host
        self.state: MutableMapping[str, Any] = host.state_of(extension)
        self.settings: Any = host.settings_of(extension)
        self.ui = SessionUi(host, extension, self._output.show, self.waited)

    @property
    def cwd(self) -> Path:
        return Path(self._host.core.ctx.cwd)

    @property
    def model(self) -> str:
        return self._host.core.model.name

    @property
    def mode(self) -> str:
        return self._host.core.approval.mode

    @property
    def attended(self) -> bool:
        return self._host.core.setup.person.attended

    @property
    def history(self) -> Sequence[Said]:
        return [*said(self._host.core.journal.history)]

    @property
    def costs(self) -> Sequence[float]:
        return self._host.core.spending.costs()

    def turn_cost(self) -> TurnCost | None:
        from agentcli.agent.costs.turns import newest_turn_cost  # few extensions ask

        core = self._host.core
        found = newest_turn_cost(core.journal, core.setup.models.spec)
        if found is None:
            return None
        causes = (Cause(each.kind, each.text, each.tokens, each.cost) for each in found.causes)
        return TurnCost(found.cost, found.tokens, tuple(causes))

    async def run(self, command: str, timeout: float = 120.0) -> Completed:
        return await self.waited(self._host.run_command(self._extension, str(command), timeout))

    async def execute(self, command: str, *, stdin: str = "", timeout: float = 120.0) -> Completed:
        return await self.waited(self._host.execute(str(command), str(stdin), timeout))

    async def fetch(
        self, url: str, *, headers: Mapping[str, str] | None = None, body: str = "", private: bool = False
    ) -> Fetched:
        return await self.waited(self._host.fetch(str(url), headers or {}, str(body), private))

    async def ask_model(self, prompt: str, model: str = "", system: str = "") -> str:
        return await self.waited(self._host.ask_model(str(prompt), model, system))

    async def ask_aside(self, question: str) -> Answer:
        return await self.waited(self._output.ask_aside(str(question)))

    def prompt(self, text: str, *, more: str = "") -> None:
        self._output.add_prompt(str(text), str(more))

    def pin(self, number: int) -> None:
        self._host.pins.append(number)

    def log(self, text: str) -> None:
        _log.info("the extension %s: %s", self._extension.name, clip(str(text), PRINTED))

    async def waited(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something in the session's event loop, and return its result; the time does not count."""
        with self._clock.stopped():
            if asyncio.get_running_loop() is self._loop:
                return await work
            return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))


class SessionUi:
    """The person's screen in a session."""

    def __init__(
        self,
        host: Host,
        extension: Extension,
        shown: Callable[[Shown], None],
        waited: Callable[[Coroutine[Any, Any, Any]], Coroutine[Any, Any, Any]],
    ) -> None:
        self._host, self._extension, self._shown, self._waited = host, extension, shown, waited

    def notify(self, text: str) -> None:
        self._shown(Shown(" ".join(str(text).split())))

    def warn(self, text: str) -> None:
        self._shown(Shown(" ".join(str(text).split()), warns=True))

    def show(
        self, content: str | RenderableType, *, title: str = "", notes: Sequence[str] = (), foot: str = ""
    ) -> None:
        plain = not isinstance(content, str)
        text = _rendered(content) if plain else str(content)
        self._shown(Shown(text, title, tuple(notes), foot, plain=plain))

    def status(self, text: str) -> None:
        self._host.set_status(self._extension.name, str(text))

    async def confirm(self, question: str, default: bool = False) -> bool:
        answer = await self._waited(self._host.ask(question, ("Yes", "No"), "Yes" if default else "No"))
        return str(answer).strip().lower() in ("yes", "y")

    async def select(self, question: str, options: Sequence[str], default: str | None = None) -> str:
        answer: str = await self._waited(self._host.ask(question, options, default))
        return answer

    async def input(self, question: str, default: str | None = None) -> str:
        answer: str = await self._waited(self._host.ask(question, (), default))
        return answer


def _rendered(content: Any) -> str:
    from rich.console import Console

    console = Console(width=COLUMNS, color_system=None, force_terminal=False)
    with console.capture() as captured:
        console.print(content)
    return captured.get().rstrip("\n")


def said(history: History) -> Iterator[Said]:
    """Yield the messages of a session as extensions see them, oldest first."""
    for entry in history.entries:
        yield from _said(entry.body, entry.seq)


def _said(body: object, number: int) -> Sequence[Said]:
    match body:
        case ToolResult(name=name, output=output):
            return [Said("result", output, name, number=number)]
        case Message(role=role, parts=parts):
            text = "".join(part.text for part in parts if isinstance(part, Text) and not part.synthetic)
            calls = [
                Said("call", "", part.name, dict(part.input), number) for part in parts if isinstance(part, CallPart)
            ]
            return [*([Said(role, text, number=number)] if text else []), *calls]
        case _:
            return ()
