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
)


def acp(
    model: Model = "",
    mode: Mode = "",
    allow: Allow = None,
    deny: Deny = None,
    add_dir: AddDir = None,
    max_turns: MaxTurns = None,
    max_cost: MaxCost = None,
    max_tokens: MaxTokens = None,
    max_time: MaxTime = None,
    append_system_prompt: AppendPrompt = "",
    settings: Set = None,
    no_session: NoSession = False,
    trust: Trust = False,
) -> int:
    """Work for an editor, over the Agent Client Protocol.

    An editor starts it and talks to it on stdin and stdout: JSON-RPC, one message a line. `agentcli help editors` says how to set
    up Zed and others.
    """
    from agentcli.app.editors import serve

    return serve(
        Options(
            model=model,
            mode=mode,
            allow=tuple(allow or ()),
            deny=tuple(deny or ()),
            add_dirs=tuple(add_dir or ()),
            max_turns=max_turns,
            max_cost=max_cost,
            max_tokens=max_tokens,
            max_time=max_time,
            append_system_prompt=append_system_prompt,
            settings=tuple(settings or ()),
            no_session=no_session,
            trust=trust,
        )
    )
