"""Ask before commands that are hard to take back; without a person they are refused."""

import re

from agentcli.extension import Decision, ToolCall, on

DANGEROUS = re.compile(r"\brm\s+(?:-\w*r|--recursive)|\bsudo\b|\b(?:chmod|chown)\b.*777|\bgit\s+push\s+.*--force", re.I)


@on("tool_call")
def gate(call: ToolCall) -> Decision | None:
    if call.name == "bash" and (found := DANGEROUS.search(call.input["command"])):
        return call.ask(f"It contains `{found[0]}`.")
    return None
