"""Functions of extensions as slash commands: the arguments come from the signature, the help from the docstring."""

from __future__ import annotations

import asyncio
import inspect
import shlex
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from functools import partial
from io import StringIO
from typing import Any

from agentcli.agent.aside import SideQuestion
from agentcli.agent.ports import Interruptible
from agentcli.agent.session import AgentSession
from agentcli.core.annotation import Choice, Scalar, Slot, bare, parameters_of
from agentcli.core.clock import Clock
from agentcli.core.dataclass import dataclass, replace
from agentcli.core.errors import AgentError, UsageError
from agentcli.core.event import Emit
from agentcli.core.message import Part, reminder
from agentcli.core.sanitise import safe
from agentcli.core.tasks import start_task
from agentcli.core.text.truncate import clip
from agentcli.core.text.words import one_of
from agentcli.extension import Answer
from agentcli.extension.marks import Command as Use
from agentcli.features.extensions.context import TEXT, SessionContext, Shown
from agentcli.features.extensions.loading import Extension, Loaded
from agentcli.features.extensions.session import SECONDS, SessionHost
from agentcli.program.command import Group
from agentcli.program.commands import Acted, Command, Context, Framed, Item, Output, OutputCommand, Said, Sent, Work
from agentcli.tools.function_tool import Contexts, is_provided

HostOf = Callable[[AgentSession], SessionHost]
"""Returns the host of an extension in a session. Raises UsageError if there is none."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """Parameter of a command. `flag` is true if it is given as `--name`."""

    name: str
    kind: Any
    required: bool
    flag: bool

    @property
    def values(self) -> Sequence[str]:
        """Its possible values, if they are few."""
        return [str(value) for value in self.kind.values] if isinstance(self.kind, Choice) else []

    @property
    def placeholder(self) -> str:
        """The parameter in the usage line."""
        shown = "|".join(self.values) or self.name.upper()
        shown = f"--{self.name}" if self.flag and self.kind is Scalar.FLAG else shown
        shown = f"--{self.name} {shown}" if self.flag and self.kind is not Scalar.FLAG else shown
        return shown if self.required else f"[{shown}]"


def commands_of(run: Loaded, taken: Collection[str]) -> tuple[Command, ...]:
    """Return the slash commands of all extensions; a taken name is a fault of the extension."""
    made: dict[str, Command] = {}
    for extension in run.active():
        for function, use in extension.commands:
            if use.name in taken or use.name in made:
                extension.fault(f"there is a command /{use.name} already.", "import")
                continue
            try:
                made[use.name] = command_of(extension, function, use, "Extensions", _host)
            except UsageError as error:
                extension.fault(error, "import")
    return tuple(made.values())


def _host(session: AgentSession) -> SessionHost:
    """Return the host of a session's extensions. Raise UsageError if it has begun without them."""
    host = session.core.ctx.service(Contexts)
    if not isinstance(host, SessionHost):
        raise UsageError("This session has no extensions. Type /extensions reload.")
    return host


def command_of(extension: Extension, function: Any, use: Use, group: Group, host_of: HostOf) -> OutputCommand:
    """Return a function of an extension as a slash command. Raise UsageError for one that cannot be one."""
    if not use.name.replace("-", "").isalnum() or use.name != use.name.lower():
        raise UsageError(f"/{use.name} cannot be a command: use lower-case letters, digits and `-`.")
    known = parameters(function)
    words = inspect.cleandoc(function.__doc__ or f"Command of the extension {extension.name}.").split("\n", 1)
    usage = " ".join([f"/{use.name}", *(one.placeholder for one in known)])
    help_ = "\n".join([f"{words[0].rstrip('.')}: {usage}", *words[1:]])
    completes = use.complete is not None or any(one.values for one in known)
    return OutputCommand(
        help_,
        group,
        use.at_once,
        partial(_items, known, use.complete) if completes else None,
        yields=partial(run_command, _Called(extension, function, known, usage), host_of),
    )


def _items(known: Sequence[Parameter], complete: Callable[[], Sequence[str]] | None, _: object) -> Sequence[Item]:
    try:
        more = [str(one) for one in complete()] if complete is not None else []
    except Exception:  # noqa: BLE001 - a completion that fails completes nothing
        more = []
    return [Item(value) for value in (*more, *(value for one in known for value in one.values))]


def parameters(function: Any) -> Sequence[Parameter]:
    """Return the parameters of a command, without its context. Raise UsageError for an unsupported one."""
    try:
        slots: Sequence[Slot] = parameters_of(function)
    except (NameError, TypeError) as error:
        raise UsageError(f"can't read the annotations of {function.__name__}: {error}.") from error
    signature = inspect.signature(function).parameters
    found = []
    for slot in slots:
        if slot.name == "ctx" or is_provided(slot):
            continue
        kind = Scalar.TEXT if slot.hint is inspect.Parameter.empty else bare(slot.kind)
        if kind not in (Scalar.TEXT, Scalar.WHOLE, Scalar.NUMBER, Scalar.FLAG) and not isinstance(kind, Choice):
            raise UsageError(f"the parameter {slot.name} must be str, int, float, bool or Literal.")
        flag = signature[slot.name].kind is inspect.Parameter.KEYWORD_ONLY or kind is Scalar.FLAG
        found.append(Parameter(slot.name, kind, slot.required, flag))
    return found


