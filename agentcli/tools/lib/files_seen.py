"""Files whose whole content a command has printed, or that were made of text in the command itself."""

from __future__ import annotations

import os
import re
from dataclasses import replace

from agentcli.core.errors import ToolError
from agentcli.core.text.encodings import decode
from agentcli.core.tool import ToolContext, ToolOutput
from agentcli.tools.lib.files import load, remember
from agentcli.tools.lib.paths import open_parent


def with_files_seen(ctx: ToolContext, command: str, result: ToolOutput) -> ToolOutput:
    """Return a command's result; files that it shows whole count as seen, as if the read tool had shown them."""
    from agentcli.context.ledger.shell_effects import effects  # only after a command

    texts = (command, result.output, re.sub(r"(?m)^ *\d+\t", "", result.output))
    seen: dict[str, str] = {}
    for path in dict.fromkeys(effect.path for effect in effects(command) if effect.kind != "deleted"):
        seen |= _seen(ctx, path, texts)
    return replace(result, metadata={**result.metadata, "seen": seen}) if seen else result


def _seen(ctx: ToolContext, path: str, texts: tuple[str, ...]) -> dict[str, str]:
    try:
        with open_parent(ctx, path) as handle:
            size = os.stat(handle.name, dir_fd=handle.folder, follow_symlinks=False).st_size
            if size > 4 * max(len(text) for text in texts):
                return {}
            data = load(ctx, handle)
            decoded = decode(data)
            content = decoded[0].replace("\r\n", "\n").rstrip("\n") if decoded else None
            if content is None or not any(content in text for text in texts):
                return {}
            return remember(ctx, handle.path, data)
    except (ToolError, OSError):
        return {}
