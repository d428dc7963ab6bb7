"""/status, /config and /keys."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentcli.frontends.commands.model import models
from agentcli.frontends.opening import program_of
from agentcli.frontends.terminal.style import MUTE, Look, count
from agentcli.program.options import Options
from agentcli.providers.catalog import ALIASES
from tests.frontends.terminal.contexts import ScriptedContext
from tests.frontends.terminal.slash import completions, type_

KEY = "sk-ant-secret"


@pytest.fixture
def context(tmp_path: Path) -> ScriptedContext:
    """A context with the program's own host and a session that is not stored."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "AGENTS.md").write_text("Be brief.\n")
    env = {f"XDG_{kind}_HOME": str(tmp_path / kind.lower()) for kind in ("CONFIG", "DATA", "STATE", "CACHE")}
    options = Options(cwd=str(work), no_session=True, model="anthropic/claude-sonnet-5-5")
    program = program_of(options, {**env, "HOME": str(tmp_path), "ANTHROPIC_API_KEY": KEY, "AGENTCLI_UI__VI": "true"})
    context = ScriptedContext(session=program.sessions.new())
    context.program, context.look = program, Look(MUTE)
    return context


def config(context: Any) -> str:
    file: Path = context.program.dirs.config_file
    return file.read_text() if file.exists() else ""


def test_the_status_names_all_that_a_session_runs_on_but_no_key(context: ScriptedContext, tmp_path: Path) -> None:
    text = "".join(row.strip() for row in type_(context, "/status"))
    for part in (
        "agentcli ",
        "claude-sonnet-5-5",
        "api.anthropic.com",
        "ANTHROPIC_API_KEY (environment)",
        "mode",
        "sandbox",
    ):
        assert part in text
    assert str(tmp_path / "work") in text
    assert "AGENTS.md (" in text
    assert KEY not in text


def test_the_status_fits_a_narrow_screen(context: ScriptedContext) -> None:
    context.columns = 40
    assert all(len(row) < 40 for row in type_(context, "/status"))


def test_a_setting_is_changed_by_its_name_and_value(context: ScriptedContext) -> None:
    [told] = type_(context, "/config ui.output_lines 9")
    assert "ui.output_lines = 9, written to" in told
    assert "output_lines = 9" in config(context)
    assert "must be" in type_(context, "/config ui.output_lines many")[0]
    assert "must be" in type_(context, "/config ui.theme drak")[0]


def test_a_value_that_another_place_overrides_is_told(context: ScriptedContext) -> None:
    [told] = type_(context, "/config ui.vi false")
    assert "environment" in told
    assert "true, which wins" in told


def test_settings_are_searched_and_show_where_they_come_from(context: ScriptedContext) -> None:
    assert any(row.startswith("ui.vi = true  # ") for row in type_(context, "/config ui."))
    assert type_(context, "/config retry attem") == []
    assert context.asked[0] == "retry.attempts"
    assert "No setting contains nonsense" in type_(context, "/config nonsense")[0]
    assert "ui.theme" in completions("config", context)


def test_a_choice_is_picked_and_a_number_is_typed(context: ScriptedContext) -> None:
    context.answers = [1]
    assert "ui.theme = " in type_(context, "/config ui.theme")[0]
    assert context.asked[0] == "ui.theme (built-in)"
    type_(context, "/config ui.theme")
    assert context.started_on == "light"
    context.entered = "7"
    assert "ui.output_lines = 7" in type_(context, "/config output_lines")[0]
    context.entered = None
    before = config(context)
    assert type_(context, "/config output_lines") == []
    assert config(context) == before


def test_the_keys_are_listed(context: ScriptedContext) -> None:
    assert "Ctrl-O" in "\n".join(type_(context, "/keys"))


def test_a_stored_key_is_named_as_such_and_not_shown(context: Any) -> None:
    host = context.program
    file = host.dirs.config / "keys.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"anthropic": {"key": "sk-ant-stored"}}))
    host.given_env = {name: value for name, value in host.given_env.items() if name != "ANTHROPIC_API_KEY"}
    host.reload()
    text = "".join(type_(context, "/status"))
    assert "stored key (file)" in text
    assert "stored key (file)" in "".join(type_(context, "/status checks"))
    assert "sk-ant" not in text


