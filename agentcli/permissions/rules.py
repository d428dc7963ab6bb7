"""Rules that people write, `TOOL` or `TOOL(pattern)`, to allow, ask or deny.

A rule matches a command, a path or a URL.
"""

from __future__ import annotations

import itertools
import os
import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlsplit

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import AgentError, ConfigError, UsageError
from agentcli.core.mcp_servers import PREFIX
from agentcli.core.text.path_pattern import (
    Reading,
    as_text,
    covers_below,
    literal,
    matches_in_some_reading,
    names_wildcard,
    path_regex,
    written_out,
)
from agentcli.core.text.words import instead
from agentcli.permissions.paths import (
    PRIVATE_IN_HOME,
    Workspace,
    canonical,
    impossible,
    is_template,
    judge_path,
    leaves_templates,
    resolved,
)
from agentcli.system import probe

Origin = Literal["config", "your answers", "project", "session", "flag", "skill"]
SANDBOX = "sandbox"
"""Name, instead of a tool, of allow rules for commands that run unasked as far as the sandbox contains them."""
NETWORK = "network"
"""The name, in place of a tool, of rules about hosts that commands in the sandbox reach: `network(*.example.org)`."""
BY_SSH = "ssh:"
"""Beginning of a host in rules about reading there by ssh: `network(ssh:HOST)`."""
IN_CONTAINER = "container:"
"""Beginning of a container's name in rules about commands in it: `network(container:NAME)`."""
OWN_PROJECT = "./*"
"""Name of all containers that get no more than the workspace, and of its compose file's: `network(container:./*)`."""
READING_WITH = "reading:"
"""Beginning of a program's name in rules about reading with the person's login: `network(reading:PROGRAM)`."""
RUNNING_AT = "running:"
"""Beginning of a machine's name in rules about all commands there by ssh, and copies: `network(running:HOST)`."""
WRITING_WITH = "writing:"
"""Beginning of a forge's client in rules about what it writes there: `network(writing:gh)`, or `writing:gh/OWNER/NAME`."""
SERVICE_AT = "service:"
"""Beginning of a service's name in rules about starting and stopping it by ssh: `network(service:HOST/NAME)`."""
_PLACES = (SERVICE_AT, BY_SSH, IN_CONTAINER, READING_WITH, RUNNING_AT, WRITING_WITH)
EVERY_SANDBOXED = f"{SANDBOX}(*)"
"""The rule for every command that the sandbox contains, whatever its program."""
_RULE = re.compile(r"([A-Za-z*][A-Za-z0-9_*.:-]*)(?:\((.*)\))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. An empty `pattern` matches every call of the tool; in `tool` a `*` matches any letters.

    For `bash` the pattern is a command, where `*` is any text and `\\*` is a star. A trailing ` *` or `:*` is any
    arguments or none. For file tools it is a path as in .gitignore: relative to the workspace, absolute, or from `~/`.
    For `web_fetch` it is a URL, or `domain:example.org`.
    """

    tool: str
    pattern: str = ""
    origin: Origin = "config"
    proposed: bool = False
    """True for a rule that agentcli proposed: its wildcard covers only words of the approved kind.

    A rule that a person wrote covers everything it matches.
    """
    whole: bool = False
    """True for a proposed rule about a whole program: it covers what `whole_programs.py` says of its program."""

    def __str__(self) -> str:
        return f"{self.tool}({self.pattern})" if self.pattern else self.tool

    @property
    def boxes_all(self) -> bool:
        """True if an allow rule is about every command that the sandbox contains: `sandbox(*)`, or `sandbox` alone."""
        return self.tool == SANDBOX and self.pattern in ("", "*")

    def is_for(self, tool: str) -> bool:
        """Return True if the rule applies to this tool.

        `mcp__git` applies to every tool of the server git, and `edit` also to `multi_edit`.
        """
        from agentcli.core.aliases import like_tool

        if self.tool.startswith(PREFIX) and "__" not in self.tool[len(PREFIX) :] and tool.startswith(f"{self.tool}__"):
            return True
        return self.tool in (tool, like_tool(tool)) or ("*" in self.tool and bool(wildcard(self.tool).fullmatch(tool)))


@dataclass(frozen=True, slots=True)
class Rules:
    """All active rules; deny comes before ask, ask before allow."""

    allow: tuple[Rule, ...] = ()
    ask: tuple[Rule, ...] = ()
    deny: tuple[Rule, ...] = ()

    def __add__(self, other: Rules) -> Rules:
        return Rules(self.allow + other.allow, self.ask + other.ask, self.deny + other.deny)

    def listed(self) -> list[tuple[str, Rule]]:
        """Return each rule with its decision, the strongest first."""
        kinds = {"deny": self.deny, "ask": self.ask, "allow": self.allow}
        return [(kind, rule) for kind, rules in kinds.items() for rule in rules]


def kind_of_place(pattern: str) -> str:
    """Return the beginning of a pattern about a place that only commands outside the sandbox reach; empty for a host."""
    return next((kind for kind in _PLACES if pattern.startswith(kind)), "")


def parse_rule(text: str, origin: Origin = "config") -> Rule:
    """Parse a rule. Raise UsageError for an invalid rule in a flag, ConfigError for one from elsewhere."""
    match = _RULE.fullmatch(text.strip())
    if not match or (match[2] is not None and not match[2].strip()):
        raise _nonsense(origin)(f"{text!r} is not a rule. Write TOOL or TOOL(pattern), for example bash(npm test).")
    return Rule(match[1].lower() if match[1].isalpha() else match[1], (match[2] or "").strip(), origin)


def proposed_rules(allow: Iterable[str], *, whole: bool = False) -> Rules:
    """Parse allow rules that agentcli proposed, about whole programs or not. Raise like `parse_rule`."""
    return Rules(tuple(replace(parse_rule(text, "session"), proposed=True, whole=whole) for text in allow))


def parse_rules(
    allow: Iterable[str] = (), ask: Iterable[str] = (), deny: Iterable[str] = (), origin: Origin = "config"
) -> Rules:
    """Parse lists of rules with one common origin. Raises like `parse_rule`."""
    read = [tuple(parse_rule(text, origin) for text in texts) for texts in (allow, ask, deny)]
    return Rules(*read)


def in_own_names(rules: Rules, known: Iterable[str]) -> Rules:
    """Return the rules with our names of the tools: `WebFetch(domain:example.org)` becomes `web_fetch(…)`.

    Raise ConfigError, or UsageError for a flag, for a rule about an unknown tool: it would protect nothing. Names of
    MCP tools (`server__tool`) are not checked, because they are known only once a server runs.
    """
    names = list(known)
    allow, ask, deny = (
        tuple(_named(kind, rule, names) for rule in each)
        for kind, each in (("allow", rules.allow), ("ask", rules.ask), ("deny", rules.deny))
    )
    return Rules(allow, ask, deny)


def _named(kind: str, rule: Rule, names: Sequence[str]) -> Rule:
    from agentcli.core.aliases import known_as

    if (
        "__" in rule.tool
        or any(rule.is_for(name) for name in names)
        or (kind, rule.tool) == ("allow", SANDBOX)
        or rule.tool == NETWORK
    ):
        return rule
    own = known_as(rule.tool)
    if own in names:
        return replace(rule, tool=own)
    place = f"--{kind}" if rule.origin == "flag" else f"permissions.{kind}"
    raise _nonsense(rule.origin)(
        f"{place}: {str(rule)!r} is about a tool that does not exist: {rule.tool}.{instead(rule.tool, names, '`agentcli tools` lists them.')}"
    )


def exact(text: str) -> str:
    """Return the pattern that matches only this text."""
    return re.sub(r"([*\\])", r"\\\1", text)


@lru_cache(maxsize=1024)
def wildcard(pattern: str) -> re.Pattern[str]:
    """Compile a pattern in which `*` is any text and a backslash escapes `*` and itself.

    The first place of a text between two wildcards is as good as any later one. Matching therefore needs no
    backtracking.
    """
    texts = [""]
    for part in re.findall(r"\\[*\\]|\*|[^*\\]+|\\", pattern):
        if part == "*":
            texts.append("")
        else:
            texts[-1] += re.escape(_unescaped(part))
    first, *more = texts
    between = "".join(f"(?>.*?{text})" for text in more[:-1] if text)
    return re.compile(first + between + "".join(f".*{text}" for text in more[-1:]), re.DOTALL)


@lru_cache(maxsize=1024)
def command_pattern(pattern: str) -> re.Pattern[str]:
    """Compile the pattern of a `bash` rule, like `wildcard`.

    A trailing ` *` or `:*` stands for any arguments or none.
    """
    text = " ".join(pattern.split()) if "\n" not in pattern else pattern
    for ending in (":*", " *"):
        if text.endswith(ending) and not text.endswith("\\" + ending[1:]):
            return re.compile(f"{wildcard(text[: -len(ending)]).pattern}(?: .*)?", re.DOTALL)
    return wildcard(text)


def url_matches(pattern: str, url: str, *, strict: bool = False) -> bool:
    """Return True if a URL matches a `web_fetch` pattern in any spelling, or in all spellings if `strict`.

    Host and path are compared separately, so that a path cannot pass for a host.
    """
    try:
        there = urlsplit(url.strip())
        host = _plain_host(there.hostname or "")
        usual = there.port in (None, {"http": 80, "https": 443}.get(there.scheme))
        netloc = host if usual else f"{host}:{there.port}"
    except ValueError:
        return False
    if pattern.startswith("domain:"):
        domain = _plain_host(pattern.removeprefix("domain:").removeprefix("*."))
        return host == domain or host.endswith("." + domain)
    wanted = urlsplit(pattern)
    if not wanted.netloc:
        return False
    bare = re.sub({"http": ":80$", "https": ":443$"}.get(wanted.scheme, "$"), "", wanted.netloc.lower()).rstrip(".")
    places = (wanted.scheme, there.scheme), (bare, netloc)
    if "@" in there.netloc or not all(wildcard(want).fullmatch(have) for want, have in places):
        return False
    path = there.path or "/"
    real = re.sub("^/+", "/", posixpath.normpath(unquote(path))) + "/" * (path.endswith("/") and len(path) > 1)
    fitting, decoded = wildcard(wanted.path or "*"), wildcard(unquote(wanted.path) or "*")
    fits = bool(fitting.fullmatch(path)), bool(fitting.fullmatch(real) or decoded.fullmatch(real))
    return all(fits) if strict else any(fits)


def _plain_host(host: str) -> str:
    """Return a host name in its form for lookups: IDNA letters, lower case, without a trailing dot."""
    try:
        return host.encode("idna").decode("ascii").lower().rstrip(".")
    except UnicodeError:
        return host.lower().rstrip(".")


def _nonsense(origin: Origin) -> type[AgentError]:
    return UsageError if origin == "flag" else ConfigError


def _unescaped(part: str) -> str:
    return part[1:] if len(part) == 2 and part.startswith("\\") else part


def path_rule(
    rules: Iterable[Rule], path: str, workspace: Workspace, *, strict: bool, target: Path | None = None
) -> Rule | None:
    """Return the first rule whose pattern matches the path with links followed; unless `strict`, also as written, in
    any case.

    Unless `strict`, a pattern for a folder without a wildcard covers everything below it. `target` is the links' target
    at the time of the verdict; without it they are followed now.
    """
    rules = tuple(rules)
    if not rules or impossible(path):
        return None
    forms = {target or resolved(workspace.cwd / path)}
    if not strict:
        forms.add(Path(os.path.normpath(workspace.cwd / os.path.expanduser(path))))
    for rule in rules:
        if not rule.pattern or any(_fits(rule.pattern, form, workspace, strict) for form in forms):
            return rule
        if not strict and any(_fits_above(rule.pattern, form, workspace) for form in forms):
            return rule
    return None


def _fits_above(pattern: str, path: Path, workspace: Workspace) -> bool:
    """Return True if a pattern matches a folder that contains the path; for a relative pattern, below the workspace's
    top.
    """
    if not covers_below(pattern) or pattern.endswith("**"):
        return False
    within = [Path("/")] if pattern.startswith(("/", "~/")) else workspace.resolved_roots
    above = (folder for top in within for folder in path.parents if folder != top and folder.is_relative_to(top))
    return any(_fits(pattern, folder, workspace, strict=False) for folder in above)


def paths_shown(allow: Sequence[Rule], home: Path) -> tuple[Path, ...]:
    """Return the existing files and folders outside the workspace that rules allow to be read completely."""
    patterns = [rule.pattern for rule in allow if rule.is_for("read") and rule.pattern.startswith(("/", "~/"))]
    named = (pattern.removesuffix("**").rstrip("/") for pattern in patterns)
    paths = [home / name[2:] if name.startswith("~/") else Path(name) for name in named if not set(name) & set("*?[")]
    return tuple(dict.fromkeys(resolved(path) for path in paths if path != Path(".") and probe.exists(path)))


def paths_opened(allow: Sequence[Rule], workspace: Workspace) -> tuple[Path, ...]:
    """Return the protected or private files that rules of a person allow to be read by their names.

    A name behind a link, and a folder, opens nothing: what it leads to could change later.
    """
    rules = [rule for rule in allow if rule.is_for("read") and rule.origin not in ("project", "skill")]
    named = (as_text(rule.pattern) for rule in rules if rule.pattern and not names_wildcard(rule.pattern))
    found = dict.fromkeys(Path(form) for name in named for form in _forms(name, workspace))
    return tuple(
        path for path in found if resolved(path) == path and probe.is_file(path) and _is_closed(path, workspace)
    )


def _forms(name: str, workspace: Workspace) -> Iterator[str]:
    """Yield the paths that a pattern without wildcards may mean."""
    if name.startswith("~/"):
        yield os.path.normpath(resolved(workspace.home) / name[2:])
    elif name.startswith("/"):
        yield os.path.normpath(name)
    else:
        yield from (os.path.normpath(root / name) for root in workspace.resolved_roots)


def _is_closed(path: Path, workspace: Workspace) -> bool:
    """Return True for a file that is protected from reading, and that is none of the program's own."""
    plain = replace(workspace, opened=tuple)
    own = any(path.is_relative_to(resolved(folder)) for folder in workspace.own)
    return not own and judge_path(str(path), plain, write=False).verdict == "protected"


def exact_path(target: Path, workspace: Workspace) -> str:
    """Return the pattern that matches only one resolved path, relative to the workspace if the path is inside."""
    text = str(target)
    tops = (f"{str(root).rstrip('/')}/" for root in workspace.resolved_roots)
    inside = next((text.removeprefix(top) for top in tops if text.startswith(top)), "")
    return literal(f"./{inside}" if inside else text)


def holds_secrets(path: Path) -> bool:
    """Return True if a path is, or leads into, a place where programs store credentials in a home folder."""
    parts = tuple(map(canonical, path.parts))
    return any(names == parts[index : index + len(names)] for names in PRIVATE_IN_HOME for index in range(len(parts)))


def reading_scope(path: Path, workspace: Workspace) -> str:
    """Return the pattern that covers the folder of a path outside the workspace.

    If the folder contains too much, it covers only the path. Such a folder contains the home folder, or is directly
    below the root or in someone's folder of secrets. The folder of temporary files counts as any other: anybody may
    write there, but delete only their own files.
    """
    folder = path if os.path.isdir(path) else path.parent
    above_home = any(home.is_relative_to(folder) for home in (Path.home(), workspace.home, *workspace.other_homes))
    try:
        shared = bool(folder.stat().st_mode & 0o1000)
    except OSError:
        shared = False
    if above_home or holds_secrets(folder) or (len(folder.parts) < 3 and not shared):
        return "" if path == folder else literal(str(path))
    return f"{literal(str(folder))}/**"


def _fits(pattern: str, path: Path, workspace: Workspace, strict: bool) -> bool:
    """Return True if a pattern matches a path.

    Unless `strict`, any reading of its brackets and braces counts, in any case.
    """
    wanted = os.path.join(literal(str(workspace.home)), pattern[2:]) if pattern.startswith("~/") else pattern
    tops = [Path("/")]
    texts = [str(path)]
    if not wanted.startswith("/"):
        tops = [root for root in workspace.resolved_roots if root in (path, *path.parents)]
        texts = [str(path.relative_to(root)) for root in tops] or ([] if strict else [path.name])
    if strict:
        return any(path_regex(wanted, _reading_here(wanted, tops)).fullmatch(text) for text in texts)
    if is_template(path.name) and leaves_templates(wanted):
        return False
    for each in written_out(wanted):
        folded = "/".join(part.casefold() for part in each.split("/"))
        for text in texts:
            plain = "/".join(map(canonical, text.split("/")))
            if matches_in_some_reading(folded, plain) or matches_in_some_reading(each, text):
                return True
    return False


def _reading_here(pattern: str, tops: Sequence[Path]) -> Reading:
    """Return the reading of a pattern: brackets and braces are text if the path that it begins with so exists."""
    plain = list(itertools.takewhile(lambda part: not names_wildcard(part), pattern.strip("/").split("/")))
    while plain and not set(plain[-1]) & set("[{"):
        plain.pop()
    named = as_text("/".join(plain))
    exists = bool(named) and any(os.path.lexists(top / named) for top in tops)
    return Reading(sets=not exists, alternatives=not exists)
