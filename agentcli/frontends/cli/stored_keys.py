"""Store, list and remove providers' keys."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from getpass import getpass
from typing import Any

from agentcli.core.errors import UsageError
from agentcli.core.text.words import one_of
from agentcli.frontends.opening import program_of
from agentcli.frontends.web_search import WebSearch
from agentcli.program.command_line.output import say
from agentcli.program.command_line.printing import Column, print_table
from agentcli.program.keys import checked, try_key
from agentcli.program.options import Options
from agentcli.program.program import Program
from agentcli.providers.catalog import PROVIDER_ALIASES
from agentcli.providers.registry import PROVIDERS, SERVERS
from agentcli.providers.settings import BUILT_IN, ProviderSettings, is_plan, key_variables
from agentcli.system.key_store import KeyStore, checked_account, entry_of


def set_key(provider: str, account: str, untried: bool) -> None:
    """Check and store a provider's key."""
    account = account and checked_account(account)
    program = program_of(Options())
    settings = _settings(program, provider)
    if is_plan(settings):
        raise UsageError(f"{provider} takes no key. Log in: `agentcli auth login {provider}`.")
    if not key_variables(settings):
        raise UsageError(f"Set api_key_env in [providers.{provider}] first: it names the key's variable.")
    key = checked(getpass(f"Key for {provider} (hidden): ") if sys.stdin.isatty() else sys.stdin.read())
    if not untried and (reason := try_key(settings, key, program.given_env)):
        print(f"note: the key could not be checked: {reason}", file=sys.stderr)
    _store(program, settings, account, key)


def log_in(provider: str, account: str) -> None:
    """Log in to a provider in the browser, and store the key that it gives."""
    from agentcli.frontends.cli.provider_login import new_key, require_login, why_no_login

    account = account and checked_account(account)
    program = program_of(Options())
    provider = PROVIDER_ALIASES.get(provider, provider)
    if provider not in _providers(program) and (why := why_no_login(provider)):
        raise UsageError(why)
    settings = _settings(program, provider)
    require_login(settings)
    if not is_plan(settings):
        _store(program, settings, account, checked(new_key(settings, program.given_env, say)))
        return
    from agentcli.frontends.cli.plan_login import USAGE, logged_in

    _store(program, settings, account, logged_in(settings, program.given_env, program.dirs.state, account, say))
    say(f"Requests to {provider}/MODEL use your ChatGPT plan. See and limit that at {USAGE}.")


def _store(program: Program, settings: ProviderSettings, account: str, key: str | Mapping[str, Any]) -> None:
    provider = settings.name
    store = KeyStore(program.dirs.config)
    entry = entry_of(provider, account)
    if isinstance(key, str):
        place = store.set(entry, key)
    else:
        from agentcli.providers.logins import keep

        place = keep(program.dirs.config, program.dirs.state, entry, key)
    named = f"{provider}, account {account}," if account else provider
    say(f"Stored the key for {named} in {'the keyring' if place == 'keyring' else store.path}.")
    if not account and (found := [name for name in key_variables(settings) if program.given_env.get(name)]):
        print(f"note: {found[0]} is set in the environment and is used instead.", file=sys.stderr)


def list_keys() -> None:
    """List providers and where their keys come from."""
    program = program_of(Options())
    store = KeyStore(program.dirs.config)
    places = store.places()
    rows = []
    for name, settings in _providers(program).items():
        variable = next((each for each in key_variables(settings) if program.given_env.get(each)), "")
        stored = {"keyring": "keyring", "file": "keys.json"}.get(places.get(name, ""), "")
        accounts = ", ".join(store.accounts(name))
        if name in SERVERS or name in program.models.providers or variable or stored or accounts:
            rows.append([name, (variable and f"{variable} (environment)") or stored or "none", stored, accounts])
    print_table((Column("provider", style="bold"), Column("key in use"), Column("stored in"), Column("accounts")), rows)


def remove_key(provider: str, account: str) -> None:
    """Remove a stored key."""
    program = program_of(Options())
    store, entry = KeyStore(program.dirs.config), entry_of(provider, account)
    removed = f"Removed the key for {provider}{account and f', account {account}'}."
    if store.login(entry):
        from agentcli.providers.logins import end

        confirmed = end(program.dirs.config, program.dirs.state, entry)
        say(removed)
        if confirmed:
            say("The service has ended the login.")
        else:
            print("note: the service did not confirm the end of the login. End it in its settings.", file=sys.stderr)
        return
    store.remove(entry)
    say(removed)
    from agentcli.frontends.cli.provider_login import KEYS_STAY

    if provider in KEYS_STAY:
        say(KEYS_STAY[provider])


def _settings(program: Program, provider: str) -> ProviderSettings:
    """Return a provider's settings. Raises UsageError for an unknown one."""
    known = _providers(program)
    if provider not in known:
        raise UsageError(f"Unknown provider {provider!r}.{one_of(provider, known)}")
    return known[provider]


def _providers(program: Program) -> dict[str, ProviderSettings]:
    return {
        **{name: one for name, one in BUILT_IN.items() if PROVIDERS[one.kind].takes_key},
        **{one.name: one for one in WebSearch().keyed()},
        **program.models.providers,
    }
