"""Settings: where they come from, which goes first, and what is not taken."""

from __future__ import annotations

import json
import os
import re
import tomllib
from pathlib import Path

import pytest

from agentcli.agent.settings import AgentSettings, PermissionSettings
from agentcli.context.settings import ContextSettings, SlidingSettings
from agentcli.core.annotation import hints_of
from agentcli.core.errors import ConfigError
from agentcli.features.hooks.settings import HookSettings
from agentcli.frontends.sections import SCHEMA
from agentcli.frontends.terminal.settings import UiSettings
from agentcli.program.config import RETIRED, load, parsed
from agentcli.program.config.general import General
from agentcli.program.config.schema import Schema
from agentcli.program.config.toml import add_to_list, set_key
from tests.counted import counted
from tests.tables import each_row


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_each_layer_goes_before_the_one_below_it(tmp_path: Path) -> None:
    user = written(tmp_path / "user.toml", 'model = "opus"\n[context]\nsoft = 0.5\nhard = 0.6\n[prune]\nprotect = 1\n')
    project = written(tmp_path / "project.toml", "[context]\nsoft = 0.55\n")
    env = {"AGENTCLI_CONTEXT__SOFT": "0.57", "AGENTCLI_MODEL": "haiku"}
    config = load(SCHEMA, user, project, env, ["context.soft=0.58"], {"model": "flash"})
    assert (config[General].model, config[ContextSettings].soft, config[ContextSettings].hard) == ("flash", 0.58, 0.6)
    assert config[ContextSettings].prune.protect == 1
    assert config.origins["context.soft"] == "--set"
    assert config.origins["context.hard"] == str(user)
    assert load(SCHEMA, user, project, env)[ContextSettings].soft == 0.57
    assert load(SCHEMA, user, project, {})[ContextSettings].soft == 0.55


def test_a_setting_reads_the_annotations_of_its_own_section_alone() -> None:
    schema = Schema(SCHEMA.sections)
    with counted(hints_of) as calls:
        assert load(schema, env={}, more={"agent.max_steps": 7})[AgentSettings].max_steps == 7
    assert calls[hints_of] <= 1


def test_an_unknown_key_is_a_warning_that_names_the_nearest(tmp_path: Path) -> None:
    config = load(SCHEMA, written(tmp_path / "c.toml", "[context]\npolicyy = 'auto'\n"), env={})
    assert len(config.warnings) == 1
    assert "context.policy" in config.warnings[0]


@each_row(
    "text",
    ["[context]\nsoft = 'warm'", "[context]\npolicy = 'best'", "[agent]\nmax_steps = 1.5", "mode = 7", "not toml ["],
)
def test_a_wrong_value_names_file_and_cure(tmp_path: Path, text: str) -> None:
    path = written(tmp_path / "c.toml", text)
    with pytest.raises(ConfigError, match=str(path)):
        load(SCHEMA, path, env={})


def test_a_word_that_is_none_of_the_few_is_answered_with_them(tmp_path: Path) -> None:
    path = written(tmp_path / "c.toml", "[providers.own]\nthinking = 'much'\n")
    with pytest.raises(ConfigError, match="must be one of 'none', 'budget', 'adaptive', 'level', not 'much'"):
        load(SCHEMA, path, env={})


