"""Sessions exported for Claude Code and Codex are resumed by these programs themselves: all that was said is in their next request."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from agentcli.providers.scripted.model import call, say
from tests.ecosystem.others import Other
from tests.ecosystem.software import npm_packages

pytestmark = [pytest.mark.ecosystem, pytest.mark.timeout(900)]
SAMPLE = Path(__file__).parents[1] / "extras/importers/sessions/samples/claude-code-2.1.197.jsonl"
NAMES = {"claude-code": "claude", "codex": "codex"}


@pytest.fixture(scope="module")
def bin_(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return npm_packages(tmp_path_factory.mktemp("npm"), "@anthropic-ai/claude-code", "@openai/codex")


def strings(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case Mapping():
            for inner in value.values():
                yield from strings(inner)
        case list():
            for inner in value:
                yield from strings(inner)


def in_order(words: Sequence[str], text: str) -> list[str]:
    """The words that do not come in this order in the text."""
    missing, at = [], 0
    for word in words:
        found = text.find(word, at)
        if found < 0:
            missing.append(word)
        else:
            at = found + len(word)
    return missing


def ours(program: Other, *arguments: str) -> str:
    env = program._environment({})
    done = subprocess.run(
        [sys.executable, "-m", "agentcli", *arguments], cwd=program.work, env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def resumed(program: Other, form: str, prompt: str) -> str:
    """Export the program's only session, resume it in the other program, and return all texts of its request."""
    [record] = (program.base / "data").rglob("session.json")
    placed = ours(program, "sessions", "export", record.parent.name, "-f", form, "--install")
    id = placed.split()[-1]
    program.name, program.requests = NAMES[form], []
    done = program.say(
        prompt, lambda _: say("A papaya."), *(["--resume", id] if form == "claude-code" else ["resume", id])
    )
    assert done.returncode == 0, done.stderr
    assert "A papaya." in done.stdout
    request = program.requests[-1]
    return "\n".join(strings(request.get("messages") or request["input"]))


@pytest.mark.parametrize("form", NAMES)
def test_an_exported_session_is_resumed_with_every_prompt_call_and_result(
    form: str, bin_: Path, tmp_path: Path
) -> None:
    program = Other(tmp_path, bin_, "ours")
    file = program.work / "a.py"
    file.write_text("print('papaya')\n")
    looks = (call("read", file_path=str(file)), call("bash", command="echo coconut-$((20 + 3))"))
    change = call("edit", file_path=str(file), old_string="'papaya'", new_string="'mango'")
    replies = [say("I look first.", *looks), say("Now the change.", change), say("It prints mango now.")]
    program.say("Let a.py print a mango.", lambda _: replies.pop(0))
    program.say("What is left?", lambda _: say("Nothing else is open."), "-c")
    prompt = "And which fruit was it before?"
    text = resumed(program, form, prompt)
    words = ["Let a.py print a mango.", "I look first.", str(file), "coconut-$((20 + 3))", "papaya", "coconut-23"]
    words += ["Now the change.", "'mango'", "Edited a.py", "It prints mango now.", "What is left?"]
    assert in_order([*words, "Nothing else is open.", prompt], text) == []
    assert text.count("coconut-23") == 1


@pytest.mark.parametrize("form", NAMES)
def test_a_compacted_session_begins_with_its_summary_there(form: str, bin_: Path, tmp_path: Path) -> None:
    program = Other(tmp_path, bin_, "ours")
    sample = tmp_path / "sample.jsonl"
    sample.write_text(SAMPLE.read_text().replace("/home/dev/shop", str(program.work)))
    ours(program, "sessions", "import", str(sample))
    text = resumed(program, form, "And which fruit was it?")
    assert in_order(["cart.py rounds now", "And what did I forbid?", "And which fruit was it?"], text) == []
    assert "Totals are off by a cent." not in text.partition("cart.py rounds now")[0]
