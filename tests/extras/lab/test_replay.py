"""Recorded sessions are played again under any policy."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from agentcli.context.settings import POLICIES, ContextSettings, PruneSettings
from agentcli.context.window import limits_of
from agentcli.core.errors import ConfigError
from agentcli.core.message import Message, Text, ToolCall, ToolResult, Usage
from agentcli.core.model import ModelSpec, Prices, Request
from agentcli.core.record import Compaction, Record, Settings, Undo
from agentcli.extras.lab.replay import Played, Setup, replay
from agentcli.tools.registry import TRAITS
from tests.extras.lab.traces import Shape, trace
from tests.tables import each_row

MODEL = ModelSpec("anthropic", "claude", window=60_000, max_output=8_000, prices=Prices(5, 25, 0.5, 6.25))
SETUP = Setup(MODEL, TRAITS)
SHORT = trace(1, Shape(turns=(2, 2), steps=(2, 3), files=(2, 3), lines=(10, 20)))
LONG = trace(2, Shape(turns=(6, 6), steps=(6, 8), files=(4, 6), lines=(80, 200)))


@pytest.fixture(scope="module")
def long_runs() -> dict[str, Played]:
    return {policy: replay(LONG.records, policy, SETUP, LONG.planted) for policy in POLICIES}


@each_row("policy", POLICIES)
def test_a_short_session_is_left_alone_by_every_policy(policy: str):
    played = replay(SHORT.records, policy, SETUP)
    assert (played.compactions, played.prunes, played.overflows) == (0, 0, 0)
    assert sum(played.needs.needed) > 0
    assert (played.needs.in_view, played.charged) == (1, played.cost)
    replies = [
        record.body for record in SHORT.records if isinstance(record.body, Message) and record.body.role == "assistant"
    ]
    assert played.requests == len(replies)
    assert list(played.sizes) == sorted(played.sizes)


@pytest.mark.parametrize("policy", POLICIES)
def test_each_prompt_is_paid_for_once(long_runs: dict[str, Played], policy: str):
    played = long_runs[policy]
    assert sum(played.sizes) == played.usage.prompt
    assert MODEL.prices
    requests = MODEL.prices.cost(played.usage) + played.summary_cost
    assert played.cost == pytest.approx(requests)
    assert len(played.needs.needed) == len(played.needs.missed) == played.requests
    assert played.requests == long_runs["auto"].requests
    assert played.broken == ()


@each_row("policy", ("auto", "gemini", "opencode"))
def test_a_request_repeats_the_one_before_except_after_an_edit_and_each_call_in_it_has_one_answer(policy: str):
    requests: list[Request] = []
    played = replay(LONG.records, policy, SETUP, watch=lambda request, _: requests.append(request))
    rewritten = [
        later for former, later in pairwise(requests) if later.messages[: len(former.messages)] != former.messages
    ]
    assert 0 < len(rewritten) <= played.prunes + played.compactions
    for request in requests:
        parts = [part for message in request.messages for part in message.parts]
        calls = [part.call_id for part in parts if isinstance(part, ToolCall)]
        assert sorted(calls) == sorted(part.call_id for part in parts if isinstance(part, ToolResult))
        assert len(set(calls)) == len(calls)


def test_every_request_is_shown_to_who_watches_with_the_reply_to_it():
    watched: list[tuple[Request, Message]] = []
    played = replay(LONG.records, "auto", SETUP, watch=lambda request, reply: watched.append((request, reply)))
    assert tuple(reply.usage.prompt for _, reply in watched if reply.usage) == played.sizes
    recorded = [record.body for record in LONG.records if isinstance(record.body, Message)]
    assert [reply.parts for _, reply in watched] == [body.parts for body in recorded if body.role == "assistant"]
    assert all(request.messages and request.messages[-1].role == "user" for request, _ in watched)


def test_auto_never_overflows_a_small_window(long_runs: dict[str, Played]):
    played = long_runs["auto"]
    assert (played.overflows, played.refused) == (0, 0)
    assert played.peak <= limits_of(MODEL, ContextSettings()).usable
    assert played.prunes + played.compactions > 0


def test_a_replay_is_repeatable(long_runs: dict[str, Played]):
    assert replay(LONG.records, "auto", SETUP, LONG.planted) == long_runs["auto"]


@pytest.mark.full
def test_auto_costs_far_less_than_the_plain_prune_rule():
    opus = Setup(replace(MODEL, window=200_000, max_output=64_000), TRAITS)
    made = [trace(seed) for seed in (2, 6)]
    auto, plain = ([replay(each.records, policy, opus) for each in made] for policy in ("auto", "opencode"))
    assert sum(played.cost for played in auto) < 0.6 * sum(played.cost for played in plain)
    assert not sum(played.overflows for played in auto)


@pytest.mark.full
def test_where_no_prune_can_help_a_compaction_that_pays_does():
    said = [Message("assistant", (Text(f"{n}: " + "words and more " * 200),), 1 + n // 10) for n in range(100)]
    asked = [Message("user", (Text(f"Now do part {turn}."),), turn) for turn in range(1, 11)]
    bodies = [body for turn in range(10) for body in (asked[turn], *said[10 * turn : 10 * turn + 10])]
    records = [Record(n, "", f"2026-01-01T00:{n // 2:02}:00Z", "", body) for n, body in enumerate(bodies, 1)]
    opus = Setup(replace(MODEL, window=200_000, summary_prices=Prices(1, 5, 0.1, 1.25)), TRAITS)
    marks = replace(opus, settings=ContextSettings(compact_horizon=0))
    priced, waiting = (replay(records, "auto", setup) for setup in (opus, marks))
    assert (priced.compactions, priced.prunes, priced.broken) == (3, 0, ())
    assert waiting.compactions == 0
    assert priced.summary_cost > 0
    assert priced.cost < 0.95 * waiting.cost


def test_planted_facts_can_be_recalled_after_all_that(long_runs: dict[str, Played]):
    played = long_runs["auto"]
    assert played.planted.facts == len(LONG.planted)
    assert played.planted.recoverability >= 0.95


def test_what_the_session_once_did_to_its_own_view_is_left_out():
    last = SHORT.records[-1]
    cut = Record(
        last.seq + 1, "", last.time, "", Compaction("auto", "compressed", "auto", (1, last.seq), last.seq + 1, "s")
    )
    assert replay((*SHORT.records, cut), "auto", SETUP) == replay(SHORT.records, "auto", SETUP)


def test_what_the_user_took_back_is_left_out():
    last = SHORT.records[-1]
    extra = Record(last.seq + 1, "", last.time, "", Message("user", (Text("no"),), 9))
    back = Record(last.seq + 2, "", last.time, "", Undo(last.seq, "rewind"))
    assert replay((*SHORT.records, extra, back), "auto", SETUP) == replay(SHORT.records, "auto", SETUP)


def test_recorded_output_is_what_a_reply_costs():
    said = [replace(record, body=replace(record.body, usage=Usage(output=1_000))) if isinstance(record.body, Message) and record.body.role == "assistant" else record for record in SHORT.records]  # fmt: skip
    played = replay(said, "auto", SETUP)
    assert played.usage.output == 1_000 * played.requests


def test_a_long_pause_makes_the_cache_cold():
    quick = [replace(record, time="2026-01-05T09:00:00.000Z") for record in SHORT.records]
    slow = [replace(record, time=f"2026-01-{n + 1:02}T09:00:00.000Z") for n, record in enumerate(SHORT.records[:28])]
    assert replay(quick, "auto", SETUP).usage.cache_read > 0
    assert replay(slow, "auto", SETUP).usage.cache_read == 0


def test_system_and_tools_of_the_session_count_where_it_says_them():
    worn = Record(0, "", SHORT.records[0].time, "", Settings(system=("word " * 20_000,), tools=({"name": "read", "description": "", "parameters": {}},)))  # fmt: skip
    assert (
        replay((worn, *SHORT.records), "auto", SETUP).sizes[0] > replay(SHORT.records, "auto", SETUP).sizes[0] + 20_000
    )


def test_settings_decide():
    off = ContextSettings(autocompact=False, prune=replace(ContextSettings().prune, enabled=False))
    played = replay(LONG.records, "auto", replace(SETUP, model=replace(MODEL, window=2_000_000), settings=off))
    assert (played.compactions, played.prunes) == (0, 0)


def test_a_policy_that_does_not_exist_is_named():
    with pytest.raises(ConfigError, match="'gemni'"):
        replay(SHORT.records, "gemni", SETUP)


REAL = Path(__file__).resolve().parents[4] / "shared" / "data" / "real-session.jsonl"


@pytest.mark.slow
@pytest.mark.skipif(not REAL.exists(), reason="the recorded session is not here")
def test_the_real_session_goes_through_auto_without_an_overflow():
    from agentcli.extras.importers.sessions import read

    records = [Record(seq, "", time, "", body) for seq, (time, body) in enumerate(read(REAL).bodies, 1)]
    opus = replace(MODEL, window=200_000, max_output=64_000)
    auto, plain, sliding = (replay(records, policy, Setup(opus, TRAITS)) for policy in ("auto", "opencode", "sliding"))
    assert (auto.overflows, auto.broken) == (0, ())
    assert auto.cost < 0.75 * plain.cost
    assert auto.cost < 0.75 * sliding.cost
    assert auto.needs.in_view > 0.8


def test_a_reply_that_uses_what_is_gone_is_charged_for_fetching_it():
    def records(pause: str) -> list[Record]:
        bodies = [
            Message("user", (Text("go"),), 1),
            Message("assistant", (ToolCall("c1", "read", {"file_path": "a.py"}),), 1),
            ToolResult("c1", "read", "success", "needle_line = compute(1)\n" + "filler\n" * 20_000),
            Message("assistant", (Text("ok"),), 1),
            *(Message(role, (Text("and on"),), turn) for turn in (2, 3, 4) for role in ("user", "assistant")),
            Message("user", (Text("edit it"),), 5),
            Message("assistant", (ToolCall("c2", "edit", {"file_path": "a.py", "old_string": "needle_line = compute(1)", "new_string": "x"}),), 5),
        ]  # fmt: skip
        times = ["2026-01-01T00:00:00Z"] * (len(bodies) - 2) + [pause] * 2
        return [Record(n, "", time, "", body) for n, (time, body) in enumerate(zip(times, bodies, strict=True), 1)]

    rules = ContextSettings(prune=PruneSettings(auto_protect=1_000, minimum=1_000))
    big = Setup(replace(MODEL, window=2_000_000), TRAITS, settings=rules)
    cleared, kept = (replay(records("2026-01-01T02:00:00Z"), policy, big) for policy in ("auto", "gemini"))
    assert (cleared.prunes, sum(cleared.needs.missed)) == (1, 1)
    assert (kept.prunes, sum(kept.needs.missed), kept.recalls) == (0, 0, 0)
    assert MODEL.prices
    recall = Usage(0, big.recall_call, 0, cleared.sizes[-1], big.recalled)
    assert cleared.charged == pytest.approx(cleared.cost + MODEL.prices.cost(recall))


def test_without_a_price_nothing_is_known_of_costs():
    played = replay(SHORT.records, "auto", Setup(replace(MODEL, prices=None), TRAITS))
    assert not played.priced
    assert played.requests > 0
