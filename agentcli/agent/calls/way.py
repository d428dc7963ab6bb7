"""The way of a call: the agent's own stages, in a fixed order, because they need one another.

No feature is among them.
"""

from __future__ import annotations

from collections.abc import Sequence

from agentcli.agent.calls.call import Stage
from agentcli.agent.calls.execute import CallStages
from agentcli.agent.calls.stages import (
    ApprovalStage,
    BufferStage,
    CheckpointStage,
    CredentialStage,
    Finish,
    HookStage,
    NestedStage,
    Prepare,
    SandboxStage,
)
from agentcli.agent.core import SessionCore
from agentcli.agent.ending import DeedStage, Ending
from agentcli.agent.instructions import NestedInstructions
from agentcli.agent.ports import FoundTools
from agentcli.agent.repeats import RepeatGuard, RepeatStage
from agentcli.agent.working_folder import FolderStage, WorkTreeStage


def way_of_calls(
    core: SessionCore,
    found: FoundTools,
    repeats: RepeatGuard,
    nested: NestedInstructions | None,
    ending: Ending,
    more: Sequence[Stage],
) -> CallStages:
    """Return the stages of a session's calls. `more` are the stages of its features, which come last."""
    setup, journal = core.setup, core.journal
    prepare = Prepare(
        {tool.name: tool for tool in setup.tools.offered},
        found,
        setup.workspace.cwd,
        lambda: [raw["name"] for raw in journal.history.tools],
        lambda: journal.history.todo,
        lambda: core.folder.now,
        lambda: setup.workspace.tmp if core.approval.in_one_sandbox else None,
    )
    finish = Finish(core.record, repeats, prepare)
    hooks = None
    if core.hooks.judges_calls:
        hooks = HookStage(core.hooks, core.printed, setup.person.attended, core.seen, setup.workspace.cwd)
    stages = [
        prepare,
        RepeatStage(repeats, journal),
        FolderStage(core.folder),
        WorkTreeStage(setup.workspace, setup.permissions.add_work_tree, journal, core.record),
        hooks,
        ApprovalStage(core.approval, prepare, hooks.request if hooks is not None else None),
        NestedStage(nested, prepare) if nested is not None else None,
        finish,
        CredentialStage(setup.workspace),
        SandboxStage(setup, core.approval, core.printed),
        BufferStage(core.buffers) if setup.person.editor is not None else None,
        CheckpointStage(core.checkpointer) if core.checkpointer is not None else None,
        DeedStage(ending),
        *more,
    ]
    return CallStages(core, prepare, finish, [stage for stage in stages if stage is not None])
