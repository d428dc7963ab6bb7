"""The hooks that a git command runs in a repository, and other programs of git's settings."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from agentcli.permissions.paths import Workspace, resolved
from agentcli.permissions.shell.programs.known_programs import word_set
from agentcli.system import probe

RUNS_HOOK = "git runs the hook"
"""Beginning of the reason to ask about a git command that runs a hook."""
_NONE: frozenset[str] = frozenset()
_RECORDED = word_set("prepare-commit-msg post-commit")
_COMMITTED = _RECORDED | word_set("pre-commit commit-msg post-rewrite pre-auto-gc")
_MERGED = word_set("pre-merge-commit prepare-commit-msg commit-msg post-merge pre-auto-gc")
_REPLAYED = _RECORDED | word_set("applypatch-msg pre-applypatch post-applypatch post-rewrite pre-auto-gc")
_REBASED = _REPLAYED | word_set("pre-rebase post-checkout")
_PICKED = (("--abort --quit -n --no-commit", _NONE), ("--continue", _COMMITTED), ("", _RECORDED))
_SWITCHED = (("", word_set("post-checkout")),)
_HOOKS: dict[str, tuple[tuple[str, frozenset[str]], ...]] = {
    "commit": (("--dry-run", _NONE), ("", _COMMITTED)),
    "merge": (
        ("--abort --quit", _NONE),
        ("--continue", _COMMITTED),
        ("--ff-only --squash --no-commit", word_set("post-merge pre-auto-gc")),
        ("", _MERGED),
    ),
    "rebase": (
        ("--abort --quit", _NONE),
        ("--continue --skip", _REPLAYED),
        ("--rebase-merges", _REBASED | _MERGED),
        ("", _REBASED),
    ),
    "pull": (("", _REBASED | _MERGED),),
    "fetch": (("", word_set("pre-auto-gc")),),
    "push": (("", word_set("pre-push")),),
    "cherry-pick": _PICKED,
    "revert": _PICKED,
    "stash": (("-k --keep-index", word_set("post-checkout")), ("", _NONE)),
    **dict.fromkeys(("checkout", "switch", "restore", "bisect"), _SWITCHED),
}
"""Hooks that each git command runs with one of some options; the first row that fits counts.

Any version of git may run them. They are in addition to the hooks of every command that changes references or the index.
"""
_VERIFYING = word_set("pre-commit commit-msg")
_UNVERIFIED = word_set("-n --no-verify")
"""Options with which `git commit` skips these hooks."""
_ALWAYS = frozenset({"reference-transaction", "post-index-change"})
_SIGNING = word_set("commit merge rebase cherry-pick revert tag")


def hook_problem(
    top: Path, git_folder: Path, workspace: Workspace, subcommand: str, options: frozenset[str] | None = None
) -> str:
    """Return which hook git runs or skips in a repository, or that it signs; empty if it does neither.

    Without options, each form of the command counts, and each file of a hook: another command may make it executable.
    """
    hooks = git_folder / "hooks"
    settings = [text for file in git_config_files(git_folder, workspace) if (text := text_of(file))]
    if subcommand in _SIGNING and any(map(_SIGNS.search, settings)):
        return "git is set to run a program when it records (gpgsign)"
    chosen = next((found[-1] for text in settings if (found := _HOOKS_PATH.findall(text))), "")
    if chosen:
        hooks = Path(os.path.normpath(top / os.path.expanduser(chosen)))
    inside = any(map((place := resolved(hooks)).is_relative_to, workspace.resolved_roots))
    if subcommand == "push" and inside and not place.is_relative_to(resolved(git_folder)):
        return f"git runs hooks of the workspace ({hooks.name})"
    named = _hooks_of(subcommand, options) | _ALWAYS
    files = hooks.iterdir() if probe.is_dir(hooks) else ()
    active = {hook.name: "the repository" for hook in files if options is None or _is_active(hook)}
    active |= {event: "your settings" for text in settings for event in _EVENT.findall(text)}
    found = sorted(active.keys() & named)
    skipped = _VERIFYING if subcommand == "commit" and not _UNVERIFIED.isdisjoint(options or ()) else _NONE
    if running := next((name for name in found if name not in skipped), ""):
        return f"{RUNS_HOOK} {running} of {active[running]}"
    return f"git {subcommand} skips the hook {found[0]} of {active[found[0]]}" if found else ""


def _hooks_of(subcommand: str, options: frozenset[str] | None) -> frozenset[str]:
    rows = _HOOKS.get(subcommand, (("", _NONE),))
    if options is None:
        return frozenset().union(*(hooks for _, hooks in rows))
    return next(hooks for words, hooks in rows if not words or not options.isdisjoint(words.split()))


def _is_active(hook: Path) -> bool:
    """Return True if git runs a hook, and it is not one of husky's that would start a missing file."""
    if not os.access(hook, os.X_OK):
        return False
    return probe.is_file(hook.parents[1] / hook.name) or not _HUSKY.fullmatch(text_of(hook))


_HUSKY = re.compile(r"""#!/usr/bin/env sh\n\. "(?:\$\(dirname "\$0"\)|\$\{0%/\*\})/h"\s*""")
KEY = r"(?:^|\])[ \t]*"
"""Pattern of what stands before a key in git's settings: the header of its section may share its line."""
_HOOKS_PATH = re.compile(rf"{KEY}hookspath\s*=\s*\"?([^\"\n#;]*?)\"?\s*$", re.IGNORECASE | re.MULTILINE)
_SIGNS = re.compile(rf"{KEY}gpgsign\s*(?:=(?!\s*(?:false|no|off|0)\b)|$)", re.IGNORECASE | re.MULTILINE)
_EVENT = re.compile(rf"{KEY}event\s*=\s*\"?([\w-]+)", re.IGNORECASE | re.MULTILINE)
"""A hook in the settings, which git knows since 2.54."""


def git_config_files(git_folder: Path, workspace: Workspace) -> Sequence[Path]:
    """Return git's files of settings, the strongest first."""
    return (git_folder / "config", workspace.home / ".gitconfig", workspace.home / ".config/git/config")


def text_of(file: Path) -> str:
    """Return the text of a file; empty if it cannot be read."""
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
