"""Switch of OpenTelemetry, and `doctor`'s report on it.

`OTEL_*` do not switch it on: many machines set them for other programs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.util import find_spec

from agentcli.program.feature import Row
from agentcli.program.project import Project
from agentcli.system.installing import install_extra

SWITCH = "AGENTCLI_OTEL"
CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""The variable of the conventions that adds prompts, arguments and outputs."""
ENDPOINT, DEFAULT = "OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318"
_OFF = ("", "0", "false", "no", "off")


def is_on(env: Mapping[str, str]) -> bool:
    """Return True if the environment requests telemetry.

    `OTEL_SDK_DISABLED` overrides the switch, as it does everywhere.
    """
    return _set(env, SWITCH) and not _set(env, "OTEL_SDK_DISABLED")


def captures_content(env: Mapping[str, str]) -> bool:
    """Return True if prompts, arguments and outputs may leave the machine."""
    return _set(env, CONTENT)


def missing() -> bool:
    """Return True if the extra's packages are not installed."""
    try:
        return not (find_spec("opentelemetry.sdk") and find_spec("opentelemetry.exporter.otlp.proto.http"))
    except ImportError:
        return True


def fault(env: Mapping[str, str]) -> str:
    """Return why nothing can be sent although the environment requests it; empty if there is no reason."""
    if missing():
        return f"{SWITCH} is set, but the packages of OpenTelemetry are not installed: {install_extra('otel')}"
    protocol = env.get("OTEL_EXPORTER_OTLP_PROTOCOL", "").strip() or "http/protobuf"
    if protocol != "http/protobuf":
        return f"OTEL_EXPORTER_OTLP_PROTOCOL is {protocol}, but agentcli sends http/protobuf only: set that, and the address of the HTTP port"
    return ""


def rows(program: Project) -> Iterator[Row]:
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


def _set(env: Mapping[str, str], name: str) -> bool:
    return env.get(name, "").strip().lower() not in _OFF