@each_row("encoding", ["utf-8-sig", "utf-16", "latin-1"])
def test_a_file_in_another_encoding_is_read_and_keeps_it_when_it_is_changed(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes("# Größe für alle\n[agent]\nmax_steps = 7\n".encode(encoding))
    assert load(SCHEMA, file, env={})[AgentSettings].max_steps == 7
    set_key(file, "agent.max_steps", 9)
    assert file.read_bytes() == "# Größe für alle\n[agent]\nmax_steps = 9\n".encode(encoding)


def test_a_file_that_cannot_be_read_is_named_once_with_the_cause(tmp_path: Path) -> None:
    file = written(tmp_path / "file", "") / "config.toml"
    with pytest.raises(ConfigError) as refused:
        load(SCHEMA, file)
    assert str(refused.value).startswith(f"Can't read {file}: Not a directory. ")


def test_settings_that_lead_out_of_a_repository_are_left_out_and_named(tmp_path: Path) -> None:
    folder = tmp_path / "project" / ".agentcli"
    folder.mkdir(parents=True)
    (tmp_path / "project" / ".git").mkdir()
    (tmp_path / "outside.toml").write_text("[agent]\nmax_steps = 7\n")
    (folder / "config.toml").symlink_to(tmp_path / "outside.toml")
    config = load(SCHEMA, None, folder / "config.toml", {})
    assert config[AgentSettings].max_steps != 7
    assert [line.partition(": ")[2] for line in config.warnings] == ["left out."]


@pytest.mark.parametrize(
    ("text", "why"), [("a = " + "[" * 100_000, "nested too deeply"), ("#" * 1_000_001, "larger than 1,000,000 bytes")]
)
def test_hostile_settings_of_a_project_are_refused_in_a_line(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        load(SCHEMA, None, written(tmp_path / "c.toml", text), {})


def test_a_pipe_in_a_project_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "config.toml")
    with pytest.raises(ConfigError, match=r"config\.toml is not a regular file\. Replace or remove it\."):
        load(SCHEMA, None, tmp_path / "config.toml", {})


@each_row(
    "text",
    [
        "context = 3",
        "[providers]\nx = 3",
        "[providers.x]\nkind = 'other'",
        "[providers.x]\nkind = 'google'\nbase_url = 3",
        "[models.x]\nwindow = 'wide'",
        "[models.x.prices]\ninput = 'cheap'",
        "[models.x]\ntiers = {flex = 'half'}",
        "[models.aliases]\nfast = 3",
        "[models.aliases]\nfast = ''",
        "[models.aliases]\n'google/x' = 'flash'",
        "[ui.keys]\nx = 3",
        "[context]\nsoft = nan",
    ],
)
def test_what_stands_in_a_table_has_its_type_too(tmp_path: Path, text: str) -> None:
    path = written(tmp_path / "c.toml", text)
    with pytest.raises(ConfigError, match=str(path)):
        load(SCHEMA, path, env={})


@each_row(
    ("key", "value", "says"),
    [
        ("context.soft", "1.7", "must be a number from 0 to 1, not 1.7"),
        ("context.soft", "-0.1", "must be a number from 0 to 1, not -0.1"),
        ("context.gemini.preserve", "0", "must be a number between 0 and 1, not 0"),
        ("context.gemini.preserve", "1.0", "must be a number between 0 and 1, not 1.0"),
        ("context.gemini.preserve", "1.5", "must be a number between 0 and 1, not 1.5"),
        ("context.sliding.primers", "-1", "must be a whole number 0 or more, not -1"),
        ("budget.warn_at", "80", "must be a number from 0 to 1, not 80"),
        ("agent.max_output", "0", "must be a whole number 1 or more, not 0"),
        ("tools.read_lines", "0", "must be a whole number 1 or more, not 0"),
        ("tools.fetch_seconds", "-1", "must be a number from 0 to 1e+09, not -1"),
        ("tools.pattern_seconds", "1e300", "must be a number from 0 to 1e+09, not 1e+300"),
        ("budget.session.cost", "-5", "must be a number 0 or more, not -5"),
        ("context.gemini.limits", "{ x = -1 }", "must be numbers 0 or more, not -1"),
        ("models.x.window", "-1", "must be a whole number 0 or more, not -1"),
    ],
)
def test_a_number_out_of_range_is_refused_wherever_it_stands(tmp_path: Path, key: str, value: str, says: str) -> None:
    section, _, name = key.rpartition(".")
    path = written(tmp_path / "c.toml", f"[{section}]\n{name} = {value}\n")
    variable = f"AGENTCLI_{key.upper().replace('.', '__')}"
    for where, load_it in (
        (f" in {path} ", lambda: load(SCHEMA, path, env={})),
        (" in --set ", lambda: load(SCHEMA, env={}, flags=[f"{key}={value}"])),
        (f" in the environment ({variable}) ", lambda: load(SCHEMA, env={variable: value})),
        (" ", lambda: parsed(SCHEMA, key, value)),
    ):
        with pytest.raises(ConfigError) as refused:
            load_it()
        assert str(refused.value) == f"{key}{where}{says}."


def test_the_ends_of_a_range_and_all_defaults_are_in_it(tmp_path: Path) -> None:
    assert load(SCHEMA, env={}, flags=["context.soft=0", "context.hard=1"])[ContextSettings].hard == 1.0
    for key, value in load(SCHEMA, env={}).items():
        text = "{}" if hasattr(value, "items") else json.dumps(value)
        assert parsed(SCHEMA, key, text) is not None, key


def test_what_a_server_wants_in_a_request_may_be_any_number() -> None:
    config = load(SCHEMA, env={}, flags=["providers.x.kind=anthropic", "providers.x.extra_body.seed=-1"])
    assert config.providers["x"]["extra_body"] == {"seed": -1}


def test_tables_with_free_names_may_hold_tables_and_dots(tmp_path: Path) -> None:
    text = '[providers.x]\nkind = "google"\nheaders = { "X-A.b" = "c" }\nextra_body = { top = { k = 3 } }\n'
    text += '[models."gemini-3.8-flash"]\nwindow = 9\n[models."gemini-3.8-flash".prices]\ninput = 2\n'
    flags = ['models."gemini-3.8-flash".max_output=7', "models.gemini-3.8-flash.prices.output=4", "general.mode=plan"]
    config = load(SCHEMA, written(tmp_path / "c.toml", text), env={}, flags=flags)
    assert config.providers["x"]["headers"] == {"X-A.b": "c"}
    assert config.providers["x"]["extra_body"] == {"top": {"k": 3}}
    model = {"window": 9, "max_output": 7, "prices": {"input": 2, "output": 4}}
    assert config.models == {"gemini-3.8-flash": model}
    assert config.origins["models.gemini-3.8-flash.max_output"] == "--set"
    assert config[General].mode == "plan"
    assert not config.warnings


def test_an_unknown_key_in_such_a_table_is_a_warning_as_well(tmp_path: Path) -> None:
    text = "[providers.x]\nkind = 'google'\nbase_ur = 'y'\n[models.x]\nwindw = 3\nprices = { inptu = 1 }\n"
    config = load(SCHEMA, written(tmp_path / "c.toml", text), env={})
    assert config.providers == {"x": {"kind": "google"}}
    for warning, near in zip(
        config.warnings, ("providers.x.base_url", "models.x.window", "models.x.prices"), strict=True
    ):
        assert near in warning


def test_a_project_may_not_loosen_anything(tmp_path: Path) -> None:
    project = written(
        tmp_path / "p.toml",
        'mode = "yolo"\nsandbox = "off"\n[permissions]\nallow = ["bash"]\ndeny = ["bash(rm *)"]\n'
        '[hooks]\npre_compress = "curl evil"\n[ui]\nstatus_command = "curl evil"\n[providers.x]\nkind = "anthropic"\nbase_url = "http://evil"\n',
    )
    config = load(SCHEMA, None, project, {})
    assert (config[General].mode, config[General].sandbox, config[HookSettings].pre_compress) == ("ask", "auto", "")
    assert config[PermissionSettings].allow == ()
    assert config[PermissionSettings].deny == ("bash(rm *)",)
    assert config[UiSettings].status_command == ""
    assert not config.providers
    assert len(config.warnings) == 7


def test_the_switches_switch_off(tmp_path: Path) -> None:
    config = load(SCHEMA, None, None, {"AGENTCLI_DISABLE_AUTOCOMPACT": "1", "AGENTCLI_DISABLE_PRUNE": "true"})
    assert not config[ContextSettings].autocompact
    assert not config[ContextSettings].prune.enabled
    assert load(SCHEMA, None, None, {"AGENTCLI_DISABLE_PRUNE": "0"})[ContextSettings].prune.enabled


@each_row(("text", "value"), [("0", False), ("False", False), ("off", False), ("1", True), ("yes", True)])
def test_the_environment_says_yes_and_no_in_any_usual_way(text: str, value: bool) -> None:
    assert load(SCHEMA, None, None, {"AGENTCLI_CONTEXT__AUTOCOMPACT": text})[ContextSettings].autocompact is value
    with pytest.raises(ConfigError, match="true or false"):
        load(SCHEMA, None, None, {"AGENTCLI_CONTEXT__AUTOCOMPACT": "2"})


def test_lists_and_tables_come_from_text_too() -> None:
    config = load(
        SCHEMA, None, None, {"AGENTCLI_PERMISSIONS__DENY": "bash(a), bash(b)"}, ['permissions.allow=["read"]']
    )
    assert config[PermissionSettings].deny == ("bash(a)", "bash(b)")
    assert config[PermissionSettings].allow == ("read",)
    local = load(
        SCHEMA, None, None, {}, ['providers.local.kind="anthropic"', "providers.local.base_url=http://localhost:1"]
    )
    assert local.providers["local"] == {"kind": "anthropic", "base_url": "http://localhost:1"}


def test_one_name_of_a_table_can_be_set_and_asked_for() -> None:
    env = {"AGENTCLI_CONTEXT__COMPRESSION_MODEL__DEFAULT": "a/b"}
    config = load(SCHEMA, env=env, flags=["context.gemini.limits.gemini-9.9-pro=9"])
    assert config[ContextSettings].compression_model == {"default": "a/b"}
    assert config.get("context.compression_model.default") == "a/b"
    assert config[ContextSettings].gemini.limits == {"gemini-1.5-pro": 2_097_152, "gemini-9.9-pro": 9}
    assert config.origins == {
        "context.compression_model": "environment",
        "context.compression_model.default": "environment",
        "context.gemini.limits": "--set",
        "context.gemini.limits.gemini-9.9-pro": "--set",
    }
    whole = load(SCHEMA, env={}, flags=['context.gemini.limits={"gemini-8-pro" = 8}'])
    assert whole[ContextSettings].gemini.limits == {"gemini-1.5-pro": 2_097_152, "gemini-8-pro": 8}
    with pytest.raises(ConfigError, match=r"context\.gemini\.limits\.x in --set must be a whole number, not 'much'"):
        load(SCHEMA, env={}, flags=["context.gemini.limits.x=much"])


@pytest.mark.parametrize("flag", ["contxt.soft=1", "gemini.limits.x=7", "providers.local.bas_url=x"])
def test_a_setting_that_does_not_exist_is_an_error_on_the_command_line_and_a_warning_elsewhere(flag: str) -> None:
    key, _, value = flag.partition("=")
    with pytest.raises(ConfigError, match=rf"Unknown setting '{key}' in --set\."):
        load(SCHEMA, env={}, flags=[flag])
    [warning] = load(SCHEMA, env={f"AGENTCLI_{key.upper().replace('.', '__')}": value}).warnings
    assert "is ignored" in warning


def test_aliases_of_models_are_entries_of_their_own_that_a_project_cannot_set(tmp_path: Path) -> None:
    user = written(tmp_path / "c.toml", "[models.aliases]\nfast = 'flash'\n\"gpt-5.2\" = 'azure/gpt-5.2'")
    (tmp_path / "there").mkdir()
    project = written(tmp_path / "there" / "config.toml", "[models.aliases]\nfast = 'opus'")
    config = load(SCHEMA, user, project, {}, ["models.aliases.best=opus"])
    assert config.aliases == {"fast": "flash", "gpt-5.2": "azure/gpt-5.2", "best": "opus"}
    assert not config.models
    assert config.get("models.aliases.gpt-5.2") == "azure/gpt-5.2"
    assert config.origins["models.aliases.gpt-5.2"] == str(user)
    assert config.origins["models.aliases.best"] == "--set"
    assert SCHEMA.steps('models.aliases."gpt-5.2"') == ("models", "aliases", "gpt-5.2")
    [warning] = config.warnings
    assert "'models.aliases.fast'" in warning


def test_there_are_at_most_120_settings_and_none_that_is_gone_comes_back() -> None:
    keys = {key for key, _ in load(SCHEMA, env={}).items()}
    assert len(keys) <= 120
    assert not keys & RETIRED


def test_every_setting_can_be_asked_for_by_its_key() -> None:
    config = load(SCHEMA, None, None, {})
    keys = dict(config.items())
    assert {"model", "context.policy", "context.prune.protect", "tools.read_lines", "retry.attempts"} <= set(keys)
    assert all(config.get(key) == value for key, value in keys.items())
    assert config.get("prune.protect") == 40_000
    with pytest.raises(ConfigError, match=r"context\.policy"):
        config.get("context.polcy")


def test_writing_a_setting_keeps_the_comments(tmp_path: Path) -> None:
    path = written(tmp_path / "c.toml", "# mine\n[context]\nsoft = 0.5  # early\n")
    set_key(path, "context.hard", 0.8)
    set_key(path, "model", "opus")
    add_to_list(path, "permissions", "allow", "bash(make)")
    add_to_list(path, "permissions", "allow", "bash(make)")
    text = path.read_text()
    assert "# mine" in text
    assert "# early" in text
    tables = tomllib.loads(text)
    assert tables["context"] == {"soft": 0.5, "hard": 0.8}
    assert tables["permissions"] == {"allow": ["bash(make)"]}
    assert tables["model"] == "opus"


def test_a_file_that_cannot_be_read_is_not_overwritten(tmp_path: Path) -> None:
    path = written(tmp_path / "c.toml", "broken [")
    with pytest.raises(ConfigError):
        set_key(path, "model", "opus")
    assert path.read_text() == "broken ["


def test_a_config_that_is_a_link_stays_one(tmp_path: Path) -> None:
    real, link = tmp_path / "dotfiles" / "agentcli.toml", tmp_path / "config.toml"
    real.parent.mkdir()
    real.write_text("# mine\n")
    link.symlink_to(real)
    set_key(link, "ui.vi", True)
    assert link.is_symlink()
    assert real.read_text() == "# mine\n\n[ui]\nvi = true\n"


@pytest.mark.parametrize(
    ("other", "ours"), [("api_version", "version"), ("endpoint", "base_url"), ("verzion", "version")]
)
def test_a_providers_setting_by_another_programs_name_leads_to_ours(tmp_path: Path, other: str, ours: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f"[providers.google]\n{other} = 'v1beta'\n")
    (warning,) = load(SCHEMA, file, env={}).warnings
    assert f"Did you mean providers.google.{ours}" in warning


def test_a_setting_is_not_written_into_what_is_no_table(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('[[hooks]]\nevent = "PreCompress"\ncommand = "save"\n')
    with pytest.raises(ConfigError, match=r"hooks in .*config\.toml is not a table"):
        set_key(file, "hooks.pre_compress", "copy")
    assert "pre_compress" not in file.read_text()


def test_several_items_are_added_to_a_list_in_one_write(tmp_path: Path) -> None:
    path = written(tmp_path / "c.toml", '[permissions]\nallow = ["bash(make)"]  # mine\n')
    add_to_list(path, "permissions", "allow", "bash(make)", "bash(true)", "bash(ls)")
    assert tomllib.loads(path.read_text())["permissions"]["allow"] == ["bash(make)", "bash(true)", "bash(ls)"]
    assert "# mine" in path.read_text()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("permissions = 3\n", r"^permissions in .* is not a table"),
        ('[permissions]\nallow = "x"\n', r"^permissions\.allow in .* is not a list"),
    ],
)
def test_nothing_is_added_to_what_is_no_list(tmp_path: Path, text: str, told: str) -> None:
    path = written(tmp_path / "c.toml", text)
    with pytest.raises(ConfigError, match=told):
        add_to_list(path, "permissions", "allow", "bash(make)")
    assert path.read_text() == text


