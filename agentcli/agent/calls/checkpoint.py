"""Stage of checkpoints: the files that a call may change are saved before it runs, so that its changes can be undone."""

from __future__ import annotations

from agentcli.agent.calls.call import Call, Run, Stage
from agentcli.agent.checkpointing import Checkpointer


class CheckpointStage(Stage):
    """Runs calls between two looks at the files; a harmless command changes none."""

    def __init__(self, checkpointer: Checkpointer) -> None:
        self._checkpointer = checkpointer

    def around(self, run: Run) -> Run:
        async def ran(call: Call) -> Call:
            if call.harmless:
                return await run(call)
            return await self._checkpointer.run(lambda: run(call), call.its_tool, call.path, call.call)

        return ran
