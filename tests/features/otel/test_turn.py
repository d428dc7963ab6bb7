"""Spans and measurements from events, by the SDK's own exporters in memory."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

pytest.importorskip("opentelemetry.sdk")

from agentcli.core.dataclass import replace
from agentcli.core.event import (
    CompactionEnded,
    CompactionStarted,
    PermissionDecided,
    Recorded,
    Retrying,
    TextDelta,
    ToolStarted,
    TurnEnded,
    UsageReported,
)
from agentcli.core.message import Message, Text, ToolCall, ToolResult, Usage
from agentcli.core.record import Record
from agentcli.features.otel.instruments import Instruments
from agentcli.features.otel.session import provider_name
from agentcli.features.otel.turn import Subject, TurnTrace
from agentcli.providers.catalog import spec
from tests.tables import each_row

MODEL = spec("anthropic/claude-opus-5-5")
SECOND = 1_000_000_000


class Memory:
    """Exporters in memory, and a turn whose clock moves on by a second at each look."""

    def __init__(self, content: Callable[[str], str] | None = None) -> None:
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import InMemoryMetricReader
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor
        from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

        self.exporter, self.reader = InMemorySpanExporter(), InMemoryMetricReader()
        tracers = TracerProvider()
        tracers.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.instruments = Instruments.of(tracers, MeterProvider([self.reader]), content)

    def trace(self, *events: Any, error: BaseException | None = None) -> dict[str, Any]:
        """The spans of a turn with these events, by name."""
        ticks = count(1)
        subject = Subject("s1", "agentcli", lambda: MODEL, lambda model: model.provider)
        trace = TurnTrace(self.instruments, subject, lambda: next(ticks) * SECOND)
        for event in events:
            trace.heard(event)
        trace.end(error)
        return {span.name: span for span in self.exporter.get_finished_spans()}

    def points(self, name: str) -> list[Any]:
        data = self.reader.get_metrics_data()
        metrics = [each for one in data.resource_metrics for scope in one.scope_metrics for each in scope.metrics]
        return [point for each in metrics if each.name == name for point in each.data.data_points]


def recorded(body: Any) -> Recorded:
    return Recorded(Record(1, "r", "2026-11-20T00:00:00Z", "", body))


CALL = ToolCall("c1", "bash", {"command": "ls"})


def test_the_wait_for_a_person_is_measured_and_a_rule_waits_for_nobody() -> None:
    memory = Memory()
    spans = memory.trace(
        PermissionDecided("c1", "bash", "allow", "user:once"),
        PermissionDecided("c2", "read", "allow", "read-only"),
        ToolStarted(CALL, "ls"),
        recorded(ToolResult("c1", "bash", "success", "out", started=5.0, ended=7.5)),
        recorded(ToolResult("c2", "edit", "denied", "no")),
        TurnEnded("done"),
    )
    assert spans["execute_tool bash"].attributes["agentcli.approval.duration"] == 1.0
    assert [dict(point.attributes) for point in memory.points("agentcli.approval.duration")] == [
        {"gen_ai.tool.name": "bash"}
    ]
    assert spans["execute_tool edit"].attributes["error.type"] == "denied"
    durations = {
        point.attributes.get("gen_ai.tool.name"): point.sum
        for point in memory.points("gen_ai.client.operation.duration")
    }
    assert durations["bash"] == 2.5


def test_compactions_and_retries_are_spans_and_counts() -> None:
    memory = Memory()
    spans = memory.trace(
        CompactionStarted("auto", "auto"),
        Retrying(1, 0.5, "secret reason"),
        UsageReported(Usage(100, 10), 0.25, 0, "summary"),
        CompactionEnded("auto", "compressed", "auto", 90_000, 20_000, "why"),
        TextDelta("x"),
        recorded(Message("assistant", (Text("x"),), usage=Usage(1, 1), stop="end_turn")),
        UsageReported(Usage(9, 9), 0.5, 0, "subagent"),
        TurnEnded("done", "x"),
    )
    compaction = spans["compaction"]
    assert compaction.attributes["agentcli.compaction.tokens_after"] == 20_000
    assert [event.name for event in compaction.events] == ["retry"]
    assert "secret" not in repr([dict(event.attributes) for span in spans.values() for event in span.events])
    assert [point.value for point in memory.points("agentcli.cost")] == [0.25], "a subagent counts itself"
    assert [point.value for point in memory.points("agentcli.retries") + memory.points("agentcli.compactions")] == [
        1,
        1,
    ]
    chat = spans["chat claude-opus-5-5"]
    assert chat.attributes["gen_ai.response.time_to_first_chunk"] == 1.0
    assert chat.status.is_unset


@each_row(
    ("ended", "error", "kind"),
    [
        (TurnEnded("interrupted"), None, None),
        (TurnEnded("limit"), None, "limit"),
        (None, None, None),
        (None, RuntimeError("secret"), "RuntimeError"),
    ],
)
def test_every_span_ends_however_a_turn_does(
    ended: TurnEnded | None, error: BaseException | None, kind: str | None
) -> None:
    spans = Memory().trace(TextDelta("x"), ToolStarted(CALL, "ls"), *([ended] if ended else []), error=error)
    assert set(spans) == {"invoke_agent agentcli", "chat claude-opus-5-5", "execute_tool bash"}
    assert spans["invoke_agent agentcli"].attributes.get("error.type") == kind
    assert spans["invoke_agent agentcli"].status.is_unset == (kind is None)
    assert "secret" not in "".join(span.to_json() for span in spans.values())


def test_providers_have_the_names_of_the_conventions() -> None:
    platforms = {"aws": "bedrock", "cloud": "vertexai", "mine": ""}
    names = ("anthropic", "google", "openai", "aws", "cloud", "mine", "deepseek")
    found = [provider_name(platforms, replace(MODEL, provider=name)) for name in names]
    assert found == ["anthropic", "gcp.gemini", "openai", "aws.bedrock", "gcp.vertex_ai", "mine", "deepseek"]
