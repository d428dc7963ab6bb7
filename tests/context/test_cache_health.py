"""Cache health: the hit rate, and the name of what changed."""

from dataclasses import replace

from agentcli.context.assemble import assemble
from agentcli.context.cache_health import CacheHealth, changed_between, explain_miss, health_of, segments_of
from agentcli.context.view import view
from agentcli.core.message import Image, Usage
from agentcli.core.model import Prices, Request, ToolSchema
from agentcli.core.record import Body, Compaction, Prune, Settings, Title, Undo
from agentcli.tools.registry import TRAITS
from tests.context.made import call, history, prompt, records, reply, result
from tests.context.transcripts import MODEL
from tests.tables import each_row

TOOL = ToolSchema("read", "Reads.", {"type": "object"})
TALK: tuple[Body, ...] = (prompt("hi"), reply(call("a")), result("a"), reply("ok"), prompt("more", 2))


def request(*bodies: Body, system: str = "be good", tools: tuple[ToolSchema, ...] = (TOOL,)) -> Request:
    return assemble(view(history(*bodies)), [system], tools, MODEL)


def test_growing_requests_have_nothing_changed() -> None:
    assert changed_between(request(*TALK[:1]), request(*TALK[:3])) == ""
    assert changed_between(request(*TALK[:3]), request(*TALK)) == ""
    assert changed_between(request(*TALK[:3]), request(*TALK[:3], prompt("steer"))) == ""


def test_the_first_segment_that_differs_is_named() -> None:
    former = request(*TALK)
    assert changed_between(former, request(*TALK, system="12:00")) == "the system prompt"
    assert changed_between(former, request(*TALK, tools=())) == "the tools"
    assert changed_between(former, replace(former, model=replace(MODEL, id="other"))) == "the model"
    assert changed_between(former, request(prompt("ho"), *TALK[1:])) == "message 1 (user)"
    assert changed_between(former, request(*TALK[:2], result("a", "new"), *TALK[3:])) == "message 3 (user)"
    assert changed_between(former, request(*TALK[:3])) == "message 4 (assistant) (gone)"


def test_the_hit_rate_is_the_share_of_input_that_was_read() -> None:
    health = CacheHealth().after(request(*TALK[:1]), Usage(0, 5, 0, 0, 10_000))
    health = health.after(request(*TALK[:3]), Usage(100, 5, 0, 10_000, 900))
    assert (health.fresh, health.written, health.read, health.output) == (100, 10_900, 10_000, 10)
    assert health.hit_rate == 10_000 / 21_000
    assert (health.misses, health.warning()) == (0, "")
    assert CacheHealth().hit_rate == 0


def test_three_misses_in_a_row_are_thrashing_and_the_culprit_is_named() -> None:
    health = CacheHealth()
    for minute in range(4):
        assert health.in_a_row < health.thrash
        health = health.after(request(*TALK, system=f"12:0{minute}"), Usage(0, 1, 0, 0, 9_000))
    assert health.in_a_row == health.thrash
    assert health.misses == health.in_a_row == 3
    assert health.warning() == (
        "The provider's cache was missed 3 times in a row: the system prompt changed since the request before."
    )
    again = health.after(request(*TALK, system="12:03"), Usage(0, 1, 0, 9_000, 0))
    assert again.in_a_row == 0
    assert again.warning() == ""


def test_a_server_that_never_speaks_of_a_cache_misses_none() -> None:
    local = replace(MODEL, cache_explicit=False, prices=None)
    asked = replace(request(*TALK), model=local)
    health = CacheHealth()
    for _ in range(4):
        health = health.after(asked, Usage(50_000, 5))
    assert (health.misses, health.warning()) == (0, "")
    health = health.after(asked, Usage(10_000, 5, 0, 40_000)).after(asked, Usage(50_000, 5))
    assert health.misses == 1


def test_what_could_not_be_read_or_was_edited_by_us_is_no_miss() -> None:
    first = CacheHealth().after(request(*TALK), Usage(0, 1, 0, 0, 9_000))
    nothing = Usage(9_000, 1)
    assert first.misses == 0
    assert first.after(request(*TALK), nothing).misses == 1
    assert first.after(request(*TALK), nothing, edited=True).misses == 0
    assert first.after(request(*TALK), nothing, idle=301).misses == 0
    small = CacheHealth().after(request(*TALK), Usage(0, 1, 0, 0, 100))
    assert small.after(request(*TALK), Usage(100, 1)).misses == 0


