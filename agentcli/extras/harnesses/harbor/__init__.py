"""Adapter for Harbor, the harness of Terminal-Bench: `harbor run -a agentcli.extras.harnesses.harbor:AgentCli`. Only Harbor imports it.

Harbor needs Python 3.12 or newer and is not a dependency; in the task's container agentcli runs unchanged.
"""

from __future__ import annotations

import contextlib
import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

from harbor.agents.capabilities import AgentCapabilities
from harbor.agents.installed.base import (
    AgentAuthenticationError,
    AgentSafetyRefusalError,
    ApiOverloadedError,
    ApiRateLimitError,
    ApiUsageLimitError,
    BaseInstalledAgent,
    ContextWindowExceededError,
    ErrorPattern,
    NetworkConnectionError,
    NonZeroAgentExitCodeError,
    with_prompt_template,
)
from harbor.agents.options import Cli, InstalledAgentOptions
from pydantic import Field, create_model

from agentcli import __version__
from agentcli.core.errors import ConfigError, ContextError, CredentialsError, InputError, LimitReached
from agentcli.core.message import COUNTS, Usage
from agentcli.extras.exporters.atif.document import ImageFolder, subagents_in, to_atif
from agentcli.program.options import flags
from agentcli.providers.registry import PROVIDERS, kind_of, variables_of
from agentcli.sessions.exporting import Redactor
from agentcli.sessions.info import SessionInfo
from agentcli.sessions.store import Store
from agentcli.sessions.summaries import is_subagent
from agentcli.system import probe

EVENTS = "agentcli.jsonl"
"""File with a run's event lines in the folder of Harbor's agent logs."""
DATA = "agentcli-data"
"""Data folder of agentcli in that folder, so that the session survives the container."""
TRANSIENT = 75
"""Exit code of a run that may succeed later."""
_FIXED = "-o stream-json --mode yolo --set permissions.destructive=allow --set general.sandbox=off --set checkpoints.seconds=0 --set agent.confirm_done=true"
"""Flags for an unattended run: the container is the sandbox, and nothing in it needs to be undone."""
_FIND = 'export PATH="$HOME/.local/bin:$PATH"'


def _code(number: int) -> str:
    """Return a pattern of this exit code in a result."""
    return rf'"exit_code": {number}\b'


class LimitReachedError(NonZeroAgentExitCodeError):  # type: ignore[misc]
    """The agent reached one of its own limits: cost, turns, tokens or time."""


class _OwnOptions(InstalledAgentOptions):  # type: ignore[misc]
    package: str | None = Field(
        default=None, description="The package to install: a requirement, a URL, or a local wheel."
    )
    arguments: str | None = Field(default=None, description="More arguments of agentcli, as in a shell.")


_FLAGS: Mapping[str, Any] = {
    flag.name: (
        Annotated[flag.type | None, Cli(flag.names[-1])],
        Field(default=None, description=f"{flag.help[0].upper()}{flag.help[1:]}."),
    )
    for flag in flags("harbor")
}
AgentCliOptions = create_model(
    "AgentCliOptions", __base__=_OwnOptions, __doc__="Arguments of the agent: `--ak NAME=VALUE` of Harbor.", **_FLAGS
)


