"""A report on language servers for `doctor`."""

from __future__ import annotations

import os
from collections.abc import Iterator

from agentcli.core.sanitise import safe_line
from agentcli.features.checks.lsp.configured import in_force, project_servers
from agentcli.program.project import Project
from agentcli.system.programs import find_program, located

Row = tuple[str, bool, str]


def rows(program: Project) -> Iterator[Row]:
    """Report the servers in use, the servers that wait for approval, and invalid entries."""
    found = in_force(program)
    for one in found.servers:
        command = " ".join([one.command, *one.args])
        path = program.given_env.get("PATH", os.defpath)
        file = (
            located(one.command, "", program.cwd)
            if "/" in one.command
            else find_program(one.command, [program.cwd], path)
        )
        state = "" if file else f": {one.command} is not installed"
        line = f"{command} for {' '.join(one.languages)} ({one.source}){state}"
        yield f"language server {one.name}", bool(file), safe_line(line)
    for one in project_servers(program).servers:
        if not program.approvals.allows(one.definition):
            yield f"language server {one.name}", False, f"waits for approval ({one.source}): /hooks approve"
    for note in found.notes:
        yield "language servers", False, note
    if not found.servers:
        yield "language servers", False, "none was found on PATH or in .lsp.json: agentcli help checks"
