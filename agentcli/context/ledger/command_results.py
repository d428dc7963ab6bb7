"""Outcomes of commands in a line or two, with the results of test runs."""

from __future__ import annotations

import re

from agentcli.core.dataclass import dataclass

_LINE = 200
"""Longest line kept of an output, in characters."""
_HEAD = 1_000
"""Characters at each end of a command to search for a test runner."""
_NAMES = 12
"""Most failing tests kept by name."""


@dataclass(frozen=True, slots=True)
class Tests:
    """Summary lines of a test run as printed, and the failed tests."""

    summary: str
    failing: tuple[str, ...] = ()


def is_test_run(command: str) -> bool:
    """Return True if a command runs tests, by the names of the runners."""
    return bool(re.search(_RUNNER, command[:_HEAD]) or re.search(_RUNNER, command[_HEAD:][-_HEAD:]))


def is_check(command: str) -> bool:
    """Return True if a command runs tests, or builds or inspects the work, by the names of its programs.

    Printing alone does not count.
    """
    return is_test_run(command) or bool(re.search(_BUILDER, command[:_HEAD]))


def read_tests(output: str) -> Tests | None:
    """Return the report of a test runner, or None if there is none.

    Known are pytest, unittest, jest, vitest, mocha, node, cargo, go and others.
    """
    lines = [_plain(line) for line in output.splitlines()]
    summary = [line.strip(" =-")[:_LINE] for line in lines if re.search(_SUMMARY, line)]
    failing = [_cut(found["name"]) for line in lines if (found := re.search(_FAILING, line))]
    if not summary and not any(re.search(_FAILING_TEST, line) for line in lines):
        return None  # A linter marks its findings with the same signs.
    return Tests("; ".join(dict.fromkeys(summary[-6:])), tuple(dict.fromkeys(failing))[:_NAMES])


def tries(command: str, test: str) -> bool:
    """Return True if a run of tests includes a test, by what the command gives its runner.

    A command without any includes all tests.
    """
    name = test.split(" - ")[0].strip()
    given = _arguments(command)
    wanted = [word for words in re.findall(_SELECTING, given) for word in words if word]
    paths = [word for word in re.findall(_TEST_PATH, given) if not word.startswith("-")]
    if paths and not any(_names(path, name) for path in paths):
        return False
    return not wanted or any(part in name for word in wanted for part in re.findall(r"\w{3,}", word))


def _arguments(command: str) -> str:
    """Return the arguments of the last test runner in a command, without redirections and pipes."""
    end = max((found.end() for found in re.finditer(_RUNNER, command)), default=0)
    return re.split(r"\d?[|;&>\n]", command[end:], maxsplit=1)[0]


def stops_early(command: str) -> bool:
    """Return True if a run of tests ends at its first failure."""
    return bool(re.search(r"(?<!\S)(?:-x|--exitfirst|--maxfail\S*|--bail\S*|--fail-fast|-failfast)(?!\S)", command))


def _names(path: str, test: str) -> bool:
    """Return True if a path in a command is a test's file or a folder above it.

    If the path names a test, it must be this one.
    """
    place, _, wanted = path.removeprefix("./").rstrip("/").partition("::")
    file, _, function = test.partition("::")
    within = not place or f"{file}/".startswith(f"{place}/") or f"/{place}".endswith(f"/{file}")
    return within and (not wanted or function == wanted or function.startswith((f"{wanted}[", f"{wanted}::")))


_SELECTING = r"(?:-k|-t|--grep|--testNamePattern|-run)[ =](?:'([^']*)'|\"([^\"]*)\"|(\S+))"
_TEST_PATH = r"(?<![\w/.=-])[\w./-]+(?:\.\w+|/)(?:::[\w\[\]:.-]+)?(?![\w/])"


def outcome(output: str, failed: bool) -> str:
    """Return the most informative line of an output: the error of a failure, otherwise the last line with words."""
    lines = [line for line in (_plain(line).strip() for line in output.splitlines()) if re.search(r"\w", line)]
    lines = [line for line in lines if not re.search(_NOISE, line)]
    if failed:
        errors = [line for line in lines if re.search(_ERROR, line)]
        named = [line for line in errors if re.search(_NAMED_ERROR, line)]
        lines = named[-1:] or errors[:1] or lines
    return _cut(lines[-1]) if lines else ""


def summary_of(output: str, failed: bool) -> str:
    """Return the outcome of a command in one line, with the figures if it is a run of tests."""
    tests = read_tests(output)
    pieces = dict.fromkeys(filter(None, (outcome(output, failed), tests.summary if tests else "")))
    return _cut("; ".join(pieces))


