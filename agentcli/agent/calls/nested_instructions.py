"""Stage of nested files: the first call to touch a folder gets its instruction files and the names of its skill folders in the result."""

from __future__ import annotations

from agentcli.agent.calls.call import Call, Run, Stage
from agentcli.agent.calls.prepare import Prepare
from agentcli.agent.nested_instructions import NestedInstructions, NestedSkills
from agentcli.core.dataclass import replace


class NestedStage(Stage):
    """Adds nested instructions and skills to results: files that belong to the folders touched by the calls."""

    def __init__(self, instructions: NestedInstructions, skills: NestedSkills, prepare: Prepare) -> None:
        self._instructions, self._skills, self._prepare = instructions, skills, prepare

    def around(self, run: Run) -> Run:
        async def ran(call: Call) -> Call:
            call = await run(call)
            if call.result is None:
                return call
            traits = self._prepare.traits_of(call.call)
            result = self._instructions.added(call.result, call.path, traits)
            return replace(call, result=self._skills.noted(result, call.path, traits))

        return ran
