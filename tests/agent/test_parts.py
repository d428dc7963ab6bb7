"""The parts of a session, and what each adds to it."""

from __future__ import annotations

from pathlib import Path

from agentcli.agent.feature import SessionPart
from agentcli.core.event import Event, Noticed
from agentcli.providers.scripted.model import say
from tests.agent.open_session import messages, open_session, say_to


def test_calls_pass_the_stages_of_the_agent_in_their_order_and_then_those_of_features(tmp_path: Path) -> None:
    parts = open_session(tmp_path, [], trusted=True).parts
    assert [type(stage).__name__ for stage in parts.way._stages] == [
        "Prepare", "RepeatStage", "FolderStage", "WorkTreeStage", "ApprovalStage", "NestedStage", "Finish", "CredentialStage", "SandboxStage", "DeedStage", "NestedSkills",
    ]  # fmt: skip
    assert len({part.name for part in parts.all}) == len(parts.all)


class Tide(SessionPart):
    name = "tide"

    def __init__(self) -> None:
        self.is_closed = False

    async def fact(self) -> str:
        return "The tide is low."

    def news(self) -> list[str]:
        return ["The tide has turned."]

    def notices(self) -> list[Event]:
        return [Noticed("Low tide.")]

    def closed(self) -> None:
        self.is_closed = True


def test_a_part_is_one_class_with_its_reminder_notice_news_and_end(tmp_path: Path) -> None:
    tide = Tide()
    session = open_session(tmp_path, [say("Hello."), say("Bye.")], features=[lambda _: tide])
    events = say_to(session, "go")
    told = [part.text for message in messages(session) for part in message.parts if hasattr(part, "text")]
    assert events[0] == Noticed("Low tide.")
    assert any("The tide is low." in text for text in told)
    assert any("The tide has turned." in text for text in told)
    session.close()
    assert tide.is_closed
