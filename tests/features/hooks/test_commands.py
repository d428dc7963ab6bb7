"""/extensions hooks approve asks again about what a project would start."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from agentcli.features.hooks.commands import hooks
from agentcli.frontends.commands.outputs import perform
from agentcli.frontends.opening import program_of
from agentcli.program.options import Options
from agentcli.program.project import TRUSTED
from agentcli.program.trust import trust
from tests.frontends.terminal.contexts import ScriptedContext

HOOKS = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "sh a"}]}]}}
SERVERS = {"mcpServers": {"b": {"command": "sh", "args": ["b"]}}}


def test_it_says_what_was_approved(tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / ".git").mkdir(parents=True)
    (work / ".agentcli").mkdir()
    (work / ".agentcli" / "hooks.json").write_text(json.dumps(HOOKS))
    (work / ".mcp.json").write_text(json.dumps(SERVERS))
    env = {f"XDG_{kind}_HOME": str(tmp_path / kind.lower()) for kind in ("CONFIG", "DATA", "STATE", "CACHE")}
    program = program_of(Options(cwd=str(work), model="script:echo"), {**env, "HOME": str(tmp_path), "PATH": "/bin"})
    trust(work, program.dirs.state / TRUSTED)
    session = program.sessions.new()
    for answers, said in (((), "Nothing was approved."), ((0, 1), "Approved: hook sh (Stop) of .agentcli/hooks.json.")):
        context = ScriptedContext(*answers, session=session)
        context.program = program
        asyncio.run(perform(hooks, context, "approve"))
        assert context.output[-1] == said
        assert [program.approvals.allows(one) for one in program.definitions()] == [False, bool(answers)]
        assert context.asked[-1] == "Let this project start hook sh (Stop) of .agentcli/hooks.json? (2 of 2)"
    context.session.close()
    asyncio.run(program.close())
