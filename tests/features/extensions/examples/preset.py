"""Named instructions that hold until another preset is chosen."""

from typing import Literal

from agentcli.extension import Context, Request, command, on

PRESETS = {"careful": "Explain each change before you make it.", "fast": "Act at once and keep answers short."}


@command("/preset")
def choose(ctx: Context, name: Literal["careful", "fast", "none"]) -> str:
    """Choose how the model works."""
    ctx.state["preset"] = name
    return f"Preset {name}."


@on("before_request")
def remind(request: Request, ctx: Context) -> str | None:
    name = ctx.state.get("preset")
    if name == ctx.state.get("told"):
        return None
    ctx.state["told"] = name
    return PRESETS.get(name)
