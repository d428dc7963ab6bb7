"""Error texts of endpoints as people read them."""

from __future__ import annotations

from agentcli.core.text.secrets import SECRET
from agentcli.providers.http import scrubbed
from tests.tables import each_row


@each_row("key", ["x", "key", "abcdefg"])
def test_a_short_key_takes_no_letter_from_an_error_text(key: str) -> None:
    text = "The key expired: max_tokens exceeds x, see abcdefg"
    assert scrubbed(text, key) == text


def test_a_key_is_masked_in_an_error_text() -> None:
    assert scrubbed("no such key: abcdefgh1", "abcdefgh1") == f"no such key: {SECRET}"
