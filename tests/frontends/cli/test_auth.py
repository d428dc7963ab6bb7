"""`agentcli auth`: keys are stored, listed with their source, and removed."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from agentcli.core.errors import InputError, UsageError
from agentcli.frontends.cli.auth import list_keys, remove_key, set_key
from agentcli.frontends.cli.parser import invoke
from agentcli.providers.registry import SERVERS


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "GEMINI_API_KEY", "GOOGLE_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


def test_a_piped_key_is_stored_listed_and_removed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("sk-ant-secret\n"))
    set_key("anthropic", untried=True)
    assert capsys.readouterr().out.startswith("Stored the key for anthropic in ")
    list_keys()
    listed = capsys.readouterr().out
    assert [line.split() for line in listed.splitlines() if line.startswith(("anthropic", "google"))] == [
        ["anthropic", "keys.json", "keys.json"],
        ["google", "none"],
    ]
    assert "sk-ant" not in listed
    remove_key("anthropic")
    assert capsys.readouterr().out == "Removed the key for anthropic.\n"
    with pytest.raises(InputError, match="No key is stored for anthropic"):
        remove_key("anthropic")


def test_a_key_of_the_environment_is_used_instead_and_that_is_said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-set")
    monkeypatch.setattr("sys.stdin", io.StringIO("sk-ant-stored"))
    set_key("anthropic", untried=True)
    assert "ANTHROPIC_API_KEY is set in the environment and is used instead" in capsys.readouterr().err
    list_keys()
    listed = capsys.readouterr().out
    assert "ANTHROPIC_API_KEY (environment)  keys.json" in listed
    assert "sk-ant" not in listed


def test_a_provider_that_does_not_exist_is_refused_with_those_that_do() -> None:
    with pytest.raises(UsageError, match=r"Unknown provider 'acme'. Use one of: anthropic, google"):
        set_key("acme")


def test_the_help_names_every_provider_with_keys(capsys: pytest.CaptureFixture[str]) -> None:
    invoke(["auth", "set", "--help"])
    listed = " ".join(capsys.readouterr().out.split())
    assert f"{', '.join(SERVERS)}, openrouter or another provider" in listed


def test_a_service_that_needs_no_table_stands_in_the_list_once_it_has_a_key(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for provider, account in (("openai", "own"), ("brave", "work"), ("openrouter", "work")):
        monkeypatch.setattr("sys.stdin", io.StringIO("secret"))
        set_key(provider, account, untried=True)
    capsys.readouterr()
    list_keys()
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["brave", "none", "work"] in rows
    assert ["openai", "none", "own"] in rows
    assert ["openrouter", "none", "work"] in rows
    assert not [row for row in rows if row[0] in ("tavily", "groq", "ollama")]
