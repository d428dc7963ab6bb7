import logging
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcli.agent.masking import MASK, Masking, known_secrets, mask

# Put together here, so that no scanner takes this file for a leak.
BODY = "aB3dE5gH7jK9mN1pQ3rS5tU7vW9xY1zA3bC5"
SECRETS = {
    f"sk-ant-api03-{BODY}": "key=",
    f"sk-proj-{BODY}": "",
    f"AIza{BODY}": "",
    f"ghp_{BODY}": "",
    f"github_pat_{BODY}": "",
    f"glpat-{BODY[:20]}": "",
    "AKIA" + "ABCDEFGHIJKLMNOP": "",
    f"xoxb-{BODY}": "",
    f"npm_{BODY}": "",
    f"hf_{BODY}": "",
    f"eyJ{BODY}.{BODY}.{BODY}": "",
    f"-----BEGIN RSA PRIVATE KEY-----\n{BODY}\n-----END RSA PRIVATE KEY-----": "",
}


@pytest.mark.parametrize("secret", SECRETS)
def test_what_looks_like_a_secret_is_masked(secret: str) -> None:
    for text in (secret, f"before {secret} after", f'{{"a": "{secret}"}}', f"x={secret};", f"({secret})"):
        assert BODY not in mask(text)
        assert secret not in mask(text)
        assert MASK in mask(text)


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer abcd1234efgh",
        "authorization: Basic abcd1234efgh",
        "{'x-api-key': 'abcd1234efgh'}",
        '"x-goog-api-key": "abcd1234efgh"',
        "ANTHROPIC_API_KEY=abcd1234efgh",
        "export DB_PASSWORD='abcd1234efgh'",
        '{"client_secret":"abcd1234efgh"}',
        "https://example.org/?key=abcd1234efgh&x=1",
        "https://user:abcd1234efgh@example.org/repo.git",
        "postgres://u:abcd1234efgh@host/db",
        "Cookie: abcd1234efgh",
        "access_token=abcd1234efgh",
    ],
)
def test_what_is_named_as_a_secret_is_masked(text: str) -> None:
    assert "abcd1234efgh" not in mask(text)


@pytest.mark.parametrize(
    "text",
    [
        "The token count is 1,234.",
        "tokens: 500",
        "keyword argument",
        "git clone https://example.org/a.git",
        "sk-8",
        "def mask(text): ...",
        "PATH=/usr/bin",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert mask(text).replace(MASK, "500") == text


def test_known_values_are_masked_wherever_they_stand() -> None:
    known = known_secrets(
        {"MY_API_KEY": "correct horse battery", "PATH": "/usr/bin", "SHORT_KEY": "abc", "DB_PASSWORD": "correct horse"}
    )
    assert known == ("correct horse battery", "correct horse")
    assert mask("it is correct horse battery!", known) == f"it is {MASK}!"


@given(st.text())
def test_masking_twice_changes_nothing_more(text: str) -> None:
    assert mask(mask(text)) == mask(text)


def test_a_log_holds_no_secret_not_even_in_a_traceback() -> None:
    stream = StringIO()
    handler = logging.StreamHandler(stream)
    handler.addFilter(Masking(["correct horse"]))
    log = logging.Logger("test")
    log.addHandler(handler)
    log.warning("sent %s", f"Authorization: Bearer {BODY}")
    try:
        raise ValueError(f"bad key sk-ant-{BODY} for correct horse")
    except ValueError:
        log.exception("failed")
    assert BODY not in stream.getvalue()
    assert "correct horse" not in stream.getvalue()
    assert "Traceback" in stream.getvalue()
