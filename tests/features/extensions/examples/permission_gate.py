"""Ask before commands that are hard to take back."""

import re

from agentcli.extension import Decision, ToolCall, on

DANGEROUS = re.compile(r"\brm\s+-\w*r|\bsudo\b|\bchmod\s+777|\bgit\s+push\s+.*--force")


@on("tool_call")
def gate(call: ToolCall) -> Decision | None:
    if call.name == "bash" and (found := DANGEROUS.search(call.input["command"])):
        return call.ask(f"It contains `{found[0]}`.")
    return None
