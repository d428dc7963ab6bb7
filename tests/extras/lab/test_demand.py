"""What a reply needs in view, by the lab's own measure."""

from __future__ import annotations

import pytest

from agentcli.core.message import File, Message, Text, Thinking, ToolCall, ToolResult
from agentcli.core.model import ModelSpec, Request, RequestMessage
from agentcli.extras.lab.demand import Demand, Needs, stated

CODE = "def load_cart(user_id):\n    return find_cart(user_id) or Cart2()\n"
MODEL = ModelSpec("anthropic", "m")


def asked(reply: Message, *view: Text | ToolResult | File) -> tuple[int, int]:
    demand = Demand()
    demand.bring_up(ToolResult("c1", "read", "success", CODE))
    return demand.of(reply, Request(MODEL, (), (), (RequestMessage("user", view),)))


def edit(text: str) -> Message:
    return Message("assistant", (ToolCall("c2", "edit", {"edits": [{"old_string": text}]}),), 1)


def test_a_name_is_needed_if_it_came_up_before_and_missed_if_the_view_lacks_it() -> None:
    assert asked(edit("find_cart(user_id) or brand_new()"), Text("Go on.")) == (2, 2)
    assert asked(edit("find_cart(user_id)"), Text("Go on with find_cart.")) == (2, 1)
    assert asked(edit("find_cart(user_id)"), ToolResult("c1", "read", "success", CODE)) == (2, 0)
    assert asked(edit("plain words only"), Text("Go on.")) == (0, 0)


def test_a_file_is_in_view_and_a_thought_is_not() -> None:
    thought = Message("assistant", (Thinking("find_cart"), Text("load_cart")), 1)
    assert asked(thought, File("text/plain", "a.py", CODE)) == (1, 0)
    assert asked(thought, Text("Go on.")) == (1, 1)


@pytest.mark.parametrize(
    "text",
    [
        "a_name, b_name, c_name, d_name, e_name",
        "names: `a_name` | `b_name` | `c_name` | `d_name` and `e_name`",
        "1\ta_name\n2\tb_name\n3\tc_name\n4\td_name\n5\te_name",
    ],
)
def test_a_bare_list_states_nothing(text: str) -> None:
    assert not stated(text)
    assert stated(text.replace("c_name", "c_name is set,")) != frozenset()


def test_names_look_like_code_and_numbers_are_long() -> None:
    told = stated("The call of src/shop/cart_a.py in camelCase was v2.1b at 12345 or 123, see Plain words.")
    assert told == {"cart_a.py", "camelCase", "v2.1b", "12345"}


def test_shares_are_of_all_and_of_each_tenth() -> None:
    needs = Needs((1,) * 10, (0,) * 10) + Needs((4, 0) * 5, (1, 0) * 5)
    assert needs.in_view == pytest.approx(25 / 30)
    assert needs.tenths()[0] == 1
    assert needs.tenths()[9] == pytest.approx(0.75)
    assert Needs().in_view == 1


def test_words_that_a_call_repeats_count_as_code_in_view() -> None:
    demand = Demand()
    demand.bring_up(ToolResult("c1", "read", "success", CODE))
    lacking = Request(MODEL, (), (), (RequestMessage("user", (Text("Go on."),)),))
    showing = Request(MODEL, (), (), (RequestMessage("user", (Text("Go on."), Text(CODE))),))
    needs = demand.needs(edit("return find_cart(user_id) or Cart2"), lacking, Needs())
    assert needs.sequences == (2, 2)
    needs = demand.needs(edit("return find_cart(user_id) or Cart2"), showing, needs)
    assert needs.sequences == (4, 2)
    assert needs.code4 == 0.5
    assert demand.needs(edit("nothing like it at all"), showing, Needs()).code4 == 1.0


def test_the_request_after_a_compaction_is_asked_for_what_the_next_replies_need() -> None:
    demand = Demand()
    demand.bring_up(ToolResult("c1", "read", "success", CODE))
    views = ("Go on.", "A summary that names load_cart.", "A summary that names load_cart.")
    needs = Needs()
    for n, view in enumerate(views):
        request = Request(MODEL, (), (), (RequestMessage("user", (Text(view),)),))
        needs = demand.needs(edit("load_cart(user_id)" if n == 1 else "find_cart(new_name)"), request, needs)
    assert needs.soon == (3, 2), "find_cart and user_id are missing"
    assert needs.after20 == pytest.approx(1 / 3)
    assert (needs + needs).soon == (6, 4)
