"""The exit_plan tool: the model shows its plan and asks for permission to carry it out."""

from __future__ import annotations

from agentcli.tools.exit_plan import Planning, title
from tests.tools.conftest import Call
from tests.tools.workplace import Bench


def test_an_approved_plan_leaves_plan_mode(call: Call, ctx: Bench) -> None:
    in_plan_mode = iter([True, False])
    ctx.offer(Planning, Planning(lambda: next(in_plan_mode), lambda: False))
    outcome = call("exit_plan", plan="# Move the parser\n\n1. …")
    assert outcome.title == "Plan ready: Move the parser"
    assert outcome.status == "success"
    assert outcome.metadata == {"plan": "# Move the parser\n\n1. …"}
    assert title({"plan": "Move `a.py` first.\nThen …"}) == "Plan ready: Move a.py first."
    assert {title({"plan": plan}) for plan in ("1. Move it\n2. Test it", "- Move it", "* a", "2) b", "")} == {
        "Plan ready"
    }
    again = call("exit_plan", plan="again")
    assert again.output == "You are not in plan mode; go on."
    assert again.metadata["approved"] is False
    assert call("exit_plan", plan=" ").status == "error"
