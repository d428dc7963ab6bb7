"""Accounts: several keys of one provider, each with separate costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentcli.program.config.general import General
from agentcli.program.feature import Feature

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agentcli.program.command import Command
    from agentcli.program.feature import Row
    from agentcli.program.program import Program


class Accounts(Feature["Program"]):
    name = "accounts"

    def commands(self) -> Sequence[Command]:
        from agentcli.features.accounts.commands import COMMANDS

        return COMMANDS

    def checks(self, program: Program) -> Iterable[Row]:
        folders = program.config[General].accounts
        if not folders:
            return ()
        from agentcli.features.accounts.commands import rows

        return rows(program, folders)
