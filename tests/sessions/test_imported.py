"""Sessions that other programs wrote are imported and go on with either provider, whatever model they ran on."""

from __future__ import annotations

from typing import Any

import pytest

from agentcli.providers.scripted.model import say
from tests.e2e.program import ROOT, Program
from tests.loopback import Loopback
from tests.sampling import sampled

SAMPLES = ROOT / "tests" / "extras" / "importers" / "sessions" / "samples"
WRITTEN = ["claude-code-2.1.197.jsonl", "codex-0.169.0.jsonl", "opencode-1.18.33.json", "pi-0.74.2.jsonl"]
MODELS = ["anthropic/claude-opus-4-5", "google/gemini-2.5-pro"]
ONE_KEY = {"anthropic": "ANTHROPIC_", "google": "G"}


def imported(program: Program, name: str) -> str:
    ran = program.run("sessions", "import", str(SAMPLES / name))
    assert (ran.code, ran.err) == (0, "")
    return ran.out.strip()


@pytest.mark.full
@pytest.mark.parametrize("model", sampled(MODELS, 2))
@pytest.mark.parametrize("name", WRITTEN)
def test_a_session_of_today_goes_on_with_either_provider(program: Program, name: str, model: str) -> None:
    session = imported(program, name)
    with Loopback([say("The tests are not to be touched.")]) as server:
        program.more = server.env
        ran = program.ask("resume", session, "-p", "what did I forbid?", "-m", model)
    assert (ran.code, ran.result["text"]) == (0, "The tests are not to be touched."), ran.err
    (asked,) = server.requests
    assert not asked.refused
    assert "cart.py rounds now; the tests are untouched." in str(asked.json)
    assert "And what did I forbid?" in str(asked.json)


@pytest.mark.full
@pytest.mark.parametrize("model", sampled(MODELS, 2))
@pytest.mark.parametrize("name", sampled(WRITTEN, 2))
def test_what_was_compacted_can_be_brought_back_and_sent(program: Program, name: str, model: str) -> None:
    session = imported(program, name)
    lines = (SAMPLES / name).read_text()
    with Loopback(lambda _: say("All of it is there.")) as server:
        program.more = server.env
        with program.terminal("resume", session, "-m", model, columns=100, rows=30) as t:
            t.until(model.partition("/")[2].removeprefix("claude-"))
            t.send("/uncompress\r")
            t.settle()
            t.send("is it all there?\r", until="All of it is there.", seconds=40)
            t.settle()
            t.send("\x04")
            assert t.wait() == 0
    asked = server.requests[-1]
    assert not asked.refused
    assert "Done: totals are rounded." in lines
    assert "Done: totals are rounded." in str(asked.json)
    assert "git status --short" in str(asked.json)


def test_the_words_that_a_compaction_of_codex_kept_are_sent(program: Program) -> None:
    session = imported(program, "codex-0.169.0.jsonl")
    with Loopback([say("ok")]) as server:
        program.more = server.env
        assert program.ask("resume", session, "-p", "go on", "-m", MODELS[0]).code == 0
    sent = str(server.requests[0].json)
    for said in ("Totals are off by a cent. Fix cart.py; never touch the tests.", "What is left?", "Now a big one."):
        assert sent.count(said) == 1
    assert sent.count("SUMMARY: cart.py rounds now") == 1


@pytest.mark.full
@pytest.mark.parametrize("provider", ["anthropic", "google"])
def test_a_session_goes_on_with_the_default_model_and_says_once_which_one_it_had(
    program: Program, provider: str
) -> None:
    session = imported(program, "codex-0.169.0.jsonl")
    with Loopback(lambda _: say("ok")) as server:
        program.more = {name: value for name, value in server.env.items() if name.startswith((ONE_KEY[provider], "NO"))}
        ran = program.ask("resume", session, "-p", "go on")
        assert ran.code == 0, ran.err
        (told,) = [line["message"] for line in ran.of("warning") if "rig/gpt-5.5" in line["message"]]
        assert "Not taken over: the model rig/gpt-5.5 (-m sets one)" in told
        assert ran.of("init")[0]["model"].startswith(f"{provider}/")
        again = program.ask("resume", session, "-p", "and on")
        assert again.code == 0
        assert not [line for line in again.of("warning") if "rig/gpt-5.5" in line["message"]]


@pytest.mark.full
@pytest.mark.parametrize("more", [(), ("--plain",)])
def test_the_repl_says_so_too(program: Program, more: tuple[str, ...]) -> None:
    session = imported(program, "codex-0.169.0.jsonl")
    with Loopback(lambda _: say("Here I am.")) as server:
        program.more = server.env
        with program.terminal("resume", session, *more, columns=100, rows=30) as t:
            t.until("the model rig/gpt-5.5")
            t.send("hello\r", until="Here I am.", seconds=40)
            t.settle()
            t.send("\x04")
            assert t.wait() == 0


@pytest.mark.full
def test_an_imported_session_is_ours_once_it_has_gone_on(program: Program) -> None:
    session = imported(program, "pi-0.74.2.jsonl")
    with Loopback(lambda _: say("ok")) as server:
        program.more = {name: value for name, value in server.env.items() if name.startswith(("G", "NO"))}
        ran = program.ask("resume", session, "-p", "go on")
        assert ran.code == 0, ran.err
        program.more = {name: value for name, value in server.env.items() if name.startswith(("ANTHROPIC_", "NO"))}
        ours = program.ask("resume", session, "-p", "go on")
    assert ours.code == 41, "from now on the session does not change its provider by itself"


def test_without_any_key_it_is_said_how_to_set_one(program: Program) -> None:
    session = imported(program, "codex-0.169.0.jsonl")
    ran = program.run("resume", session, "-p", "go on")
    assert ran.code == 41
    assert "ANTHROPIC_API_KEY" in ran.err


def records_of(program: Program, session: str) -> list[dict[str, Any]]:
    return [
        {key: value for key, value in record.items() if key not in ("id", "prev")}
        for record in program.records(session)
    ]


def test_all_sessions_of_a_database_are_imported_or_the_one_that_is_chosen(program: Program) -> None:
    from tests.extras.importers.sessions.test_opencode import EXPORT, database

    path = program.work / "opencode.db"
    database(path, EXPORT)
    ran = program.run("sessions", "import", str(path))
    ids = ran.out.split()
    assert (ran.code, len(ids)) == (0, 2)
    assert records_of(program, ids[0]) == records_of(program, imported(program, "opencode-1.18.33.json"))
    chosen = program.run("sessions", "import", str(path), "--session", "Another")
    assert program.records(chosen.out.strip())[0]["title"] == "Another"
    missing = program.run("sessions", "import", str(path), "--session", "none")
    assert missing.code == 42
    assert "It has: ses_1 (Rounding of totals), ses_2 (Another)" in missing.err
