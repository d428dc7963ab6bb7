"""Replies and refusals without end: memory is bounded, the error says what to do, and the session goes on."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from agentcli.features.mcp.lines import LONGEST
from agentcli.providers.retrying import LONGEST_TEXT
from agentcli.providers.scripted.model import call, say
from tests.bench.bench_memory import grown
from tests.bench.bench_serve import reply
from tests.e2e.faults import chunk
from tests.e2e.program import Program
from tests.features.mcp.fake_http import serving
from tests.features.mcp.running import fake, pids
from tests.loopback import Bytes, Endless, Loopback, Refuse, google_wire

pytestmark = pytest.mark.full

MODELS = {
    "anthropic": "anthropic/claude-haiku-5-5",
    "google": "google/gemini-3.8-flash",
    "openai": "openai/gpt-5.5",
    "chat": "openai/qwen3",
}
PLAIN = 78_000_000
"""Bytes that a run without a flood takes at most."""
LINE = Endless(b"data: " + b"x" * 65_000)
WORDS = "word " * 10_000


def _event(value: Any) -> bytes:
    return b"data: %b\n\n" % json.dumps(value).encode()


TEXT = {
    "anthropic": Bytes(reply(200, WORDS)),
    "google": Endless(google_wire.line(chunk({"text": WORDS}))),
    "openai": Endless(_event({"type": "response.output_text.delta", "output_index": 0, "delta": WORDS})),
    "chat": Endless(_event({"choices": [{"index": 0, "delta": {"content": WORDS}}]})),
}
BODY = b'{"error": {"message": "%b"}}' % (b"x" * 100_000_000)


def flooded(program: Program, model: str, *more: str) -> tuple[dict[str, Any], int]:
    """The result of a run, and the most memory that it had, in bytes."""
    command = [sys.executable, "-m", "agentcli", "-o", "json", "-p", "go", "-m", model, *more]
    with open(program.base / "out", "w+b") as out:
        started: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": out, "stderr": subprocess.DEVNULL}
        process = subprocess.Popen(command, cwd=program.work, env=program.env, **started)
        peak = 0
        while process.poll() is None:
            # A child's own account has its parent's memory, too.
            for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
                peak = max(peak, int(line.split()[1]) * 1024) if line.startswith("VmHWM:") else peak
            time.sleep(0.01)
        out.seek(0)
        result: dict[str, Any] = json.loads(out.read().splitlines()[-1])
        return result, peak


@pytest.mark.parametrize("wire", [*MODELS])
@pytest.mark.parametrize("kind", ["text", "line", "refusal"])
def test_a_flood_takes_little_memory_and_the_session_goes_on(tmp_path: Path, wire: str, kind: str) -> None:
    answer, kept, told = {
        "text": (TEXT[wire], LONGEST_TEXT, "wrote more than 4,000,000 characters in one reply"),
        "line": (LINE, 64_000_000, "sent an event of more than 64 MB"),
        "refusal": (Refuse(400, body=BODY), 1_000_000, '{"error": {"message": "xxx'),
    }[kind]
    with Loopback(lambda asked: answer if asked.number == 0 else say("Fine."), strict=False) as server:
        program = Program(tmp_path, more=server.env)
        result, peak = flooded(program, MODELS[wire])
        assert told in result["error"]
        assert kind == "refusal" or "check base_url" in result["error"]
        assert len(result["error"]) < 1_000
        assert peak < PLAIN + 3 * kept
        assert program.ask("-c", "-p", "go on", "-m", MODELS[wire]).result["text"] == "Fine."
    assert program.run("sessions", "check").code == 0


@pytest.mark.parametrize("piece", ["four words in a piece\n\n", "слова на другом языке\n\n"])
def test_a_long_reply_in_short_pieces_takes_a_few_times_its_bytes(tmp_path: Path, piece: str) -> None:
    def peak_of(pieces: int) -> int:
        with Loopback(lambda _: Bytes(reply(pieces, piece)), strict=False) as server:
            (folder := tmp_path / str(pieces)).mkdir()
            result, peak = flooded(Program(folder, more=server.env), MODELS["anthropic"])
            assert result["text"] == piece * pieces
            return peak

    count = 3_000_000 // len(piece)
    # The adapter and the session share the text, and its record is written in pieces.
    assert peak_of(count) - peak_of(1) < 2.5 * len(piece.encode()) * count


@pytest.mark.parametrize("kind", ["text", "arguments"])
def test_a_long_reply_in_a_terminal_takes_a_few_times_its_bytes(kind: str) -> None:
    growth, kept = grown("anthropic", kind, terminal=True)
    # In memory at once: a text, and what of it the terminal has not shown yet; or a call's input and the next request.
    assert growth < 3 * kept


@pytest.mark.parametrize("wire", ["anthropic", "openai", "chat"])
def test_a_file_in_one_call_takes_a_few_times_its_bytes(wire: str) -> None:
    growth, kept = grown(wire, "arguments")
    # In memory at once: the call's input, the next request's body, and for some wires the input as the wire quotes it.
    assert growth < 3 * kept


def test_a_text_that_the_responses_api_repeats_four_times_takes_a_few_times_its_bytes() -> None:
    growth, kept = grown("openai", "text")
    assert growth < 3 * kept


@pytest.mark.parametrize("how", ["stdio", "json", "json gzip", "events", "events gzip", "sse"])
def test_an_answer_of_a_server_without_end_fails_its_call_alone(tmp_path: Path, how: str) -> None:
    tools = [{"name": name, "inputSchema": {"type": "object"}} for name in ("echo", "flood")]
    flood = call("mcp__fake__flood", mb=100, how=how)
    replies = [say("", flood), say("", call("mcp__fake__echo", text="back")), say("Fine.")]
    with Loopback(lambda asked: replies[asked.number], strict=False) as server, serving() as port:
        program = Program(tmp_path, more=server.env)
        (program.work / "tools.json").write_text(json.dumps(tools))
        kind = "sse" if how == "sse" else "http"
        url = f"http://127.0.0.1:{port}/{'sse' if how == 'sse' else 'mcp/'}"
        given = fake(timeout=20) if how == "stdio" else {"type": kind, "url": url, "timeout": 20}
        config = json.dumps({"mcpServers": {"fake": given}})
        result, peak = flooded(program, MODELS["anthropic"], "--mcp-config", config, "--mode", "yolo", "--trust")
        assert result["text"] == "Fine."
        told = {"events": "exceeded the 64000000 byte limit", "events gzip": "exceeded the 64000000 byte limit"}
        told["sse"] = "ended during the call (Server-sent event exceeded the 1048576 byte limit)"
        assert told.get(how, "more than 64 MB in one message; ask it for less").encode() in server.asked[1].body
        assert b'"back"' in server.asked[2].body
        assert how != "stdio" or len(pids(program.work)) == 2
        assert peak < PLAIN + 3 * LONGEST
