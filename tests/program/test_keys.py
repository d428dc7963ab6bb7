"""Stored keys: in a keyring or a private file, never in place of the environment."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path

import pytest

from agentcli.core.errors import CredentialsError, InputError
from agentcli.core.text.secrets import SECRET, redact
from agentcli.program.keys import checked, provider_of, try_key, with_keys
from agentcli.providers.settings import BUILT_IN, ProviderSettings
from agentcli.system.key_store import KeyStore
from tests.loopback.plain import answering
from tests.tables import each_row

KEYRING = """
import json, pathlib
FILE = pathlib.Path(__file__).with_suffix(".json")
ASKED = []
def _all():
    return json.loads(FILE.read_text()) if FILE.exists() else {}
def set_password(service, name, key):
    FILE.write_text(json.dumps({**_all(), f"{service}/{name}": key}))
def get_password(service, name):
    ASKED.append(name)
    return _all().get(f"{service}/{name}")
def delete_password(service, name):
    FILE.write_text(json.dumps({k: v for k, v in _all().items() if k != f"{service}/{name}"}))
"""


def test_a_key_is_kept_in_a_file_for_its_owner_alone(tmp_path: Path) -> None:
    store = KeyStore(tmp_path)
    assert store.keys() == {}
    assert store.set("anthropic", "sk-ant-one") == "file"
    store.path.chmod(0o644)
    store.set("google", "AIza-two")
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600
    assert KeyStore(tmp_path).keys() == {"anthropic": "sk-ant-one", "google": "AIza-two"}
    store.remove("anthropic")
    assert store.keys() == {"google": "AIza-two"}
    with pytest.raises(InputError, match="No key is stored for anthropic"):
        store.remove("anthropic")


def test_a_keyring_is_used_where_it_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "keyring.py").write_text(KEYRING)
    monkeypatch.syspath_prepend(tmp_path)
    store = KeyStore(tmp_path / "config")
    (tmp_path / "config").mkdir()
    assert store.set("anthropic", "sk-ant-one") == "keyring"
    assert "sk-ant" not in store.path.read_text()
    assert (store.keys(), store.places()) == ({"anthropic": "sk-ant-one"}, {"anthropic": "keyring"})
    store.remove("anthropic")
    assert store.keys() == {}
    assert json.loads((tmp_path / "keyring.json").read_text()) == {}
    del sys.modules["keyring"]  # it is this test's own


def test_one_key_is_read_without_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "keyring.py").write_text(KEYRING)
    monkeypatch.syspath_prepend(tmp_path)
    store = KeyStore(tmp_path)
    store.set("anthropic", "sk-ant-one")
    store.set("google", "AIza-two")
    asked = sys.modules["keyring"].ASKED
    asked.clear()
    assert (store.key("google"), store.key("unknown"), asked) == ("AIza-two", "", ["google"])
    del sys.modules["keyring"]  # it is this test's own


def test_a_damaged_file_is_as_if_no_key_were_stored(tmp_path: Path) -> None:
    for text in ("", "[]", "{", '{"anthropic": 3}'):
        (tmp_path / "keys.json").write_text(text)
        assert KeyStore(tmp_path).keys() == {}


def test_the_environment_wins_over_a_stored_key() -> None:
    stored = {"anthropic": "stored", "google": "stored", "local": "stored", "gone": "stored"}
    local = ProviderSettings("local", "anthropic", api_key_env="LOCAL_KEY")
    env = with_keys({"ANTHROPIC_AUTH_TOKEN": "set", "X": "y"}, {**BUILT_IN, "local": local}, stored)
    assert env == {"ANTHROPIC_AUTH_TOKEN": "set", "X": "y", "GOOGLE_API_KEY": "stored", "LOCAL_KEY": "stored"}


def test_the_provider_is_read_off_the_key() -> None:
    assert [provider_of(key) for key in ("sk-ant-x", "AIzaX", "other")] == ["anthropic", "google", ""]
    assert checked("  sk-ant-x\n") == "sk-ant-x"
    for text in ("", "two words", "sk-\x1b[2J", "schlüssel"):
        with pytest.raises(InputError, match="That is not a valid key"):
            checked(text)


@each_row(("status", "taken"), [(200, True), (401, False), (403, False), (503, None)])
def test_a_key_is_tried_with_one_request_and_a_rejected_one_is_an_error(status: int, taken: bool | None) -> None:
    with answering(status) as (url, asked):
        env = {"ANTHROPIC_BASE_URL": url}
        if taken is False:
            with pytest.raises(CredentialsError, match=rf"Anthropic rejected the key \({status}\)"):
                try_key(BUILT_IN["anthropic"], "sk-ant-x", env)
        else:
            assert bool(try_key(BUILT_IN["anthropic"], "sk-ant-x", env)) == (taken is None)
        assert [(one.path, one.headers["x-api-key"]) for one in asked] == [("/v1/models", "sk-ant-x")]


def test_a_key_of_any_shape_is_taken_out_of_exports() -> None:
    assert redact("the key is plainly-a-key!", ["plainly-a-key"]) == f"the key is {SECRET}!"
