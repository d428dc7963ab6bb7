"""Findings of `agentcli doctor`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from agentcli.core.message import Message, Text
from agentcli.core.record import Record
from agentcli.frontends.opening import program_of
from agentcli.program.doctor import diagnose
from agentcli.program.options import Options
from agentcli.sessions.storage.records import Through
from agentcli.sessions.store import Store
from tests.tables import each_row


def test_a_configuration_that_cannot_be_read_fails_and_the_rest_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    file = tmp_path / "CONFIG" / "agentcli" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text("ui = 3\n")
    first, *others = [finding.line for finding in diagnose(program_of, Options(cwd=str(tmp_path)))]
    assert first.startswith("FAIL  configuration: ")
    assert str(file) in first
    assert any(line.startswith("ok    version: ") for line in others)
    assert any(" sandbox: " in line for line in others)
    assert not any(line.split()[1] == "configuration:" for line in others)


def test_the_row_of_editors_names_the_command_that_they_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    (tmp_path / "work").mkdir()
    assert any("editors: agentcli is not on PATH: give your editor " in line for line in lines(tmp_path / "work"))
    (programs / "agentcli").touch(0o755)
    assert any(
        line.startswith(f"ok    editors: {programs / 'agentcli'} acp, with ") for line in lines(tmp_path / "work")
    )


def test_the_records_of_the_sessions_that_are_checked_can_be_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    for length in (2, 3):
        session = Store(tmp_path / "DATA" / "agentcli" / "sessions").create(tmp_path)
        for _ in range(length):
            session.append(Message("user", (Text("hello"),)))
        session.close()
    asked: list[int] = []
    passed: list[int] = []

    def reading(total: int) -> Through:
        asked.append(total)

        def through(records: Iterable[Record]) -> Iterator[Record]:
            for record in records:
                passed.append(record.seq)
                yield record

        return through

    assert "2 in this project, 0 damaged" in diagnose(program_of, Options(cwd=str(tmp_path)), False, reading)[-1].detail
    assert (asked, sorted(passed)) == ([5], [1, 1, 2, 2, 3])


def lines(folder: Path) -> list[str]:
    return [finding.line for finding in diagnose(program_of, Options(cwd=str(folder)))]


def test_the_row_of_the_model_is_a_whole_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "GOOGLE_GEMINI_BASE_URL", "AGENTCLI_MODEL"):
        monkeypatch.delenv(name, raising=False)
    for name in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    assert "warn  model: No API key is set" in lines(tmp_path)


def test_a_policy_that_the_model_does_not_allow_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))

    def row(model: str, policy: str = "native") -> str:
        options = Options(cwd=str(tmp_path), model=model, settings=(f"context.policy={policy}",))
        [found] = [each.line for each in diagnose(program_of, options) if each.what == "context policy"]
        return found

    assert row("opus").startswith("ok    context policy: native: anthropic/claude-opus-5-5 clears old outputs itself")
    assert row("flash").startswith(
        "warn  context policy: The policy native works only with Claude on Anthropic's own API"
    )
    assert row("opus", "provider").startswith(
        "ok    context policy: provider: anthropic/claude-opus-5-5 has its provider"
    )
    assert row("haiku", "provider").startswith("warn  context policy: The policy provider works only with models of")
    assert not [each for each in diagnose(program_of, Options(cwd=str(tmp_path))) if each.what == "context policy"]


def test_configuration_of_other_programs_that_can_be_taken_over_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex" / "AGENTS.md").write_text("Be brief.")
    row = "ok    configuration of codex: can be taken over (1): `agentcli import-config codex` lists it and asks"
    assert [line for line in lines(tmp_path) if "configuration of" in line] == [row]
    (tmp_path / "CONFIG" / "agentcli").mkdir(parents=True)
    (tmp_path / "CONFIG" / "agentcli" / "AGENTS.md").write_text("Be brief.")
    assert not [line for line in lines(tmp_path) if "configuration of" in line]


@each_row(
    ("key", "warned"),
    [("GEMINI_API_KEY", set()), ("", {"anthropic", "google", "openai"})],
)
def test_a_missing_key_is_a_warning_only_for_a_provider_that_a_session_would_use(
    key: str, warned: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    for name in (
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "GEMINI_API_KEY",
        "GOOGLE_API_KEY",
        "OPENAI_API_KEY",
        "AGENTCLI_MODEL",
    ):
        monkeypatch.delenv(name, raising=False)
    if key:
        monkeypatch.setenv(key, "k")
    rows = [line for line in lines(tmp_path) if " key for " in line]
    lacking = {line.split("key for ")[1].split(":")[0] for line in rows if not line.startswith("ok")}
    assert {*lacking} & {"anthropic", "google", "openai"} == warned
    assert len(rows) == len(warned) + bool(key)
