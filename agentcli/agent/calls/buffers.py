"""Stage of unsaved editor buffers: an editor saves a file before a call edits it, and calls read unsaved text."""

from __future__ import annotations

from agentcli.agent.buffers import UnsavedBuffers
from agentcli.agent.calls.call import Call, Run, Stage
from agentcli.core.dataclass import replace


class BufferStage(Stage):
    """Makes a call work on the text that the person sees in the editor."""

    def __init__(self, buffers: UnsavedBuffers) -> None:
        self._buffers = buffers

    def around(self, run: Run) -> Run:
        async def ran(call: Call) -> Call:
            if call.its_tool.traits.edits_files:
                await self._buffers.save(call.its_tool, call.path, call.call.input)
            elif call.its_tool.traits.reads_files and call.path is not None:
                call = replace(call, buffers=await self._buffers.contents([call.path]))
            return await run(call)

        return ran
