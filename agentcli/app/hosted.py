"""A session in a process of its own that has no terminal: `agentcli serve` starts it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from agentcli.agent.ports import ApprovalRequest, ApprovalResponse
from agentcli.app.front_end import FrontEnd
from agentcli.app.launch import share_session
from agentcli.app.program import Program
from agentcli.core.tool import Question
from agentcli.program.options import Options
from agentcli.serve.hosted import HostedSession
from agentcli.system.logs import log_to
from agentcli.ui.sharing import Sharing


def host_session(options: Options) -> int:
    """Open the session that the options name, share it and run its turns; return the exit code."""
    sharing = Sharing()
    program = Program(options, front_end=FrontEnd(sharing.approving(_elsewhere), sharing.asking(_others)))
    log_to(program.dirs, program.env)
    with program.preparing():
        session = program.sessions.begin()
    sharing.start = partial(share_session, program, name="serve")
    program.servers.start()

    async def run() -> int:
        try:
            return await HostedSession(session, sharing).run()
        finally:
            await program.close()

    return asyncio.run(run())


async def _elsewhere(_: ApprovalRequest) -> ApprovalResponse | None:
    """Wait: only a person elsewhere answers."""
    await asyncio.Event().wait()
    return None


async def _others(_: Sequence[Question]) -> Sequence[str] | None:
    """Wait: only a person elsewhere answers."""
    await asyncio.Event().wait()
    return None
