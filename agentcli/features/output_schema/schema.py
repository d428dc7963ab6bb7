"""JSON Schema of an answer: read and checked before a run, and compared with the answer after it.

Nothing is fetched for it.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from agentcli.extension import AgentError
from agentcli.features.output_schema.apart import FAULT, brief, faults_of

SECONDS = 10.0
"""Seconds that a schema's patterns may take with one answer."""
_FENCED = re.compile(r"```[\w-]*\n(.*)\n```", re.DOTALL)


class Unusable(AgentError):
    """Error: the schema is unusable."""

    exit_code = 42


class TooSlow(Exception):
    """An answer could not be compared with a schema in time; the text is for people."""


class AnswerSchema:
    """A checked schema; `text` is its JSON as the model reads it."""

    def __init__(self, schema: Any, seconds: float = SECONDS) -> None:
        """Check the schema; `seconds` limits the time of its patterns. Raises Unusable if it is not valid."""
        from jsonschema.exceptions import SchemaError
        from jsonschema.validators import Draft202012Validator, validator_for

        if not isinstance(schema, dict):
            raise Unusable('The output schema is not a JSON object. Give a JSON Schema such as {"type": "object"}.')
        foreign = next((ref for ref in _references(schema) if not ref.startswith("#")), None)
        if foreign is not None:
            raise Unusable(f"The output schema refers to {foreign!r}, which is not supported. Put it under $defs.")
        validator = validator_for(schema, default=Draft202012Validator)
        try:
            validator.check_schema(schema)
            self.text = json.dumps(schema, ensure_ascii=False)
        except (SchemaError, RecursionError) as error:
            raise Unusable(f"The output schema is not valid: {brief(getattr(error, 'message', error))}") from error
        self._schema, self._seconds = schema, seconds
        self._may_hang = any(True for _ in _patterns(schema))

    def checked(self, answer: str) -> tuple[str, Sequence[str]]:
        """Return an answer's JSON, without a fence around all of it, and its faults; none if it matches.

        Raises TooSlow if the schema's patterns take too long with it.
        """
        text = answer.strip()
        fenced = _FENCED.fullmatch(text)
        text = fenced[1].strip() if fenced else text
        try:
            value = json.loads(text, parse_constant=_refuse)
        except (ValueError, RecursionError) as error:
            return text, [f"It is not JSON: {brief(error)}"]
        return text, self._faults_apart(value) if self._may_hang else faults_of(self._schema, value)

    def _faults_apart(self, value: Any) -> Sequence[str]:
        """Return the faults found by a process that can be ended: nothing else ends a search for `^(a+)+$`."""
        request = json.dumps({"schema": self._schema, "value": value})
        argv = [sys.executable, "-I", "-m", "agentcli.features.output_schema.apart"]
        try:
            done = subprocess.run(
                argv, input=request, capture_output=True, text=True, timeout=self._seconds, check=True
            )
        except subprocess.TimeoutExpired:
            raise TooSlow(
                f"The answer can't be checked: the patterns of the output schema take longer than {self._seconds:g} s with it. Make them simpler: no repetition "
                "inside another one."
            ) from None
        except subprocess.CalledProcessError as error:
            raise TooSlow(f"The answer can't be checked: {brief(error.stderr[-FAULT:])}") from None
        found: Sequence[str] = json.loads(done.stdout)
        return found


def schema_in(text: str) -> AnswerSchema:
    """Return the schema in a text. Raises Unusable."""
    try:
        return AnswerSchema(json.loads(text))
    except (ValueError, RecursionError) as error:
        raise Unusable(f"The output schema is not JSON: {brief(error)}") from error


def _patterns(schema: Any) -> Iterator[str]:
    waiting = [schema]
    while waiting:
        match waiting.pop():
            case dict() as one:
                waiting += one.values()
                if isinstance(pattern := one.get("pattern"), str):
                    yield pattern
                if isinstance(named := one.get("patternProperties"), dict):
                    yield from named
            case list() as several:
                waiting += several
            case _:
                pass


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