def given(known: Sequence[Parameter], argument: str, usage: str) -> dict[str, Any]:
    """Return the values of an argument line by parameter. Raise UsageError for a line that does not fit."""
    values: dict[str, Any] = {}
    places = [one for one in known if not one.flag]
    flags = {one.name: one for one in known if one.flag}
    rest = argument.strip()
    while rest:
        word, after = _word(rest)
        name = word.removeprefix("--").replace("-", "_")
        if word.startswith("--") and name in flags:
            one = flags[name]
            if one.kind is Scalar.FLAG:
                values[name], rest = True, after
                continue
            value, rest = _word(after)
            values[name] = _value(one, value)
        elif not places:
            raise UsageError(f"Too many arguments: {clip(rest, 60)}")
        elif len(places) == 1 and places[0].kind is Scalar.TEXT:
            values[places.pop().name], rest = rest, ""
        else:
            one, rest = places.pop(0), after
            values[one.name] = _value(one, word)
    missing = [one for one in known if one.required and one.name not in values]
    if len(missing) == 1:
        raise UsageError(f"What is the {missing[0].name}? Use {usage}.")
    if missing:
        raise UsageError(f"Missing: {' '.join(one.placeholder for one in missing)}. Use {usage}.")
    return values


def _word(text: str) -> tuple[str, str]:
    """Return the first word, without quotes, and the rest."""
    stream = StringIO(text)
    lexer = shlex.shlex(stream, posix=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        word = lexer.get_token() or ""
    except ValueError:
        first, _, after = text.partition(" ")
        return first, after.strip()
    return word, stream.read().strip()


def _value(one: Parameter, word: str) -> Any:
    kinds = {Scalar.WHOLE: (int, "a whole number"), Scalar.NUMBER: (float, "a number")}
    if isinstance(one.kind, Choice):
        if word not in one.values:
            raise UsageError(f"Unknown {one.name} {word!r}.{one_of(word, one.values)}")
        return next(value for value in one.kind.values if str(value) == word)
    make, what = kinds.get(one.kind, (str, ""))
    try:
        return make(word)
    except ValueError:
        raise UsageError(f"{one.name} takes {what}, not {word!r}.") from None


@dataclass(frozen=True, slots=True)
class _Called:
    """A command of an extension, to be called."""

    extension: Extension
    function: Any
    known: Sequence[Parameter]
    usage: str


async def run_command(called: _Called, host_of: HostOf, ctx: Context, argument: str) -> AsyncIterator[Output]:
    """Run a command of an extension: yield what it shows as it comes, and last its prompt."""
    values = given(called.known, argument, called.usage)
    host, extension, outputs = host_of(ctx.session), called.extension, CommandOutputs(ctx)
    context = SessionContext(host, extension, Clock(), outputs)
    calling = host.call(extension, called.function, SECONDS, "command", context=context, named=values, raises=True)
    work = start_task(calling)
    try:
        while not work.done() or not outputs.queue.empty():
            waiting = start_task(outputs.queue.get())
            await asyncio.wait({work, waiting}, return_when=asyncio.FIRST_COMPLETED)
            if waiting.done():
                yield waiting.result()
            else:
                waiting.cancel()
        result = work.result()
    finally:
        work.cancel()
    if isinstance(result, str) and result:
        yield _said(Shown(result))
    for text in extension.take_untold():
        yield _said(Shown(text))
    if outputs.prompts:
        yield Sent("\n\n".join(outputs.prompts), outputs.along)


class CommandOutputs:
    """What one call of a command shows, prompts and asks, as outputs for a front end."""

    def __init__(self, ctx: Context) -> None:
        self._ctx, self._loop = ctx, asyncio.get_running_loop()
        self.queue: asyncio.Queue[Output] = asyncio.Queue()
        self.prompts: list[str] = []
        self.along: tuple[Part, ...] = ()

    def show(self, shown: Shown) -> None:
        """Show a text to the person. Any thread may call it."""
        output = Acted((shown.event,)) if shown.warns else _said(shown)
        self._loop.call_soon_threadsafe(self.queue.put_nowait, output)

    def add_prompt(self, text: str, more: str = "") -> None:
        """Send a prompt at the end of the command."""
        self.prompts.append(text)
        self.along += (reminder(clip(more, TEXT)),) if more else ()

    async def ask_aside(self, question: str) -> Answer:
        """Ask a side question; the person can interrupt it. Raise AgentError."""
        session, alone = self._ctx.session, self._ctx.terminal is None
        aside = SideQuestion(session.core, question, session.prepare)
        await self._played("Answering the side question", partial(aside.ask, tell_cost=alone))
        return Answer(aside.answer, aside.notes, aside.spent)

    async def _played(self, doing: str, work: Interruptible) -> None:
        """Let the front end run long work, and wait for its end. Raise what it raises."""
        done: asyncio.Future[None] = self._loop.create_future()

        async def run(interrupt: asyncio.Event, emit: Emit) -> None:
            try:
                await work(interrupt, emit)
            except AgentError as error:
                done.set_exception(error)
            finally:
                if not done.done():
                    done.set_result(None)

        self.queue.put_nowait(Work(doing, run))
        await done


def _said(shown: Shown) -> Said:
    text = safe(clip(shown.text, TEXT))
    if not shown.title:
        return Said(text.split("\n"), markdown=not shown.plain)
    lines = replace(shown, text=text).lines
    return Framed(lines, not shown.plain, shown.title, text, shown.notes, shown.foot)
