"""JSON Schema of an answer: read and checked before a run, and compared with the answer after it.

Nothing is fetched for it.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from agentcli.core.errors import InputError
from agentcli.core.sanitise import safe_line
from agentcli.core.text.truncate import truncate_middle
from agentcli.system.regular_file import Missing, Unusable, read_text
from agentcli.tools.lib.bounded_regex import is_plain

MAX_BYTES = 200_000
"""Maximum bytes of a schema: it is sent with the prompt."""
FAULTS = 10
"""Maximum faults of an answer to list."""
FAULT = 300
"""Characters of one of them."""
SECONDS = 10.0
"""Seconds that a schema's patterns may take with one answer."""
_FENCED = re.compile(r"```[\w-]*\n(.*)\n```", re.DOTALL)


class TooSlow(Exception):
    """An answer could not be compared with a schema in time; the text is for people."""


class AnswerSchema:
    """A checked schema; `text` is its JSON as the model reads it."""

    def __init__(self, schema: Any, seconds: float = SECONDS) -> None:
        """Check the schema; `seconds` limits the time of its patterns. Raises InputError if it is not valid."""
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
        self._validator, self._schema = validator(schema, registry=Registry()), schema
        self._seconds = seconds
        self._may_hang = not all(map(is_plain, _patterns(schema)))

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
            return text, [f"It is not JSON: {_brief(error)}"]
        return text, self._faults_apart(value) if self._may_hang else self.faults(value)

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
            raise TooSlow(f"The answer can't be checked: {_brief(error.stderr[-FAULT:])}") from None
        found: Sequence[str] = json.loads(done.stdout)
        return found

    def faults(self, value: Any) -> Sequence[str]:
        """Return the faults of a value, however long it takes."""
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
            text = read_text(Path(given).expanduser(), MAX_BYTES)
        except Missing as error:
            raise InputError(f"There is no file {given} for --output-schema.") from error
        except Unusable as error:
            raise InputError(f"Can't read the output schema {given}: {error}.") from error
    try:
        return AnswerSchema(json.loads(text))
    except (ValueError, RecursionError) as error:
        raise InputError(f"The output schema is not JSON: {_brief(error)}") from error


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


def _brief(text: object) -> str:
    return truncate_middle(" ".join(safe_line(str(text)).split()), FAULT)
