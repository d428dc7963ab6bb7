"""Text that arrives in pieces leaves without secrets, however it is cut."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentcli.agent.ports import ApprovalRequest, ApprovalResponse
from agentcli.core.message import ToolCall
from agentcli.frontends.serve.shared import Answer, LiveText, question_of, response_of
from agentcli.sessions.exporting.redactor import Redactor

KEY = "sk-ant-api03-" + "Zq7" * 30 + "AA"
TEXTS = (
    f"The key is {KEY} and that is all of it.\nAnother line.\n",
    f"export ANTHROPIC_API_KEY={KEY}\nmore of it \n",
    "known-secret-value-1 stands here, known-secret-value-1.\n",
    f"-----BEGIN RSA PRIVATE KEY-----\n{KEY}\nabcdef\n-----END RSA PRIVATE KEY-----\nend \n",
)


def taken(live: LiveText, text: str, size: int) -> str:
    """What is passed on of a text in pieces, some of which come together."""
    passed = []
    for n in range(0, len(text), size):
        live.add(text[n : n + size])
        if n % 3 or n + size >= len(text):
            passed.append(live.take())
    return "".join(passed)


@pytest.mark.parametrize("size", [1, 3, 12, 1000])
@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_no_piece_of_a_secret_leaves(text: str, size: int) -> None:
    live = LiveText(Redactor(["known-secret-value-1"]))
    passed = taken(live, text, size)
    assert KEY[:20] not in passed
    assert "known-secret" not in passed
    assert live.whole == passed


@pytest.mark.parametrize("size", [1, 5, 40])
def test_text_without_secrets_leaves_as_it_came(size: int) -> None:
    text = "# A heading\n\nWords, **bold** and `code`.\n\n- one\n- two\n\n\tindented  text \n"
    live = LiveText(Redactor())
    assert taken(live, text, size) == text
    assert live.whole == text


def test_a_folder_that_an_answer_would_add_is_named_and_can_be_chosen() -> None:
    call = ToolCall("c", "bash", {"command": "ls ../lib"})
    ask = ApprovalRequest(call, "ls", "it is outside", "ls ../lib", "command", folders=(Path("/home/me/lib"),))
    [choice] = [one for one in question_of(ask, "/home/me/work")["choices"] if one["choice"] == "folder"]
    assert choice["label"] == "Yes, and add /home/me/lib to this session"
    assert response_of(ask, Answer(choice="folder")) == ApprovalResponse("folder")
