"""Kinds of checks that commands run, by their programs and scripts: tests, builds, linters, or all of them."""

from __future__ import annotations

from agentcli.agent.check_commands import kinds_of
from tests.tables import each_row


@each_row(
    ("command", "kinds"),
    [
        ("pytest -q", {"tests", "checks"}),
        ("uv run python -m pytest tests/a.py", {"tests", "checks"}),
        ("npm test", {"tests", "checks"}),
        ("pnpm --filter api run test:unit", {"tests", "checks"}),
        ("cargo test", {"tests", "build", "checks"}),
        ("./scripts/run_tests.sh", {"tests", "checks"}),
        ("make check", {"tests", "build", "lint", "checks"}),
        ("make -j4 CC=clang", {"build", "lint", "checks"}),
        ("make install", set()),
        ("npx tsc --noEmit", {"build", "lint", "checks"}),
        ("npx eslint tests/", {"lint", "checks"}),
        ("npm run build", {"build", "lint", "checks"}),
        ("pip install pytest", set()),
        ("npm ci", set()),
        ("grep -rn pytest .", set()),
        ("cat tests/test_a.py", set()),
        ("pytest --collect-only", set()),
        ("git add tests", set()),
        ("gh pr checks 12", {"tests", "build", "lint", "checks", "ci"}),
        ("bash -n scripts/deploy.sh", {"lint", "checks"}),
        ("node --check src/a.js", {"lint", "checks"}),
        ("php -l src/a.php", {"lint", "checks"}),
        ("bash scripts/deploy.sh -n", set()),
        ("gh pr view 12", {"tests", "build", "lint", "checks", "ci"}),
    ],
)
def test_a_command_runs_the_checks_that_its_program_is_for(command: str, kinds: set[str]) -> None:
    assert kinds_of(command.split()) == kinds
