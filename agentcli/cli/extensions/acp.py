"""`agentcli acp`: the agent for editors that speak the Agent Client Protocol."""

from __future__ import annotations

from agentcli.app.options import Options
from agentcli.cli.flags import (
    AddDir,
    Allow,
    AppendPrompt,
    Deny,
    MaxCost,
    MaxTime,
    MaxTokens,
    MaxTurns,
    Mode,
    Model,
    NoSession,
    Set,
    Trust,
    by_option,
    taking,
)
from agentcli.core.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class AcpFlags:
    """The flags that a session for an editor takes."""

    model: Model = ""
    mode: Mode = ""
    allow: Allow = None
    deny: Deny = None
    add_dir: AddDir = None
    max_turns: MaxTurns = None
    max_cost: MaxCost = None
    max_tokens: MaxTokens = None
    max_time: MaxTime = None
    append_system_prompt: AppendPrompt = ""
    settings: Set = None
    no_session: NoSession = False
    trust: Trust = False


@taking(AcpFlags)
def acp(asked: AcpFlags) -> int:
    """Serve an editor over the Agent Client Protocol.

    The editor starts this command and talks to it on stdin and stdout: JSON-RPC, one message a line. See `agentcli help
    editors` for Zed and others.
    """
    from agentcli.app.editors import serve

    return serve(Options(**by_option(asked)))
