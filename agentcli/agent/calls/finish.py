"""Stage that ends a call: whatever its run came to becomes its result, which is recorded."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from agentcli.agent.approval import RepeatGuard
from agentcli.agent.calls.call import Call, Run, Stage, with_notes
from agentcli.agent.calls.prepare import Prepare
from agentcli.core.dataclass import replace
from agentcli.core.errors import AgentError
from agentcli.core.event import Recorded
from agentcli.core.mcp_servers import TOOL
from agentcli.core.message import ToolCall, ToolResult
from agentcli.core.record import Body
from agentcli.core.tool import ToolOutput
from agentcli.tools.mending import with_ignored

INTERRUPTED = "Interrupted by the user: this call may or may not have taken effect."

_log = logging.getLogger(__name__)


class Finish(Stage):
    """Turns outputs and failures into results, and records these."""

    def __init__(self, record: Callable[[Body], Recorded], repeats: RepeatGuard, prepare: Prepare) -> None:
        self._record, self._repeats, self._prepare = record, repeats, prepare

    def around(self, run: Run) -> Run:
        async def ran(call: Call) -> Call:
            """Run one call and turn a failure into its result. A cancelled tool may still return partial output."""
            started, began = time.time(), time.monotonic()
            try:
                call = await run(call)
                assert call.output is not None
                output = with_ignored(call.output, call.ignored)
            except asyncio.CancelledError:
                output = ToolOutput(INTERRUPTED, status="interrupted")
            except (AgentError, OSError) as error:
                output = ToolOutput(str(error), status="error")
            except Exception as error:  # noqa: BLE001 - a bug in one tool must not cost the conversation; the log has the traceback
                _log.exception("tool %s failed", call.call.name)
                output = ToolOutput(f"The tool failed: {type(error).__name__}: {error}", status="error")
            # The wall clock may be set meanwhile.
            result = _result(call, output, started, started + time.monotonic() - began)
            return replace(call, result=with_notes(result, call.notes))

        return ran

    def record(self, call: Call) -> Recorded:
        """Record the result of a call under the name that the model used; the metadata then names its tool."""
        assert call.result is not None
        result = call.result
        self.note(call.asked, result)
        if call.sent_as != result.name:
            result = replace(result, name=call.sent_as, metadata={**result.metadata, TOOL: result.name})
        return self._record(result)

    def note(self, call: ToolCall, result: ToolResult) -> None:
        """Count the result of a call among its repeats, unless the call polls: then equal results are expected."""
        if not self._prepare.traits_of(call).polls:
            self._repeats.note(call, result)


def _result(call: Call, output: ToolOutput, started: float, ended: float) -> ToolResult:
    return ToolResult(
        call_id=call.call.call_id,
        name=call.call.name,
        status=output.status,
        output=output.output,
        truncated=output.truncated,
        output_file=output.output_file,
        title=output.title or call.title_now,
        started=started,
        ended=ended,
        metadata=output.metadata,
        images=output.images,
    )
