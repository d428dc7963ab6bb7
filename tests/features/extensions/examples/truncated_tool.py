"""A tool that searches files. A long result is cut for the model, which learns where the whole is."""

import asyncio

from agentcli.extension import Context, tool

LINE = 300


@tool(effect="read")
async def search_lines(pattern: str, ctx: Context, glob: str = "*") -> str:
    """Search the project's files for a regular expression. A long result is cut, and kept whole in a file.

    glob: names of files, such as *.py
    """
    words = ["-rnIE", "--exclude-dir=.git", f"--include={glob}", "-e", pattern, "."]
    work = await asyncio.create_subprocess_exec("grep", *words, cwd=ctx.cwd, stdout=asyncio.subprocess.PIPE)
    output, _ = await work.communicate()
    lines = output.decode("utf-8", "replace").splitlines()
    return "\n".join([f"{len(lines)} matches", *(line[:LINE] for line in lines)]) if lines else "No matches."
