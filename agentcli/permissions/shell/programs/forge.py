"""Commands of `gh` that only read from the host of a repository, in the notation of `Shape`."""

from __future__ import annotations

from collections.abc import Sequence

from agentcli.permissions.shell.programs.option_grammar import Shape, fit

_SHOWN = "-q:jq --jq=jq --json=word -T:text --template=text -t:text"
_AT = "-R:repo --repo=repo"
_LISTED = f"""
{_SHOWN} {_AT} -L:number --limit=number -s:word --state=word -A:text --author=text -a:text --assignee=text -l:text --label=text -S:text
--search=text -B:text --base=text -H:text --head=text -d --draft -m:text --milestone=text -b:text --branch=text -w:text --workflow=text
-e:text --event=text -u:text --user=text -c:text --commit=text --created=text --status=word --archived --fork --source --visibility=word
--language=text --topic=text --owner=text --order=word --sort=word --updated=text --merged --exclude-drafts --exclude-pre-releases --all
"""
_VIEWED = f"""
{_SHOWN} {_AT} -c --comments --log --log-failed -v --verbose -j:number --job=number -a:number --attempt=number --exit-status --watch[=word]
-i:number --interval=number --fail-fast --required --compact --patch --name-only --color=word -y --yaml -r:word --ref=word
"""
_FOUND = _LISTED.replace(_AT, "--repo=text --filename=text --extension=text --match=word --size=text")
_CALLED = "-q:jq --jq=jq -X:=GET|HEAD --method==GET|HEAD -H:text --header=text --paginate --slurp -i --include --cache=word --silent --template=text"
_READING = (
    Shape(_LISTED, "=pr|issue|run|release|workflow|label|cache|repo|ruleset|milestone =list|ls text?"),
    Shape(_VIEWED, "=pr|issue|run|release|workflow|repo|ruleset =view|diff|checks|status|watch text?"),
    Shape(_FOUND, "=search =issues|prs|repos|code|commits text*"),
    Shape("", "=auth =status"),
    Shape(_CALLED, "=api call"),
    Shape(f"{_CALLED} -f:query -F:query --field=query --raw-field=query", "=api =graphql"),
)


def reads_forge(words: Sequence[str]) -> bool:
    """Return True if a command of `gh` only reads, from a host that the person has chosen."""
    return words[0] == "gh" and not isinstance(fit(_READING, list(words[1:])), str)
