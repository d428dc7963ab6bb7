"""Side questions: answered from the conversation, but not part of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentcli.program.feature import Feature

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentcli.program.command import Command


class SideQuestions(Feature[object]):
    name = "side questions"

    def commands(self) -> Sequence[Command]:
        from agentcli.features.side_question.question import COMMANDS

        return COMMANDS