def test_a_preset_stands_between_what_a_run_asks_for_and_files_and_environment(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("[context.sliding]\nprimers = 9\nrecents = 8\nbudget = 7\ntrigger = 0.5\n")
    env = {f"AGENTCLI_CONTEXT__SLIDING__{name}": number for name, number in (("RECENTS", "6"), ("WINDOW", "5"))}

    def sliding(*flags: str) -> SlidingSettings:
        return load(SCHEMA, file, env=env, flags=flags)[ContextSettings].sliding

    assert sliding() == SlidingSettings(primers=9, recents=6, window=5, budget=7, trigger=0.5)
    qa = sliding("context.sliding.budget=60000", "context.preset=qa")
    assert qa == SlidingSettings(primers=2, recents=10, window=30, budget=60_000, trigger=0.5)
    assert load(SCHEMA, env={"AGENTCLI_CONTEXT__PRESET": "debugging"}).get("context.sliding.budget") == 75_000
    assert sliding("context.preset=qa", 'context.preset=""') == sliding()


@pytest.mark.parametrize("flag", ["context.preset=q", "agent.effort=silly"])
def test_a_value_that_is_none_of_the_ones_listed_is_an_error(flag: str) -> None:
    with pytest.raises(ConfigError, match=rf"{re.escape(flag.partition('=')[0])} in --set must be one of"):
        load(SCHEMA, env={}, flags=[flag])


def test_prices_may_be_several_tables_each_from_its_day(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('[models."a/b"]\nprices = [{ input = 1, output = 5 }, { since = 2027-01-01, input = 2 }]\n')
    assert load(SCHEMA, file, env={}).models["a/b"]["prices"] == (
        {"input": 1.0, "output": 5.0},
        {"input": 2.0, "since": "2027-01-01"},
    )
    file.write_text('[[models."a/b".prices]]\nsince = "soon"\ninput = 2\n')
    with pytest.raises(ConfigError, match=r"since in .* must be a date such as 2026-12-01"):
        load(SCHEMA, file, env={})


@pytest.mark.parametrize(("value", "near"), [("hihg", " Did you mean high?"), (3, "")])
def test_a_wrong_choice_is_told_without_the_empty_one_and_an_option_by_its_name(value: object, near: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(SCHEMA, more={"agent.effort": value})
    choices = "'minimal', 'low', 'medium', 'high', 'xhigh', 'max'"
    assert str(caught.value) == f"agent.effort in --effort must be one of {choices}, not {value!r}.{near}"