def test_a_resumed_session_goes_on_counting_from_its_records() -> None:
    bodies = (
        prompt("hi"),
        reply(call("a"), usage=Usage(10, 5, 0, 0, 9_000)),
        result("a"),
        reply(call("b", "recall", id="a"), usage=Usage(20, 5, 0, 9_000, 500)),
        result("b", name="recall"),
        Prune(("a",), 9, "test"),
        reply("ok", usage=Usage(0, 5, 0, 0, 9_100)),
        prompt("more", 2),
        reply("ok", turn=2, usage=Usage(9_200, 5)),
    )
    health = health_of(records(*bodies), MODEL, TRAITS)
    assert (health.requests, health.fresh, health.written, health.read, health.output) == (4, 9_230, 18_600, 9_000, 20)
    assert (health.prunes, health.recalls, health.compactions) == (1, 1, 0)
    assert (health.misses, health.in_a_row) == (1, 1)
    assert health.warning() == "The provider's cache was missed once."
    assert health.after(request(*TALK), Usage(0, 1, 0, 0, 9_000)).requests == 5
    assert (health.thrash, health_of(records(*bodies), MODEL, TRAITS, thrash=7).thrash) == (3, 7)


def test_the_statistics_of_records_are_those_counted_reply_by_reply() -> None:
    usages = [Usage(10 * n, n, 0, 700 * (n % 5), 900 * (n % 3)) for n in range(1, 40)]
    for model in (MODEL, replace(MODEL, cache_explicit=False), replace(MODEL, cache_explicit=False, prices=None)):
        live = CacheHealth(thrash=5)
        for number, usage in enumerate(usages):
            live = live.counting(model, usage, edited=not number)
        made = health_of(records(*(reply("ok", usage=usage) for usage in usages)), model, TRAITS, thrash=5)
        assert replace(made, missed=(0, 0)) == live


def test_cost_is_told_by_kind() -> None:
    health = CacheHealth(fresh=1_000_000, written=1_000_000, read=2_000_000, output=100_000)
    costs = health.costs(Prices(5, 25, 0.5, 6.25, over=1, over_input=99))
    assert costs == {"fresh": 5.0, "cache write": 6.25, "cache read": 1.0, "output": 2.5}


def test_the_segment_that_changed_is_found_out_from_the_records() -> None:
    worn = Settings("m", system=("You are a test.",), tools=({"name": "read", "description": "d", "parameters": {}},))

    def told(*between: Body) -> str:
        bodies = (
            worn,
            prompt("hi"),
            reply(call("a"), usage=Usage(10, 5, 0, 0, 9_000)),
            result("a"),
            *between,
            reply("ok", usage=Usage(9_100, 5)),
        )
        made = records(*bodies)
        return explain_miss(health_of(made, MODEL, TRAITS), made, MODEL).warning()

    assert told().endswith("although nothing in the request had changed.")
    assert told(Title("new")).endswith("although nothing in the request had changed.")
    strange = records(prompt("hi"), reply("a", usage=Usage(1, 1, 0, 0, 9_000)), reply("b", usage=Usage(9_000, 1)))
    assert explain_miss(health_of(strange, MODEL, TRAITS), strange, MODEL).changed is None, (
        "another program made those requests"
    )


def test_a_miss_reads_less_than_half_of_what_could_be_read_within_the_lifetime() -> None:
    def misses(read: int, idle: float = 0.0, cached: int = 4_000) -> int:
        first = CacheHealth().after(request(*TALK), Usage(0, 1, 0, 0, cached))
        return first.after(request(*TALK), Usage(0, 1, 0, read, 0), idle=idle).misses

    least = MODEL.cache_minimum
    assert (misses(2_000), misses(1_999)) == (0, 1)
    assert (misses(0, MODEL.cache_lifetime), misses(0, MODEL.cache_lifetime + 1)) == (1, 0)
    assert (misses(0, cached=least), misses(0, cached=least - 1)) == (1, 0)


def test_without_explicit_marks_the_whole_prompt_could_be_read() -> None:
    implicit = replace(request(*TALK), model=replace(MODEL, cache_explicit=False, prices=Prices(1, 5)))
    first = CacheHealth().after(implicit, Usage(9_000, 1))
    assert first.after(implicit, Usage(4_501, 1, 0, 4_499)).misses == 1
    assert first.after(implicit, Usage(4_500, 1, 0, 4_500)).misses == 0


