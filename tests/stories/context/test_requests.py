"""Whatever happened in a session, its next request is well formed and begins like the one before."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentcli.context.assemble import assemble
from agentcli.context.invariants import CONTINUE, can_be_sent, check
from agentcli.context.view import Block, View, view
from agentcli.core.codec.encode import dumps, part_to_json
from agentcli.core.history import fold
from agentcli.core.message import Message, Text, Thinking, ToolResult
from agentcli.core.model import ModelSpec, Request, RequestMessage, ToolSchema
from agentcli.core.record import Body, Compaction, Prune, Record, Undo
from tests.context.transcripts import ACTS, MODEL, OTHER, Session, act, sessions
from tests.tables import each_row

SYSTEM = ("You are agentcli.", "Rules.")
BOUND = replace(MODEL, preserved_thinking=True)
TOOLS = (ToolSchema("read", "Reads a file.", {"type": "object", "properties": {"file_path": {"type": "string"}}}),)


def request_of(records: list[Record], model: ModelSpec = MODEL) -> tuple[Request, View]:
    seen = view(fold(records))
    return assemble(seen, SYSTEM, TOOLS, model), seen


def flat(request: Request) -> list[str]:
    """The request piece by piece, as text."""
    return [
        dumps(
            [
                turn.role,
                part_to_json(part) if not isinstance(part, ToolResult) else [part.call_id, part.output, part.status],
            ]
        )
        for turn in request.messages
        for part in turn.parts
    ]


@settings(max_examples=50)
@given(sessions())
def test_any_prefix_of_any_session_makes_a_request_that_may_be_sent(session: Session) -> None:
    for end in range(1, len(session.records) + 1):
        for model in (MODEL, OTHER):
            request, seen = request_of(session.records[:end], model)
            assert check(request, seen) == ()


@settings(max_examples=50)
@given(sessions())
def test_a_longer_session_begins_its_request_with_the_bytes_of_the_one_before(session: Session) -> None:
    former: list[str] = []
    for end in range(1, len(session.records) + 1):
        newest: Body = session.records[end - 1].body
        if isinstance(newest, Compaction | Prune | Undo):
            former = []
        history = fold(session.records[:end])
        if not history.entries or not _speaks_last(history.entries[-1].body) or _waits(session.records[:end]):
            continue
        request, _ = request_of(session.records[:end])
        if request.messages[-1].parts[-1] == Text(CONTINUE, True, "compactor"):
            continue
        now = flat(request)
        assert now[: len(former)] == former
        former = now


@settings(max_examples=50)
@given(sessions(), st.integers(0, 40))
def test_taking_back_a_compaction_restores_the_view(session: Session, size: int) -> None:
    before, count = view(session.history), len(session.records)
    act(session, "compact", size, "Fix the test.")
    act(session, "reply", 3, "more")
    if len(session.records) == count or not isinstance(session.records[count].body, Compaction):
        return
    more = session.records[count + 1 :]
    session.add(Undo(session.records[count].seq, "compaction"))
    # The last message may have been joined by what was said since.
    assert view(session.history).messages[: len(before.messages)][:-1] == before.messages[:-1]
    assert view(fold([*session.records[:count], *more])).messages == view(session.history).messages


@settings(max_examples=100)
@given(sessions(most=20))
def test_a_bound_thought_goes_back_only_behind_the_very_bytes_that_it_was_had_on(session: Session) -> None:
    had_on: dict[int, list[str]] = {}
    for end in range(1, len(session.records) + 1):
        request, seen = request_of(session.records[:end], BOUND)
        pieces = flat(request)
        thoughts = [block.seq for block in seen.blocks if isinstance(block.part, Thinking) and _goes_back(block, seen)]
        places = [number for number, piece in enumerate(pieces) if piece.startswith('["assistant",{"type":"thinking"')]
        assert len(thoughts) == len(places)
        for seq, place in zip(thoughts, places, strict=True):
            assert seq not in had_on or pieces[:place] == had_on[seq]
        if request.messages[-1].parts[-1] != Text(CONTINUE, True, "compactor"):
            had_on[end + 1] = pieces


def _goes_back(block: Block, seen: View) -> bool:
    speaker = next(message for message in seen.messages if block in message.blocks)
    turn = RequestMessage("assistant", (), speaker.provider, speaker.model)
    return can_be_sent(block.part, turn, BOUND) and not seen.is_bound(block)


@settings(max_examples=30)
@given(sessions(), st.lists(ACTS, max_size=3))
def test_the_user_and_what_was_injected_are_in_the_order_results_injections_words(session: Session, more: list) -> None:
    request, _ = request_of(session.records)
    for turn in request.messages:
        kinds = [isinstance(part, ToolResult) for part in turn.parts]
        assert kinds == sorted(kinds, reverse=True)


def test_the_same_session_gives_the_same_bytes_in_any_process(tmp_path: Path) -> None:
    program = (
        "import hashlib, random\n"
        "from tests.context.transcripts import Session, act\n"
        "from tests.stories.context.test_requests import request_of, flat\n"
        "s, r = Session(), random.Random(7)\n"
        "names = ['prompt', 'reply', 'reply', 'cut', 'prune', 'compact']\n"
        "act(s, 'prompt', 3, 'go')\n"
        "for _ in range(60): act(s, r.choice(names), r.randrange(40), r.choice(['a', 'テスト', '🔥 </file>']))\n"
        "request, _ = request_of(s.records)\n"
        "print(hashlib.sha256(repr((request, flat(request))).encode()).hexdigest(), len(request.messages))\n"
    )
    outputs = {
        _run(program, tmp_path, seed, zone, columns)
        for seed, zone, columns in (("1", "UTC", "80"), ("99", "Asia/Tokyo", "213"))
    }
    assert len(outputs) == 1
    assert int(outputs.pop().split()[1]) > 5


def _run(program: str, home: Path, seed: str, zone: str, columns: str) -> str:
    environment = {
        **os.environ,
        "PYTHONHASHSEED": seed,
        "TZ": zone,
        "COLUMNS": columns,
        "HOME": str(home / seed),
        "LANG": f"x{seed}",
    }
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        cwd=root,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout


def _speaks_last(body: Body) -> bool:
    return isinstance(body, ToolResult) or (isinstance(body, Message) and body.role == "user" and _says(body))


def _says(message: Message) -> bool:
    return any(not isinstance(part, Text) or part.text.strip() for part in message.parts)


def _waits(records: list[Record]) -> bool:
    """Whether calls are open at the end, so that no request would be made yet."""
    asked: set[str] = set()
    for entry in fold(records).entries:
        if isinstance(entry.body, ToolResult):
            asked.discard(entry.body.call_id)
        elif isinstance(entry.body, Message) and entry.body.role == "assistant":
            asked = {call.call_id for call in entry.body.calls}
        else:
            asked = set()
    return bool(asked)


@pytest.mark.slow
@pytest.mark.timeout(1_800)
@each_row(
    "promise",
    [
        test_any_prefix_of_any_session_makes_a_request_that_may_be_sent,
        test_a_longer_session_begins_its_request_with_the_bytes_of_the_one_before,
        test_a_bound_thought_goes_back_only_behind_the_very_bytes_that_it_was_had_on,
    ],
)
def test_thousands_of_longer_sessions_keep_each_promise(promise: Any) -> None:
    many = settings(max_examples=2_000, suppress_health_check=list(HealthCheck))
    many(given(sessions(most=25))(promise.hypothesis.inner_test))()
