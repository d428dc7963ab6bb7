"""Enter on an empty line sends again what failed on its way, and nothing that a person or a hook ended."""

from __future__ import annotations

from agentcli.core.errors import HookBlocked, InputError, ModelError
from agentcli.core.event import TurnEnded
from agentcli.frontends.terminal.render.failures import can_be_sent_again


def test_what_a_hook_ended_or_cannot_be_used_is_not_sent_again() -> None:
    lost = ModelError("the connection was lost", cause="network")
    assert can_be_sent_again(TurnEnded("failed", error=lost))
    for error in (HookBlocked("lint blocked the call"), InputError("the image is empty")):
        assert not can_be_sent_again(TurnEnded("failed", error=error))
    assert not can_be_sent_again(TurnEnded("interrupted"))
