from __future__ import annotations

from collections.abc import Mapping

from agentcli.frontends.terminal.render.links import known
from tests.tables import each_row


@each_row(
    ("environment", "expected"),
    [
        ({"TERM_PROGRAM": "iTerm.app"}, True),
        ({"TERM": "xterm-kitty"}, True),
        ({"TERM": "xterm-256color", "VTE_VERSION": "7600"}, True),
        ({"TERM": "xterm-256color", "VTE_VERSION": "4200"}, False),
        ({"TERM": "xterm-256color"}, False),
        ({"TERM": "tmux-256color", "TMUX": "/tmp/x", "VTE_VERSION": "7600"}, False),
        ({"TERM_PROGRAM": "iTerm.app", "NO_COLOR": "1"}, False),
    ],
)
def test_links_are_written_where_they_are_known_to_be_followed(environment: Mapping[str, str], expected: bool) -> None:
    assert known("auto", environment) is expected


def test_links_can_be_switched_on_and_off_but_not_past_no_color() -> None:
    assert known("always", {"TMUX": "x"})
    assert not known("never", {"TERM": "xterm-kitty"})
    assert not known("always", {"NO_COLOR": "1"})
