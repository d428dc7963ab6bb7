"""Checks of everything that agentcli needs, each with a solution for a failure."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Set
from importlib.metadata import version as package_version
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from agentcli import __version__
from agentcli.context.settings import NATIVE, PROVIDER, ContextSettings
from agentcli.context.tokens.estimators import vocabularies
from agentcli.context.window import fallen_back, missing
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import AgentError, ConfigError
from agentcli.program.config import PREFIX
from agentcli.program.options import Options
from agentcli.program.program import Program
from agentcli.program.sessions import Reading, unseen
from agentcli.providers import reachability
from agentcli.providers.capabilities import limits
from agentcli.providers.connect import is_installed
from agentcli.providers.platforms import PLATFORMS
from agentcli.providers.registry import PROVIDERS, SERVERS
from agentcli.providers.settings import (
    BUILT_IN,
    ProviderSettings,
    base_url,
    base_url_variable,
    credentials,
    key_variable,
    key_variables,
    needs_key,
)
from agentcli.sessions.integrity import check
from agentcli.system import probe
from agentcli.system.installing import install, install_extra
from agentcli.system.key_store import KeyStore

NEWEST_SESSIONS = 100
"""Sessions that are read whole; `agentcli sessions check` reads all."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of one check. `needed`: agentcli cannot work well without it."""

    what: str
    ok: bool
    detail: str
    needed: bool = False

    @property
    def verdict(self) -> Literal["ok", "warn", "FAIL"]:
        """FAIL if it keeps agentcli from working."""
        return "ok" if self.ok else "FAIL" if self.needed else "warn"

    @property
    def line(self) -> str:
        """The finding as a line of text."""
        return f"{self.verdict:4}  {self.what}: {self.detail}"


CONNECT_SECONDS, ANSWER_SECONDS = 1.0, 10.0
"""Seconds for a connection, and for the answer to a request."""


OpenProgram = Callable[[Options, Mapping[str, str] | None], Program]
"""Opens the program of a run in an environment, None for that of the process."""


def diagnose(
    open_program: OpenProgram, options: Options, live: bool = False, reading: Reading = unseen
) -> list[Finding]:
    """Return all findings for a run with these options; if the configuration is unreadable, those of the built-in one."""
    try:
        return examine(open_program(options, None), live, reading)
    except ConfigError as error:
        broken = Finding("configuration", False, str(error), needed=True)
    plain = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    with tempfile.TemporaryDirectory() as nowhere:
        # Without these two neither the user's configuration nor any trusted folder's is read.
        rest = examine(
            open_program(options, {**plain, "XDG_CONFIG_HOME": nowhere, "XDG_STATE_HOME": nowhere}), live, reading
        )
    return [broken, *(found for found in rest if found.what not in ("configuration", "config folder", "state folder"))]


def examine(program: Program, live: bool = False, reading: Reading = unseen) -> list[Finding]:
    """Return all findings; none of them changes anything. Without `live` no model is queried, and only addresses that
    you set are connected to.

    The records of checked sessions pass `reading`.
    """
    return [
        *_program(program),
        *_keys(program),
        *_model(program),
        *_endpoints(program, live),
        *_capabilities(program),
        *_folders(program),
        *_helpers(program),
        *(Finding(*row) for feature in program.features for row in feature.checks(program)),
        _editors(),
        *_sessions(program, reading),
    ]


def _program(program: Program) -> Iterator[Finding]:
    yield Finding("version", True, f"agentcli {__version__} on Python {sys.version.split()[0]}")
    warnings = program.config.warnings
    yield Finding("configuration", not warnings, " ".join(warnings) or str(program.dirs.config_file))


def _keys(program: Program) -> Iterator[Finding]:
    used = _used(program)
    for provider in SERVERS:
        has_key = bool(key_variable(BUILT_IN[provider], program.env))
        if has_key or provider in used:
            yield Finding(f"key for {provider}", *key_of(program, BUILT_IN[provider]))
        if (vendor := PROVIDERS[provider]).extra and has_key and not is_installed(vendor):
            cure = f"is not installed: {install_extra(vendor.extra)}"
            yield Finding(f"SDK of {provider}", False, cure)
    for settings in program.models.providers.values():
        yield Finding(f"key for {settings.name}", *key_of(program, settings))


