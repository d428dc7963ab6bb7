"""A report on OpenTelemetry for `doctor`."""

from __future__ import annotations

from collections.abc import Iterator

from agentcli.features.otel.switch import SWITCH, captures_content, fault, is_on
from agentcli.program.project import Project

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
DEFAULT = "http://localhost:4318"


def rows(program: Project) -> Iterator[tuple[str, bool, str]]:
    """Report the address and whether content is sent, or why nothing is."""
    env = program.env
    if not is_on(env):
        yield "OpenTelemetry", True, f"off: {SWITCH} or OTEL_SDK_DISABLED says so"
        return
    if why := fault(env):
        yield "OpenTelemetry", False, why
        return
    content = "with prompts, arguments and outputs" if captures_content(env) else "without content"
    yield "OpenTelemetry", True, f"traces and metrics go to {env.get(ENDPOINT) or DEFAULT}, {content}"
