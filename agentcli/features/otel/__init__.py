"""OpenTelemetry: traces and metrics of sessions in the GenAI conventions, for the extra `otel` and only if
`AGENTCLI_OTEL` requests them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentcli.program.feature import Feature

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentcli.agent.core import SessionCore
    from agentcli.agent.feature import SessionPart
    from agentcli.program.feature import Row
    from agentcli.program.program import Program


class OpenTelemetry(Feature["Program"]):
    name = "opentelemetry"

    def on(self, program: Program) -> bool:
        return bool(program.given_env.get("AGENTCLI_OTEL"))

    def checks(self, program: Program) -> Iterable[Row]:
        if not self.on(program):
            return ()
        from agentcli.features.otel.switch import rows

        return rows(program)

    def session(self, program: Program, core: SessionCore) -> SessionPart | None:
        from agentcli.features.otel.session import telemetry_of

        return telemetry_of(program, core)
