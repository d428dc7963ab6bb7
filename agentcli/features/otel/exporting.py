"""Send to a collector by OTLP over HTTP, from the SDK's threads. A collector that is down, slow or hanging does not
delay a session.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any

from agentcli import __version__
from agentcli.core.text.secrets import known_secrets, redact
from agentcli.features.otel.instruments import Instruments
from agentcli.features.otel.switch import captures_content

PATIENCE = 1.0
"""Seconds that a session's end waits for a collector; 0 for one that has failed before."""
NAME = "agentcli"


class Sender:
    """Providers of one process, and whether the collector accepts what they send."""

    def __init__(self, tracers: Any, meters: Any, instruments: Instruments) -> None:
        self._providers = [each for each in (tracers, meters) if each is not None]
        self.instruments = instruments
        self.trouble = ""
        """Last error of the collector; empty while it answers."""
        self._told = False

    def heard(self, taken: bool) -> None:
        """Note whether the collector has taken something."""
        self.trouble = "" if taken else "did not take what was sent"

    def news(self) -> str:
        """Return the warning about the collector, once in a process."""
        if not self.trouble or self._told:
            return ""
        self._told = True
        return (
            f"OpenTelemetry: the collector {self.trouble}. The work is not affected, but its traces and metrics are lost. "
            "`agentcli doctor` shows the address."
        )

    def flush(self) -> None:
        """Send the rest in a thread; wait for it at most `PATIENCE` seconds."""
        sending = threading.Thread(target=self._flush, name="otel-flush", daemon=True)
        sending.start()
        sending.join(0 if self.trouble else PATIENCE)
        if sending.is_alive() and not self.trouble:
            self.trouble = f"did not answer within {PATIENCE:g} s"

    def _flush(self) -> None:
        for provider in self._providers:
            provider.force_flush()


class Watched:
    """An SDK exporter that also reports whether the collector accepted what it sent."""

    def __init__(self, exporter: Any, heard: Callable[[bool], None]) -> None:
        self._exporter, self._heard = exporter, heard

    def export(self, *given: Any, **more: Any) -> Any:
        """Send, and report the outcome."""
        result = self._exporter.export(*given, **more)
        self._heard(result.name == "SUCCESS")
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self._exporter, name)


def opened(env: Mapping[str, str]) -> Sender:
    """Make the providers according to the variables `OTEL_*`; sends nothing yet."""
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    log = logging.getLogger("opentelemetry")  # it would print at each failure; `news` reports it once
    log.addHandler(logging.NullHandler())
    log.propagate = False
    named = env.get("OTEL_SERVICE_NAME") or "service.name=" in env.get("OTEL_RESOURCE_ATTRIBUTES", "")
    resource = Resource.create({"service.version": __version__, **({} if named else {"service.name": NAME})})
    outcomes: list[Callable[[bool], None]] = []

    def heard(taken: bool) -> None:
        for tell in outcomes:
            tell(taken)

    tracers = meters = None
    if env.get("OTEL_TRACES_EXPORTER", "") != "none":
        tracers = TracerProvider(resource=resource, shutdown_on_exit=False)
        tracers.add_span_processor(BatchSpanProcessor(Watched(OTLPSpanExporter(), heard)))
    if env.get("OTEL_METRICS_EXPORTER", "") != "none":
        reader = PeriodicExportingMetricReader(Watched(OTLPMetricExporter(), heard))
        meters = MeterProvider([reader], resource=resource, shutdown_on_exit=False)
    secrets = known_secrets(env)
    content = (lambda text: redact(text, secrets)) if captures_content(env) else None
    sender = Sender(tracers, meters, Instruments.of(tracers, meters, content))
    outcomes.append(sender.heard)
    return sender
