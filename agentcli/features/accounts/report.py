"""A report on accounts for `doctor`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from agentcli.core.errors import InputError
from agentcli.core.record import USUAL_ACCOUNT
from agentcli.core.sanitise import safe_line
from agentcli.program.feature import Row
from agentcli.program.project import Project
from agentcli.system.key_store import KeyStore, account_names


def rows(program: Project, folders: Mapping[str, str]) -> Iterator[Row]:
    """Report the accounts that the configuration gives to folders, and whether a key is stored for each."""
    stored = [entry.partition("/") for entry in KeyStore(program.dirs.config).places()]
    for name, where in _named(folders).items():
        providers = sorted(provider for provider, _, account in stored if account == name)
        if not where:
            yield "account", False, safe_line(name)
        elif providers:
            yield f"account {name}", True, f"for {where}; stored for {', '.join(providers)}"
        else:
            yield f"account {name}", False, f"for {where}: no key is stored: agentcli auth set PROVIDER --name {name}"


def _named(folders: Mapping[str, str]) -> Mapping[str, str]:
    """Return the folders of each account that has a key of its own; for names that cannot be one, the reason without a folder."""
    found: dict[str, list[str]] = {}
    for folder, text in folders.items():
        try:
            for name in account_names(text):
                found.setdefault(name, []).append(safe_line(folder))
        except InputError as error:
            found[f"{folder} in `accounts`: {error}"] = []
    return {name: ", ".join(where) for name, where in found.items() if name != USUAL_ACCOUNT}