def key_of(program: Program, settings: ProviderSettings) -> tuple[bool, str]:
    """Return whether a provider has the key that it needs, and where the key comes from; never the key."""
    if settings.platform:
        return _platform(settings, program.given_env)
    if found := key_variable(settings, program.given_env):
        return True, f"{found} (environment)"
    if key_variable(settings, program.env):
        return True, f"stored key ({KeyStore(program.dirs.config).places().get(settings.name, 'config folder')})"
    if settings.kind not in PROVIDERS or not needs_key(settings, program.env):
        return True, "none needed"
    names = " or ".join(key_variables(settings))
    return False, f"not set; `agentcli auth set {settings.name}` stores one, {names} sets one"


def endpoint_of(program: Program, settings: ProviderSettings) -> str:
    """Return the address that a provider's requests go to, and what sets it."""
    own = base_url(settings, program.env)
    set_by = f"[providers.{settings.name}]" if settings.base_url else base_url_variable(settings)
    return f"{reachability.bare(own or PROVIDERS[settings.kind].url)}{f' ({set_by})' if own else ''}"


def _used(program: Program) -> Set[str]:
    """Return the providers that a session would use: of its model and of the fallback.

    All are returned if no model can be chosen, because a key of any provider solves that.
    """
    try:
        names = [program.selection.model_name(), program.agent_settings.fallback_model]
        return {program.models.spec(name).provider for name in names if name}
    except AgentError:
        return set(SERVERS)


def _model(program: Program) -> Iterator[Finding]:
    for fault in program.models.alias_faults():
        yield Finding("alias of a model", False, fault)
    for fault in program.models.table_faults():
        yield Finding("table of a model", False, fault)
    try:
        detail, ok = program.selection.model_name(), True
    except AgentError as error:
        line = str(error).splitlines()[0]
        # The rows above already show the commands, so a list of commands is cut to its first sentence.
        detail, ok = line.partition(". ")[0] if line.endswith(":") else line, False
    yield Finding("model", ok, detail)


def _platform(settings: ProviderSettings, env: Mapping[str, str]) -> tuple[bool, str]:
    """Return whether a platform's SDK would find credentials, and where."""
    cloud = PLATFORMS[settings.platform]
    found = cloud.found(env, Path(env.get("HOME") or "~").expanduser())
    missing = [f"{each} is not set" for each in cloud.missing(env)]
    installed = (
        []
        if find_spec(cloud.module.partition(".")[0])
        else [f"its package is not installed: {install_extra(cloud.extra)}"]
    )
    seen = f"credentials for {cloud.title} in {found}" if found else f"no credentials for {cloud.title} seen"
    return bool(found) and not (missing or installed), "; ".join((seen, *missing, *installed))


def _endpoints(program: Program, live: bool) -> Iterator[Finding]:
    """Report the addresses in use and whether they answer. No key is sent, and nothing is spent."""
    for settings in {**{name: BUILT_IN[name] for name in SERVERS}, **program.models.providers}.values():
        vendor, own = PROVIDERS[settings.kind], base_url(settings, program.env)
        url = own or vendor.url
        address = endpoint_of(program, settings)
        if settings.platform and not own:
            ok, result = True, "not contacted; its SDK knows the address"
        elif not own and needs_key(settings, program.env) and not credentials(settings, program.env):
            continue  # nobody uses it
        elif live:
            ok, result = reachability.answers(url, vendor.models_path, ANSWER_SECONDS)
        elif not own or reachability.proxied(url):
            ok, result = True, "not contacted (--live does)"
        else:
            why = reachability.connects(url, CONNECT_SECONDS)
            ok, result = not why, why or "a server listens there; `agentcli doctor --live` asks it"
        cure = "" if ok else ". Check the address and that the server runs"
        yield Finding(f"endpoint of {settings.name}", ok, f"{address}: {result}{cure}", needed=live)


