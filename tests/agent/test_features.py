"""The list of a session's features, and what each adds to it."""

from __future__ import annotations

from pathlib import Path

from agentcli.agent.feature import SessionFeature
from agentcli.core.event import Noticed
from agentcli.providers.scripted.model import say
from tests.agent.open_session import messages, open_session, say_to


def test_calls_pass_the_stages_of_features_in_the_order_of_the_list(tmp_path: Path) -> None:
    found = open_session(tmp_path, [], trusted=True)._features.all
    assert [one.name for one in found if one.stages] == [
        "tools", "repeats", "folder of commands", "approval", "instructions", "results", "sandbox", "end of a turn", "skills and commands",
    ]  # fmt: skip
    assert len({one.name for one in found}) == len(found)


def test_a_feature_is_one_entry_with_its_reminder_notice_news_and_end(tmp_path: Path) -> None:
    ended: list[str] = []

    async def fact() -> str:
        return "The tide is low."

    tide = SessionFeature(
        "tide",
        fact=fact,
        news=lambda: ["The tide has turned."],
        notices=lambda: [Noticed("Low tide.")],
        closed=lambda: ended.append("tide"),
    )
    session = open_session(tmp_path, [say("Hello."), say("Bye.")], features=[lambda _: tide])
    events = say_to(session, "go")
    told = [part.text for message in messages(session) for part in message.parts if hasattr(part, "text")]
    assert events[0] == Noticed("Low tide.")
    assert any("The tide is low." in text for text in told)
    assert any("The tide has turned." in text for text in told)
    session.close()
    assert ended == ["tide"]
