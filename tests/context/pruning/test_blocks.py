"""Blocks of a growing view: their places and ages as running sums, and those whose content a later call repeats."""

from __future__ import annotations

from agentcli.context.policies import plan
from agentcli.context.pruning.blocks import clearable
from tests.context.test_policies import steps, window
from tests.counted import counted


def test_what_is_known_of_the_blocks_of_a_view_lasts_while_auto_plans() -> None:
    story = steps(30, 1_500)
    for n in range(8):
        story.reads("same.py", f"v = {n}\n" * 300)
    now = window(story)
    outputs, outdated = len(now.blocks.standing), dict(now.superseded.outputs)
    assert plan(now, forced=True).cleared
    with counted(clearable) as calls:
        assert (len(now.blocks.standing), now.superseded.outputs) == (outputs, outdated)
    assert not calls
