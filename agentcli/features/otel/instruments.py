"""Tracer and metrics of agentcli, in OpenTelemetry's GenAI conventions; our own names begin with `agentcli.`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from agentcli import __version__
from agentcli.core.dataclass import dataclass
from agentcli.core.message import Usage

TOKENS = "gen_ai.client.token.usage"
DURATION = "gen_ai.client.operation.duration"
COST, RETRIES, COMPACTIONS = "agentcli.cost", "agentcli.retries", "agentcli.compactions"
APPROVAL = "agentcli.approval.duration"
LONGEST = 64_000
"""Maximum characters of a prompt, an input or an output that are sent."""
_TOKEN_BOUNDS = [4.0**power for power in range(14)]
_SECOND_BOUNDS = [0.01 * 2.0**power for power in range(14)]
Attributes = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Instruments:
    """Receivers of spans and measurements. `content` redacts a text that may be sent; None if no content is."""

    tracer: Any
    tokens: Any
    duration: Any
    cost: Any
    retries: Any
    compactions: Any
    approval: Any
    content: Callable[[str], str] | None = field(default=None, compare=False)

    @classmethod
    def of(cls, tracers: Any, meters: Any, content: Callable[[str], str] | None = None) -> Instruments:
        """Make the providers' instruments; for None, instruments that measure nothing."""
        from opentelemetry.metrics import NoOpMeterProvider
        from opentelemetry.trace import NoOpTracerProvider

        tracer = (tracers if tracers is not None else NoOpTracerProvider()).get_tracer("agentcli", __version__)
        meter = (meters if meters is not None else NoOpMeterProvider()).get_meter("agentcli", __version__)

        def histogram(name: str, unit: str, about: str, bounds: list[float]) -> Any:
            return meter.create_histogram(name, unit, about, explicit_bucket_boundaries_advisory=bounds)

        return cls(
            tracer,
            histogram(TOKENS, "{token}", "Tokens of requests, by type.", _TOKEN_BOUNDS),
            histogram(DURATION, "s", "Seconds of requests, tools and turns.", _SECOND_BOUNDS),
            meter.create_counter(COST, "USD", "Cost of requests, if their prices are known."),
            meter.create_counter(RETRIES, "{retry}", "Requests that were made again."),
            meter.create_counter(COMPACTIONS, "{compaction}", "Compactions, by status."),
            histogram(APPROVAL, "s", "Seconds that approvals waited for a person.", _SECOND_BOUNDS),
            content,
        )

    def spent(self, usage: Usage, cost: float | None, about: Attributes) -> None:
        """Measure the tokens and the cost of a request."""
        self.tokens.record(usage.prompt, {**about, "gen_ai.token.type": "input"})
        self.tokens.record(usage.output, {**about, "gen_ai.token.type": "output"})
        if cost:
            self.cost.add(cost, about)

    def shown(self, name: str, text: str) -> Attributes:
        """Return an attribute with content; none unless content is to be sent."""
        return {name: self.content(text[:LONGEST])} if self.content is not None and text else {}
