"""A login to OpenRouter in the browser, against a service with its rules: the key is stored and shown nowhere."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import parse_qs, urlsplit
from urllib.request import urlopen

import pytest

from agentcli.core.errors import InputError
from agentcli.frontends.cli.provider_login import code_of, exchanged, new_key
from agentcli.providers.settings import ProviderSettings
from tests.e2e.program import Program
from tests.loopback.openrouter_login import CODE, KEY, Authority, authority
from tests.tables import each_row

BROWSER = "#!{python}\nimport sys, urllib.request\nprint(urllib.request.urlopen(sys.argv[1]).read())\n"


@pytest.fixture
def service() -> Iterator[Authority]:
    with authority() as server:
        yield server


def browser(folder: Path) -> str:
    """A browser whose person consents at once."""
    program = folder / "browser"
    program.write_text(BROWSER.format(python=sys.executable))
    program.chmod(0o755)
    return str(program)


def openrouter(root: str) -> ProviderSettings:
    return ProviderSettings("openrouter", "openai", base_url=root)


def test_a_login_gives_a_key_once_and_prints_neither_key_nor_code(service: Authority, tmp_path: Path) -> None:
    said: list[str] = []
    assert new_key(openrouter(service.root), {"BROWSER": browser(tmp_path)}, said.append) == KEY
    assert not [line for line in said if KEY in line or CODE in line]
    with pytest.raises(InputError, match="wrong, too old or already used") as refused:
        exchanged(service.root, CODE, "the verifier")
    assert CODE not in str(refused.value)


def test_a_code_is_refused_with_the_verifier_of_another_login(service: Authority) -> None:
    service.authorise("callback_url=http://127.0.0.1:5/c&code_challenge=of-another&code_challenge_method=S256")
    with pytest.raises(InputError, match="wrong, too old or already used"):
        exchanged(service.root, CODE, "the verifier")
    assert service.spent == {CODE}


@pytest.mark.full
def test_a_login_stores_a_key_that_works_at_once_and_a_logout_forgets_it(service: Authority, tmp_path: Path) -> None:
    program = Program(tmp_path, more={"BROWSER": browser(tmp_path)})
    program.config(f'[agent]\ntitles = false\n[providers.openrouter]\nbase_url = "{service.root}"\n')
    ran = program.run("auth", "login", "openrouter")
    assert (ran.code, ran.err) == (0, "")
    assert "Stored the key for openrouter in " in ran.out
    assert program.run("-p", "hi", "-m", "openrouter/some/model").out == "Logged in.\n"
    gone = program.run("auth", "logout", "openrouter")
    assert gone.out.splitlines()[0] == "Removed the key for openrouter."
    assert "delete it at openrouter.ai/settings/keys" in gone.out
    kept = [file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()]
    assert not [text for text in [*kept, ran.out.encode()] if KEY.encode() in text or CODE.encode() in text]


def test_only_the_callback_of_this_login_is_accepted_and_only_once() -> None:
    from agentcli.system.browser_login import answer, listen

    async def asked(port: int, path: str) -> int:
        try:
            return (await asyncio.to_thread(urlopen, f"http://127.0.0.1:{port}{path}", timeout=5)).status  # type: ignore[no-any-return]
        except HTTPError as error:
            return error.code

    async def tried() -> list[int]:
        arrived: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        server = await listen(arrived, "/callback/state")
        port = server.sockets[0].getsockname()[1]
        paths = ("/callback/wrong?code=evil", "/callback/state", "/callback/state?code=a", "/callback/state?code=b")
        statuses = [await asked(port, path) for path in paths]
        assert await answer(arrived, None) == "/callback/state?code=a"
        server.close()
        return statuses

    assert asyncio.run(tried()) == [404, 404, 200, 404]


@each_row(
    ("text", "means"),
    [
        ("http://127.0.0.1:5/callback/s?code=abc", "abc"),
        (" abc\n", "abc"),
        ("http://127.0.0.1:5/callback/other?code=abc", "belongs to another login"),
        ("http://127.0.0.1:5/callback/s?error=access_denied", "access_denied"),
        ("/callback/s", "contains no code"),
    ],
)
def test_a_pasted_address_or_code_is_read(text: str, means: str) -> None:
    try:
        found = code_of(text, "/callback/s")
    except InputError as error:
        found = str(error)
    assert found == means or (means != "abc" and means in found)


@each_row(
    ("provider", "told"),
    [
        (
            "anthropic",
            "For Anthropic, make an API key for Claude (console.anthropic.com), then run `agentcli auth set anthropic`. Claude plans",
        ),
        ("openai", "then run `agentcli auth set openai`. To use a ChatGPT plan, run `agentcli auth login chatgpt`."),
        ("groq", "only to openrouter and chatgpt. For Groq, make an API key at console.groq.com, then"),
        ("ollama", "Ollama runs on this machine and needs no key."),
    ],
)
def test_a_provider_without_a_login_says_which_key_to_make(provider: str, told: str) -> None:
    from agentcli.frontends.cli.provider_login import require_login
    from agentcli.providers.settings import BUILT_IN

    with pytest.raises(InputError) as refused:
        require_login(BUILT_IN[provider])
    assert told in str(refused.value)


@each_row(
    ("name", "told"),
    [
        ("copilot", "only to programs registered there"),
        ("bedrock", "Amazon Bedrock uses the login of its cloud's own program"),
        ("nonsense", ""),
    ],
)
def test_a_service_that_is_no_provider_says_why_it_has_no_login(name: str, told: str) -> None:
    from agentcli.frontends.cli.provider_login import why_no_login

    said = why_no_login(name)
    assert told in said
    assert bool(told) == bool(said)


def test_the_page_asks_for_what_the_service_documents_and_waits_a_limited_time() -> None:
    said: list[str] = []
    with pytest.raises(InputError, match="No login within 0 s"):
        new_key(openrouter("https://openrouter.ai/api/v1"), {"BROWSER": "/nonexistent"}, said.append, seconds=0)
    page = urlsplit(said[0].split()[-1])
    assert (page.scheme, page.netloc, page.path) == ("https", "openrouter.ai", "/auth")
    assert len(parse_qs(page.query)["code_challenge"][0]) == 43
