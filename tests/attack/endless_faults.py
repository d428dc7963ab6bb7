"""Every wrong end of a reply, played for ever: the program must end by itself, soon, and never with 0.

python -m tests.attack.endless_faults [COUNT]       runs `agentcli -p` against each end, or COUNT of them, and prints what came of it
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentcli.providers.scripted.model import say
from tests.e2e.faults import MODELS, asks, chunk, head, tail, wants, words
from tests.e2e.program import Program, Ran
from tests.loopback import Bytes, Cut, Fail, Gone, Loopback, Raw, Refuse

MOST_REQUESTS = 12
"""No wrong end may cost more: ten pauses in a row, and one or two for good measure."""
QUICK = (
    "--mode",
    "yolo",
    "--set",
    "retry.first=0.001",
    "--set",
    "retry.longest=0.002",
    "--set",
    "retry.attempts=5",
    "--set",
    "retry.patience=60",
)
HALF = '{"file_path": "victim.txt", "con'
PAGE = b"<html><body>Please log in</body></html>"


@dataclass(frozen=True)
class End:
    """A wrong end, and how the program ends on it: exit code, subtype, requests made. `text` is what must be kept of the reply."""

    name: str
    wire: str
    answer: Any
    code: int
    subtype: str
    requests: int
    text: str = ""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run."""

    end: End
    ran: Ran
    requests: int
    wrote: bool

    def wrong(self) -> str:
        """The reason why this is no good end, or an empty text."""
        result = self.ran.result
        found = (self.ran.code, result["subtype"], self.requests)
        wanted = (self.end.code, self.end.subtype, self.end.requests)
        if self.ran.code == 0 or result["status"] != "error" or result["exit_code"] != self.ran.code:
            return f"told as a success: {result}"
        if self.requests > MOST_REQUESTS:
            return f"{self.requests} requests"
        if found != wanted:
            return f"{found}, where {wanted} was expected: {result['error']}"
        if not result["error"]:
            return "no word of what happened"
        if self.end.text not in result["text"]:
            return f"the text that came is not kept: {result['text']!r}"
        return "a call that was not whole has run" if self.wrote else ""


def ends() -> Iterator[End]:
    """All of them, on both wires."""
    yield from _claude()
    yield from _gemini()
    for wire in MODELS:
        reply = say("I write. " * 40)
        yield End("closed without an answer", wire, Gone(), 75, "transient", 5)
        yield End("cut, the connection closes", wire, Cut(reply, 600), 75, "transient", 5)
        yield End("cut, the body ends politely", wire, Cut(reply, 600, "end"), 75, "transient", 5)
        yield End("an error in mid-stream", wire, Fail(reply, 3, _OVERLOADED[wire]), 75, "transient", 5)
        yield End("an empty body", wire, Bytes(b""), 75, "transient", 5)
        yield End("a web page with 200", wire, Bytes(PAGE, "text/html; charset=utf-8"), 1, "failed", 1)
        yield End("a web page with 404", wire, Refuse(404, body=PAGE), 1, "failed", 1)
        yield End("500 for ever", wire, Refuse(500), 75, "transient", 5)
        yield End("409 for ever", wire, Refuse(409), 75, "transient", 5)


_OVERLOADED = {"anthropic": "overloaded_error", "google": "UNAVAILABLE"}


def _claude() -> Iterator[End]:
    def end(name: str, events: Sequence[Any], code: int, subtype: str, requests: int, text: str = "") -> End:
        return End(name, "anthropic", Raw(events), code, subtype, requests, text)

    def lost(name: str, events: Sequence[Any], requests: int, text: str = "") -> End:
        return end(name, events, 1, "incomplete", requests, text)

    def no_answer(name: str, events: Sequence[Any], text: str = "") -> End:
        return end(name, events, 1, "failed", 4, text)

    begun, said, cut = [head()], words("I write."), asks(HALF)
    thought = [
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Hm."}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "c2ln"}},
        {"type": "content_block_stop", "index": 0},
    ]
    yield no_answer("end_turn without content", [*begun, *tail("end_turn")])
    yield no_answer("end_turn, white space only", [*begun, *words(" \n"), *tail("end_turn")])
    yield no_answer("end_turn, thinking only", [*begun, *thought, *tail("end_turn")])
    yield no_answer("stop_sequence without content", [*begun, *tail("stop_sequence")])
    yield no_answer("tool_use without content", [*begun, *tail()])
    yield no_answer("tool_use without a tool", [*begun, *said, *tail()], "I write.")
    yield no_answer("tool_use, an input that is not valid JSON", [*begun, *said, *cut, *tail()], "I write.")
    yield no_answer("tool_use, a call without its end", [*begun, *said, *asks(ended=False), *tail()], "I write.")
    for stop in ("max_tokens", "model_context_window_exceeded"):
        yield lost(f"{stop} behind words", [*begun, *said, *tail(stop)], 4, "I write.")
        yield lost(f"{stop} while thinking", [*begun, *thought, *tail(stop)], 4)
        yield lost(f"{stop} inside a call", [*begun, *said, *cut, *tail(stop)], 4, "I write.")
        yield lost(f"{stop} behind a call", [*begun, *said, *asks(), *tail(stop)], 4, "I write.")
        two = [*asks('{"file_path": "none"}', index=1, name="read"), *asks(HALF, index=2, id="toolu_2")]
        yield lost(f"{stop} inside the second call", [*begun, *said, *two, *tail(stop)], 4, "I write.")
        yield lost(f"{stop} without content", [*begun, *tail(stop)], 4)
    yield lost("pause_turn behind words", [*begun, *said, *tail("pause_turn")], 10, "I write.")
    yield lost("pause_turn without content", [*begun, *tail("pause_turn")], 10)
    yield end("refusal", [*begun, *said, *tail("refusal")], 1, "refused", 1, "I write.")
    yield end("refusal without content", [*begun, *tail("refusal")], 1, "refused", 1)
    for name, blocks in (("behind words", said), ("behind a call", [*said, *asks()]), ("without content", [])):
        kept = "I write." if blocks else ""
        yield lost(f"a stop reason nobody knows {name}", [*begun, *blocks, *tail("tired")], 2, kept)
    yield end("no stop reason", [*begun, *said, *tail(None)], 75, "transient", 5)


