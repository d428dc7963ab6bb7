"""Commands of `gh` that only read from the host of a repository, in the notation of `Shape`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from agentcli.permissions.git_config import repository
from agentcli.permissions.network.hosts import host_name, hosts_in
from agentcli.permissions.shell.programs.known_programs import word_set
from agentcli.permissions.shell.programs.option_grammar import Found, Shape, fit

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
    Shape(_VIEWED, "=pr|issue|run|release|workflow|repo|ruleset =view|checks|status|watch asked?"),
    Shape(_VIEWED, "=pr =diff asked*"),
    Shape(f"{_SHOWN} {_AT} -e:text --env=text -o:text --org=text", "=secret|variable =list|ls"),
    Shape(_FOUND, "=search =issues|prs|repos|code|commits text*"),
    Shape("", "=auth =status"),
    Shape(_CALLED, "=api call"),
    Shape(f"{_CALLED} -f:query -F:query --field=query --raw-field=query", "=api =graphql"),
)
_ASKED = Shape(f"{_CALLED} -f:said -F:said --field=said --raw-field=said", "=api call")
"""A call with parameters, which only reads if its method is named."""


def _reading(arguments: Sequence[str]) -> tuple[Shape, Found] | str:
    """Return the shape of a command that only reads, with its values, or why it may do more."""
    found = fit(_READING, arguments)
    asked = fit((_ASKED,), arguments) if isinstance(found, str) else found
    methods = {("option", "-X"), ("option", "--method")}
    return asked if not isinstance(asked, str) and not methods.isdisjoint(asked[1]) else found


_SAID = "-t:text --title=text -b:text --body=text -F:path --body-file=path -R:repo --repo=repo"
_WRITING = (
    Shape(
        f"{_SAID} -B:branch --base=branch -H:branch --head=branch -d --draft -a:text --assignee=text -l:text --label=text -r:text --reviewer=text "
        "-m:text --milestone=text -f --fill --fill-first --fill-verbose --no-maintainer-edit",
        "=pr|issue =create",
    ),
    Shape(f"{_SAID} --edit-last", "=pr|issue =comment text?"),
    Shape(
        f"{_SAID} --add-label=text --remove-label=text --add-assignee=text --remove-assignee=text --add-reviewer=text --base=branch -B:branch",
        "=pr|issue =edit text?",
    ),
    Shape("-c --comment -b:text --body=text -F:path --body-file=path -R:repo --repo=repo", "=pr =review text?"),
    Shape("--undo -R:repo --repo=repo", "=pr =ready text?"),
    Shape("-R:repo --repo=repo -c:text --comment=text -r:text --reason=text", "=pr|issue =close|reopen text?"),
    Shape(
        "-f:said -F:said --field=said --raw-field=said -X:=POST --method==POST -H:text --header=text -q:jq --jq=jq --silent -i",
        "=api thread",
    ),
    *(
        Shape(f"-f:{kind} -F:{kind} --field={kind} --raw-field={kind} -q:jq --jq=jq --silent", "=api =graphql")
        for kind in ("remark", "comment")
    ),
)
"""Commands of `gh` that write only what their words, or the files among them, say."""


_PAGE = re.compile(r"https?://", re.IGNORECASE)
"""A page, which may be of any repository."""
_TEXTS = word_set("-t --title -b --body -c --comment")


def told_by(pattern: str, words: Sequence[str]) -> bool | None:
    """Return whether a rule such as `gh pr create *` covers a command; None for any other rule."""
    kind = [word for word in pattern.split(" ")[1:] if word != "*"]
    told = words[0] == "gh" and (kind[:1] == ["api"] or (len(kind) == 2 and f"{kind[0]} {kind[1]}" in _TOLD))
    return writes_forge(words) == pattern if told else None


REVIEW_THREADS = "gh api graphql *ReviewThread*"
"""Pattern of the rule for answering and resolving threads of reviews."""
COMMENTS = "gh api graphql *Comment*"
"""Pattern of the rule for adding comments to discussions, issues and pull requests."""
_TOLD = frozenset(
    f"{kind} {act}" for kind in ("pr", "issue") for act in word_set("create comment edit ready close reopen review")
)


def writes_forge(words: Sequence[str]) -> str:
    """Return the pattern of the rule that allows a command of `gh` that writes what its words say.

    Return an empty text for any other command.
    """
    fitting = fit(_WRITING, list(words[1:])) if words[0] == "gh" else ""
    if isinstance(fitting, str):
        return ""
    if any(_PAGE.match(word) and before not in _TEXTS for before, word in pairwise(words)):
        return ""
    if words[1] == "api":
        return _remarked(fitting[1])
    elsewhere = [f"--repo {value} " for kind, value in fitting[1] if kind == "repo"]
    return f"gh {words[1]} {words[2]} {''.join(elsewhere)}*"


def _remarked(found: Found) -> str:
    """Return the pattern for a comment by a direct call on a pull request, an issue or a review thread."""
    kinds = [kind for kind, value in found if kind in ("remark", "comment") and value.startswith("query=")]
    if kinds:
        return REVIEW_THREADS if kinds[0] == "remark" else COMMENTS
    thread = next((value for kind, value in found if kind == "thread"), "")
    return f"gh api {thread} *" if thread and any(kind == "said" for kind, _ in found) else ""


def repository_written(words: Sequence[str]) -> str | None:
    """Return the repository whose pull requests and issues a command of `gh` writes, empty for that of the folder.

    Return None for any other command, and for a call that names none.
    """
    fitting = fit(_WRITING, list(words[1:])) if writes_forge(words) else ""
    if isinstance(fitting, str) or tuple(words[1:3]) == ("api", "graphql"):
        return None
    named = {value for kind, value in fitting[1] if kind == "repo"}
    threads = (value.lstrip("/").split("/")[1:3] for kind, value in fitting[1] if kind == "thread")
    named |= {"/".join(parts) for parts in threads} - {"{owner}/{repo}"}
    return None if len(named) > 1 else "".join(named).lower()


def files_told(words: Sequence[str]) -> tuple[str, ...]:
    """Return the files whose text a writing command of `gh` publishes; `-` is its input."""
    fitting = fit(_WRITING, list(words[1:]))
    return () if isinstance(fitting, str) else tuple(value for kind, value in fitting[1] if kind == "path")


def reads_forge(words: Sequence[str]) -> bool:
    """Return True if a command of `gh` only reads, from a host that the person has chosen."""
    return words[0] == "gh" and not isinstance(_reading(list(words[1:])), str)


def asks_elsewhere(words: Sequence[str], folders: Sequence[Path]) -> bool:
    """Return True if a reading command of `gh` names a page or repository of a host that no remote has."""
    fitting = _reading(list(words[1:]))
    subjects = [value for kind, value in fitting[1] if kind == "asked"] if not isinstance(fitting, str) else []
    named = [match for value in subjects if (match := (_REPOSITORY if words[1] == "repo" else _ADDRESS).match(value))]
    return bool(named) and not {host_name(match[match.lastindex or 1]) for match in named} <= _remote_hosts(folders) | {
        _USUAL
    }


_ADDRESS = re.compile(r"\s*[a-z][a-z0-9+.-]*://(?:[^/?#]*@)?([^/?#:]*)", re.IGNORECASE)
_REPOSITORY = re.compile(rf"{_ADDRESS.pattern}|(?:[^/@]*@)?([^/:]+)(?::|/[^/]*/)", re.IGNORECASE)


def _remote_hosts(folders: Sequence[Path]) -> frozenset[str]:
    return hosts_in(_text(place / "config") for at in folders for place in repository(at)[1:])


def forge_host(words: Sequence[str], folders: Sequence[Path], env: Mapping[str, str]) -> str:
    """Return the host that a reading command of `gh` asks; empty if its words and the repository leave it open."""
    fitting = _reading(list(words[1:]))
    named = [value for kind, value in fitting[1] if kind == "repo"] if not isinstance(fitting, str) else []
    if env.get("GH_HOST") or any(value.count("/") > 1 for value in named):
        return host_name(env.get("GH_HOST") or named[0].partition("/")[0]) if len(named) < 2 else ""
    remotes = _remote_hosts(folders) or {_USUAL}
    return _USUAL if named or _USUAL in remotes else "" if len(remotes) > 1 else next(iter(remotes))


_USUAL = "github.com"


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
