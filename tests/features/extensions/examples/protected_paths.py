"""Keep the model from writing to some paths."""

from agentcli.extension import Context, Decision, ToolCall, on, settings


@settings
class Settings:
    names: tuple[str, ...] = (".env", ".git", "node_modules")


@on("tool_call")
def protect(call: ToolCall, ctx: Context) -> Decision | None:
    for path in call.paths if call.edits else ():
        if not path.is_relative_to(ctx.cwd) or {*path.relative_to(ctx.cwd).parts} & {*ctx.settings.names}:
            ctx.ui.notify(f"A change of {path} was refused.")
            return call.deny(f"{path} is protected.")
    return None
