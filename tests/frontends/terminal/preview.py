"""A scripted session behind the real terminal: `python -m tests.frontends.terminal.preview` to look at it, and for the pty tests.

What it does follows from the prompt: `long N RATE` streams N tagged blocks at RATE tokens a second, `edit`, `run` and `plan` ask for
approval, `ask` asks a question, `think` thinks, `fail` fails, `tools` runs a few tools, anything else is echoed.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from agentcli.agent.ports import ApprovalRequest, Approve, AskUser, Prompt, SessionPromptFiles, StatusFacts, WindowUsage
from agentcli.context.window_report import Row, WindowReport
from agentcli.core.errors import CredentialsError, InputError, ModelError, UsageError
from agentcli.core.event import (
    CallDelta,
    CompactionEnded,
    CompactionStarted,
    Emit,
    Event,
    Noticed,
    Pruned,
    Recorded,
    TextDelta,
    ThinkingDelta,
    ToolProgress,
    ToolStarted,
    TurnEnded,
    UsageReported,
)
from agentcli.core.history import History, evolve
from agentcli.core.message import Message, Text, ToolCall, ToolResult, Usage
from agentcli.core.model import ModelSpec
from agentcli.core.record import MODES, Body, Compaction, Record, Settings, Title, Todo, TodoItem, Trigger
from agentcli.core.streams import closing
from agentcli.core.tool import Boxed, Choice, Question
from agentcli.frontends.cli.launch import load_terminal
from agentcli.frontends.terminal.sharing import Sharing
from agentcli.program.front_end import FrontEnd
from agentcli.program.options import Options
from agentcli.tools.registry import TRAITS

if TYPE_CHECKING:
    from agentcli.program.program import Program

DIFF = """--- a/shop/cart.py
+++ b/shop/cart.py
@@ -10,5 +10,6 @@ class Cart:
     def total(self):
-        return sum(self.prices)
+        prices = [item.price for item in self.items]
+        return sum(prices)
 
     def clear(self):
         self.items = []
