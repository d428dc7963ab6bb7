import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcli.context.redact import luhn, redact


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("key sk-ant-api03-abcdefghijklmnopqrstuv end", "sk-ant"),
        ("export API_KEY=abcd1234efgh", "abcd1234efgh"),
        ('{"password": "hunter2!x"}', "hunter2"),
        ("db_password: s3cr3tvalue", "s3cr3tvalue"),
        ("postgres://admin:pa55word@db/x", "pa55word"),
        ("Authorization: Bearer abc123def456ghi789", "abc123def456"),
        ("ghp_0123456789abcdefghijABCDEFGHIJ012345", "ghp_"),
        ("AKIAIOSFODNN7EXAMPLE", "AKIA"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----", "MIIE"),
        ("-----BEGIN PRIVATE KEY-----\nMIIEcut off", "MIIE"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdef", "eyJ"),
        ("write to jane.doe+x@example.co.uk now", "jane"),
        ("card 4111 1111 1111 1111.", "4111"),
        ("card 5500-0055-5555-5559", "5500"),
    ],
)
def test_a_secret_is_replaced(text: str, secret: str) -> None:
    assert secret not in redact(text)
    assert "[redacted" in redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "token: str",
        "password = os.environ['X']",
        "order 1234567890123456 shipped",
        "sha 1111111111111111",
        "tokens_before: 184915 tokens",
        "foo@bar stays",
        "max_tokens=4096",
        "at 2026-01-01T00:00:00 in src/a.py:12",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact(text) == text


def test_the_check_of_card_numbers_is_that_of_the_standard() -> None:
    assert luhn("79927398713")
    assert not luhn("79927398710")


@given(st.text(alphabet=st.sampled_from("ab1@.:=/ -\n'\"sk_password"), max_size=80))
def test_redacting_twice_is_redacting_once(text: str) -> None:
    assert redact(redact(text)) == redact(text)
