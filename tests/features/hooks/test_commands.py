"""/hooks approve asks again about what a project would start."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from agentcli.features.hooks.commands import hooks
from agentcli.frontends.commands.outputs import perform
from agentcli.program.definition import Definition
from tests.frontends.terminal.contexts import ScriptedContext

FOUND = [Definition("hook", "a", "x.json", "sh a", {}), Definition("server", "b", "x.json", "sh b", {})]


class Host:
    """A host of a project whose definitions were declined."""

    decided: Sequence[tuple[Definition, bool]] = ()

    def undecided(self, _: Any, *, declined: bool) -> Sequence[Definition]:
        return FOUND if declined else []

    def decide(self, session: Any, given: Sequence[tuple[Definition, bool]]) -> Any:
        self.decided = given
        return session


def test_it_says_what_was_approved() -> None:
    for answers, said in (((0, 1), "Approved: server b of x.json."), ((), "Nothing was approved.")):
        context = ScriptedContext(*answers)
        context.host = Host()
        asyncio.run(perform(hooks, context, "approve"))
        assert context.output == [said]
        assert [yes for _, yes in context.host.decided] == [False, bool(answers)]
        assert context.asked[1] == "Let this project start server b of x.json? (2 of 2)"
