"""Text that arrives in pieces leaves without secrets, however it is cut."""

from __future__ import annotations

import pytest

from agentcli.frontends.serve.shared import LiveText
from agentcli.sessions.exporting.redactor import Redactor

KEY = "sk-ant-api03-" + "Zq7" * 30 + "AA"
TEXTS = (
    f"The key is {KEY} and that is all of it.\nAnother line.\n",
    f"export ANTHROPIC_API_KEY={KEY}\nmore of it \n",
    "known-secret-value-1 stands here, known-secret-value-1.\n",
    f"-----BEGIN RSA PRIVATE KEY-----\n{KEY}\nabcdef\n-----END RSA PRIVATE KEY-----\nend \n",
)


@pytest.mark.parametrize("size", [1, 3, 12, 1000])
@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_no_piece_of_a_secret_leaves(text: str, size: int) -> None:
    live = LiveText(Redactor(["known-secret-value-1"]))
    passed = "".join(live.add(text[n : n + size]) for n in range(0, len(text), size))
    assert KEY[:20] not in passed
    assert "known-secret" not in passed
    assert live.whole == passed


@pytest.mark.parametrize("size", [1, 5, 40])
def test_text_without_secrets_leaves_as_it_came(size: int) -> None:
    text = "# A heading\n\nWords, **bold** and `code`.\n\n- one\n- two\n\n\tindented  text \n"
    live = LiveText(Redactor())
    assert "".join(live.add(text[n : n + size]) for n in range(0, len(text), size)) == text
