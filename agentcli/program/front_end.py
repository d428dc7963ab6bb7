"""Parts that a front end gives to its program: a person to ask, an editor, additional tools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Timer

from agentcli.agent.buffers import EditorFiles
from agentcli.agent.ports import ApprovalRequest, ApprovalResponse, Approve, AskUser
from agentcli.core.dataclass import dataclass
from agentcli.core.tool import Question, Tool

WARM_AFTER = 0.3
"""Seconds after which slow imports begin in the background: the editor comes first."""


async def nobody(_: ApprovalRequest) -> ApprovalResponse | None:
    """Return None: a run without a person has no approver."""
    return None


async def no_answer(_: Sequence[Question]) -> Sequence[str] | None:
    """Return None: `ask_user` has no person to ask."""
    return None


@dataclass(frozen=True, slots=True)
class FrontEnd:
    """The part of a program that depends on its front end. By default no person is present."""

    approve: Approve = nobody
    ask: AskUser = no_answer
    editor: EditorFiles | None = None
    tools: Sequence[Tool] = ()
    """Tools of the embedding program, in addition to the built-in ones."""
    one_turn: bool = False
    """True if the first turn of a session is its last."""

    @property
    def attended(self) -> bool:
        """True if a person is there to allow calls."""
        return self.approve is not nobody


def soon(act: Callable[..., object], *given: object) -> None:
    """Do this in the background after `WARM_AFTER` seconds."""
    timer = Timer(WARM_AFTER, act, given)
    timer.daemon = True
    timer.start()
