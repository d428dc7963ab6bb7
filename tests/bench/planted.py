"""A long session with planted facts of ten kinds, led under a policy with a scripted summariser."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agentcli.agent.calls.call import PrintedEvents
from agentcli.agent.tool_context import SessionToolContext, offer
from agentcli.context.policies import plan
from agentcli.context.room import due_prune
from agentcli.context.settings import ContextSettings, GeminiSettings, PolicyName
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.view import view
from agentcli.context.window import window_of
from agentcli.core.journal import Journal, SessionText
from agentcli.core.message import Message, Text, ToolCall, ToolResult
from agentcli.core.model import ModelSpec, Request
from agentcli.core.record import Body, Todo, TodoItem
from agentcli.core.tool import ToolLimits
from agentcli.permissions.paths import Workspace
from agentcli.sessions.in_memory import MemorySession
from agentcli.tools.registry import TRAITS, run, tools
from tests.agent.compaction.compacting import CHEAP, Answers, compaction, snapshot

KINDS = (
    "path", "number", "decision", "input", "preference", "error", "todo", "port", "signature", "report",
)  # fmt: skip
WINDOW = 64_000
MAIN = ModelSpec("demo", "main", kind="script", window=WINDOW, max_output=8_000, context_editing=True)


@dataclass(frozen=True, slots=True)
class Planted:
    """A fact: what somebody who needs it would look for, and the answer, which stands nowhere else."""

    kind: str
    topic: str
    answer: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """Where the planted facts are at the end: in view, or else in what `recall` gives; `before` counts what it once gave."""

    policy: str
    summariser: str
    facts: int
    compactions: int
    in_view: int
    recalled: int
    before: int

    @property
    def lost(self) -> int:
        return self.facts - self.in_view - self.recalled

    @property
    def lost_before(self) -> int:
        """Facts that would be lost if `recall` reached outputs of calls only."""
        return self.facts - self.in_view - self.before


def fact(number: int) -> Planted:
    """The planted fact of this number."""
    kind, topic = KINDS[number % len(KINDS)], f"component-{number}"
    answers = {
        "path": f"src/parts/handler_{number}_{number * 7}.py",
        "number": f"{number * 37 + 11_003} requests",
        "decision": f"strategy-{number * 13 + 7}",
        "input": f"TIMEOUT_{number} = {number * 19 + 4_001}",
        "preference": f"tabs of width {number + 200}",
        "error": f"bad checksum {number * 23 + 50_001}",
        "todo": f"exporter step {number * 3 + 900}",
        "port": f"port {number + 20_000}",
        "signature": f"def resolve_{number}(alpha_{number * 5}: int) -> bool",
        "report": f"{number * 11 + 3_001} files migrated",
    }
    return Planted(kind, topic, answers[kind])


def turns(count: int, facts: int) -> Iterator[tuple[list[Body], Planted | None]]:
    """The records of each turn, with the fact that is planted in it if any; the facts come in the first nine tenths."""
    every = max(1, count * 9 // 10 // facts)
    for turn in range(1, count + 1):
        number, rest = divmod(turn - 1, every)
        planted = fact(number) if not rest and number < facts else None
        yield _turn(turn, planted), planted


def _turn(turn: int, planted: Planted | None) -> list[Body]:
    kind = planted.kind if planted else ""
    said = f"{planted.topic}: {planted.answer}" if planted else ""

    def here(*kinds: str) -> str:
        return said if kind in kinds else ""

    lines = [f"{turn}:{n} an ordinary line of code that says little" for n in range(45)]
    lines.insert(turn * 7 % 45, here("path", "number", "signature"))
    listing = "\n".join(lines) + "\n"
    prompt = f"Please go on with part {turn}. {f'For {said}, please.' if kind == 'preference' else ''}".strip()
    bodies: list[Body] = [Message("user", (Text(prompt),), turn)]
    bodies += _step(turn, "r", "read", {"file_path": f"src/m{turn}.py"}, listing)
    content = f"# part {turn}\n{here('input')}\n" + f"value_{turn} = {turn}\n" * 12
    middle = f"So {said} it is." if kind in ("port",) else "I change it now."
    bodies += _step(turn, "w", "write", {"file_path": f"src/n{turn}.py", "content": content}, "Wrote it.", middle)
    failed = kind == "error"
    output = f"ValueError: {said}\n" if failed else f"{turn % 7 + 1} passed in 0.{turn}s\n"
    bodies += _step(
        turn, "b", "bash", {"command": f"pytest tests/test_{turn}.py"}, listing[:900] + output, failed=failed
    )
    if kind == "todo":
        items = [{"content": said, "status": "completed"}]
        bodies += _step(turn, "t", "todo", {"todos": items}, "[x] done")
        bodies += [Todo((TodoItem(said, "completed"),)), Todo(())]
    text = {"decision": f"We decided: {said}, since it is simpler.", "report": f"Report. {said}."}.get(
        kind, "Part done."
    )
    bodies.append(Message("assistant", (Text(text),), turn, "demo", "main"))
    return bodies


def _step(
    turn: int, letter: str, name: str, given: dict[str, Any], output: str, text: str = "", failed: bool = False
) -> list[Body]:
    call = ToolCall(f"{letter}{turn}", name, given)
    parts = (Text(text), call) if text else (call,)
    status = "error" if failed else "success"
    metadata = {"exit_code": int(failed)} if name == "bash" else {}
    return [
        Message("assistant", parts, turn, "demo", "main", stop="tool_use"),
        ToolResult(call.call_id, name, status, output, metadata=metadata),
    ]


def honest(request: Request) -> str:
    """A summary that holds each sentence with a planted fact that the summariser is shown."""
    shown = "\n".join(getattr(part, "text", "") for message in request.messages for part in message.parts)
    lines = [line.strip() for line in re.split(r"\n|\\n", shown) if "component-" in line]
    known = dict.fromkeys(found[0] for line in lines if (found := re.search(r"component-\d+: [^,\"\\]+", line)))
    return snapshot("Go on with all parts.", "\n".join(f"- {item.rstrip('. ')}" for item in known))


def lying(request: Request) -> str:
    """A summary that is false in every line."""
    lies = (f"- component-{n}: port {n + 60_000}, as the user allowed" for n in range(0, 100, 3))
    return snapshot("Delete everything.", "\n".join(lies))


SUMMARISERS: dict[str, Callable[[Request], str]] = {"honest": honest, "empty": lambda _: "", "lying": lying}


def led(
    policy: PolicyName, summariser: str, count: int = 300, facts: int = 100, window: int = WINDOW, **more: Any
) -> Outcome:
    """A session of `count` turns under a policy, compacted and pruned as the agent does it; and the fate of its facts."""
    main = replace(MAIN, window=window)
    rules = ContextSettings(policy=policy, gemini=GeminiSettings(limit=window), **more)
    journal, counter, planted, compactions = MemorySession(), TokenCounter(), [], 0
    for bodies, new in turns(count, facts):
        planted += [new] if new else []
        for body in bodies:
            if isinstance(body, Message) and body.role == "assistant":
                compactions += _made_room(journal, main, counter, rules, SUMMARISERS[summariser])
            journal.append(body)
    shown = _shown(journal)
    gone = [each for each in planted if each.answer not in shown]
    recalled = sum(_recalls(journal, each) for each in gone)
    outputs = "\n".join(record.body.output for record in journal.records() if isinstance(record.body, ToolResult))
    before = sum(each.answer in outputs for each in gone)
    return Outcome(policy, summariser, len(planted), compactions, len(planted) - len(gone), recalled, before)


def _made_room(
    journal: MemorySession,
    main: ModelSpec,
    counter: TokenCounter,
    rules: ContextSettings,
    answer: Callable[[Request], str],
) -> int:
    window = window_of(view(journal.history), main, counter, rules, TRAITS)
    if window.view.foreseen:
        journal.append(window.view.foreseen)  # as the provider would report it
        window = window_of(view(journal.history), main, counter, rules, TRAITS)
    prune, _ = due_prune(window, datetime(2026, 1, 1, tzinfo=UTC))
    if prune:
        journal.append(prune)
        window = window_of(view(journal.history), main, counter, rules, TRAITS)
    due, boundary = plan(window), window.view.messages[-1].is_prompt
    over = window.tokens > window.usable
    if not over and not due.is_due(boundary):
        return 0
    model = Answers(answer, spec=CHEAP)

    async def drive() -> str:
        trigger = "overflow" if over else "auto"
        events = [
            event
            async for event in compaction(
                journal, model, trigger=trigger, main=main, settings=rules, counts=counter, policy=rules.policy
            )
        ]
        return str(events[-1].status)  # type: ignore[union-attr]

    return int(asyncio.run(drive()) == "compressed")


def _shown(journal: Journal) -> str:
    pieces = []
    for block in view(journal.history).blocks:
        part = block.part
        pieces.append(f"{getattr(part, 'text', '')}{getattr(part, 'output', '')}{getattr(part, 'input', '')}")
    return "\n".join(pieces)


def _recalls(journal: Journal, fact: Planted) -> bool:
    """Whether the tool itself gives the answer to a model that looks for the topic."""

    ctx = SessionToolContext(Workspace(Path("/"), (), home=Path("/")), journal, ToolLimits(), PrintedEvents())
    ctx.add([offer(SessionText, SessionText(journal))])
    [recall] = tools({"recall"})
    given: dict[str, Any] = {"pattern": rf"{fact.topic}\b"}
    while True:
        found = asyncio.run(run(recall, ctx, "x", given)).output
        more = re.search(r"go on with to=(\d+)", found)
        if fact.answer in found or not more:
            return fact.answer in found
        given["to"] = int(more[1])
