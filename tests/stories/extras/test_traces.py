"""Made-up sessions are the same for the same seed, and sessions of the kind that agents have."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

from agentcli.core.codec.encode import encode
from agentcli.core.message import Message, ToolResult
from tests.extras.lab.traces import trace

PRINT = "import sys; sys.path[:0] = [{path!r}]\nfrom tests.stories.extras.test_traces import digest\nprint(digest(5))"


def digest(seed: int) -> str:
    return hashlib.sha256(b"".join(encode(record) for record in trace(seed).records)).hexdigest()


def test_the_same_seed_gives_the_same_session_in_another_process():
    code = PRINT.format(path=os.getcwd())
    environment = {**os.environ, "PYTHONHASHSEED": "77"}
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert told.stdout.strip() == digest(5)
    assert digest(5) != digest(6)


def test_calls_are_answered_times_ascend_and_planted_facts_were_said():
    made = trace(9)
    calls = [call.call_id for record in made.records if isinstance(record.body, Message) for call in record.body.calls]
    answers = [record.body.call_id for record in made.records if isinstance(record.body, ToolResult)]
    assert calls == answers
    assert [record.time for record in made.records] == sorted(record.time for record in made.records)
    said = "\n".join(encode(record).decode() for record in made.records)
    assert made.planted
    assert all(fact.text in said for fact in made.planted)
