"""Program that compares an answer with a schema. A separate process can be ended in the middle of a regular expression.

It reads `{"schema", "value"}` from stdin and prints the faults as JSON.
"""

import json
import sys

from agentcli.features.output_schema.schema import AnswerSchema


def main() -> None:
    """Answer the request on stdin."""
    request = json.load(sys.stdin)
    json.dump(list(AnswerSchema(request["schema"]).faults(request["value"])), sys.stdout)


if __name__ == "__main__":
    main()
