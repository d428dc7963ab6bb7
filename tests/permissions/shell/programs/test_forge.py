"""Commands of gh that only read."""

import shlex

import pytest

from agentcli.permissions.shell.programs.forge import reads_forge


@pytest.mark.parametrize(
    "line",
    [
        "gh pr view 66 -R owner/name --json title",
        "gh pr checks 183",
        "gh run view 7 --log-failed",
        "gh issue list --state open --search 'is:open x'",
        "gh api repos/owner/name/pulls/3/comments --jq '.[].body'",
        "gh api -X GET '/repos/{owner}/{repo}/issues?state=open' --paginate",
        "gh api graphql -f query='query($n: Int!) { x }' -F n=3",
        "gh search code foo --repo owner/name",
    ],
)
def test_reading_commands(line: str) -> None:
    assert reads_forge(shlex.split(line))


@pytest.mark.parametrize(
    "line",
    [
        "gh pr create --title x",
        "gh pr list --web",
        "gh pr view -R other.example/owner/name",
        "gh api -X POST repos/owner/name/issues",
        "gh api repos/owner/name/issues -f title=x",
        "gh api https://other.example/x",
        "gh api graphql -f query='mutation { x }'",
        "gh api graphql -f query='{ x }' -F y=@secret.txt",
        "gh api repos/a/b --hostname other.example",
        "gh auth status --show-token",
        "gh auth token",
        "gh run download 7",
        "gh alias set x '!rm'",
        "hub pr view 3",
    ],
)
def test_others(line: str) -> None:
    assert not reads_forge(shlex.split(line))