def test_a_key_that_a_local_server_does_not_need_is_named_all_the_same(context: Any) -> None:
    host = context.program
    host.given_env = {**host.given_env, "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}
    host.reload()
    assert "ANTHROPIC_API_KEY (environment)" in "".join(type_(context, "/status"))


def test_the_choice_of_a_model_starts_on_the_one_in_use(context: ScriptedContext) -> None:
    type_(context, "/model")
    assert context.started_on == "anthropic/claude-sonnet-5-5"
    detail = next(item.detail for item in models(context) if item.label == context.started_on)
    assert detail.startswith(f"{count(context.session.core.model.window)} window · $")


def test_the_newest_of_each_family_are_listed_with_what_they_are_for_and_the_others_by_name(
    context: ScriptedContext,
) -> None:
    type_(context, "/model")
    newest, older = context.listed[: context.by.shown], context.listed[context.by.shown :]
    assert [one.label for one in newest[:2]] == ["anthropic/claude-sonnet-5-5", "anthropic/claude-fable-5-1"]
    details = {one.label: one.detail for one in context.listed}
    assert details["anthropic/claude-fable-5-1"].startswith("for the hardest tasks · 1M window · $10")
    assert details["anthropic/claude-haiku-5-5"].startswith("fast and cheap · ")
    assert "anthropic/claude-opus-4-5" in [one.label for one in older]
    assert not {one.label for one in older} & {*ALIASES.values()}


def test_the_arrows_choose_the_effort_with_the_model(context: ScriptedContext) -> None:
    context.answers = [(0, "right"), (0, "right"), (0, "left"), (0, "")]
    assert "effort minimal, with a window" in type_(context, "/model")[0]
    assert context.asked.count("Which model? Effort: minimal") == 2
    assert context.session.core.builder.effort == "minimal"
    context.answers = [(0, "left"), (0, "")]
    type_(context, "/model")
    assert context.session.core.builder.effort == ""


def test_a_name_may_have_an_effort_after_it(context: ScriptedContext) -> None:
    assert "effort high" in type_(context, "/model haiku:high")[0]
    assert context.session.core.builder.effort == "high"
    type_(context, "/model sonnet")
    assert context.session.core.builder.effort == "high"
    assert Options(model="sonnet:low").overrides == {"model": "sonnet", "agent.effort": "low"}
    assert Options(model="sonnet:low", effort="max").overrides["agent.effort"] == "max"
    assert Options(model="ollama/qwen3:8b").overrides == {"model": "ollama/qwen3:8b"}


def test_the_effort_is_completed_chosen_and_set_for_the_session(context: ScriptedContext) -> None:
    builder = context.session.core.builder
    assert completions("effort", context)[:3] == ["default", "minimal", "low"]
    assert type_(context, "/effort high") == ["Effort: high."]
    assert builder.effort == "high"
    context.answers = [0]
    assert type_(context, "/effort") == ["Effort: default."]
    assert "Effort: high" in context.asked
    assert context.started_on == "high"
    assert builder.effort == ""
    assert type_(context, "/effort hihg") == ["Unknown effort hihg. Did you mean high?"]


def test_the_flag_sets_the_effort() -> None:
    assert Options(effort="low").overrides == {"agent.effort": "low"}


def test_settings_of_another_agent_are_imported_after_a_question(context: ScriptedContext) -> None:
    home = context.program.home
    assert type_(context, "/import") == ["Nothing was found."]
    assert type_(context, "/import py") == ["There is no program py to import from. Did you mean pi?"]
    (home / ".pi" / "agent").mkdir(parents=True)
    (home / ".pi" / "agent" / "settings.json").write_text('{"defaultThinkingLevel": "low"}')
    assert "Write 1 item?" not in type_(context, "/import claude")
    context.answers = [1]
    assert "Wrote 1 item to" in type_(context, "/import pi")[-1]
    assert "low" in context.program.dirs.config_file.read_text()
