"""A login with ChatGPT in the browser, against a service with its rules: requests use the plan, no token is shown."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentcli.core.errors import CredentialsError, InputError, ModelError
from agentcli.frontends.cli.plan_login import callback, logged_in, verified
from agentcli.providers.logins import addresses, end, renewal, revoke
from agentcli.providers.settings import BUILT_IN, ProviderSettings
from agentcli.system.key_store import KeyStore
from tests.e2e.program import Program
from tests.frontends.cli.test_provider_login import browser
from tests.loopback.chatgpt_login import CODE, SECRET, Authority, authority
from tests.tables import each_row

RENEWS = """
import sys, pathlib
from agentcli.providers.logins import renewal
renewed = renewal(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[1]), "chatgpt", sys.argv[2])
sys.stdin.readline()
print(renewed())
"""


@pytest.fixture
def service() -> Iterator[Authority]:
    with authority() as server:
        yield server


def plan(server: Authority) -> ProviderSettings:
    return replace(BUILT_IN["chatgpt"], base_url=f"{server.issuer}/v1")


def stored_login(server: Authority, folder: Path, account: str = "") -> list[str]:
    """Log in, store the login, and return what was said."""
    said: list[str] = []
    login = logged_in(plan(server), {"BROWSER": browser(folder)}, folder, account, said.append)
    KeyStore(folder).set_login("chatgpt", login)
    return said


def expired(folder: Path) -> None:
    """Let the stored key end now."""
    store = KeyStore(folder)
    store.set_login("chatgpt", {**store.login("chatgpt"), "expires": time.time()})


def test_a_second_login_reuses_the_registration_and_nothing_is_said_but_the_page(
    service: Authority, tmp_path: Path
) -> None:
    said = stored_login(service, tmp_path)
    assert service.asked["client_id"] == "dynamic_agent_client"
    said += stored_login(service, tmp_path)
    assert (service.asked["client_id"], len(service.hosts)) == ("oaiapp_1", 1)
    assert KeyStore(tmp_path).keys() == {"chatgpt": f"{SECRET}-a200"}
    assert not [line for line in said if SECRET in line or CODE in line]
    assert SECRET not in (tmp_path / "registrations.json").read_text()
    assert set(KeyStore(tmp_path).secrets()) == {f"{SECRET}-a200", f"{SECRET}-r200"}


@pytest.mark.parametrize(("many", "rounds"), [(2, 1), pytest.param(8, 3, marks=pytest.mark.full)])
def test_processes_that_need_a_new_key_at_once_renew_it_once(
    service: Authority, tmp_path: Path, many: int, rounds: int
) -> None:
    stored_login(service, tmp_path)
    for round_ in range(1, rounds + 1):
        expired(tmp_path)
        command = [sys.executable, "-c", RENEWS, str(tmp_path), service.issuer]
        pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        started = [subprocess.Popen(command, **pipes) for _ in range(many)]
        for process in started:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        keys = {process.communicate(timeout=60)[0].strip() for process in started}
        assert (keys, service.renewals) == ({f"{SECRET}-a{100 + round_}"}, round_)
    assert not service.ended


def test_a_renewal_that_fails_says_what_helps_and_keeps_what_still_works(service: Authority, tmp_path: Path) -> None:
    stored_login(service, tmp_path)
    renewed = renewal(tmp_path, tmp_path, "chatgpt", service.issuer)
    expired(tmp_path)
    service.down = True
    with pytest.raises(ModelError, match="could not be renewed") as busy:
        renewed()
    assert busy.value.retryable
    service.down, service.refresh = False, "of another process"
    with pytest.raises(CredentialsError, match="agentcli auth login chatgpt") as ended:
        renewed()
    assert SECRET not in str(ended.value)
    with pytest.raises(CredentialsError, match="No login for chatgpt at this address"):
        renewal(tmp_path, tmp_path, "chatgpt", "https://elsewhere.test")()
    service.server_close()
    store = KeyStore(tmp_path)
    store.set_login("chatgpt", {**store.login("chatgpt"), "expires": time.time() + 60})
    assert renewed() == f"{SECRET}-a100"


def test_a_logout_during_a_renewal_ends_the_renewed_login(service: Authority, tmp_path: Path) -> None:
    stored_login(service, tmp_path)
    expired(tmp_path)
    service.pause = 0.6
    renewing = threading.Thread(target=renewal(tmp_path, tmp_path, "chatgpt", service.issuer))
    renewing.start()
    time.sleep(0.2)
    assert end(tmp_path, tmp_path, "chatgpt")
    renewing.join()
    assert (service.renewals, service.ended, KeyStore(tmp_path).places()) == (1, True, {})


def test_the_service_confirms_a_logout_and_states_only_its_own_addresses(
    service: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored_login(service, tmp_path)
    login = KeyStore(tmp_path).login("chatgpt")
    assert revoke(login)
    assert service.ended
    assert not revoke({**login, "refresh_token": "another"})
    with pytest.raises(InputError, match="addresses of another host"):
        addresses(service.issuer.replace("127.0.0.1", "localhost"))


def test_an_id_token_must_be_signed_for_this_login(service: Authority) -> None:
    def why(**other: Any) -> str:
        try:
            return verified(service.identity(**other), service.keys, service.issuer, "oaiapp_1", "once")
        except InputError as error:
            return str(error)

    assert why(nonce="once") == "person"
    assert "another login" in why(nonce="twice")
    for other in ({"aud": "oaiapp_2"}, {"iss": "https://elsewhere.test"}, {"exp": 1}):
        assert "ID token is not valid" in why(nonce="once", **other)
    with authority() as forger:
        forged = forger.identity(iss=service.issuer, nonce="once")
    with pytest.raises(InputError, match="ID token is not valid"):
        verified(forged, service.keys, service.issuer, "oaiapp_1", "once")


@each_row(
    ("query", "client", "means"),
    [
        ("state=s&code=c&client_id=oaiapp_1", "", "oaiapp_1"),
        ("state=s&code=c", "oaiapp_1", "oaiapp_1"),
        ("state=x&code=c&client_id=oaiapp_1", "", "belongs to another login"),
        ("state=s&error=access_denied", "", "access_denied"),
        ("state=s&code=c", "", "no client id"),
        ("state=s&code=c&client_id=dynamic_agent_client", "", "no client id"),
        ("state=s&code=c&client_id=oaiapp_2", "oaiapp_1", "another registration"),
    ],
)
def test_a_final_address_must_belong_to_the_login(query: str, client: str, means: str) -> None:
    try:
        found = callback(f"http://127.0.0.1:5/auth/callback?{query}", "s", client)["client_id"]
    except InputError as error:
        found = str(error)
    assert found == means or (not means.startswith("oaiapp") and means in found)


def test_a_login_without_the_plan_is_not_stored(tmp_path: Path) -> None:
    with (
        authority(scope="openid profile email") as service,
        pytest.raises(InputError, match="may not use your ChatGPT"),
    ):
        stored_login(service, tmp_path)


@pytest.mark.full
def test_a_session_uses_the_plan_with_tools_renews_its_key_and_ends_at_the_logout(tmp_path: Path) -> None:
    with authority(lasts=2) as service:
        program = Program(tmp_path, more={"BROWSER": browser(tmp_path)})
        program.config(
            f'model = "chatgpt/gpt-6-sol"\n[agent]\ntitles = false\n[providers.chatgpt]\nbase_url = "{service.issuer}/v1"\n'
        )
        ran = program.run("auth", "login", "chatgpt")
        assert (ran.code, ran.err) == (0, "")
        assert "chatgpt.com/settings/usage" in ran.out
        outs = [ran, *(program.run("-p", "hi", "-m", "chatgpt/gpt-6-sol") for _ in range(2))]
        assert [each.out for each in outs[1:]] == ["On the plan.\n"] * 2, outs
        assert service.renewals == 2
        first, *_ = service.bodies[0]["input"]
        assert (first["type"], first["role"]) == ("additional_tools", "developer")
        assert {"read", "bash"} <= {tool["name"] for tool in first["tools"]}
        result = program.ask("-p", "hi", "-m", "chatgpt/gpt-6-sol").result
        assert result["cost"] == 0
        service.valid.clear()  # the key of the last run has expired
        listed = program.run("models", "--refresh")
        assert (listed.out, listed.err) == ("chatgpt: 1 model\n", "")
        live = program.run("doctor", "--live", stdin="y\n")
        assert "chatgpt/gpt-6-sol" in live.out + live.err, live
        gone = program.run("auth", "logout", "chatgpt")
        assert "The service has ended the login." in gone.out
        assert service.ended
        assert "auth login chatgpt" in program.run("auth", "set", "chatgpt", stdin="k").err
        again = program.run("-p", "hi", "-m", "chatgpt/gpt-6-sol")
        assert (again.code, "agentcli auth login chatgpt" in again.err) == (41, True), again
        texts = [file.read_text(errors="replace") for file in tmp_path.rglob("*") if file.is_file()]
        shown = [*texts, gone.out, json.dumps(result), *(each.out + each.err for each in outs)]
        assert not [text for text in shown if SECRET in text or CODE in text]
