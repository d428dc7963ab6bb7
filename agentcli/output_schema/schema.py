"""The JSON Schema of an answer: read and checked before a run, and compared with the answer after it. Nothing is fetched for it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from agentcli.core.errors import InputError
from agentcli.core.sanitise import safe_line
from agentcli.core.text.truncate import truncate_middle
from agentcli.system.regular_file import Missing, Unusable, read_regular

MAX_BYTES = 200_000
"""Bytes of a schema at most: it goes with the prompt."""
FAULTS = 10
"""Faults of an answer that are named at most."""
FAULT = 300
"""Characters of one of them."""
_FENCED = re.compile(r"```[\w-]*\n(.*)\n```", re.DOTALL)


class AnswerSchema:
    """A checked schema; `text` is its JSON as the model reads it."""

    def __init__(self, schema: Any) -> None:
        """Check the schema. Raises InputError if it is not valid."""
        from jsonschema.exceptions import SchemaError
        from jsonschema.validators import Draft202012Validator, validator_for
        from referencing import Registry

        if not isinstance(schema, dict):
            raise InputError('The output schema is not a JSON object. Give a JSON Schema such as {"type": "object"}.')
        foreign = next((ref for ref in _references(schema) if not ref.startswith("#")), None)
        if foreign is not None:
            raise InputError(
                f"The output schema refers to {safe_line(foreign)!r}, which is not supported. Put it under $defs."
            )
        validator = validator_for(schema, default=Draft202012Validator)
        try:
            validator.check_schema(schema)
            self.text = json.dumps(schema, ensure_ascii=False)
        except (SchemaError, RecursionError) as error:
            raise InputError(f"The output schema is not valid: {_brief(getattr(error, 'message', error))}") from error
        self._validator = validator(schema, registry=Registry())

    def checked(self, answer: str) -> tuple[str, Sequence[str]]:
        """Return the JSON of an answer, without a fence around all of it, and its faults; none if it matches."""
        text = answer.strip()
        fenced = _FENCED.fullmatch(text)
        text = fenced[1].strip() if fenced else text
        try:
            value = json.loads(text, parse_constant=_refuse)
        except (ValueError, RecursionError) as error:
            return text, [f"It is not JSON: {_brief(error)}"]
        return text, self._faults(value)

    def _faults(self, value: Any) -> Sequence[str]:
        from referencing.exceptions import Unresolvable

        faults = []
        try:
            for fault in self._validator.iter_errors(value):
                faults.append(f"{fault.json_path}: {_brief(fault.message)}")
                if len(faults) == FAULTS:
                    break
        except (Unresolvable, RecursionError) as error:
            faults.append(f"It could not be checked against the schema: {_brief(error)}")
        return faults


def read_schema(given: str) -> AnswerSchema:
    """Return the schema in a file, or in a text that is JSON itself. Raises InputError."""
    text = given
    if not given.lstrip().startswith("{"):
        try:
            text = read_regular(Path(given).expanduser(), MAX_BYTES).decode("utf-8-sig")
        except Missing as error:
            raise InputError(f"There is no file {given} for --output-schema.") from error
        except Unusable as error:
            raise InputError(f"Can't read the output schema {given}: {error}.") from error
        except UnicodeDecodeError as error:
            raise InputError(f"The output schema {given} is not UTF-8.") from error
    try:
        return AnswerSchema(json.loads(text))
    except (ValueError, RecursionError) as error:
        raise InputError(f"The output schema is not JSON: {_brief(error)}") from error


def _references(schema: Any) -> Iterator[str]:
    waiting = [schema]
    while waiting:
        match waiting.pop():
            case dict() as one:
                waiting += one.values()
                yield from (ref for key in ("$ref", "$dynamicRef") if isinstance(ref := one.get(key), str))
            case list() as several:
                waiting += several
            case _:
                pass


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _brief(text: object) -> str:
    return truncate_middle(" ".join(safe_line(str(text)).split()), FAULT)