def _capabilities(program: Program) -> Iterator[Finding]:
    """Capabilities that endpoints lacked or stated; these findings expire."""
    memory = program.models.memory
    for model, learnt in sorted(memory.all().items()):
        yield Finding(f"limits of {model}", True, limits(model, learnt, memory.days))


def _folders(program: Program) -> Iterator[Finding]:
    for kind in ("config", "data", "state", "cache"):
        path: Path = getattr(program.dirs, kind)
        existing = next(folder for folder in (path, *path.parents) if probe.exists(folder))
        ok = os.access(existing, os.W_OK)
        yield Finding(f"{kind} folder", ok, str(path) if ok else f"can't write to {existing}", needed=True)


def _helpers(program: Program) -> Iterator[Finding]:
    for name, use in (("git", "branch, diffs"), ("rg", "fast search; a slower built-in search is used")):
        where = shutil.which(name)
        yield Finding(name, where is not None, where or f"not on PATH ({use})")
    yield Finding("sandbox", program.workspace_policy.sandbox.working, program.workspace_policy.sandbox.report)
    if program.workspace_policy.sandbox.working:
        yield Finding("network", True, program.workspace_policy.network_report)
    yield _counting(program)
    yield from _policy(program)


def _counting(program: Program) -> Finding:
    context = program.config[ContextSettings]
    asked = context.estimator_of(context.policy)
    have = vocabularies(context.tiktoken.encodings, [program.vocabularies])
    fine = asked != "tiktoken" or bool(have)
    on_disk = ", ".join(f"{encoding} in {folder}" for folder, encoding in have)
    detail = (
        f"{asked if fine else 'calibrated instead of tiktoken'}; tiktoken's vocabulary: {on_disk or 'not installed'}"
    )
    cure = f" (put one into {program.vocabularies}; it is never downloaded)"
    return Finding("token counting", fine, detail if fine else detail + cure)


def _policy(program: Program) -> Iterator[Finding]:
    """Report whether the current model allows a policy that needs its provider; nothing for another policy."""
    policy = program.config[ContextSettings].policy
    does = {NATIVE: "clears old outputs itself", PROVIDER: "has its provider summarise"}.get(policy)
    if does is None:
        return
    try:
        spec = program.models.spec(program.selection.model_name())
    except AgentError as error:
        yield Finding("context policy", False, f"{policy}: {error}")
        return
    fine = not missing(policy, spec)
    yield Finding("context policy", fine, f"{policy}: {spec.name} {does}" if fine else fallen_back(policy, spec))


def _editors() -> Finding:
    """Report whether an editor can start `agentcli acp`: it needs the Agent Client Protocol's SDK, and the command on PATH."""
    if find_spec("acp") is None:
        return Finding(
            "editors",
            False,
            f"agent-client-protocol is not installed: {install('agent-client-protocol>=0.12.1,<0.13')}",
        )
    where = shutil.which("agentcli")
    if where is None:
        return Finding("editors", False, f"agentcli is not on PATH: give your editor {_own_program()} as its command")
    return Finding(
        "editors", True, f"{where} acp, with agent-client-protocol {package_version('agent-client-protocol')}"
    )


def _own_program() -> str:
    """Return the command line that starts `acp` with this program."""
    beside = Path(sys.executable).with_name("agentcli")
    return f"{beside} acp" if probe.exists(beside) else f"{sys.executable} -m agentcli acp"


def _sessions(program: Program, reading: Reading) -> Iterator[Finding]:
    infos = program.store.list(program.project)
    newest = infos[:NEWEST_SESSIONS]
    through = reading(sum(info.records for info in newest))
    broken = [info.id for info in newest if not check(program.store.folder(info), through=through).ok]
    looked = f"{len(infos):,} in this project, " + (f"the newest {len(newest):,} checked, " if newest != infos else "")
    detail = f"{looked}{len(broken)} damaged"
    yield Finding("sessions", not broken, f"{detail}: run `agentcli sessions check --repair`" if broken else detail)