@each_row("edit", [Prune(("a",), 9, "test"), Compaction("auto", "compressed", "auto"), Settings("m"), Undo(1, "prune")])
def test_a_miss_right_after_an_edit_of_the_session_is_explained_by_it(edit: Body) -> None:
    asked, answered = prompt("hi"), reply("ok", usage=Usage(10, 5, 0, 0, 9_000))
    miss = reply("ok", usage=Usage(9_000, 5))
    explained = health_of(records(asked, answered, edit, miss), MODEL, TRAITS)
    assert (explained.misses, explained.warning()) == (0, "")
    later = health_of(records(asked, answered, edit, answered, miss), MODEL, TRAITS)
    assert (later.misses, later.missed) == (1, (4, 5))
    failed = Compaction("auto", "failed", "auto")
    assert health_of(records(asked, answered, failed, miss), MODEL, TRAITS).misses == 1


def test_the_first_reply_and_one_of_another_model_miss_nothing() -> None:
    answered, other = (reply("ok", usage=Usage(9_000, 5, 0, 0, 9_000)) for _ in range(2))
    other = replace(other, model="other")
    assert health_of(records(prompt("hi"), answered, other), MODEL, TRAITS).misses == 0
    assert health_of(records(prompt("hi"), answered, answered), MODEL, TRAITS).misses == 1


def test_the_warning_counts_misses_and_names_what_changed() -> None:
    assert CacheHealth(in_a_row=1, changed="").warning() == (
        "The provider's cache was missed once, although nothing in the request had changed."
    )
    assert CacheHealth(in_a_row=2, changed=None).warning() == "The provider's cache was missed 2 times in a row."
    assert CacheHealth(misses=2).warning() == ""


def test_records_far_apart_in_time_miss_nothing() -> None:
    asked, answered, miss = (
        prompt("hi"),
        reply("ok", usage=Usage(10, 5, 0, 0, 9_000)),
        reply("ok", usage=Usage(9_000, 5)),
    )

    def missed(first: str, second: str) -> int:
        made = records(asked, answered, miss)
        times = ("", first, second)
        timed = [replace(record, time=time) for record, time in zip(made, times, strict=True)]
        return health_of(timed, MODEL, TRAITS).misses

    assert missed("2026-01-01T00:00:00Z", "2026-01-01T00:05:00Z") == 1
    assert missed("2026-01-01T00:00:00Z", "2026-01-01T00:05:01Z") == 0
    assert missed("", "2026-01-01T00:05:01Z") == 1
    assert missed("2026-01-01T00:00:00", "2026-01-01T00:05:01Z") == 1


def test_a_miss_is_explained_once_and_only_if_there_is_one() -> None:
    worn = Settings("m", system=("You are a test.",), tools=({"name": "read", "description": "d", "parameters": {}},))
    first, miss = reply("a", usage=Usage(10, 5, 0, 0, 9_000)), reply("ok", usage=Usage(9_100, 5))
    made = records(worn, prompt("hi"), first, prompt("more"), miss)
    health = health_of(made, MODEL, TRAITS)
    assert (health.changed, explain_miss(health, made, MODEL).changed) == (None, "")
    for known in (replace(health, changed="the tools"), replace(health, in_a_row=0), replace(health, changed="")):
        assert explain_miss(known, made, MODEL) is known


def test_each_segment_of_a_request_stands_for_all_that_a_cache_compares() -> None:
    whole = request(*TALK)
    names = [
        "the model",
        "the tools",
        "the system prompt",
        *(f"message {n} ({role})" for n, role in enumerate(["user", "assistant", "user", "assistant", "user"], 1)),
    ]
    assert [segment.name for segment in segments_of(whole)] == names
    (tool,) = whole.tools
    for other in (replace(tool, name="x"), replace(tool, description="x"), replace(tool, parameters={})):
        assert changed_between(whole, replace(whole, tools=(other,))) == "the tools"
    shown = result("a")
    for different in (
        replace(shown, output="x"),
        replace(shown, status="error"),
        replace(shown, images=(Image("image/png", "AAAA"),)),
    ):
        assert changed_between(whole, request(*TALK[:2], different, *TALK[3:])) == "message 3 (user)"
    assert changed_between(whole, request(*TALK[:2], replace(shown, title="x"), *TALK[3:])) == ""