"""  # noqa: W293 - an empty context line of a diff
MODELS = [ModelSpec("demo", "demo", "demo"), ModelSpec("demo", "other", "demo", window=1_000_000)]


class MemoryJournal:
    """In-memory session."""

    def __init__(self, name: str) -> None:
        self.id, self.folder, self.history = name, Path("/nowhere"), History(model="demo/demo", mode="ask")
        self._records: list[Record] = []

    def append(self, body: Body) -> Record:
        record = Record(len(self._records) + 1, str(len(self._records) + 1), "2026-01-01T00:00:00Z", "", body)
        self._records.append(record)
        self.history = evolve(self.history, record)
        return record

    def stream(self, parts: Callable[[], Sequence[object]]) -> None: ...

    def keep_output(self, call_id: str, output: str | bytes, ending: str = ".txt") -> str:
        return ""

    def output(self, path: str) -> str:
        lines = [*(f"whole output, line {n}" for n in range(40)), "\x1b[31mred\x1b[0m"]
        return "\n".join(lines) if path else ""

    def records(self, newest_first: bool = False) -> Iterator[Record]:
        return reversed(self._records) if newest_first else iter(self._records)

    def record(self, seq: int) -> Record | None:
        return self._records[seq - 1]

    def settle(self) -> None:
        pass

    def trouble(self) -> str:
        return ""

    def close(self) -> None: ...


class ScriptedSession:
    """Plays what the prompt asks for, at the pace it asks for."""

    def __init__(self, name: str, approve: Approve, ask_user: AskUser) -> None:
        self.journal = MemoryJournal(name)
        self.model, self.cwd = MODELS[0], Path.cwd()
        self.for_people = frozenset(name for name, traits in TRAITS.items() if traits.behaviour.for_people)
        self.jobs = SimpleNamespace(send_away=self._send_away, running=lambda: ())
        files = SimpleNamespace(files=[(Path("AGENTS.md"), 420)], text="")
        self.parts = SimpleNamespace(instructions=SimpleNamespace(now=files), nested_files=(), all=())
        self.servers: Sequence[Any] = ()
        self.builder = SimpleNamespace(effort="")
        self.folder = SimpleNamespace(now=self.cwd)
        self.hooked = SimpleNamespace(source="clear")
        self.warmer = SimpleNamespace(wait=lambda: None, expires=lambda: None, record=lambda: None)
        self.approve, self.ask_user = approve, ask_user
        self.used = 12_000
        self.notes: Sequence[str] = ()
        self.prompt_files = SessionPromptFiles()
        self.setup = SimpleNamespace(
            models=SimpleNamespace(spec=lambda _: MODELS[0]),
            servers=None,
            tools=SimpleNamespace(offered=()),
            permissions=SimpleNamespace(sandbox=""),
        )
        self.steered: list[str] = []
        self.unseen: list[Prompt] = []

    @property
    def history(self) -> History:
        return self.journal.history

    @property
    def mode(self) -> Any:
        return self.history.mode

    def is_due(self) -> bool:
        """Return False: no timer runs here."""
        return False

    def shared_command(self, _: str, argv: Sequence[str]) -> Boxed:
        """A command of the person as it starts; nothing is denied here."""
        return Boxed(argv)

    async def run(self, prompt: Prompt, interrupt: asyncio.Event, emit: Emit) -> TurnEnded:
        async with closing(self._turn(prompt, interrupt)) as events:
            async for event in events:
                await emit(event)
        ended = TurnEnded("interrupted" if interrupt.is_set() else "done")
        await emit(ended)
        return ended

    async def _turn(self, prompt: Prompt, interrupt: asyncio.Event) -> AsyncIterator[Event]:
        parts = prompt.parts or (Text(prompt.text),)
        yield self._keep(Message("user", parts, turn=self.history.turn + 1))
        word, *rest = prompt.text.split() or [""]
        plays = {
            "long": self._long, "edit": self._edit, "run": self._run, "plan": self._plan, "ask": self._ask, "think": self._think,
            "several": self._several, "tools": self._tools, "fail": self._fail, "long-command": self._long_command, "both": self._both, "slow": self._slow, "crash": self._crash,
        }  # fmt: skip
        play = plays.get(word, self._echo)
        async for event in play(rest if word in plays else [prompt.text], interrupt):
            yield event
            if interrupt.is_set():
                break
        yield UsageReported(Usage(input=self.used, output=321), 0.012, self.used)

    async def _echo(self, words: list[str], interrupt: asyncio.Event) -> AsyncIterator[Event]:
        text = f"You said: **{' '.join(words)}**"
        for piece in text.split(" "):
            yield TextDelta(piece + " ")
            await asyncio.sleep(0.005)
        yield self._keep(Message("assistant", (Text(text),)))

    async def _slow(self, words: list[str], interrupt: asyncio.Event) -> AsyncIterator[Event]:
        yield TextDelta("Waiting for something that never comes.\n\n")
        await interrupt.wait()
        yield self._keep(Message("assistant", (Text("Waiting for something that never comes."),), stop="interrupted"))

    async def _long(self, words: list[str], interrupt: asyncio.Event) -> AsyncIterator[Event]:
        count, rate = int(words[0]), float(words[1]) if len(words) > 1 else 1000.0
        text, began = long_reply(count), time.monotonic()
        for n in range(0, len(text), 4):
            yield TextDelta(text[n : n + 4])
            ahead = n / 4 / rate - (time.monotonic() - began)
            if ahead > 0.002:
                await asyncio.sleep(ahead)
            if interrupt.is_set():
                break
        yield self._keep(Message("assistant", (Text(text),)))

    async def _crash(self, words: list[str], interrupt: asyncio.Event) -> AsyncIterator[Event]:
        await asyncio.sleep(0.5)
        yield TextDelta(str(1 / len(words)))

    async def _think(self, words: list[str], interrupt: asyncio.Event) -> AsyncIterator[Event]:
        for n in range(60):
            yield ThinkingDelta(f"Perhaps thought number {n} helps. ")
            await asyncio.sleep(0.01)
        async for event in self._echo(["thought about it"], interrupt):
            yield event

    async def _fail(self, words: list[str], interrupt: asyncio.Event) -> AsyncIterator[Event]:
        yield TextDelta("This begins well")
        yield TurnEnded("failed", error=ModelError("The key was refused. Set ANTHROPIC_API_KEY.", "auth"))

    async def _edit(self, words: list[str], interrupt: asyncio.Event) -> AsyncIterator[Event]:
        call = ToolCall("c1", "edit", {"file_path": "shop/cart.py", "old_string": "a", "new_string": "b"})
        yield TextDelta("I change the sum.\n")
        yield CallDelta("c1", "edit", '{"file_path"')
        yield self._keep(Message("assistant", (Text("I change the sum."), call), stop="tool_use"))
        ask = ApprovalRequest(call, "edit shop/cart.py", "it changes a file", DIFF, "diff", "edit(shop/**)")

        async def revise(_: Mapping[str, Any]) -> ApprovalRequest:
            return ask

        answer = await self.approve(replace(ask, revise=revise))
        if answer is None or answer.choice == "no":
            words_ = answer.reason if answer else ""
            yield self._keep(
                ToolResult("c1", "edit", "denied", f"The user said no. {words_}", title="edit shop/cart.py")
            )
        else:
            yield ToolStarted(call, "edit shop/cart.py")
            data = {"diff": DIFF, "additions": 2, "deletions": 1}
            yield self._keep(ToolResult("c1", "edit", "success", "done", title="edit shop/cart.py", metadata=data))
        async for event in self._echo(
            [f"answer {answer.choice if answer else None} {answer.reason if answer else ''}"], interrupt
        ):
            yield event

    async def _both(self, words: list[str], interrupt: asyncio.Event) -> AsyncIterator[Event]:
        async for event in self._long(["30", "200"], interrupt):
            yield event
        async for event in self._edit(words, interrupt):
            yield event
        async for event in self._long(["30", "400"], interrupt):
            yield event

    async def _run(self, words: list[str], interrupt: asyncio.Event) -> AsyncIterator[Event]:
        async for event in self._command("pytest -q", interrupt):
            yield event

    async def _long_command(self, words: list[str], interrupt: asyncio.Event) -> AsyncIterator[Event]:
        command = "\n".join(f"echo line {n} of a long command" for n in range(60))
        async for event in self._command(command, interrupt):
            yield event

    async def _command(self, command: str, interrupt: asyncio.Event) -> AsyncIterator[Event]:
        call = ToolCall("c2", "bash", {"command": command})
        yield self._keep(Message("assistant", (call,), stop="tool_use"))
        title = "bash " + command.split("\n")[0]
        ask = ApprovalRequest(call, "Run this command?", "no rule allows it", command, "command", "bash(pytest -q)")

        async def revise(given: Mapping[str, Any]) -> ApprovalRequest:
            return replace(ask, preview=str(given["command"]))

        answer = await self.approve(replace(ask, revise=revise))
        if answer is None or answer.choice == "no":
            yield self._keep(ToolResult("c2", "bash", "denied", "The user said no.", title=title))
            return
        ran = (answer.input or call.input)["command"]
        yield ToolStarted(call, f"bash {ran}")
        for n in range(10):
            yield ToolProgress("c2", f"test {n} passed\n")
            await asyncio.sleep(0.05)
        output = "\n".join(f"test {n} passed" for n in range(10)) + "\n\x1b[31mred\x1b[0m\n"
        yield self._keep(
            ToolResult("c2", "bash", "success", output, True, "whole.txt", f"bash {ran}", metadata={"exit_code": 0})
        )

    async def _several(self, words: list[str], interrupt: asyncio.Event) -> AsyncIterator[Event]:
        asks = [
            ApprovalRequest(
                ToolCall(f"s{n}", "bash", {"command": f"make part{n}"}),
                f"$ make part{n}",
                "",
                f"make part{n}",
                "command",
            )
            for n in range(3)
        ]
        answer = await self.approve(replace(asks[0], others=tuple(asks[1:])))
        async for event in self._echo([f"several {answer.choice if answer else None}"], interrupt):
            yield event

    async def _tools(self, words: list[str], interrupt: asyncio.Event) -> AsyncIterator[Event]:
        calls = [ToolCall(f"r{n}", "read", {"file_path": f"src/module_{n}.py"}) for n in range(3)]
        yield TextDelta("Let me look.\n\n")
        yield self._keep(Message("assistant", (Text("Let me look."), *calls), stop="tool_use"))
        steps = ("Read the modules", "Find the bug", "Mend it")
        yield self._keep(
            Todo(tuple(TodoItem(step, "in_progress" if n == 0 else "pending") for n, step in enumerate(steps)))
        )
        for call in calls:
            yield ToolStarted(call, f"read {call.input['file_path']}")
        await asyncio.sleep(0.6)
        for call in calls:
            title = f"read {call.input['file_path']}"
            yield self._keep(
                ToolResult(call.call_id, "read", "success", "x\n" * 120, title=title, metadata={"lines": 120})
            )
        wrong = ToolCall("g1", "grep", {"pattern": "["})
        yield self._keep(
            ToolResult(wrong.call_id, "grep", "error", "The pattern [ is not a regular expression.", title="grep [")
        )
        yield Noticed("Pruned nothing: too little to gain.")
        yield self._keep(Todo(tuple(TodoItem(step, "completed") for step in steps)))
        async for event in self._echo(["looked"], interrupt):
            yield event

    async def _plan(self, words: list[str], interrupt: asyncio.Event) -> AsyncIterator[Event]:
        call = ToolCall("p1", "exit_plan", {"plan": "# Plan\n\n1. Read\n2. Mend"})
        yield self._keep(Message("assistant", (call,), stop="tool_use"))
        answer = await self.approve(ApprovalRequest(call, "Go on with this plan?", "", str(call.input["plan"]), "plan"))
        async for event in self._echo([f"plan {answer.choice if answer else None}"], interrupt):
            yield event

    async def _ask(self, words: list[str], interrupt: asyncio.Event) -> AsyncIterator[Event]:
        colours = (Choice("red", "like blood"), Choice("green", "like grass"))
        answers = await self.ask_user([Question("Which colour?", "Colour", colours), Question("Why?")])
        async for event in self._echo([f"answers {answers}"], interrupt):
            yield event

    def steer(self, prompt: Prompt) -> None:
        self.steered.append(prompt.text)
        self.unseen.append(prompt)

    def withdraw(self) -> Sequence[Prompt]:
        prompts, self.unseen = self.unseen, []
        return prompts

    async def compact(self, interrupt: asyncio.Event, emit: Emit, trigger: Trigger, *, focus: str = "") -> None:
        await emit(CompactionStarted("manual", "auto"))
        await asyncio.sleep(0.2)
        await emit(self._keep(Compaction("manual", "compressed", "auto")))
        self.used = 3_000
        why = f"Focus: {focus or 'none'}."
        await emit(CompactionEnded("manual", "compressed", "auto", 12_000, 3_000, why))

    def preview(self) -> Sequence[str]:
        return ["It would summarise messages 1 to 9."]

    def prune(self) -> Sequence[Event]:
        return [Pruned(("a", "b"), 4_000, "You asked for it.")]

    def pin(self, seq: int | None, unpin: bool = False) -> Sequence[Event]:
        return [Noticed(f"Pinned {seq}.")]

    def rewind(self, seq: int) -> Sequence[Event]:
        return [Noticed(f"Back to before #{seq}.")]

    def switch(self, *, model: str = "", mode: str = "") -> Sequence[Event]:
        if mode and mode not in MODES:
            raise UsageError(f"Unknown mode {mode}; there are {', '.join(MODES)}.")
        if model:
            self.model = next(one for one in MODELS if one.name == model)
        return [self._keep(Settings(model, mode))]

    def rename(self, name: str) -> Sequence[Event]:
        return [self._keep(Title(name=name))]

    @property
    def core(self) -> ScriptedSession:
        return self

    @property
    def approval(self) -> ScriptedSession:
        return self

    @property
    def conversation(self) -> ScriptedSession:
        return self

    @property
    def compactor(self) -> ScriptedSession:
        return self

    @property
    def undo_stack(self) -> ScriptedSession:
        return self

    @property
    def report(self) -> ScriptedSession:
        return self

    def window(self) -> WindowUsage:
        return WindowUsage(self.used, 168_000)

    def context(self) -> WindowReport:
        shares = {
            "system": 1_400,
            "tools": 1_800,
            "user": 2_000,
            "assistant": 16_700,
            "tool results": 12_200,
            "free": 133_900,
        }
        marks = {"prunes if that pays, from": 30_000, "compacts early from": 40_000, "compacts at": 117_600}
        rows = tuple(Row(n, "user", n, 100 * n, 1, "kept", f"bash → seq 1 {n}000 説明") for n in range(1, 14))
        return WindowReport(shares, 168_000, 200_000, 0, rows, marks)

    def counting(self) -> Sequence[str]:
        return ["Token counts: calibrated estimate.", "Cache: 87.0% of all input read from it."]

    def cold(self, least: float) -> str:
        return ""

    def costs(self) -> Sequence[str]:
        return ["$0.01 in 1 request"]

    def diff(self) -> str:
        return DIFF

    def undo(self) -> Sequence[Event]:
        return [Noticed("Put shop/cart.py back.")]

    def redo(self) -> Sequence[Event]:
        raise InputError("There is no undo to take back.")

    def rewind_files(self, seq: int) -> Sequence[Event]:
        raise InputError(f"No file was changed since #{seq}.")

    async def improve_title(self) -> Sequence[Event]:
        return []

    def _send_away(self) -> bool:
        self.sent_away = True
        return True

    def status(self) -> StatusFacts:
        return StatusFacts("bubblewrap", 30_000, 0.87, 0.25, 2, 42_000, 109_200)

    def cache(self) -> Sequence[str]:
        return ["87.0% of all input came from the cache"]

    def tasks(self) -> Sequence[str]:
        return ["job-1  running, 3 s  $ make"]

    def automatic_actions(self) -> Sequence[str]:
        return ["2026-01-01 10:00 Pruned 3 old outputs."]

    def close(self) -> None: ...

    def begin(self, show: Any) -> None: ...

    async def end(self, reason: str) -> None: ...

    def _keep(self, body: Body) -> Recorded:
        return Recorded(self.journal.append(body))


class ScriptedSessions:
    """The scripted sessions of a program, in place of stored ones."""

    def __init__(self, approve: Approve, ask_user: AskUser) -> None:
        self._ports = (approve, ask_user)
        self._count = 0
        self.choosing, self.wanted = False, ""
        self.taken = ""
        """The name of the first session."""

    def new(self, source: str = "startup") -> ScriptedSession:
        self._count += 1
        return ScriptedSession(f"20260101-{self._count:04}", *self._ports)

    def named(self, selector: str) -> ScriptedSession:
        return ScriptedSession(selector, *self._ports)

    def fork(self, session: Any) -> ScriptedSession:
        return self.new()

    def passages(self, words: str) -> Mapping[str, str]:
        return {"2025-0003": "the needle in the haystack"} if words == "needle" else {}

    def listed(self) -> Sequence[Mapping[str, Any]]:
        return [
            {
                "id": f"2025-{n:04}",
                "title": f"Earlier work {n}",
                "name": "" if n else self.taken,
                "model": "demo/demo",
                "time": {"updated": "2025-12-01T10:00:00Z"},
            }
            for n in range(30)
        ] + [{"id": "2026-0001", "title": "A subagent's", "parent": {"session": "2025-0001", "kind": "subagent"}}]


def scripted_program(
    folder: str, approve: Approve, ask_user: AskUser, *settings: str, untrusted: bool = False
) -> Program:
    """A real program with scripted sessions, whose own folders are in `folder`; it stores nothing if that is empty."""
    from agentcli.frontends.opening import program_of

    home = folder or "/nowhere"
    env = {f"XDG_{kind}_HOME": f"{home}/{kind.lower()}" for kind in ("CONFIG", "DATA", "STATE", "CACHE")}
    options = Options(
        cwd=_untrusted(Path(home)) if untrusted else "", trust=not untrusted, no_session=not folder, settings=settings
    )
    given = {**os.environ, **env, "HOME": home}
    program = program_of(options, given, FrontEnd(approve, ask_user))
    program.sessions = cast(Any, ScriptedSessions(approve, ask_user))
    return program


def _untrusted(home: Path) -> str:
    """Make a repository in which hooks are defined."""
    work = home / "work"
    for folder in (work / ".git", work / ".agentcli"):
        folder.mkdir(parents=True)
    (work / ".agentcli" / "hooks.json").write_text('{"hooks": {"Stop": [{"hooks": [{"command": "make"}]}]}}')
    return str(work)


def long_reply(count: int) -> str:
    """Blocks of all kinds, each with its tag like #0007; the length of a block varies."""
    kinds = [
        lambda tag: f"## Heading {tag}\n\n",
        lambda tag: (
            f"A paragraph {tag} with **bold** and `code` and some words to fill a line or two, so that it must be wrapped.\n\n"
        ),
        lambda tag: f"- item {tag}\n  - nested\n",
        lambda tag: f"\n```python\n# {tag}\ndef f(x):\n    return x + 1\n```\n\n",
        lambda tag: f"| a | b |\n|---|---|\n| {tag} | 2 |\n| 3 | 四 |\n\n",
        lambda tag: f"漢字かな {tag} 한글 and {'x' * 120}\n\n",
        lambda tag: f"> quoted {tag}\n> twice\n\n",
        lambda tag: f"1. numbered {tag}\n",
    ]
    return "".join(kinds[n % len(kinds)](f"#{n:04}") for n in range(count)) + "\n\nall done\n"


def main() -> int:
    """Run it in this terminal."""
    if "plain=yes" in sys.argv:
        from agentcli.frontends.plain import repl

        return repl.run(_open)
    from agentcli.frontends.terminal import early

    began = early.start()
    try:
        startup = began.during(lambda: importlib.import_module("agentcli.frontends.terminal.startup"))
    except KeyboardInterrupt:
        began.leave()
        return 130
    return int(startup.run(_open, load_terminal, early=began))


def _open(approve: Approve, ask_user: AskUser, report: Callable[[str], object]) -> tuple[Program, Sharing, Any]:
    arguments = dict(one.split("=", 1) for one in sys.argv[1:])
    if "reading" in arguments:
        report(arguments["reading"])
    time.sleep(float(arguments.get("loading", "0")))
    if "broken" in arguments:
        raise CredentialsError("No key is set.")
    settings = [f"ui.{name}={arguments[name]}" for name in ("status", "theme") if name in arguments]
    settings += ["ui.vi=true"] if "vi" in arguments else []
    program = scripted_program(
        arguments.get("state", ""), approve, ask_user, *settings, untrusted="untrusted" in arguments
    )
    return program, Sharing(), program.sessions.new()


if __name__ == "__main__":
    sys.exit(main())
