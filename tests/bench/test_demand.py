"""The probe of what a session needs in view, on sessions whose right answer is plain to see."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from agentcli.core.message import Message, Part, Text, ToolCall, ToolResult, Usage
from agentcli.core.model import ModelSpec, Prices, Request, RequestMessage
from agentcli.core.record import Body, Record
from agentcli.extras.lab.oracle import HEAD, LAB, PIECE, RATE, ideal, pieces
from agentcli.extras.lab.replay import Setup, replay
from agentcli.tools.registry import TRAITS
from tests.bench import demand as probe
from tests.bench.bench_demand import INSTRUMENT, POLICIES, Session, judge, judge_file, show, total, verdict
from tests.bench.demand import Asked, Demand, Judged, Need, Origin, in_words, names
from tests.extras.lab.traces import Shape, trace
from tests.tables import each_row

MODEL = ModelSpec("anthropic", "claude", window=60_000, max_output=8_000, prices=Prices(5, 25, 0.5, 6.25))
CODE = "def load_cart(user_id):\n    return find_cart(user_id) or new_cart()\n"
READ = Message("assistant", (ToolCall("c1", "read", {"file_path": "a.py"}),), 1)
OUTPUT = ToolResult("c1", "read", "success", CODE)
EDIT = {"file_path": "a.py", "old_string": "return find_cart(user_id)", "new_string": "return load_cart_of(user_id)"}


def reply(*parts: Part) -> Message:
    return Message("assistant", parts, 1, usage=Usage(100, 10, 0, 900, 0), cost=0.01)


def asked(view: tuple[Any, ...], said: Message, *before: Body) -> Asked:
    """The one request of a session in which `before` was recorded, `view` was sent, and `said` came back."""
    records = [Record(n, "", "2026-01-01T00:00:00Z", "", body) for n, body in enumerate((*before, said), 1)]
    demand = Demand(records)
    demand.replies = demand.replies[-1:]
    judging = demand.judge()
    judging.watch(Request(MODEL, (), (), (RequestMessage("user", view),)), said)
    return judging.judged().asked[0]


def missed(view: tuple[Any, ...], said: Message, *before: Body) -> list[str]:
    return [need.name for need in asked(view, said, *before).missed]


def test_a_name_that_is_needed_and_stands_in_the_view_is_not_missed():
    given = asked((OUTPUT,), reply(Text("load_cart lacks a check.")), READ, OUTPUT)
    assert [need.name for need in given.needed] == ["load_cart"]
    assert not given.missed


def test_a_name_that_is_needed_and_gone_is_missed_with_the_place_where_it_last_stood():
    given = asked(
        (Text("Go on."),), reply(Text("load_cart lacks a check.")), READ, OUTPUT, Message("user", (Text("Go on."),))
    )
    assert given.missed == (Need("load_cart", Origin(1, "output of read"), 2),)


@each_row(
    "listed",
    [
        "load_cart, find_cart, new_cart, user_id",
        "Also named in this session: `load_cart`, `find_cart`, `new_cart`, `user_id`",
        "- load_cart\n- find_cart\n- new_cart\n- user_id",
        "load_cart find_cart new_cart user_id",
        "a.py: load_cart, find_cart\nb.py: new_cart, user_id",
        "load_cart (3), find_cart (12), new_cart (2), user_id (7)",
        "window, load_cart, token, find_cart, Mode, cache",
        "  1\tload_cart\n  2\tfind_cart\n  3\tnew_cart\n  4\tuser_id",
        "src/a.py | src/load_cart.py | src/find_cart.py | load_cart",
    ],
)
def test_a_name_in_a_bare_list_is_not_in_view(listed: str):
    assert "load_cart" in missed((Text(listed),), reply(Text("load_cart lacks a check.")), READ, OUTPUT)


@each_row(
    "shown",
    [
        "The function load_cart looks up the user's cart.",
        "load_cart, find_cart and new_cart are done, user_id is not",
        "CREATED: `src/load_cart` (+14 -1, 13 lines)",
        "    return load_cart(user_id, find_cart(new_cart, window_id))",
        "- load_cart fails for a guest\n- find_cart is slow\n- new_cart is tested\n- user_id is an int",
        "load_cart = find_cart",
    ],
)
def test_a_name_with_words_or_code_around_it_is_in_view(shown: str):
    assert missed((Text(shown),), reply(Text("load_cart lacks a check.")), READ, OUTPUT) == []


def test_a_value_that_is_quoted_with_words_around_it_is_in_view():
    said = Message("user", (Text("The port is 48213 and the build is 3f9a0c2e."),), 1)
    answer = reply(ToolCall("c2", "bash", {"command": "curl localhost:48213/3f9a0c2e"}))
    assert missed((said.parts[0],), answer, said) == []
    assert missed((Text('The user said: "The port is 48213".'),), answer, said) == ["3f9a0c2e"]
    assert missed((Text("Go on."),), answer, said) == ["48213", "3f9a0c2e"]


def test_names_in_the_inputs_of_calls_are_needed_however_deep_they_stand():
    flat, deep = {"file_path": "a.py", "edits": [EDIT]}, EDIT
    for given in (flat, deep):
        assert set(missed((Text("Go on."),), reply(ToolCall("c2", "edit", given)), READ, OUTPUT)) == {
            "a.py",
            "find_cart",
            "user_id",
        }


def test_what_a_reply_names_first_is_not_needed():
    assert asked((), reply(Text("I call it brand_new_name.")), READ, OUTPUT).needed == ()


def test_what_came_up_in_a_bare_list_only_is_not_needed():
    listing = ToolResult("c0", "bash", "success", "src/a_one.py\nsrc/b_two.py\nsrc/c_three.py\nsrc/d_four.py\n")
    assert asked((), reply(ToolCall("c2", "read", {"file_path": "src/c_three.py"})), listing).needed == ()


def test_the_folder_of_a_file_does_not_matter():
    said = Message("user", (Text("Look at /home/me/project/src/order_lines.py first."),), 1)
    answer = reply(ToolCall("c2", "read", {"file_path": "src/order_lines.py"}))
    assert missed((Text("We look at order_lines.py now."),), answer, said) == []


def test_code_tells_names_from_words_by_their_form():
    text = "See parseArgs in src/main.ts:120, v1.2.3 of 2026, not e.g. the words cart/order, well-known, or 12 of 404."
    assert list(names(text)) == ["parseArgs", "main.ts", "v1.2.3", "2026"]
    assert in_words(text) == set(names(text))


def test_every_miss_is_charged_as_one_recall():
    answer = reply(ToolCall("c2", "edit", EDIT))
    judged = Judged([asked((Text("Go on."),), answer, READ, OUTPUT)], besides=0.5)
    recall = MODEL.cost(Usage(0, probe.RECALL_CALL, 0, 1_000, probe.RECALLED))
    assert judged.price == pytest.approx(0.51)
    assert judged.price_by_name == pytest.approx(0.51 + 3 * recall)
    assert judged.price_by_record == pytest.approx(
        0.51 + 2 * recall
    )  # a.py stood in the call last, the others in its output


def test_each_tenth_of_a_session_is_judged_by_itself():
    need = Need("load_cart", Origin(0, "a prompt"), 1)
    judged = Judged([Asked((need,), (need,) if n >= 18 else (), 1, 0.0, 0.0) for n in range(20)])
    assert judged.tenths() == [1.0] * 9 + [0.0]
    assert judged.in_view == pytest.approx(0.9)


def test_replies_out_of_order_are_refused():
    judging = Demand([Record(1, "", "", "", READ)]).judge()
    with pytest.raises(ValueError, match="not those of the recorded session"):
        judging.watch(Request(MODEL, (), (), ()), reply(Text("another")))


def test_a_reply_without_a_request_is_an_error():
    with pytest.raises(ValueError, match="not every recorded reply"):
        Demand([Record(1, "", "", "", READ)]).judge().judged()


def test_the_word_sequences_of_a_call_that_had_come_up_are_needed_and_stand_in_the_view_or_not():
    answer = reply(ToolCall("c2", "edit", EDIT))
    assert asked((OUTPUT,), answer, READ, OUTPUT).sequences == (0, 0), "three words are no sequence"
    longer = reply(ToolCall("c2", "edit", {"old_string": "find_cart(user_id) or new_cart()", "new_string": "x"}))
    assert asked((OUTPUT,), longer, READ, OUTPUT).sequences == (1, 0)
    assert asked((Text("Go on."),), longer, READ, OUTPUT).sequences == (1, 1)


def test_after_a_compaction_the_first_request_is_judged_by_the_needs_of_the_next_replies():
    first, second = reply(Text("I start.")), reply(Text("load_cart lacks a check."))
    last = reply(Text("So does find_cart."))
    bodies = (READ, OUTPUT, first, second, last)
    demand = Demand([Record(n, "", "2026-01-01T00:00:00Z", "", body) for n, body in enumerate(bodies, 1)])
    judging = demand.judge()
    for opening, said in (
        ("Go on.", READ),
        ("Go on.", first),
        ("A summary names load_cart.", second),
        ("A summary names load_cart.", last),
    ):
        judging.watch(Request(MODEL, (), (), (RequestMessage("user", (Text(opening),)),)), said)
    judged = judging.judged()
    assert [each.soon for each in judged.asked] == [None, None, (2, 1), None]
    assert (judged.compactions, judged.after20) == (1, 0.5)


def records_of(*bodies: Body) -> list[Record]:
    return [Record(n, "", f"2026-01-01T00:{n:02}:00Z", "", body) for n, body in enumerate(bodies, 1)]


def test_an_oracle_keeps_a_text_up_to_its_last_use_and_the_users_words_for_ever():
    prompt = Message("user", (Text("p" * 1_000),), 1)
    used, idle = reply(Text("load_cart lacks a check.")), reply(Text("Done so far."))
    sizes = ideal(records_of(prompt, READ, OUTPUT, idle, used, idle), MODEL, reading=INSTRUMENT).sizes
    words, output = round(1_000 * RATE), round(len(CODE) * RATE)
    assert sizes[0] == HEAD + words
    assert sizes[1] >= HEAD + words + output
    assert sizes[2] >= HEAD + words + output
    assert sizes[3] < HEAD + words + output


def test_an_oracle_of_pieces_drops_the_pieces_that_no_reply_uses():
    output = ToolResult("c1", "read", "success", CODE + "def other_thing():\n    pass\n" * 200)
    told = records_of(READ, output, reply(Text("Done so far.")), reply(Text("load_cart lacks a check.")))
    whole, cut = ideal(told, MODEL), ideal(told, MODEL, 500)
    assert cut.sizes[2] - HEAD < (whole.sizes[2] - HEAD) / 3
    assert cut.price < whole.price


def test_the_pieces_of_a_text_are_whole_lines_and_make_up_all_of_it():
    text = "a" * 30 + "\n" + "b" * 30 + "\n" + "c" * 120
    assert list(pieces(text, 50)) == ["a" * 30 + "\n", "b" * 30 + "\n", "c" * 50, "c" * 50, "c" * 20]
    assert list(pieces(text, 0)) == [text]


def test_nothing_is_missed_while_no_policy_has_taken_anything_away():
    short = trace(1, Shape(turns=(2, 2), steps=(2, 3), files=(2, 3), lines=(10, 20)))
    judged = judge("short", short.records, POLICIES, Setup(MODEL, TRAITS)).judged
    assert {policy: each.in_view for policy, each in judged.items()} == dict.fromkeys(POLICIES, 1.0)
    assert {policy: each.code4 for policy, each in judged.items()} == dict.fromkeys(POLICIES, 1.0)
    assert judged["auto"].needed > 0
    assert 0 < judged["auto"].least < judged["auto"].price


def test_all_policies_are_judged_by_the_same_needs_at_every_request():
    long = trace(2, Shape(turns=(6, 6), steps=(6, 8), files=(4, 6), lines=(80, 200)))
    session = judge("long", long.records, POLICIES, Setup(MODEL, TRAITS))
    judged = session.judged
    assert len({tuple(each.needed for each in one.asked) for one in judged.values()}) == 1
    assert any(one.missed for one in judged.values())
    assert all(one.price <= one.price_by_reply <= one.price_by_record <= one.price_by_name for one in judged.values())
    assert 0 < session.pieces <= session.whole
    both = total([session, session]).judged
    assert both["auto"].needed == 2 * judged["auto"].needed
    assert both["auto"].price_by_name == pytest.approx(2 * judged["auto"].price_by_name)


def test_the_goal_is_what_stands_in_view_and_a_share_of_the_price():
    need = Need("load_cart", Origin(0, "a prompt"), 1)
    other = Judged([Asked((need,), (), 1, 1.0, 0.1, sequences=(4, 0))])
    assert verdict(Judged([Asked((need,), (), 1, 0.5, 0.1, sequences=(4, 0))]), other, 200).startswith("met")
    assert verdict(Judged([Asked((need,), (), 1, 0.6, 0.1, sequences=(4, 0))]), other, 200).startswith("MISSED")
    assert verdict(Judged([Asked((need,), (), 1, 0.6, 0.1, sequences=(4, 0))]), other, 64).startswith("met")
    assert verdict(Judged([Asked((need,), (), 1, 0.1, 0.1, sequences=(4, 1))]), other, 64).startswith("MISSED")


def test_the_tables_name_each_policy_its_tenths_and_where_its_misses_stood(capsys: pytest.CaptureFixture[str]):
    need = Need("load_cart", Origin(0, "output of read"), 7)
    auto, gemini = Judged([Asked((need,), (need,), 1, 0.1, 0.1)]), Judged([Asked((need,), (), 1, 1.0, 0.1)])
    show(Session("one", 200, {"auto": auto, "gemini": gemini}, 0.5, 0.1), misses=True)
    shown = capsys.readouterr().out
    assert "one at 200k: 1 requests need 1 names" in shown
    assert "auto      by tenth 0.000" in shown
    assert "misses last stood in: output of read 100%; age 7/7/7" in shown
    assert "oracle, pieces" in shown
    assert "met: code4 1.000 (gemini 1.000), after20 1.000 (1.000), 20% of its price" in shown


def test_a_file_that_is_no_session_is_left_out_with_the_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "notes.json"
    file.write_text(json.dumps({"notes": []}))
    assert judge_file(file, ["auto"], [200]) == []
    assert capsys.readouterr().err.startswith(f"left out: {file}")


def test_the_probe_imports_messages_and_requests_only():
    tree = ast.parse(Path(str(probe.__file__)).read_text(encoding="utf-8"))
    modules = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not any(
        isinstance(node, ast.Import) and node.names[0].name.startswith("agentcli") for node in ast.walk(tree)
    )
    ours = {module for module in modules if module.startswith(("agentcli", "tests"))}
    assert ours == {"agentcli.core.message", "agentcli.core.model", "agentcli.core.record"}


@pytest.mark.full
def test_the_measure_of_the_lab_which_shares_no_code_with_this_one_comes_to_about_the_same() -> None:
    records = trace(2, Shape(turns=(6, 6), steps=(6, 8), files=(4, 6), lines=(80, 200))).records
    conditions = Setup(MODEL, TRAITS)
    for policy, judged in judge("long", records, POLICIES, conditions).judged.items():
        needs = replay(records, policy, conditions).needs
        assert len(needs.needed) == len(judged.asked)
        assert sum(needs.needed) == pytest.approx(judged.needed, rel=0.1), policy
        assert needs.in_view == pytest.approx(judged.in_view, abs=0.05), policy
    one, other = (ideal(records, MODEL, PIECE, reading).price for reading in (INSTRUMENT, LAB))
    assert one == pytest.approx(other, rel=0.1)
