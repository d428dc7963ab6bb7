import os
import re
import shlex
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple


class NonZeroAgentExitCodeError(RuntimeError): ...


class AgentAuthenticationError(NonZeroAgentExitCodeError): ...


class AgentSafetyRefusalError(NonZeroAgentExitCodeError): ...


class ApiOverloadedError(NonZeroAgentExitCodeError): ...


class ApiRateLimitError(NonZeroAgentExitCodeError): ...


class ApiUsageLimitError(NonZeroAgentExitCodeError): ...


class ContextWindowExceededError(NonZeroAgentExitCodeError): ...


class NetworkConnectionError(NonZeroAgentExitCodeError): ...


class ErrorPattern(NamedTuple):
    pattern: str
    exception: type[NonZeroAgentExitCodeError]


def with_prompt_template(function: Any) -> Any:
    return function


class BaseInstalledAgent:
    ERROR_PATTERNS: tuple[ErrorPattern, ...] = ()
    options_model: Any
    _resume = False
    _version = None

    def __init__(self, logs_dir: Path, model_name: str, **options: Any) -> None:
        self.logs_dir, self.model_name = logs_dir, model_name
        self.environment_logs_dir = PurePosixPath(logs_dir)
        self.options = self.options_model(**options)

    def build_cli_flags(self) -> str:
        given = []
        for name, field in type(self.options).model_fields.items():
            for flag in field.metadata:
                if (value := getattr(self.options, name)) is not None:
                    given.append(f"{flag.flag} {shlex.quote(str(value))}")
        return " ".join(given)

    def _get_env(self, name: str) -> str | None:
        return os.environ.get(name)

    async def ensure_system_dependencies(self, environment: Any, names: tuple[str, ...]) -> None:
        environment.commands.append(" ".join(names))

    async def exec_as_agent(self, environment: Any, command: str, env: Any = None) -> Any:
        result = await environment.exec(command=f"set -o pipefail; {command}", env=env)
        if result.return_code:
            raise self._classify_exec_error(command, result)
        return result

    def _classify_exec_error(self, command: str, result: Any) -> Exception:
        for pattern, exception in self.ERROR_PATTERNS:
            if re.search(pattern, result.stdout):
                return exception(result.stderr)
        return NonZeroAgentExitCodeError(result.stderr)
