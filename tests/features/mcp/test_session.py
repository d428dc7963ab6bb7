"""The stage of tool search alone: a model that loads tools itself gets their definitions with the result."""

from __future__ import annotations

from pathlib import Path

from agentcli.agent.calls.call import Call, beginning
from agentcli.core.dataclass import replace
from agentcli.core.mcp_servers import LOADED, MATCHED, SEARCH
from agentcli.core.message import ToolCall
from agentcli.core.model import ModelSpec
from agentcli.core.tool import ToolOutput
from agentcli.features.mcp.session import LoadingStage
from agentcli.tools.registry import tools
from tests.agent.calls.passing import a_call, ended, unchanged, with_output
from tests.agent.open_session import open_session
from tests.features.mcp.played_servers import STATUS, Played
from tests.tables import each_row

[SEARCHING] = tools({SEARCH})
FOUND = ToolOutput("mcp__git__status: Show the state.", metadata={MATCHED: [STATUS.name]})


def stage_of(folder: Path, *, defers: bool) -> LoadingStage:
    session = open_session(folder, [], servers=Played(STATUS))

    def loads(_: ModelSpec) -> bool:
        return defers

    setup = replace(session.core.setup, models=replace(session.core.setup.models, defers=loads))
    return LoadingStage(setup, session.parts.found, session.core.builder)


def search() -> Call:
    return beginning(ToolCall("c1", SEARCH, {"query": "state"}), SEARCHING)


def test_what_a_search_finds_is_defined_for_a_model_that_loads_tools(tmp_path: Path) -> None:
    output = ended(stage_of(tmp_path, defers=True), with_output(FOUND), search()).output
    assert output is not None
    assert output.output == FOUND.output
    assert [tool["name"] for tool in output.metadata[LOADED]] == [STATUS.name]


@each_row("case", ["another model", "another tool", "nothing found", "a failed search"])
def test_every_other_output_stays_as_it_is(tmp_path: Path, case: str) -> None:
    stage = stage_of(tmp_path, defers=case != "another model")
    call = a_call("read", file_path="a") if case == "another tool" else search()
    output = ToolOutput("Nothing.") if case == "nothing found" else FOUND
    run = unchanged if case == "a failed search" else with_output(output)
    assert ended(stage, run, call).output == (None if case == "a failed search" else output)
