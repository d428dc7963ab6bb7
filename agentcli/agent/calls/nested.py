"""Stage of nested files: the result of a call brings instruction files, and names folders of skills, that it is the first to touch."""

from __future__ import annotations

from agentcli.agent.calls.call import Call, Run, Stage
from agentcli.agent.calls.prepare import Prepare
from agentcli.agent.nested import NestedInstructions, NestedSkills
from agentcli.core.dataclass import replace


class NestedStage(Stage):
    """Adds to results what lies beside the files that their calls touched."""

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
