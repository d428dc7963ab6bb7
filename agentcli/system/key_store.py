"""Stored keys and logins: in the system's keyring if available, else in a file that only its owner can read."""

from __future__ import annotations

import importlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from agentcli.core.errors import InputError
from agentcli.core.record import USUAL_ACCOUNT
from agentcli.system.locked_file import update

Place = Literal["keyring", "file"]
SERVICE = "agentcli"
"""The keyring's service name for the keys."""
_LOGIN = "login:"
"""Prefix of a stored login, which is JSON; its `access_token` is the key."""


_ACCOUNT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")


def checked_account(name: str) -> str:
    """Return the name of an account.

    Raises InputError if it is reserved or contains characters other than letters, digits, `-`, `_` and `.`.
    """
    if not _ACCOUNT.fullmatch(name) or name == USUAL_ACCOUNT:
        raise InputError(f"{name!r} cannot be the name of an account. Use up to 40 letters, digits, `-`, `_` and `.`.")
    return name


def account_names(text: str) -> tuple[str, ...]:
    """Split account names separated by commas. Raises InputError for an invalid one."""
    named = [name for name in map(str.strip, text.split(",")) if name]
    return tuple(dict.fromkeys(name if name == USUAL_ACCOUNT else checked_account(name) for name in named))


def entry_of(provider: str, account: str = "") -> str:
    """Return the name under which a key is stored: `anthropic`, or `anthropic/work` for an account. No provider's name has a slash."""
    return f"{provider}/{account}" if account else provider


class KeyStore:
    """Keys by provider, and by provider and account.

    The file records where each is stored, so a start without stored keys queries no keyring.
    """

    def __init__(self, folder: Path, file: str = "keys.json") -> None:
        self.path = folder / file

    def places(self) -> Mapping[str, Place]:
        """Return the providers that have a stored key, each with its place."""
        return {provider: "file" if "key" in entry else "keyring" for provider, entry in self._entries().items()}

    def keys(self, account: str = "") -> Mapping[str, str]:
        """Return every readable key of an account by provider; without a name, the keys without account."""
        split = {name: name.partition("/") for name in self._entries()}
        found = {provider: self.key(name) for name, (provider, _, own) in split.items() if own == account}
        return {name: key for name, key in found.items() if key}

    def accounts(self, provider: str) -> Sequence[str]:
        """Return the names of a provider's accounts, sorted."""
        split = [name.partition("/") for name in self._entries()]
        return sorted(account for owner, _, account in split if owner == provider and account)

    def key(self, provider: str) -> str:
        """Return one stored key; empty if none is stored or it cannot be read. Queries the keyring for nothing else."""
        entry = self._entries().get(provider)
        return "" if entry is None else _key_of(provider, entry)

    def login(self, provider: str) -> Mapping[str, Any]:
        """Return a stored login, whose key expires and is renewed; empty if none is stored."""
        entry = self._entries().get(provider)
        return _login_in("" if entry is None else _text_of(provider, entry))

    def set_login(self, provider: str, login: Mapping[str, Any]) -> Place:
        """Store a login and return its place."""
        return self.set(provider, _LOGIN + json.dumps(dict(login)))

    def secrets(self) -> Sequence[str]:
        """Return every stored text that no output may contain: the keys of all accounts, and the tokens of logins."""
        texts = [_text_of(name, entry) for name, entry in self._entries().items()]
        tokens = [login[name] for login in map(_login_in, texts) for name in login if name.endswith("_token")]
        return [text for text in (*texts, *tokens) if text and not text.startswith(_LOGIN)]

    def set(self, provider: str, key: str) -> Place:
        """Store a key and return its place."""
        in_keyring = _to_keyring(provider, key)
        self._change(provider, {} if in_keyring else {"key": key})
        return "keyring" if in_keyring else "file"

    def remove(self, provider: str) -> None:
        """Remove a key. Raises InputError if none is stored."""
        if provider not in self._entries():
            raise InputError(f"No key is stored for {provider.replace('/', ', account ')}.")
        _from_keyring(provider, remove=True)
        self._change(provider, None)

    def _entries(self) -> Mapping[str, Mapping[str, str]]:
        try:
            read = json.loads(self.path.read_bytes())
        except (OSError, ValueError):
            return {}
        return {str(name): entry for name, entry in read.items() if isinstance(entry, dict)} if _is_table(read) else {}

    def _change(self, provider: str, entry: Mapping[str, str] | None) -> None:
        def changed(text: str) -> str:
            entries = dict(self._entries())
            entries.pop(provider, None)
            if entry is not None:
                entries[provider] = entry
            return json.dumps(entries, indent=1) + "\n"

        update(self.path, changed)
        os.chmod(self.path, 0o600)


def _key_of(provider: str, entry: Mapping[str, str]) -> str:
    text = _text_of(provider, entry)
    return str(_login_in(text).get("access_token", "")) if text.startswith(_LOGIN) else text


def _text_of(provider: str, entry: Mapping[str, str]) -> str:
    return entry.get("key") or _from_keyring(provider)


def _login_in(text: str) -> Mapping[str, Any]:
    if not text.startswith(_LOGIN):
        return {}
    try:
        read = json.loads(text.removeprefix(_LOGIN))
    except ValueError:
        return {}
    return read if _is_table(read) else {}


def _is_table(value: object) -> bool:
    return isinstance(value, dict)


def _keyring() -> Any:
    """Import the package `keyring`; None if it is not installed."""
    try:
        return importlib.import_module("keyring")
    except ImportError:
        return None


def _to_keyring(provider: str, key: str) -> bool:
    ring = _keyring()
    if ring is None:
        return False
    try:
        ring.set_password(SERVICE, provider, key)
        return bool(ring.get_password(SERVICE, provider) == key)
    except Exception:  # noqa: BLE001 - each backend raises its own errors; the file is the fallback
        return False


def _from_keyring(provider: str, *, remove: bool = False) -> str:
    ring = _keyring()
    if ring is None:
        return ""
    try:
        if remove:
            ring.delete_password(SERVICE, provider)
            return ""
        return ring.get_password(SERVICE, provider) or ""
    except Exception:  # noqa: BLE001 - a locked or missing backend is as if no key were stored
        return ""