class AgentCli(BaseInstalledAgent):  # type: ignore[misc]
    """agentcli in the container of a Harbor task."""

    capabilities = AgentCapabilities(atif=True, resume=True)
    options_model = AgentCliOptions
    ERROR_PATTERNS = (
        *BaseInstalledAgent.ERROR_PATTERNS,
        ErrorPattern(rf"(?:429|rate.?limit).*{_code(TRANSIENT)}", ApiRateLimitError),
        ErrorPattern(rf"(?:connect|network|resolve).*{_code(TRANSIENT)}", NetworkConnectionError),
        ErrorPattern(_code(TRANSIENT), ApiOverloadedError),
        ErrorPattern(rf"(?:quota|credit|billing).*{_code(1)}", ApiUsageLimitError),
        ErrorPattern(rf'"refused".*{_code(1)}', AgentSafetyRefusalError),
        ErrorPattern(_code(CredentialsError.exit_code), AgentAuthenticationError),
        ErrorPattern(_code(LimitReached.exit_code), LimitReachedError),
        ErrorPattern(_code(ContextError.exit_code), ContextWindowExceededError),
        ErrorPattern(
            rf"{_code(2)}|{_code(InputError.exit_code)}|{_code(ConfigError.exit_code)}", NonZeroAgentExitCodeError
        ),
    )
    """Errors by pattern. The match nearest to the end counts, and the first of several there: every message precedes
    its exit code.
    """

    @staticmethod
    def name() -> str:
        """Return the name under which Harbor lists results."""
        return "agentcli"

    def get_version_command(self) -> str | None:
        """Return the command that prints the installed version."""
        return f"{_FIND}; agentcli --version"

    def parse_version(self, stdout: str) -> str:
        """Return the version in the output of that command."""
        return stdout.strip().rsplit(" ", 1)[-1]

    async def install(self, environment: Any) -> None:
        """Install agentcli with uv, unless the image already has the requested version."""
        there = await environment.exec(command=self.get_version_command())
        version = self.parse_version(there.stdout or "") if there.return_code == 0 else ""
        if version and version == (self._version or version) and not self.options.package:
            return
        await self.ensure_system_dependencies(environment, ("curl", "git", "ca_certificates"))
        wanted = self.options.package or f"agentcli=={self._version or __version__}"
        if probe.is_file(Path(wanted)):
            target = f"/installed-agent/{Path(wanted).name}"
            await environment.upload_file(wanted, target)
            wanted = target
        # In a requirement the extra comes before the version, in a file or URL at the end.
        name, mark, rest = wanted.partition("==")
        uv = "command -v uv >/dev/null || curl -LsSf https://astral.sh/uv/install.sh | sh"
        install = f"uv tool install --force --python 3.12 {shlex.quote(f'{name}{self._extra}{mark}{rest}')}"
        await self.exec_as_agent(environment, command=f"set -e; {_FIND}; {uv}; {install}")

    @with_prompt_template  # type: ignore[untyped-decorator]
    async def run(self, instruction: str, environment: Any, context: Any) -> None:
        """Work on the instruction, in a new session or in the previous step's session."""
        logs = self.environment_logs_dir
        # The text of a task is never a command of agentcli.
        text = f"Task:\n{instruction}" if instruction.lstrip()[:1] in ("/", "!", "#") else instruction
        words = [*(("-m", self._model) if self._model else ()), *shlex.split(self.options.arguments or "")]
        start = "resume --last" if self._resume else ""
        events = shlex.quote(str(logs / EVENTS))
        # An undone task is a result, which the verifier judges, and not an error of the run.
        judged = f'tail -n 1 {events} | grep -q \'"subtype": "incomplete"\''
        await self.exec_as_agent(
            environment,
            command=f"{_FIND}; printf %s {shlex.quote(text)} | "
            f"agentcli {start} -p - {_FIXED} {shlex.join(words)} {self.build_cli_flags()} | tee {events} || {judged}",
            env={**self._keys(), "XDG_DATA_HOME": str(logs / DATA)},
        )

    def populate_context_post_run(self, context: Any) -> None:
        """Write `trajectory.json` from the session, and record tokens and cost of the run."""
        store = Store(self.logs_dir / DATA / "agentcli" / "sessions")
        found = [info for info in store.list() if not is_subagent(info)]
        if not found:
            return
        newest = max(found, key=lambda info: info.time.updated)
        session = store.open(newest.project_id, newest.id, read_only=True)
        place = ImageFolder(self.logs_dir / "trajectory.images")
        with (self.logs_dir / "trajectory.json").open("w", encoding="utf-8") as file:
            clean = Redactor(self._keys().values())
            file.writelines(to_atif(session, subagents_in(store, newest), clean, place))
        usage, cost = self._spent(newest)
        context.n_input_tokens, context.n_output_tokens = usage.prompt, usage.output
        context.n_cache_tokens, context.cost_usd = usage.cache_read, cost

    def _spent(self, info: SessionInfo) -> tuple[Usage, float | None]:
        """Return tokens and USD of the last run from its result. If the run was killed before, return those of the
        whole session.
        """
        events = self.logs_dir / EVENTS
        lines = events.read_text(encoding="utf-8", errors="replace").split("\n") if probe.is_file(events) else []
        if (result := _result(lines)) is None:
            return info.usage, info.cost
        counts = result.get("usage") or {}
        return Usage(**{name: counts.get(name, 0) for name in COUNTS}), result.get("cost")

    @property
    def _provider(self) -> str:
        return str(self.model_name or "").partition("/")[0]

    @property
    def _kind(self) -> str:
        """Kind of the provider, by its own name or a common alias; empty if it is unknown."""
        return kind_of(self._provider)

    @property
    def _model(self) -> str:
        """The model by agentcli's name."""
        name = str(self.model_name or "")
        return f"{self._kind}/{name.partition('/')[2]}" if self._provider in _ALSO else name

    @property
    def _extra(self) -> str:
        """Extra of the package that contains the provider's SDK."""
        extra = PROVIDERS[self._kind].extra if self._kind else ""
        return f"[{extra}]" if extra else ""

    def _keys(self) -> Mapping[str, str]:
        """Return the variables of the model's provider that are set here: its key, and the address of its server."""
        names = variables_of(self._provider)
        return {name: value for name in names if (value := self._get_env(name)) is not None}

    def _classify_exec_error(self, command: str, result: Any) -> Exception:
        """Classify only by the run's result: output of tools and of the model proves nothing."""
        if (ended := _result((result.stdout or "").split("\n"))) is None:
            return super()._classify_exec_error(command, result)  # type: ignore[no-any-return]
        stdout = json.dumps({name: ended.get(name) for name in ("subtype", "error", "exit_code")})
        evidence = SimpleNamespace(return_code=result.return_code, stdout=stdout, stderr=result.stderr)
        return super()._classify_exec_error(command, evidence)  # type: ignore[no-any-return]


_ALSO = frozenset(name for provider in PROVIDERS.values() for name in provider.also)


def _result(lines: Sequence[str]) -> Mapping[str, Any] | None:
    """Return the result among the event lines of a run, or None."""
    for line in reversed(lines):
        if line.startswith("{"):
            with contextlib.suppress(ValueError):
                event: Mapping[str, Any] = json.loads(line)
                if event.get("type") == "result":
                    return event
    return None
