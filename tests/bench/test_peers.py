"""Tests of the comparison with other programs: the price of a prompt, and the proof that the reads were made."""

from __future__ import annotations

import json
from typing import Any

from tests.bench.peers.cost import Spent, spent, units
from tests.bench.peers.endpoint import Reads, last_line, results
from tests.loopback import Asked

MARK = {"cache_control": {"type": "ephemeral"}}


def request(wire: Any, body: Any, number: int = 0) -> Asked:
    path = "/v1beta/models/gemini:streamGenerateContent" if wire == "google" else "/v1/messages"
    return Asked(wire, path, {}, json.dumps(body).encode(), number)


def claude(*texts: str, marked: bool = True) -> Asked:
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text} for text in texts]
    blocks[-1] |= MARK if marked else {}
    return request("anthropic", {"model": "claude", "messages": [{"role": "user", "content": blocks}]})


def test_what_is_new_is_written_once_and_read_from_then_on() -> None:
    first, second = spent([claude("a" * 400), claude("a" * 400, "b" * 200)])
    assert (first.read, first.fresh) == (0, 0)
    assert (second.read, second.fresh) == (first.written, 0)
    assert 0 < second.written < first.written


def test_without_a_mark_everything_is_paid_in_full_again() -> None:
    first, second = spent([claude("a" * 400, marked=False), claude("a" * 400, marked=False)])
    assert first == second == Spent(0, 0, first.fresh)


def test_gemini_charges_nothing_for_writing() -> None:
    contents = [{"role": "user", "parts": [{"text": "a" * 400}]}]
    first, second = spent([request("google", {"contents": contents}), request("google", {"contents": contents})])
    assert (first.written, second.read, second.fresh) == (0, first.fresh, 0)


def test_units_weigh_tokens_by_their_price() -> None:
    assert Spent(1_000, 100, 10).units == 1_000 * 0.1 + 100 * 1.25 + 10
    assert units([]) == 0


def answered(*outputs: str) -> dict[str, Any]:
    blocks = [{"type": "tool_result", "tool_use_id": str(n), "content": output} for n, output in enumerate(outputs)]
    return {"model": "claude", "tools": [{}], "messages": [{"role": "user", "content": blocks}]}


def test_a_run_counts_only_if_every_result_holds_the_contents_of_its_file() -> None:
    plan = Reads(2)
    assert plan.fault() == "it sent no request"
    for outputs, fault in (
        (["x"], "it made 1 of 2 calls"),
        (["x", last_line(1)], "1 results lack the contents of their files"),
        ([last_line(0), last_line(1)], ""),
    ):
        asked = request("anthropic", answered(*outputs))
        assert results(asked) == len(outputs)
        plan.requests.append(asked)
        assert plan.fault() == fault


def test_a_request_without_tools_is_no_part_of_the_conversation() -> None:
    plan = Reads(2)
    plan(claude("a title for this"))
    assert not plan.requests
