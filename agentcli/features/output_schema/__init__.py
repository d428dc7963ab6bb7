"""Answers of runs as JSON that matches a JSON Schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentcli.program.feature import Feature

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentcli.program.feature import WrapTurn
    from agentcli.program.program import Program


class OutputSchema(Feature["Program"]):
    name = "output schema"

    def on(self, program: Program) -> bool:
        return bool(program.options.output_schema)

    def wraps(self, program: Program) -> Iterable[WrapTurn]:
        """Hold the answer to the schema that the options name."""
        from agentcli.features.output_schema.run import holding_to

        return [holding_to(program.options.output_schema)]
