"""A tool that lists all files and keeps its output short."""

from agentcli.extension import Context, tool

MOST = 20


@tool(effect="read")
def files(ctx: Context, ending: str = "") -> str:
    """List the files of the project with an ending."""
    found = sorted(str(path.relative_to(ctx.cwd)) for path in ctx.cwd.rglob(f"*{ending}") if path.is_file())
    shown = "\n".join(found[:MOST]) or "No files."
    return shown if len(found) <= MOST else f"{shown}\n[{len(found) - MOST} more; give an ending]"
