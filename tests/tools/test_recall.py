"""The recall tool over passages of all kinds."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agentcli.core.text.passage import Needles, OutOfTime, Passage, PassageRole
from agentcli.core.tool import ToolLimits
from agentcli.tools.registry import run, tools
from tests.tools.conftest import Call
from tests.tools.workplace import Bench


def output(ctx: Bench, call_id: str, text: str) -> None:
    said(ctx, "output", text, call_id, "bash", f"$ run {call_id}", "success")


def said(ctx: Bench, role: PassageRole, text: str, *call: str) -> None:
    seq = len(ctx.said) + 1
    ctx.said.append(Passage(seq, 1 + seq // 3, role, text, *call))


def test_a_former_result_comes_back_whole_by_its_id(call: Call, ctx: Bench) -> None:
    output(ctx, "call_7", "\n".join(f"line {n}" for n in range(1, 4001)))
    outcome = call("recall", id="call_7")
    assert outcome.output.startswith("[bash: $ run call_7, success]\nline 1\n")
    assert outcome.output.endswith("\nline 2000\n[2,000 more lines; go on with offset=2001]")
    part = call("recall", id="call_7", offset=3999)
    assert part.output.split("\n")[1:] == ["line 3999", "line 4000"]
    hits = call("recall", id="call_7", pattern="00$", offset=3800, limit=2)
    assert hits.output.split("\n")[1:] == [
        "3800\tline 3800",
        "3900\tline 3900",
        "[1 more line; go on with offset=4000]",
    ]


def test_the_numbers_that_a_read_has_are_not_put_before_a_second_time(call: Call, ctx: Bench) -> None:
    ctx.said.append(Passage(1, 1, "output", "7\tdef\n8\treturn", "r", "read", "", "success", has_numbers=True))
    assert call("recall", id="r").output.split("\n")[1:] == ["7\tdef", "8\treturn"]
    assert call("recall", id="r", pattern="ret").output.split("\n")[1:] == ["8\treturn"]


def test_a_recalled_result_is_limited_in_bytes(call: Call, ctx: Bench) -> None:
    ctx.limits = ToolLimits(read_bytes=1_000)
    output(ctx, "c", "\n".join("x" * 100 for _ in range(100)))
    outcome = call("recall", id="c")
    assert outcome.truncated
    assert len(outcome.output) < 1_200


def test_a_pattern_that_would_never_end_is_given_up(call: Call, ctx: Bench) -> None:
    ctx.limits = ToolLimits(pattern_seconds=0.2)
    output(ctx, "c", "a" * 60 + "!")
    begun = time.monotonic()
    for given in ({"id": "c"}, {}):
        outcome = call("recall", pattern="(a+)+$", **given)
        assert "takes longer than 0.2 s" in outcome.output
    assert time.monotonic() - begun < 30
    assert "aaa" in call("recall", id="c", pattern="a+").output


def test_everything_is_searched_from_the_newest_back_with_record_turn_and_role(call: Call, ctx: Bench) -> None:
    said(ctx, "user", "Which port?\nThe server has Error 5.")
    said(ctx, "assistant", "We decided on Error codes.")
    said(ctx, "input", "content: raise Error", "c1", "write")
    output(ctx, "c1", "ok\n" + "Error: one\n" * 7)
    said(ctx, "summary", "- An Error was found.")
    assert call("recall", pattern="Error:|Error").output.split("\n") == [
        "[5 turn 2 summary]",
        "- An Error was found.",
        "[4 turn 2 output bash]",
        "1: ok",
        *["Error: one"] * 7,
        "[3 turn 2 input write]",
        "content: raise Error",
        "[2 turn 1 assistant]",
        "We decided on Error codes.",
        "[1 turn 1 user]",
        "1: Which port?",
        "The server has Error 5.",
    ]
    assert call("recall", pattern="Error", role="assistant").output.split("\n")[0] == "[2 turn 1 assistant]"
    assert {*call("recall", pattern="Error", **{"from": 2, "to": 3}).output.split("\n")[::2]} == {
        "[3 turn 2 input write]",
        "[2 turn 1 assistant]",
    }
    assert call("recall", to=2).output.split("\n") == [
        "[2 turn 1 assistant]",
        "We decided on Error codes.",
        "[1 turn 1 user]",
        "1: Which port?",
        "The server has Error 5.",
    ]
    assert call("recall", pattern="nowhere").output == "Nothing in this session matches."


def test_words_are_found_in_any_order_and_form_and_within_names(call: Call, ctx: Bench) -> None:
    said(ctx, "assistant", "I looked at some of it.\n" * 40)
    said(ctx, "assistant", "The retries were merged into one place: _retryPolicy waits 250 ms.")
    for n in range(60):
        said(ctx, "assistant", f"Part {n} is done; one more place is next.")
    for words in ("retry policy wait", "merging retries place", "RETRIES merge", "waits retry_policy"):
        assert call("recall", pattern=words).output.split("\n")[:2] == [
            "[2 turn 1 assistant]",
            "The retries were merged into one place: _retryPolicy waits 250 ms.",
        ], words


def test_rare_words_count_more_than_frequent_ones_and_the_newer_comes_first_among_equals(
    call: Call, ctx: Bench
) -> None:
    for n in range(50):
        said(ctx, "output", f"the tests ran and the build ran: {n}", f"c{n}", "bash")
    said(ctx, "user", "The quota is 40.")
    said(ctx, "assistant", "Nothing to say.")
    said(ctx, "user", "The quota is 50.")
    found = [line for line in call("recall", pattern="the quota of the build").output.split("\n") if line[0] != "["]
    assert found[:2] == ["The quota is 50.", "The quota is 40."]


def test_lower_case_ignores_case_and_capitals_are_tried_as_they_are_first(call: Call, ctx: Bench) -> None:
    said(ctx, "output", "TypeError: x", "c1", "bash")
    said(ctx, "output", "a typeerror in prose", "c2", "bash")
    assert call("recall", pattern=r"typeerror\b").output.count("[") == 2
    assert call("recall", pattern=r"TypeError\b").output == "[1 turn 1 output bash]\nTypeError: x"
    assert "TypeError: x" in call("recall", pattern=r"TYPEERROR:\s").output
    assert "TypeError" in call("recall", id="c1", pattern="type errors typeerror").output


def test_a_regular_expression_that_matches_nothing_is_searched_by_its_words(call: Call, ctx: Bench) -> None:
    said(ctx, "output", "the timeout of the gateway: 30 s", "c1", "bash")
    assert "30 s" in call("recall", pattern=r"gateway.*timeout").output


def test_a_page_of_hits_takes_a_thousand_tokens_at_most_and_says_where_the_next_begins(call: Call, ctx: Bench) -> None:
    for n in range(40):
        said(ctx, "output", f"needle {n} {'xy ' * n}" + "\nmore text of its own" * 30, f"c{n}", "bash")
    for pattern in ("needle", r"needle \d+"):
        page = call("recall", pattern=pattern).output
        assert len(page.encode()) < 3_200
        first = page.count("[", 0, page.rindex("[")) + 1
        assert page.endswith(f"go on with offset={first}]")
        assert page.split("\n")[0] not in call("recall", pattern=pattern, offset=first).output


def test_the_list_of_names_of_a_summary_is_not_searched(call: Call, ctx: Bench) -> None:
    said(
        ctx,
        "summary",
        "<state_snapshot>\nThe port is 80.\n<also_named>\nread_line, fold\n</also_named>\n</state_snapshot>",
    )
    assert call("recall", pattern="read_line").output == "Nothing in this session matches."
    assert call("recall", pattern=r"read_\w+").output == "Nothing in this session matches."
    assert "80" in call("recall", pattern="port").output


def test_the_same_text_is_shown_once(call: Call, ctx: Bench) -> None:
    for n in range(5):
        output(ctx, f"c{n}", "the build of the gateway took 12 s\nall is well\nno more to say here")
    assert call("recall", pattern="gateway build").output.count("12 s") == 1


def test_what_cannot_be_searched_is_said(call: Call, ctx: Bench) -> None:
    said(ctx, "user", "Go.")
    for given in ({}, {"id": "zz"}, {"id": "99"}, {"pattern": "("}, {"id": "1", "role": "output"}):
        assert call("recall", **given).status == "error"


def test_a_record_comes_back_whole_by_its_number(call: Call, ctx: Bench) -> None:
    said(ctx, "user", "Go.")
    said(ctx, "assistant", "First.\nSecond.")
    ctx.said.append(Passage(2, 1, "input", "content:\nx = 1\ny = 2", "c1", "write"))
    whole = call("recall", id="2").output.split("\n")
    assert whole == [
        "[2 turn 1 assistant]",
        "[2 turn 1 assistant]",
        "First.",
        "Second.",
        "[2 turn 1 input c1 write]",
        "content:",
        "x = 1",
        "y = 2",
    ]
    assert call("recall", id="2", role="assistant").output.split("\n")[1:] == ["First.", "Second."]


def test_a_long_input_is_named_with_its_output_and_comes_back_by_role(call: Call, ctx: Bench) -> None:
    content = "content:\n" + "\n".join(f"value_{n} = {n}" for n in range(40))
    said(ctx, "input", content, "c1", "write")
    output(ctx, "c1", "Wrote it.")
    assert call("recall", id="c1").output.endswith('Wrote it.\n[Its input has 41 lines: recall(id="c1", role="input")]')
    back = call("recall", id="c1", role="input").output.split("\n")[1:]
    assert "\n".join(back) == content


def test_the_newest_of_two_calls_with_one_id_comes_back(call: Call, ctx: Bench) -> None:
    for text in ("old", "new"):
        said(ctx, "input", f"command: {text}", "c1", "bash")
        output(ctx, "c1", text)
    assert call("recall", id="c1").output.endswith("new")
    assert call("recall", id="c1", role="input").output.endswith("command: new")


def test_a_search_is_not_found_by_itself(call: Call, ctx: Bench) -> None:
    said(ctx, "input", "pattern: needle", "r1", "recall")
    said(ctx, "output", "1 turn 1 user: needle", "r1", "recall", "Recall", "success")
    assert call("recall", pattern="needle").output == "Nothing in this session matches."
    assert "needle" in call("recall", id="r1").output


def test_a_search_that_finds_too_much_or_takes_too_long_says_where_to_go_on(call: Call, ctx: Bench) -> None:
    for n in range(10):
        said(ctx, "user", f"word {n}")
    first = call("recall", pattern=r"word\W", limit=3).output.split("\n")
    assert first[-1] == "[Older records were not searched; go on with to=7]"
    assert first[4].startswith("[8 turn")
    rest = call("recall", pattern=r"word\W", limit=3, to=7).output.split("\n")
    assert rest[0].startswith("[7 turn")
    ctx.limits = ToolLimits(recall_seconds=0.0)
    assert "go on with to=10" in call("recall", pattern=r"word\W").output


class Slow(Bench):
    """A session that is too long to be searched at once, and whose index has to be made."""

    def passages(self, needles: Needles = (), call_id: str = "", newest: int | None = None, until: float = 0.0) -> Any:
        yield from super().passages(needles, call_id, newest)
        if (newest or 900) > 300:
            raise OutOfTime((newest or 900) - 300)

    def index(self) -> Iterator[float]:
        return iter((0.04, 0.08, 0.5, 1.0))


def test_a_search_without_hits_says_where_to_go_on_and_the_making_of_an_index_how_far_it_is(tmp_path: Path) -> None:
    slow = Slow(tmp_path, None)

    def searched(**given: Any) -> str:
        [recall] = tools({"recall"})
        return asyncio.run(run(recall, slow, "c", {"pattern": "word", **given})).output

    on = "[Older records were not searched; go on with to={}]"
    assert searched().split("\n") == ["Nothing found so far.", on.format(600)]
    assert [text.split(": ")[1] for text in slow.shown] == ["4%\n", "50%\n", "100%\n"]
    assert searched(to=600).endswith(on.format(300))
    assert searched(to=300) == "Nothing in this session matches."
    assert searched(**{"from": 700}) == "Nothing in this session matches."


def test_a_search_for_a_definition_shows_all_of_it(call: Call, ctx: Bench) -> None:
    body = "\n".join(
        f"        step_{n} = work(step_{n - 1}, line)  # a long remark about the step" for n in range(1, 20)
    )
    code = f"import os\n\nclass Tree:\n    def fold(self):\n{body}\n        return step_19\n\n    def other(self):\n        pass\n"
    output(ctx, "c1", code)
    output(ctx, "c2", "\n".join(f"{n:>5}\t{line}" for n, line in enumerate(code.split("\n"), 1)))
    for pattern in ("def fold", r"def fold\(self"):
        page = call("recall", pattern=pattern).output
        assert "return step_19" in page
        assert "def other" not in page


def test_places_with_the_exact_words_come_alone_and_the_newest_first(call: Call, ctx: Bench) -> None:
    said(ctx, "assistant", "The lock of the store is held for 30 s.")
    said(ctx, "assistant", "A store has a lock, and the time for which it is held is long.")
    said(ctx, "user", "Why is the lock of the store held?")
    page = call("recall", pattern="lock of the store").output
    assert page.index("Why is the lock") < page.index("held for 30 s")
    assert "A store has a lock" not in page


def test_a_text_of_many_lines_and_an_alternative_are_no_wordings(call: Call, ctx: Bench) -> None:
    lines = [f"line {n} of the pasted text" for n in range(9)]
    said(ctx, "user", "\n".join(lines))
    said(ctx, "user", "port 8080")
    assert call("recall", pattern="\n".join(lines)).output.startswith("[1 turn 1 user]")
    assert call("recall", pattern="nothing|8080").output.startswith("[2 turn 1 user]")
