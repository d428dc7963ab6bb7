"""Hold the last reply to JSON with a field `answer`."""

import json

from agentcli.extension import Reply, on


@on("reply")
def check(reply: Reply) -> str | None:
    try:
        if "answer" in json.loads(reply.text):
            return None
        fault = "it has no field `answer`"
    except (ValueError, TypeError) as error:
        fault = str(error)
    return f'Reply with JSON alone: {{"answer": "..."}}. Your reply does not fit: {fault}.'
