"""Which files a rule about paths speaks of."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from agentcli.agent.permissions.paths import canonical
from agentcli.agent.permissions.place import Place, impossible, resolved
from agentcli.agent.permissions.rules import Rule


def path_rule(
    rules: Iterable[Rule], path: str, place: Place, *, strict: bool, target: Path | None = None
) -> Rule | None:
    """The first rule whose pattern fits the path as its links lead; unless `strict`, also as it is written, in any case.

    `target` is where they led when the path was judged; without it they are followed now.
    """
    if impossible(path):
        return None
    forms = {target or resolved(place.cwd / path)}
    if not strict:
        forms.add(Path(os.path.normpath(place.cwd / os.path.expanduser(path))))
    for rule in rules:
        if not rule.pattern or any(_fits(rule.pattern, form, place, strict) for form in forms):
            return rule
    return None


def exact_path(target: Path, place: Place) -> str:
    """The pattern that fits one resolved path alone: from the workspace's top where it lies inside."""
    inside = next((target.relative_to(root) for root in place.workspace if root in target.parents), None)
    text = f"./{inside}" if inside else str(target)
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in text)


@lru_cache(maxsize=1024)
def path_pattern(pattern: str) -> re.Pattern[str]:
    """A .gitignore-like path pattern: `*` and `?` stay within a folder, `**` crosses, a trailing slash means all below.

    A pattern with a slash before its end counts from the workspace's top, one without fits at any depth.
    """
    text = pattern.removeprefix("./")
    if "/" not in pattern.rstrip("/"):
        text = f"**/{text}"
    if text.endswith("/"):
        text += "**"
    parts = re.findall(r"\*\*/|\*\*|\*|\?|\[[^\]/]+\]|.", text, re.DOTALL)
    return re.compile("".join(map(_piece, parts)), re.DOTALL)


def _fits(pattern: str, path: Path, place: Place, strict: bool) -> bool:
    wanted = os.path.join(place.home, pattern[2:]) if pattern.startswith("~/") else pattern
    texts = [str(path)]
    if not wanted.startswith("/"):
        texts = [str(path.relative_to(root)) for root in place.workspace if root in (path, *path.parents)]
        texts = texts or ([] if strict else [path.name])
    if strict:
        return any(path_pattern(wanted).fullmatch(text) for text in texts)
    folded = path_pattern("/".join(part.casefold() for part in wanted.split("/")))
    return any(
        folded.fullmatch("/".join(map(canonical, text.split("/")))) or path_pattern(wanted).fullmatch(text)
        for text in texts
    )


def _piece(part: str) -> str:
    match part:
        case "**/":
            return "(?:[^/]+/)*"
        case "**":
            return ".*"
        case "*":
            return "[^/]*"
        case "?":
            return "[^/]"
        case _:
            return _set(part) if len(part) > 1 else re.escape(part)


def _set(part: str) -> str:
    inside = part[1:-1]
    negated = len(inside) > 1 and inside[0] in "!^"
    listed = re.sub(r"([\\\[&~|])", r"\\\1", inside[1:] if negated else inside)
    return f"[{'^' if negated else ''}{listed}]" if listed != "^" else re.escape("^")
