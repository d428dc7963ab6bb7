"""Account of a run: which stored key its requests use, by flag, session or folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from agentcli.core.errors import CredentialsError, ModelError
from agentcli.core.record import USUAL_ACCOUNT
from agentcli.providers.registry import PROVIDERS
from agentcli.providers.settings import ProviderSettings, credentials, key_variables
from agentcli.system.key_store import KeyStore, account_names


class Accounts:
    """The current account, and those that take over at a rate limit, in order; none for the usual keys."""

    def __init__(self, store: KeyStore, given: str, here: str) -> None:
        """`given` are the accounts that the run was given, `here` those of its folder, separated by commas.

        Raise InputError for a name that cannot be an account's.
        """
        self._store = store
        self._given, self._here = account_names(given), account_names(here)
        self._names = self._given or self._here
        self._limited: set[str] = set()
        self.current = _plain(self._names[0]) if self._names else ""
        """Its name; empty for the usual keys."""

    def resume(self, recorded: str) -> None:
        """Continue with the account that a session has recorded, or with the folder's, unless this run was given one."""
        if not self._given:
            self._names = self._here if not recorded or recorded in self._here else (recorded,)
            self.current = _plain(recorded or (self._names[0] if self._names else ""))

    def use(self, text: str) -> None:
        """Use these accounts, separated by commas, from the next request on. Raises InputError for an invalid name."""
        names = account_names(text)
        self._names = self._given = names
        self.current = _plain(names[0]) if names else ""
        self._limited.clear()

    def stored(self, provider: str) -> Sequence[str]:
        """Return a provider's accounts with a stored key."""
        return self._store.accounts(provider)

    @property
    def order(self) -> Sequence[str]:
        """The requested accounts, in the order in which they take over."""
        return self._names

    def begin_turn(self) -> None:
        """Try each account again."""
        self._limited.clear()

    def passes_on(self, error: ModelError, provider: str) -> bool:
        """Return True if another account takes over after this error.

        It takes over only at a rate limit, and only if it is among the requested accounts.
        """
        return error.cause == "rate_limit" and bool(self._next(provider))

    def move_on(self, provider: str) -> str:
        """Use the next account, and return its name."""
        self._limited.add(self.current or USUAL_ACCOUNT)
        self.current = _plain(self._next(provider) or self.current)
        return self.current or USUAL_ACCOUNT

    def _next(self, provider: str) -> str:
        here = self.current or USUAL_ACCOUNT
        known = {USUAL_ACCOUNT, *self.stored(provider)} if len(self._names) > 1 else set[str]()
        return next((name for name in self._names if name != here and name in known - self._limited), "")

    def require(self, settings: ProviderSettings, env: Mapping[str, str]) -> None:
        """Raise CredentialsError if a provider that takes keys has none for the current account: no other key replaces
        it.
        """
        if PROVIDERS[settings.kind].takes_key and key_variables(settings) and credentials(settings, env) is None:
            raise _lacking(self.current, settings.name, self.stored(settings.name))

    def environment(self, env: Mapping[str, str], providers: Mapping[str, ProviderSettings]) -> Mapping[str, str]:
        """Return the environment with only the current account's keys: a provider without this account has no key."""
        if not self.current:
            return env
        variables = {name: key_variables(settings) for name, settings in providers.items()}
        others = {variable for each in variables.values() for variable in each}
        keys = self._store.keys(self.current)
        own = {variables[name][0]: key for name, key in keys.items() if variables.get(name)}
        return {**{name: value for name, value in env.items() if name not in others}, **own}


def _lacking(name: str, provider: str, stored: Sequence[str]) -> CredentialsError:
    known = f" Stored: {', '.join(stored)}." if stored else ""
    return CredentialsError(
        f"{provider} has no account {name}.{known} Store its key: agentcli auth set {provider} --name {name}, or use the usual one: --account {USUAL_ACCOUNT}"
    )


def by_folder(accounts: Mapping[str, str], folder: Path, home: Path) -> str:
    """Return the accounts that the setting `accounts` has for a folder or its nearest parent; empty if there are none."""
    inside = {
        place: names
        for given, names in accounts.items()
        for place in [home / given[2:] if given.startswith("~/") else home if given == "~" else Path(given)]
        if folder.is_relative_to(place.resolve())
    }
    return inside[max(inside, key=lambda place: len(place.resolve().parts))] if inside else ""


def _plain(name: str) -> str:
    return "" if name == USUAL_ACCOUNT else name