def _gemini() -> Iterator[End]:
    def end(name: str, chunks: Sequence[Any], code: int, subtype: str, requests: int, text: str = "") -> End:
        return End(name, "google", Raw(chunks), code, subtype, requests, text)

    def lost(name: str, chunks: Sequence[Any], requests: int, text: str = "") -> End:
        return end(name, chunks, 1, "incomplete", requests, text)

    def no_answer(name: str, chunks: Sequence[Any], text: str = "") -> End:
        return end(name, chunks, 1, "failed", 4, text)

    said, thought, write = chunk({"text": "I write."}), chunk({"text": "Hm.", "thought": True}), chunk(wants())
    half = chunk(wants(willContinue=True))
    yield no_answer("STOP without content", [chunk(finish="STOP")])
    yield no_answer("STOP, white space only", [chunk({"text": " \n"}, finish="STOP")])
    yield no_answer("STOP, thinking only", [thought, chunk(finish="STOP")])
    yield no_answer("STOP, a call that goes on", [said, half, chunk(finish="STOP")], "I write.")
    yield lost("MAX_TOKENS behind words", [said, chunk(finish="MAX_TOKENS")], 4, "I write.")
    yield lost("MAX_TOKENS while thinking", [thought, chunk(finish="MAX_TOKENS")], 4)
    yield lost("MAX_TOKENS inside a call", [said, half, chunk(finish="MAX_TOKENS")], 4, "I write.")
    yield lost("MAX_TOKENS behind a call", [said, write, chunk(finish="MAX_TOKENS")], 4, "I write.")
    yield lost("MAX_TOKENS without content", [chunk(finish="MAX_TOKENS")], 4)
    yield lost("CONTINUATION behind words", [said, chunk(finish="CONTINUATION")], 10, "I write.")
    yield lost("CONTINUATION without content", [chunk(finish="CONTINUATION")], 10)
    for reason in ("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE"):
        yield no_answer(f"{reason} without content", [chunk(finish=reason)])
        yield no_answer(f"{reason} behind words", [said, chunk(finish=reason)], "I write.")
        yield no_answer(f"{reason} behind a call", [write, chunk(finish=reason)])
    for name, chunks in (("behind words", [said]), ("behind a call", [said, write]), ("without content", [])):
        kept = "I write." if chunks else ""
        yield end(f"OTHER {name}", [*chunks, chunk(finish="OTHER")], 75, "incomplete", 2, kept)
        for reason in ("FINISH_REASON_UNSPECIFIED", "NO_IMAGE", "IMAGE_OTHER", "PUP_LIMITED_DISABLED"):
            yield lost(f"{reason} {name}", [*chunks, chunk(finish=reason)], 2, kept)
        yield end(f"RECITATION {name}", [*chunks, chunk(finish="RECITATION")], 1, "refused", 2, kept)
    yield lost("a finish reason nobody knows behind words", [said, chunk(finish="TIRED")], 2, "I write.")
    yield lost("a finish reason nobody knows without content", [chunk(finish="TIRED")], 2)
    for reason in ("SAFETY", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "ESCALATION", "MODEL_ARMOR"):
        yield end(reason, [said, chunk(finish=reason)], 1, "refused", 1, "I write.")
    yield end("a prompt that is blocked", [{"promptFeedback": {"blockReason": "OTHER"}}], 1, "refused", 1)
    yield end("MISSING_THOUGHT_SIGNATURE", [write, chunk(finish="MISSING_THOUGHT_SIGNATURE")], 1, "failed", 2)
    yield end("no finish reason", [said], 75, "transient", 5)
    yield end("no candidates", [{"candidates": []}], 75, "transient", 5)


def play(end: End, folder: Path, ask: Callable[..., Ran] = Program.ask) -> Outcome:
    """Run `agentcli -p` against a server that ends every reply this way."""
    program = Program(folder)
    with Loopback(lambda _: end.answer, strict=False) as server:
        program.more = server.env
        ran = ask(program, "-p", "write it", "-m", MODELS[end.wire], *QUICK)
        return Outcome(end, ran, len(server.requests), (program.work / "victim.txt").exists())


def main() -> int:
    """Play them all and print a table; the exit code says whether one went wrong."""
    chosen = [*ends()]
    if len(sys.argv) > 1:
        chosen = random.Random(7).sample(chosen, min(int(sys.argv[1]), len(chosen)))
    failed = 0
    print(f"{'wire':10} {'end of every reply':52} {'exit':>4} {'subtype':11} {'requests':>8}")
    for end in chosen:
        with tempfile.TemporaryDirectory() as folder:
            outcome = play(end, Path(folder))
        wrong = outcome.wrong()
        failed += bool(wrong)
        row = f"{end.wire:10} {end.name:52} {outcome.ran.code:4} {outcome.ran.result['subtype']:11}"
        print(f"{row} {outcome.requests:8}{'   ' + wrong if wrong else ''}", flush=True)
    print(f"{len(chosen)} ends, {failed} wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