def _cut(line: str) -> str:
    return line if len(line) <= _LINE else line[: _LINE - 1] + "…"


def _plain(line: str) -> str:
    return re.sub(_COLOUR, "", line)


_COLOUR = r"\x1b\[[0-9;?]*[A-Za-z]"
_RUNNER = (
    r"(?<![\w/.-])(?:\S*/)?(?:pytest|py\.test|unittest|nose2|tox|nox|jest|vitest|mocha|ava|rspec|phpunit|ctest|"
    r"(?:npm|yarn|pnpm|bun|deno|cargo|go|dotnet|mvn|gradle|gradlew|make|mix|swift|zig build|node --)\s*(?:-\S+\s+)*(?:run\s+)?(?:test|check|nextest)(?:[:_-][\w-]+)*(?!\w))"
    r"(?![\w/.-]*\.(?:toml|ini|cfg|js|ts)\b)(?=$|[\s;&|:)'\"])"
)
_BUILDER = (
    r"(?:^|[;&(]\s*|&&\s*|\b(?:npx|pnpx|bunx|poetry run|uv run|rtk|time|env)\s+)(?:\S*/)?(?:"
    r"make|cmake|ninja|bazel|tsc|mypy|pyright|ruff|flake8|pylint|eslint|biome|golangci-lint|shellcheck|javac|rustc|pre-commit|"
    r"(?:npm|yarn|pnpm|bun|deno|cargo|go|dotnet|mvn|gradle|gradlew|mix|swift|zig|vite|next)\s+(?:-\S+\s+)*(?:run\s+)?"
    r"(?:build|compile|lint|vet|clippy|type-?check|types|verify|package)(?:[:_-][\w-]+)*)(?=$|[\s;&|)])"
)
_SUMMARY = (
    r"^=*\s*(?:\d+ \w+, )*\d+ (?:passed|failed|errors?|skipped|deselected|xfailed|xpassed|warnings?)\b.* in [\d.]+m?s"  # pytest
    r"|^=*\s*no tests ran in"
    r"|^Ran \d+ tests? in|^(?:OK|FAILED)(?: \(.*\))?$"  # unittest
    r"|^\s*Test(?:s| Suites| Files):?\s+.*\b\d+ (?:passed|failed|total)"  # jest, vitest
    r"|^\s*\d+ (?:passing|failing|pending)\b"  # mocha
    r"|^(?:#|ℹ) (?:tests|pass|fail) \d+"  # node
    r"|^test result: "  # cargo
    r"|^(?:ok|FAIL|---\s*FAIL:)\s+\S+.*(?:\d+\.\d+s|\(cached\)|\[build failed\])"  # go
    r"|^\d+ examples?, \d+ failures?"  # rspec
    r"|^Tests run: \d+, Failures: \d+"  # maven
    r"|^(?:Passed!|Failed!)\s+-"  # dotnet
    r"|^\d+% tests passed"  # ctest
)
_FAILING = r"^(?:(?:FAILED|ERROR)\s+(?=\S+(?:::|\.py))|(?:FAIL|ERROR):\s+|--- FAIL:\s+|\s+(?:✕|✗|×)\s+|not ok \d+ - )(?P<name>\S.*?)\s*$"
_FAILING_TEST = r"^(?:(?:FAILED|ERROR)\s+(?=\S+(?:::|\.py))|(?:FAIL|ERROR):\s+|--- FAIL:\s+|not ok \d+ - )"
_ERROR = r"(?i)\b(?:error|exception|fatal|failed|failure|panic|denied|not found|no such|cannot|undefined|invalid|refused)\b|\w(?:Error|Exception)\b"
_NOISE = (
    # Lines about the program itself, whatever the result of its work.
    r"(?i)^(?:waiting for the debugger|debugger (?:attached|listening)|for help,? see:|starting inspector|command exited with code|exit (?:code|status):?) ?"
    r"|^(?:npm|pnpm|yarn) (?:notice|warn|info)\b|^a complete log of this run|^hint:|^\(use \"git |^warning: (?:lf|crlf) will be"
    r"|^done(?: in [\d.]+ ?m?s)?[.!]?$|^✨|^\$ |^> |^\(no output\)$|^(?:real|user|sys)\s+\d+m|^\d+%\||^\[\d+/\d+\]$|^downloading\b|^[{}()\[\];,]+$"
)
_NAMED_ERROR = r"^(?:E\s+)?[\w.]*(?:Error|Exception|Interrupt|Exit)\b(?::|$)"
