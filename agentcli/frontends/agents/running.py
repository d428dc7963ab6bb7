"""The process of a background session: it runs the prompts that were given, and lives until all work is done."""

from __future__ import annotations

import sys
from collections import deque
from functools import partial

from agentcli.agent.ports import Prompt, RunTurn
from agentcli.agent.session import AgentSession
from agentcli.core.errors import InputError
from agentcli.core.event import Event, TurnEnded, Warned
from agentcli.core.message import reminder
from agentcli.core.sanitise import safe_line
from agentcli.frontends.headless.commands import turn_of
from agentcli.frontends.serve.background import Background, End, Kept
from agentcli.frontends.serve.hosted import HostedSession, host_session
from agentcli.frontends.terminal.sharing import Sharing
from agentcli.program.program import Program
from agentcli.system.paths import app_dirs

GO_ON = "The session now runs in the background. Continue the work where it was interrupted."


def run_background(session: str) -> int:
    """Run a background session to its end; return the exit code. Raises AgentError if it cannot begin."""
    kept = Kept(app_dirs().state)
    background = kept.get(session)
    if background is None:
        raise InputError(f"There is no background session {safe_line(session)}.")
    return host_session(background.options, partial(BackgroundSession, background, kept))


class BackgroundSession(HostedSession):
    """A hosted session that ends with its work, and keeps how it ended."""

    def __init__(
        self, background: Background, kept: Kept, program: Program, session: AgentSession, sharing: Sharing
    ) -> None:
        super().__init__(session, sharing)
        self._background, self._kept, self._program = background, kept, program
        options = background.options
        self._first = deque(options.prompts(options.prompt or ""))
        self._again = background.again
        self._end_of_turn = TurnEnded("done")

    async def run(self) -> int:
        """Run the prompts and what follows from them; return the exit code."""
        try:
            code = await super().run()
        except BaseException as error:
            self._note("failed", safe_line(str(error)) or type(error).__name__)
            raise
        how, why = _judged(self._end_of_turn)
        if self._stopped:
            how, why = "stopped", ""
        if trouble := self.session.journal.trouble():
            how, why = "failed", safe_line(trouble)
        self._note(how, why)
        return code

    async def _next(self) -> RunTurn | None:
        """Return the next turn; without one that comes or may come, the session ends."""
        if self._again:
            self._again = False
            return partial(self.session.run, Prompt("", (reminder(GO_ON),), typed=False))
        if self._first:
            return turn_of(self._program, self.session, self._first.popleft())
        turn = await super()._next()
        if turn is None and not self.session.is_due() and not self.session.goes_on():
            self._ended.set()
        return turn

    async def _turn(self, turn: RunTurn) -> TurnEnded:
        self._end_of_turn = ended = await super()._turn(turn)
        if ended.ending != "done":
            self._first.clear()
        return ended

    async def _show(self, event: Event) -> None:
        if isinstance(event, Warned):
            print(safe_line(event.message), file=sys.stderr, flush=True)
        await super()._show(event)

    def _note(self, how: End, error: str) -> None:
        """Keep how the session ended; remove its worktree if nothing has changed there."""
        tree = self._background.named_worktree(self._program.given_env)
        changes = {}
        if how == "done" and tree is not None and not tree.is_changed:
            tree.discard()
            changes = {"worktree": None}
        self._kept.change(self._background.session, ended=how, error=error, **changes)


def _judged(ended: TurnEnded) -> tuple[End, str]:
    """Return how a session ended whose last turn ended so, and why it failed."""
    match ended.ending:
        case "done":
            return "done", ""
        case "interrupted":
            return "stopped", ""
        case _:
            return "failed", safe_line(str(ended.error or ended.ending))
