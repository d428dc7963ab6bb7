"""An answer is compared with its schema as JSON Schema has it; a schema that is none, or leads elsewhere, is refused before the run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentcli.core.errors import AgentError
from agentcli.features.output_schema.apart import FAULTS
from agentcli.features.output_schema.schema import AnswerSchema, TooSlow, Unusable, schema_in
from agentcli.frontends.built_in import schema_text
from tests.tables import each_row

NAMES = {
    "type": "object",
    "properties": {"names": {"type": "array", "items": {"type": "string"}}},
    "required": ["names"],
}


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ('{"names": ["a"]}', '{"names": ["a"]}'),
        (' \n{"names": []}\n', '{"names": []}'),
        ('```json\n{"names": ["`x`"]}\n```', '{"names": ["`x`"]}'),
    ],
)
def test_an_answer_that_matches_is_its_json_alone(answer: str, text: str) -> None:
    assert AnswerSchema(NAMES).checked(answer) == (text, [])


@each_row(
    ("answer", "fault"),
    [
        ("Here: {}", "It is not JSON"),
        ("", "It is not JSON"),
        ('{"names": [NaN]}', "It is not JSON: NaN is not JSON"),
        ("[" * 100_000, "It is not JSON"),
        ("{}", "$: 'names' is a required property"),
        ('{"names": [1]}', "$.names[0]: 1 is not of type 'string'"),
    ],
)
def test_what_does_not_match_is_named_with_its_place(answer: str, fault: str) -> None:
    [said] = AnswerSchema(NAMES).checked(answer)[1]
    assert said.startswith(fault)
    assert len(said) < 400


def test_only_some_faults_are_named() -> None:
    faults = AnswerSchema(NAMES).checked(json.dumps({"names": [*range(100)]}))[1]
    assert len(faults) == FAULTS


@each_row(
    ("schema", "why"),
    [
        ([], "is not a JSON object"),
        ({"type": "nonsense"}, "not valid"),
        ({"$ref": "http://127.0.0.1:1/x.json"}, "is not supported"),
        ({"properties": {"a": {"$ref": "other.json#/x"}}}, "is not supported"),
        ({"$ref": "file:///etc/passwd"}, "is not supported"),
    ],
)
def test_a_schema_that_cannot_hold_is_refused_and_nothing_is_fetched(schema: Any, why: str) -> None:
    with pytest.raises(Unusable, match=why):
        AnswerSchema(schema)


def test_a_reference_that_leads_nowhere_is_a_fault() -> None:
    assert "could not be checked" in AnswerSchema({"$ref": "#/$defs/gone"}).checked("1")[1][0]
    assert AnswerSchema({"$ref": "#/$defs/n", "$defs": {"n": {"type": "integer"}}}).checked("1")[1] == []


def test_a_schema_is_read_from_a_file_or_is_the_text_itself(tmp_path: Path) -> None:
    file = tmp_path / "schema.json"
    file.write_text(json.dumps(NAMES))
    for given in (str(file), json.dumps(NAMES)):
        assert schema_in(schema_text(given)).checked('{"names": []}')[1] == []


@each_row("content", [b"{", b"\xff\xfe{}", b"x" * 300_000, None])
def test_a_file_that_is_no_schema_is_named(content: bytes | None, tmp_path: Path) -> None:
    file = tmp_path / "schema.json"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(AgentError, match="schema"):
        schema_in(schema_text(str(file)))


@pytest.mark.full
@each_row(
    "schema",
    [{"pattern": "^(a+)+$"}, {"patternProperties": {"^(a+)+$": {}}}, {"items": {"anyOf": [{"pattern": "(a|a)*b"}]}}],
)
def test_a_pattern_that_would_take_for_ever_is_ended_and_named(schema: dict[str, Any]) -> None:
    word = "a" * 60 + "!"
    answer = json.dumps({word: 1} if "patternProperties" in schema else [word] if "items" in schema else word)
    with pytest.raises(TooSlow, match=r"take longer than 1\.5 s with it\. Make them simpler"):
        AnswerSchema(schema, seconds=1.5).checked(answer)


def test_patterns_with_repetitions_are_checked_as_any_other() -> None:
    schema = AnswerSchema({"type": "array", "items": {"pattern": "^([a-z]+-)*[0-9]{4}$"}})
    assert schema.checked('["a-b-2026"]') == ('["a-b-2026"]', [])
    assert schema.checked('["a-b"]')[1] == ["$[0]: 'a-b' does not match '^([a-z]+-)*[0-9]{4}$'"]
