"""Memory of very large replies: `python -m tests.bench.bench_memory [CASE ...]`, a case such as `anthropic text` or `floods`.

Each wire streams a reply of 3.7 million characters, nearly the largest that is kept: as text, as thoughts, and as the input of a `write`.
A figure is the growth of the program's peak of resident memory over a reply of one piece, divided by the bytes of the session's records.
`terminal`: the program shows the reply to a person. `floods` are endless texts and events, and an error of 100 MB:
the peak over that of a short reply in MB, and the error's text.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from agentcli.providers.scripted.model import say
from tests.bench.bench_serve import memory, reply
from tests.e2e.faults import chunk, head, tail
from tests.e2e.program import Program
from tests.loopback import Answer, Bytes, Endless, Loopback, Refuse, anthropic_wire, google_wire

MODELS = {
    "anthropic": "anthropic/claude-haiku-5-5",
    "google": "google/gemini-3.8-flash",
    "openai": "openai/gpt-5.5",
    "chat": "openai/qwen3",
}
KINDS = ("text", "thoughts", "arguments")
PIECE = "forty characters of a piece, with an e\n\n"
SECONDS = 180
"""Seconds that a turn in a terminal may take."""
COUNT = 3_700_000 // len(PIECE)
OPENED, CLOSED = '{"file_path": "large.txt", "content": "', '"}'
USED = {"input_tokens": 10, "output_tokens": 10, "total_tokens": 20}
GOOGLE_USED = {"promptTokenCount": 10, "candidatesTokenCount": 10}
Json = Mapping[str, Any]


def body(wire: str, kind: str, count: int) -> bytes:
    """The body of a reply of so many pieces."""
    escaped = json.dumps(PIECE)[1:-1]
    pieces = [OPENED, *[escaped] * count, CLOSED] if kind == "arguments" else [PIECE] * count
    return b"".join(_BODIES[wire](kind, pieces))


def _anthropic(kind: str, pieces: Sequence[str]) -> Iterator[bytes]:
    begun, delta, name = {
        "text": ({"type": "text", "text": ""}, "text_delta", "text"),
        "thoughts": ({"type": "thinking", "thinking": ""}, "thinking_delta", "thinking"),
        "arguments": (
            {"type": "tool_use", "id": "c1", "name": "write", "input": {}},
            "input_json_delta",
            "partial_json",
        ),
    }[kind]
    line = anthropic_wire.line
    yield line(head())
    yield line({"type": "content_block_start", "index": 0, "content_block": begun})
    yield from (
        line({"type": "content_block_delta", "index": 0, "delta": {"type": delta, name: piece}}) for piece in pieces
    )
    if kind == "thoughts":
        signature = {"type": "signature_delta", "signature": "abc"}
        yield line({"type": "content_block_delta", "index": 0, "delta": signature})
    yield line({"type": "content_block_stop", "index": 0})
    if kind == "thoughts":
        yield line({"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": "Fine."}})
        yield line({"type": "content_block_stop", "index": 1})
    yield from map(line, tail("tool_use" if kind == "arguments" else "end_turn"))


def _google(kind: str, pieces: Sequence[str]) -> Iterator[bytes]:
    def chunk(part: Json, **more: Any) -> bytes:
        return google_wire.line({"candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0, **more}]})

    if kind == "arguments":  # the API sends a call in one event
        call = {"name": "write", "args": json.loads("".join(pieces)), "id": "c1"}
        yield chunk({"functionCall": call, "thoughtSignature": "abcd"}, finishReason="STOP")
    else:
        yield from (chunk({"text": piece, **({"thought": True} if kind == "thoughts" else {})}) for piece in pieces)
        yield chunk({"text": "Fine."}, finishReason="STOP")
    yield google_wire.line({"usageMetadata": GOOGLE_USED})


def _chat(kind: str, pieces: Sequence[str]) -> Iterator[bytes]:
    def chunk(delta: Json, finish: str | None = None) -> bytes:
        return _data({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    if kind == "arguments":
        yield chunk({"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": {"name": "write"}}]})
        yield from (chunk({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}) for piece in pieces)
    else:
        yield from (chunk({"content" if kind == "text" else "reasoning_content": piece}) for piece in pieces)
        yield chunk({"content": "Fine."})
    yield chunk({}, "tool_calls" if kind == "arguments" else "stop")
    yield b"data: [DONE]\n\n"


def _responses(kind: str, pieces: Sequence[str]) -> Iterator[bytes]:
    whole = "".join(pieces)
    item, field, delta, done = {
        "text": (_message(whole), "content", "output_text", {"text": whole}),
        "thoughts": (
            {
                "type": "reasoning",
                "id": "r1",
                "summary": [{"type": "summary_text", "text": whole}],
                "encrypted_content": "abc",
            },
            "summary",
            "reasoning_summary_text",
            {"text": whole},
        ),
        "arguments": (
            {
                "type": "function_call",
                "id": "f1",
                "call_id": "c1",
                "name": "write",
                "arguments": whole,
                "status": "completed",
            },
            "arguments",
            "function_call_arguments",
            {"arguments": whole},
        ),
    }[kind]
    items: list[Json] = [item, *([_message("Fine.")] if kind == "thoughts" else [])]
    yield _event("output_item.added", output_index=0, item={**item, field: "" if kind == "arguments" else []})
    yield from (_event(f"{delta}.delta", output_index=0, delta=piece) for piece in pieces)
    yield _event(f"{delta}.done", output_index=0, **done)
    if kind == "text":
        yield _event("content_part.done", output_index=0, part=_message(whole)["content"][0])
    for index, each in enumerate(items):
        yield _event("output_item.done", output_index=index, item=each)
    yield _event("completed", response={"id": "r", "status": "completed", "output": items, "usage": USED})


def _message(text: str) -> Json:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": content}


def _event(name: str, **fields: Any) -> bytes:
    return f"event: response.{name}\n".encode() + _data({"type": f"response.{name}", **fields})


def _data(value: Json) -> bytes:
    return b"data: %b\n\n" % json.dumps(value).encode()


_BODIES: Mapping[str, Callable[[str, Sequence[str]], Iterator[bytes]]] = {
    "anthropic": _anthropic, "google": _google, "openai": _responses, "chat": _chat,
}  # fmt: skip


def grown(wire: str, kind: str, *more: str, terminal: bool = False) -> tuple[int, int]:
    """Growth of the peak and of the records, in bytes, over a reply of one piece."""
    (short, little), (long, much) = (_run(wire, body(wire, kind, count), more, terminal) for count in (1, COUNT))
    return long - short, much - little


def _run(wire: str, reply: bytes, more: Sequence[str], terminal: bool) -> tuple[int, int]:
    with (
        tempfile.TemporaryDirectory() as name,
        Loopback(lambda asked: Bytes(reply) if asked.number == 0 else say("Done."), strict=False) as server,
    ):
        program = Program(Path(name), more=server.env)
        arguments = ("-m", MODELS[wire], "--mode", "yolo", *more)
        peak = _in_terminal(program, arguments) if terminal else _headless(program, arguments)
        return peak, sum(path.stat().st_size for path in program.sessions.glob("*/*/records/*"))


def _headless(program: Program, arguments: Sequence[str]) -> int:
    with open(os.devnull, "wb") as out, open(program.base / "err", "w+b") as err:
        process = program.start("-p", "go", *arguments, stdout=out, stderr=err)
        peak = _peak(process.pid, lambda: process.poll() is not None)
        assert process.returncode == 0, (program.base / "err").read_text()[-500:]
        return peak


def _in_terminal(program: Program, arguments: Sequence[str]) -> int:
    with program.terminal(*arguments, forked=False) as terminal:
        terminal.settle(2, 20)
        terminal.send("go\r")
        ends = time.monotonic() + SECONDS
        while not _answered(program) and time.monotonic() < ends:
            terminal.settle(0.5, 0.5)
        terminal.settle(2, SECONDS)
        assert _answered(program), "\n".join(terminal.screen())
        return memory(terminal.pid, "VmHWM") * 1024


def _answered(program: Program) -> bool:
    """Return True once the records have a reply that ends the turn."""
    return any(b'"stop":"end_turn"' in path.read_bytes() for path in program.sessions.glob("*/*/records/*"))


def _peak(pid: int, ended: Callable[[], bool]) -> int:
    peak = 0
    while not ended():
        # The system's account of a child also has its parent's memory.
        with suppress(OSError, IndexError):
            peak = max(peak, memory(pid, "VmHWM") * 1024)
        time.sleep(0.005)
    return peak


def floods(wire: str) -> Iterator[tuple[str, int, str]]:
    """Yield the name of each flood, the peak that it adds in bytes, and its error."""
    words = "word " * 10_000
    endless: Mapping[str, Answer] = {
        "anthropic": Bytes(reply(200, words)),
        "google": Endless(google_wire.line(chunk({"text": words}))),
        "openai": Endless(_event("output_text.delta", output_index=0, delta=words)),
        "chat": Endless(_data({"choices": [{"index": 0, "delta": {"content": words}}]})),
    }
    refusal = b'{"error": {"message": "%b"}}' % (b"x" * 100_000_000)
    plain = None
    answers: Mapping[str, Answer] = {
        "none": say("Done."),
        "text": endless[wire],
        "event": Endless(b"data: " + b"x" * 65_000),
        "error body": Refuse(400, body=refusal),
    }
    for name, answer in answers.items():
        with tempfile.TemporaryDirectory() as base, Loopback([answer], strict=False) as server:
            program = Program(Path(base), more=server.env)
            with open(program.base / "err", "w+") as err:
                process = program.start("-p", "go", "-m", MODELS[wire], stdout=err, stderr=err)
                peak = _peak(process.pid, lambda started=process: started.poll() is not None)  # type: ignore[misc]
                plain = peak if plain is None else plain
            if name != "none":
                yield name, peak - plain, (program.base / "err").read_text().strip().rpartition("\n")[2]


def main(chosen: Sequence[str]) -> None:
    """Print a line for each case."""
    cases = [(wire, kind, False) for wire in MODELS for kind in KINDS]
    cases += [("anthropic", kind, True) for kind in KINDS]
    for wire, kind, terminal in cases:
        name = f"{wire} {kind}{' terminal' if terminal else ''}"
        if chosen and not any(each in name for each in chosen):
            continue
        growth, kept = grown(wire, kind, terminal=terminal)
        print(f"{name:30} {growth / 1e6:6.1f} MB for {kept / 1e6:.1f} MB kept: {growth / kept:4.1f}", flush=True)
    for wire in MODELS if not chosen or "floods" in chosen else ():
        for name, more, error in floods(wire):
            print(f"{wire:10} {name:12} {more / 1e6:6.1f} MB  {error[:160]}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
