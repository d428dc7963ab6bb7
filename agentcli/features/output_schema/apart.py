"""Program that compares an answer with a schema. A process can be ended in the middle of a regular expression.

It reads `{"schema", "value"}` from stdin and prints the faults as JSON. It imports nothing of ours.
"""

import json
import sys
from collections.abc import Sequence
from typing import Any

FAULTS = 10
"""Maximum faults of an answer to list."""
FAULT = 300
"""Characters of one of them."""


def faults_of(schema: Any, value: Any) -> Sequence[str]:
    """Return the faults of a value, however long it takes."""
    from jsonschema.validators import Draft202012Validator, validator_for
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    validator: Any = validator_for(schema, default=Draft202012Validator)(schema, registry=Registry())
    faults = []
    try:
        for fault in validator.iter_errors(value):
            faults.append(f"{fault.json_path}: {brief(fault.message)}")
            if len(faults) == FAULTS:
                break
    except (Unresolvable, RecursionError) as error:
        faults.append(f"It could not be checked against the schema: {brief(error)}")
    return faults


def brief(text: object) -> str:
    """Return a text in a line, without its middle if it is long."""
    line = " ".join(str(text).split())
    return line if len(line) <= FAULT else f"{line[: FAULT // 2]} […] {line[-FAULT // 2 :]}"


def main() -> None:
    """Answer the request on stdin."""
    request = json.load(sys.stdin)
    json.dump(faults_of(request["schema"], request["value"]), sys.stdout)


if __name__ == "__main__":
    main()
