"""The task of a summary and its result, shared by all forms of summaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from agentcli.agent.compaction.summariser import Summariser
from agentcli.context.compaction.record import Summary, SummaryTask
from agentcli.context.settings import SnapshotSettings
from agentcli.context.snapshot.form import fitting_rules
from agentcli.context.snapshot.transcript import material
from agentcli.context.snapshot.verify import Struck
from agentcli.context.window import Window
from agentcli.core.dataclass import dataclass
from agentcli.core.model import ModelSpec, ToolSchema
from agentcli.core.record import VerbatimText
from agentcli.resources import prompt

ORDER = "First, reason in your scratchpad. Then, generate the <state_snapshot>."
"""The last words that the summariser reads."""


@dataclass(frozen=True, slots=True)
class Brief:
    """The context of a summary: the window, the user's focus, and the head of the session's own requests (system prompt, tools, options)."""

    window: Window
    main: ModelSpec
    focus: str = ""
    system: tuple[str, ...] = ()
    tools: tuple[ToolSchema, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def form(self) -> SnapshotSettings:
        """The limits of a snapshot."""
        return self.window.settings.snapshot

    @property
    def longest(self) -> int:
        """The longest snapshot, in characters."""
        return self.characters(int(self.window.usable * self.form.share))

    def characters(self, tokens: int) -> int:
        """About how long a text of so many tokens is."""
        sample = "a fact in plain words, some_name and src/path.py; " * 20
        return tokens * len(sample) // max(1, self.window.counter.text(sample))

    def rules(self, rules: Sequence[VerbatimText]) -> tuple[VerbatimText, ...]:
        """The user's rules, all of them unless they would fill the window."""
        return fitting_rules(rules, self.characters(int(self.window.usable * self.form.rules_share)))

    def known(self, summariser: Summariser) -> int:
        """Characters of the former snapshot that the summariser is shown; what it is not shown stays all the same."""
        return min(self.longest, self.characters(summariser.room // 4))


@dataclass(frozen=True, slots=True)
class SummaryResult:
    """A summary and what was struck from it."""

    summary: Summary
    struck: tuple[Struck, ...] = ()


def chunks(task: SummaryTask, brief: Brief, summariser: Summariser) -> tuple[str, ...]:
    """The part that goes, for one call each; a call is held back for a second try where one is enough for the rest."""
    counter = brief.window.counter
    frame = counter.text(prompt(task.policy.prompt)) + counter.text(brief.focus) + len(ORDER)
    room = max(200, summariser.room - frame - brief.known(summariser) // 2)
    return material(task.gone, counter, room, max(1, summariser.calls), brief.form).chunks
