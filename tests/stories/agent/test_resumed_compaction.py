"""A long session that was never compacted is resumed: it is pruned and compacted, and what was worked out is not worked out again."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from agentcli.agent.session import AgentSession
from agentcli.context.compaction.record import shrinkage
from agentcli.context.policies import plan
from agentcli.context.room import forecast
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.view import ViewMessage, view
from agentcli.core.event import CompactionEnded, Pruned
from agentcli.core.message import Message, Text, ToolCall, ToolResult
from agentcli.providers.scripted.model import say
from agentcli.sessions.in_memory import MemorySession
from tests.agent.compaction.test_compactor import WIDE
from tests.agent.open_session import open_session, say_to
from tests.counted import counted

STEPS = 300


@pytest.fixture
def resumed(tmp_path: Path) -> AgentSession:
    """A session of many steps that are far more than the window holds."""
    journal = MemorySession()
    for number in range(STEPS):
        turn = number // 10 + 1
        if number % 10 == 0:
            journal.append(Message("user", (Text(f"Task {turn}, please."),), turn))
        call = ToolCall(f"c{number}", "read", {"file_path": f"f{number}.py"})
        journal.append(Message("assistant", (Text(f"I read f{number}.py. " * 60), call), turn, "other", "model"))
        journal.append(ToolResult(call.call_id, "read", "success", f"line of {number}\n" * 200))
    journal.append(Message("assistant", (Text("Done."),), turn, "other", "model", stop="end_turn"))
    return open_session(tmp_path, [say("Yes.")], model=WIDE, journal=journal)


def test_its_compaction_is_planned_once(resumed: AgentSession) -> None:
    with counted(plan) as calls:
        events = say_to(resumed, "Go on.")
    assert [event.status for event in events if isinstance(event, CompactionEnded)] == ["compressed"]
    assert calls[plan] == 1


def test_its_view_is_edited_where_outputs_are_cleared_and_made_anew_only_where_it_is_summarised(
    resumed: AgentSession,
) -> None:
    with counted(view) as calls:
        events = say_to(resumed, "Go on.")
    assert [event for event in events if isinstance(event, Pruned)]
    assert calls[view] == 2, "by which the summary is measured, and which stands then"


def test_once_its_prompt_is_counted_no_message_is_measured_again_to_plan_and_to_tell_what_the_plan_saves(
    resumed: AgentSession,
) -> None:
    window = resumed.conversation.builder.window()
    before = window.tokens
    with counted(TokenCounter.message) as calls:
        planned = plan(window)
        assert shrinkage(window, planned.tokens_after_estimate)
    assert 0 < planned.tokens_after_estimate < before
    assert not calls


def test_its_newest_answer_is_found_without_looking_at_all_others(resumed: AgentSession) -> None:
    window = resumed.conversation.builder.window()
    answer = ViewMessage.answer.fget
    assert answer is not None
    with counted(answer) as calls:
        plan(window)
    assert calls[answer] < len(window.view.messages) / 10


def test_outputs_are_cleared_first_though_a_compaction_follows_since_more_of_the_conversation_stays_so(
    resumed: AgentSession,
) -> None:
    window = resumed.conversation.builder.window()
    at_once, pruned_first = plan(window), forecast(resumed.history, window, datetime.now(UTC))
    assert at_once.summarised
    assert pruned_first.summarised
    assert len(pruned_first.kept) > len(at_once.kept)
    assert pruned_first.tokens_after_estimate < window.limits.soft
