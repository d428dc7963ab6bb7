"""Settings as TOML text."""

from __future__ import annotations

import tomllib

from agentcli.frontends.sections import SCHEMA
from agentcli.program.config import Config, load
from agentcli.program.config.toml import toml_key, toml_value
from tests.tables import each_row


@each_row(
    "value",
    [True, 3, 0.5, "", 'say "hi"\n\x7f\t\\ ü', ["a", "b"], [], {}, {"a.b": 1, "c": {"d": [{"e": "f"}]}}],
)
def test_a_value_is_read_back_as_it_was(value: object) -> None:
    assert tomllib.loads(f"x = {toml_value(value)}")["x"] == value


def test_the_settings_in_force_can_be_pasted_into_a_config_file(tmp_path) -> None:  # type: ignore[no-untyped-def]
    flags = [
        "models.anthropic/claude-x.1.window=5000",
        "providers.local.kind=anthropic",
        'context.compression_model={default="a/b"}',
    ]
    config = load(SCHEMA, None, None, {}, flags)
    text = "\n".join(f"{toml_key(*SCHEMA.steps(key))} = {toml_value(value)}" for key, value in config.items())
    file = tmp_path / "config.toml"
    file.write_text(text)
    again = load(SCHEMA, file, None, {})
    assert not again.warnings
    assert dict(again.items()) == dict(config.items())
    assert dict(again.items()) != dict(Config(SCHEMA).items())
