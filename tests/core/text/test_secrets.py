import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcli.core.text import secrets
from agentcli.core.text.secrets import (
    SECRET,
    holds_secret,
    is_plain,
    is_secret_file,
    known_secrets,
    luhn,
    mask,
    redact,
    without_git_credentials,
)
from tests.tables import each_row


@each_row(
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
        ("j@example.co.uk", "j@"),
        ("ask @jane or jane@example.co.uk", "jane@"),
        ("card 4111 1111 1111 1111.", "4111"),
        ("card 5500-0055-5555-5559", "5500"),
    ],
)
def test_a_secret_is_replaced(text: str, secret: str) -> None:
    assert secret not in redact(text)
    assert "[redacted" in redact(text)


@each_row(
    "text",
    [
        "token: str",
        "password = os.environ['X']",
        "order 1234567890123456 shipped",
        "sha 1111111111111111",
        "tokens_before: 184915 tokens",
        "foo@bar stays",
        "ends with an @",
        "@",
        "@ example.org",
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


@each_row("secret", SECRETS)
def test_what_looks_like_a_secret_is_masked(secret: str) -> None:
    for text in (secret, f"before {secret} after", f'{{"a": "{secret}"}}', f"x={secret};", f"({secret})"):
        assert BODY not in mask(text)
        assert secret not in mask(text)
        assert SECRET in mask(text)


@each_row(
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


@each_row(
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
    assert mask(text).replace(SECRET, "500") == text


def test_known_values_are_masked_wherever_they_stand() -> None:
    known = known_secrets(
        {"MY_API_KEY": "correct horse battery", "PATH": "/usr/bin", "SHORT_KEY": "abc", "DB_PASSWORD": "correct horse"}
    )
    assert known == ("correct horse battery", "correct horse")
    assert mask("it is correct horse battery!", known) == f"it is {SECRET}!"


@pytest.mark.full
@given(st.text())
def test_masking_twice_changes_nothing_more(text: str) -> None:
    assert mask(mask(text)) == mask(text)


SEEN = [
    "HOME",
    "PATH",
    "PWD",
    "OLDPWD",
    "USER",
    "LANG",
    "SHELL",
    "TERM",
    "SSH_AUTH_SOCK",
    "XAUTHORITY",
    "GIT_AUTHOR_NAME",
    "SSH_ASKPASS",
    "GIT_ASKPASS",
    "MANPATH",
    "PYTHONPATH",
    "VIRTUAL_ENV",
    "NVM_DIR",
    "DISPLAY",
    "TASK",
    "EDITOR",
    "SKIP",
    "DISK_SIZE",
    "PATTERN",
    "TOKENIZERS_PARALLELISM",
    "MY_KEYBOARD",
    "BYPASS_CACHE",
    "PASSENGER_APP_ENV",
    "COMPASS_DIR",
    "KEYMAP",
]
HIDDEN = [
    "APIKEY",
    "PGPASSWORD",
    "NPMTOKEN",
    "npm_config__authToken",
    "AWS_ACCESS_KEY_ID",
    "ACCESSKEYID",
    "SECRET_KEYS",
    "apiKeyProd",
    "API_KEY2",
    "OPENAI_API_KEY",
    "GITHUB_TOKEN",
    "my_secret",
    "DB_PASSWORD_2",
    "DB_PASS",
    "PGPASS",
    "SSHPASS",
    "MYSQL_PWD",
    "JWT",
    "JWT_ISSUED",
    "STRIPE_SK",
    "SK_TEST",
    "BEARER",
    "AUTH",
    "NPM_AUTH",
    "AUTHORIZATION",
    "MY_PAT",
    "PAT",
    "GH_PAT_2",
    "SESSION_COOKIE",
    "SENTRY_DSN",
    "SLACK_WEBHOOK",
    "GOOGLE_APPLICATION_CREDENTIALS",
]
VALUES = [
    f"sk_{'live'}_{BODY}",
    f"ghp_{BODY}",
    f"eyJ{BODY}.{BODY}.x",
    "postgres://user:pass@host/db",
    f"--with sk-{BODY}",
]


def test_a_variable_is_secret_by_its_name() -> None:
    assert [name for name in SEEN if holds_secret(name, "value")] == []
    assert [name for name in HIDDEN if not holds_secret(name, "value")] == []


def test_a_variable_is_secret_by_its_value() -> None:
    assert [value for value in VALUES if not holds_secret("X", value)] == []
    assert [value for value in ("https://example.org/a:b@c", "a@b", "1") if holds_secret("X", value)] == []


def without_hints(text: str) -> str:
    """What `redact` does when every pattern is tried on every text."""
    for pattern, to in (
        (secrets._PRIVATE_KEY, SECRET),
        (secrets._URL_PASSWORD, rf"\1{SECRET}@"),
        (secrets._TOKEN, SECRET),
        (secrets._ASSIGNED, secrets._hide_value),
        (secrets._SENT, rf"\1{SECRET}"),
        (secrets._MAIL, secrets.EMAIL),
        (secrets._DIGITS, secrets._hide_card),
    ):
        text = re.sub(pattern, to, text)
    return text


PIECES = (
    *SECRETS,
    *(
        "password",
        "pa\u017f\u017fwd",
        "pass_phrase",
        "passphrase",
        "SECRET",
        "Api-Key",
        "ap\u0130_\u212aey",
        "apikey",
        "access_key",
    ),
    *(
        "private-key",
        "auth_token",
        "-token",
        "_pass",
        "-PWD",
        "credential",
        "credent\u0131als",
        "Bearer",
        "ba\u017f\u0131c",
        "TO\u212aEN",
    ),
    *(
        "Authorization",
        "proxy-authorization",
        "Set-Coo\u212aie",
        "cookie",
        "?key",
        "&sig",
        "?signature",
        "&code",
        "?token",
    ),
    *(
        "https://",
        "user:pw",
        "@",
        "host.example",
        "a.b@c.org",
        "4111 1111 1111 1111",
        "5500-0055-5555-5559",
        "\u0664" * 16,
    ),
    *(
        "=",
        ":",
        ": ",
        " = ",
        "\n",
        "\u2003",
        "\t",
        '"',
        "'",
        "-",
        "_",
        ".",
        " ",
        "x",
        "str",
        "a1b2c3d4e5f6",
        "hunter2!",
        "abcdefghijklmnop",
        "…",
    ),
    *("-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----", "MIIE"),
)


@settings(max_examples=300)
@given(st.lists(st.sampled_from(PIECES), max_size=12))
def test_a_pattern_that_is_not_tried_would_have_found_nothing(pieces: list[str]) -> None:
    text = "".join(pieces)
    assert redact(text) == without_hints(text)


@pytest.mark.full
def test_a_folded_text_holds_a_word_wherever_a_pattern_that_ignores_case_finds_it() -> None:
    for letter in "abcdefghijklmnopqrstuvwxyz":
        same = re.findall(letter, "".join(map(chr, range(0x110000))), re.IGNORECASE)
        assert {secrets._folded(each) for each in same} == {letter}


PIECES = (
    *(
        "password",
        "SECRET",
        "api_key",
        "Apikey",
        "private-key",
        "_token",
        "-pass",
        "credentials",
        "bearer ",
        "authorization",
    ),
    *(
        "cookie",
        "?token=",
        "&sig=",
        "=",
        ":",
        "::",
        " ",
        "\n",
        '"',
        "'",
        "x",
        "abcd",
        "1a2b3c4d5e6f7",
        "(",
        "$",
        "[redacted secret]",
    ),
    *("\u0130", "\u017f", "\u212a", "me@host.org", "@dataclass", "4111 1111 1111 1111"),
)


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_what_is_skipped_for_speed_is_nothing_that_a_pattern_would_find(text: str) -> None:
    plain = re.sub(secrets._SENT, rf"\1{SECRET}", re.sub(secrets._ASSIGNED, secrets._hide_value, text))
    assert mask(text) == plain
    assert redact(text) == re.sub(secrets._DIGITS, secrets._hide_card, re.sub(secrets._MAIL, secrets.EMAIL, plain))


@each_row(
    ("path", "secret"),
    [
        (".env", True), (".ENV", True), ("a/.env", True), (".env.local", True), (".envrc", True), (".env/x", True),
        (".env.example", False), ("a/.env.example", False), ("x.env", False), ("env", False), ("", False), (".env.example/.env", True),
    ],
)  # fmt: skip
def test_a_file_of_secrets_is_known_by_the_beginning_of_a_name(path: str, secret: bool) -> None:
    assert is_secret_file(path) == secret


def test_known_values_count_from_eight_characters_on() -> None:
    shortest = "x" * secrets._SHORTEST
    environment = {
        "API_KEY": shortest,
        "OTHER_TOKEN": shortest[1:],
        "PATH": "/usr/bin:/bin",
        "MY_SECRET": "long enough",
    }
    assert known_secrets(environment) == (shortest, "long enough")
    assert mask(f"a {shortest} b", [shortest]) == f"a {SECRET} b"
    assert mask(f"a {shortest[1:]} b", [shortest[1:]]) == f"a {shortest[1:]} b"
    assert mask("a long enough b", ["long enough", "long enough b"]) == f"a {SECRET}", "the longest first"


@each_row(
    ("text", "plain"),
    [("", True), ("ascii", True), ("ärgern 漢字", True), ("İstanbul", False), ("ışık", False), ("ä \ud800", False)],
)
def test_engines_agree_about_texts_without_letters_that_fold_in_two_ways(text: str, plain: bool) -> None:
    assert is_plain(text) == plain


@each_row(
    ("text", "kept"),
    [
        ("a@b.example.org", "[email]"),
        ("@b.example.org", "@b.example.org"),
        ("mail a @b.example.org", "mail a @b.example.org"),
        ("x @ y, a@b.example.org", "x @ y, [email]"),
        ("a@", "a@"),
        ("a@b.org", "[email]"),
    ],
)
def test_an_address_needs_characters_on_both_sides(text: str, kept: str) -> None:
    assert redact(text) == kept.replace("[email]", secrets.EMAIL)


@each_row(
    ("value", "secret"),
    [
        ("sk-8", False), ("sk-" + "a" * 15, False), ("sk-" + "a" * 16, True), ("risk-" + "a" * 16, False),
        ("eyJ", False), ("see hooks.slack.com/services/", False), ("SG.short", False), ("AKIA" + "A" * 15, False), ("AKIA" + "A" * 16, True),
        ("https://example.org", False), ("https://me@example.org", False), ("https://me:pw@example.org", True), ("me:pw@example.org", False),
        ("https://me:[redacted secret]@example.org", False), ("", False),
    ],
)  # fmt: skip
def test_a_value_is_secret_if_it_has_the_whole_form_of_one(value: str, secret: bool) -> None:
    assert holds_secret("X", value) is secret
    assert holds_secret("API_KEY", value)
    assert (mask(value) != value) is secret


@each_row(
    ("digits", "valid"), [("", True), ("0", True), ("18", True), ("19", False), ("59", True), ("4111111111111111", True), ("4111111111111112", False)]
)  # fmt: skip
def test_every_second_digit_from_the_end_is_doubled(digits: str, valid: bool) -> None:
    assert luhn(digits) is valid


@each_row(
    ("text", "shown"),
    [
        ("password=abcd", f"password={SECRET}"),
        ("password=abc", "password=abc"),
        ("password='abcd'", f"password='{SECRET}'"),
        ("password=str", "password=str"),
        ("password=string", "password=string"),
        ("password='string'", f"password='{SECRET}'"),
        ("password=None and x", "password=None and x"),
        ("a password=abcd secret: efgh b", f"a password={SECRET} secret: {SECRET} b"),
        ("Bearer abcdefghijkl", "Bearer abcdefghijkl"),
        ("Bearer abcdefghijk1", f"Bearer {SECRET}"),
        ("Bearer abcdefghij1", "Bearer abcdefghij1"),
        ("bearer of bearer abcdefghijk1", f"bearer of bearer {SECRET}"),
        ("x?sig=abcdefghijk1&y", f"x?sig={SECRET}&y"),
    ],
)
def test_a_value_is_masked_from_its_shortest_length_on(text: str, shown: str) -> None:
    assert mask(text) == shown


@each_row(
    ("text", "plain"),
    [("ä 123456789012", True), ("ä 1234567890123", False), ("a 1234567890123", True), ("ä 1 2-3", True)],
)
def test_engines_may_differ_in_digits_beside_other_letters(text: str, plain: bool) -> None:
    assert is_plain(text) is plain


@each_row(
    ("settings", "shown"),
    [
        ("url = https://me:hunter22@example.org/x.git", "me hunter22"),
        ("url = https://me:abc@example.org/x.git", "me https://me:abc@x"),
        ("url = https://abcdefghijklmnopqrst@example.org/x", "https://abcdefghijklmnopqrst@x"),
        ("url = https://abcdefghijklmnopqrst:x-basic@example.org/x", "abcdefghijklmnopqrst"),
        ("\textraheader = AUTHORIZATION: basic eHh4eHh4eHg=", "AUTHORIZATION: basic eHh4eHh4eHg="),
        ('extraHeader = "X-Key: abcdefgh1"', "X-Key: abcdefgh1"),
        ("password = abcdefgh", "it is abcdefgh"),
    ],
)
def test_what_gits_settings_hold_to_log_in_is_removed_from_any_text(settings: str, shown: str) -> None:
    found = without_git_credentials(shown, settings)
    assert found != shown
    assert SECRET in found
    assert without_git_credentials("abc me x-basic basic X-Key @ a:b@c", settings).startswith("abc me ")


def test_settings_without_credentials_change_no_text() -> None:
    settings = "url = git@example.org:me/x.git\nurl = https://me@example.org/x\nurl = ssh://git@example.org:22/x\n"
    text = f"{settings} git me example https://git:pw@other.org password = abc"
    assert without_git_credentials(text, settings) == text
