"""A session as the turns of a conversation, in the form in which other agents store theirs."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentcli.core.message import Message, Text
from agentcli.core.record import Compaction, Undo
from agentcli.extras.exporters.conversation import UNANSWERED, Summary
from tests.extras.test_exporters import FORMS, WORK, exported, found_again, told


@pytest.mark.parametrize("form", FORMS)
def test_a_call_without_a_result_gets_one_and_what_was_rewound_is_left_out(form: str, tmp_path: Path) -> None:
    cut = exported(*WORK[:2], WORK[3], Message("user", (Text("Never mind."),)), Undo(3, "rewind"))
    assert [row for row in told(found_again(form, cut, tmp_path)) if row[0] == "result"] == [
        ("result", "c1", "1 failed"),
        ("result", "c2", UNANSWERED),
    ]
    assert "Never mind." not in "".join(FORMS[form](cut))


@pytest.mark.parametrize("form", FORMS)
def test_a_compaction_is_one_there_too_with_the_summary_before_what_it_kept(form: str, tmp_path: Path) -> None:
    summary = "<state_snapshot>\nThe tests are not to be touched.\n</state_snapshot>"
    compaction = Compaction("manual", "compressed", "auto", (1, 5), 6, summary, tokens_before=900)
    whole = exported(*WORK[:6], compaction, WORK[6])
    kinds = [turn.body for turn in whole.turns]
    [at] = [number for number, body in enumerate(kinds) if isinstance(body, Summary)]
    assert kinds[at + 1 :] == [WORK[5], WORK[6]]
    assert summary in kinds[at].text  # type: ignore[union-attr]
    again = found_again(form, whole, tmp_path)
    [found] = [body for body in again if isinstance(body, Compaction)]
    assert "The tests are not to be touched." in found.snapshot
    assert told(again)[0] == told(WORK[:1])[0]
    assert told(again)[-2:] == told(WORK[5:])
