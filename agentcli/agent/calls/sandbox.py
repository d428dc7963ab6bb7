"""Stage of the sandbox: choose the sandbox of a command from the present mode and the decision about it."""

from __future__ import annotations

from agentcli.agent.approval import ApprovalGate
from agentcli.agent.calls.call import Call, Run, Stage
from agentcli.agent.setup import SessionSetup
from agentcli.core.dataclass import replace
from agentcli.core.tool import CommandSandbox
from agentcli.permissions.decide import Decision

_BLIND = (
    "[it ran in a read-only sandbox, which shows no processes, mounts and network but its own: "
    "run what looks at those in a command that names no files]"
)

_SHOWN = 3
"""Hidden files that the model is told by name."""


class SandboxStage(Stage):
    """Chooses the sandbox when a command starts: a call before it may have changed the mode."""

    def __init__(self, setup: SessionSetup, gate: ApprovalGate) -> None:
        self._setup, self._gate = setup, gate

    def around(self, run: Run) -> Run:
        async def ran(call: Call) -> Call:
            if call.decision is not None and call.its_tool.traits.effect == "run":
                call = replace(call, box=self._sandbox(call.decision, call.harmless))
            return await run(call)

        return ran

    def _sandbox(self, decision: Decision, harmless: bool) -> CommandSandbox:
        """Return the sandbox of a command in the present mode.

        A command that is allowed because it only reads gets the hardened environment, and a reader's sandbox unless it
        inspects only the machine.
        """
        sandboxes = self._setup.permissions.sandboxes(self._gate.mode, decision.hidden)
        left_out = self._left_out(decision)
        note, if_failed = (left_out, "") if decision.hidden.told else ("", left_out)
        if decision.records:
            return replace(sandboxes.recorder, note=note, if_failed=if_failed)
        if not harmless or sandboxes.reader is None or decision.machine == "only":
            return replace(sandboxes.decided, hardened=harmless, note=note, if_failed=if_failed)
        blind = _BLIND if decision.machine else ""
        return CommandSandbox(
            sandboxes.reader, hardened=True, note="\n".join(filter(None, (blind, note))), if_failed=if_failed
        )

    def _left_out(self, decision: Decision) -> str:
        """Return the line about the paths hidden from a command; empty if none is."""
        cwd, paths = self._setup.workspace.cwd, decision.hidden.paths
        shown = [str(path.relative_to(cwd) if path.is_relative_to(cwd) else path) for path in paths[:_SHOWN]]
        more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
        return f"[deny rules hide from commands: {', '.join(shown)}{more}]" if paths else ""
