"""State snapshots of a scripted model: copied from the request, without understanding it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agentcli.core.message import Text, ToolCall
from agentcli.core.model import Request


def wants_summary(request: Request) -> bool:
    """Return True if the last user message asks for a state snapshot."""
    texts = [part.text for part in request.messages[-1].parts if isinstance(part, Text)] if request.messages else []
    return bool(texts) and "generate the <state_snapshot>" in texts[-1]


def snapshot(request: Request) -> str:
    """Write a well-formed state snapshot of the facts that a conversation shows literally."""
    wishes, files, commands = [], [], []
    for turn in request.messages[:-1]:
        for part in turn.parts:
            match part:
                case Text(text, False) if turn.role == "user":
                    wishes.append(_line(text))
                case ToolCall(_, "bash", arguments):
                    commands.append(_line(str(arguments.get("command", ""))))
                case ToolCall(_, name, arguments) if "file_path" in arguments:
                    files.append(f"{'READ' if name == 'read' else 'MODIFIED'} {arguments['file_path']}")
                case _:
                    pass
    return state_snapshot(wishes, files, commands)


def state_snapshot(wishes: Sequence[str], files: Sequence[str], commands: Sequence[str]) -> str:
    """Write a well-formed state snapshot with these contents, after a short scratchpad."""
    return _SNAPSHOT.format(
        goal=wishes[0] if wishes else "Continue with the user's task.",
        knowledge="\n".join(f"- The user said: {wish}" for wish in wishes[:8]) or "- nothing yet",
        files="\n".join(dict.fromkeys(files)) or "none",
        actions="\n".join(f"- ran {command}" for command in dict.fromkeys(commands)) or "- none",
    )


_SNAPSHOT = """<scratchpad>The conversation is short enough to be read off.</scratchpad>
<state_snapshot>
  <overall_goal>{goal}</overall_goal>
  <key_knowledge>
{knowledge}
  </key_knowledge>
  <file_system_state>
{files}
  </file_system_state>
  <recent_actions>
{actions}
  </recent_actions>
  <current_plan>
1. [IN PROGRESS] {goal}
  </current_plan>
</state_snapshot>"""


def _line(text: str) -> str:
    return re.sub(r"[<>]", "", " ".join(text.split()))[:200]
