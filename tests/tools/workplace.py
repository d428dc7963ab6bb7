"""A workplace of its own for each test: real files, and the ports kept in memory."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agentcli.core.message import ToolResult
from agentcli.core.record import TodoItem
from agentcli.core.tool import NO_SANDBOX, AnswerPage, CommandSandbox, LeavePlan, Question, Spawn, ToolLimits


@dataclass
class Bench:
    """What the agent gives a running call, with everything it was told kept for the test to look at."""

    cwd: Path
    outputs: Path | None
    kept: dict[str, str] = field(default_factory=dict)
    roots: tuple[Path, ...] = ()
    limits: ToolLimits = field(default_factory=ToolLimits)
    seen: dict[Path, str] = field(default_factory=dict)
    line_numbers: bool = True
    allowed_path: Path | None = None
    sandbox: CommandSandbox = NO_SANDBOX
    jobs: object | None = None
    spawn: Spawn | None = None
    leave_plan: LeavePlan | None = None
    answer_page: AnswerPage | None = None
    shown: list[str] = field(default_factory=list)
    items: tuple[TodoItem, ...] = ()
    asked: list[Question] = field(default_factory=list)
    answers: list[str] | None = None
    results: list[tuple[ToolResult, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.roots = self.roots or (self.cwd,)

    def keep_output(self, call_id: str, text: str) -> str:
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

    def todo(self) -> tuple[TodoItem, ...]:
        return self.items

    def set_todo(self, items: Sequence[TodoItem]) -> None:
        self.items = tuple(items)

    def find_result(self, call_id: str) -> tuple[ToolResult, str] | None:
        return next((found for found in self.results if found[0].call_id == call_id), None)

    def search_results(self, pattern: str) -> Sequence[tuple[ToolResult, str]]:
        return [found for found in self.results if re.search(pattern, found[1], re.MULTILINE)]

    async def ask(self, questions: Sequence[Question]) -> Sequence[str] | None:
        self.asked += questions
        return self.answers
