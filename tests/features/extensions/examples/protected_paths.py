"""Keep the model from writing to some paths."""

from agentcli.extension import Context, Decision, ToolCall, on, settings


@settings
class Settings:
    paths: tuple[str, ...] = (".env", ".git/", "node_modules/")


@on("tool_call")
def protect(call: ToolCall, ctx: Context) -> Decision | None:
    path = str(call.input.get("file_path", ""))
    if call.name in ("write", "edit", "multi_edit") and any(part in path for part in ctx.settings.paths):
        return call.deny(f"{path} is protected.")
    return None
