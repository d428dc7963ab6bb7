"""A workplace of its own for each test: real files, and the ports kept in memory."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from agentcli.core.journal import SessionText
from agentcli.core.record import TodoItem
from agentcli.core.text.passage import Mark, Needles, Passage
from agentcli.core.tool import CallScope, Question, Service, ToolLimits
from agentcli.system.programs import search_path
from agentcli.tools.ask_user import Answers
from agentcli.tools.seen_files import SeenFiles
from agentcli.tools.todo import TodoList


@dataclass
class Bench:
    """What the agent gives a running call, with everything it was told kept for the test to look at."""

    cwd: Path
    outputs: Path | None
    kept: dict[str, str] = field(default_factory=dict)
    roots: tuple[Path, ...] = ()
    limits: ToolLimits = field(default_factory=ToolLimits)
    env: Mapping[str, str] = field(default_factory=lambda: {**os.environ, "PATH": search_path()})
    scope: CallScope = field(default_factory=lambda: CallScope(objection=lambda _: ""))
    seen: SeenFiles = field(default_factory=SeenFiles)
    services: dict[type, object] = field(default_factory=dict)
    shown: list[str] = field(default_factory=list)
    items: tuple[TodoItem, ...] = ()
    asked: list[Question] = field(default_factory=list)
    answers: list[str] | None = None
    said: list[Passage] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.roots = self.roots or (self.cwd,)
        self.services |= {
            SeenFiles: self.seen,
            TodoList: TodoList(lambda: self.items, self.set_todo),
            SessionText: self,
            Answers: Answers(self.ask),
        }

    def offer(self, kind: type[Service], service: Service) -> Service:
        self.services[kind] = service
        return service

    def service(self, kind: type[Service]) -> Service | None:
        return cast("Service | None", self.services.get(kind))

    def keep_output(self, call_id: str, output: str | bytes, ending: str = ".txt") -> str:
        text = output if isinstance(output, str) else ""
        if self.outputs is None:
            self.kept[call_id] = text
            return f"memory:{call_id}"
        self.outputs.mkdir(exist_ok=True)
        file = self.outputs / f"{call_id}.txt"
        file.touch(0o600)
        file.write_text(text, encoding="utf-8")
        return str(file)

    def progress(self, call_id: str, text: str) -> None:
        self.shown.append(text)

    def set_todo(self, items: Sequence[TodoItem]) -> None:
        self.items = tuple(items)

    def passages(
        self, needles: Needles = (), call_id: str = "", newest: int | None = None, until: float = math.inf
    ) -> Iterator[Passage]:
        found = sorted((p for p in self.said if newest is None or p.seq <= newest), key=lambda p: -p.seq)
        return (passage for passage in found if call_id in ("", passage.call_id))

    def marks(self, terms: Sequence[str], newest: int | None = None, until: float = math.inf) -> Iterator[Mark]:
        for passage in self.passages(newest=newest, until=until):
            held = sum(1 << n for n, term in enumerate(terms) if term in passage.text.casefold())
            yield Mark(passage.seq, passage.turn, held, len(passage.text))

    def passages_of(self, mark: Mark) -> Sequence[Passage]:
        return [passage for passage in self.said if passage.seq == mark.seq]

    def index(self) -> Iterator[float]:
        return iter(())

    async def ask(self, questions: Sequence[Question]) -> Sequence[str] | None:
        self.asked += questions
        return self.answers
