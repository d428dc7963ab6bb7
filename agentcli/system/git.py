"""Git commands that run without asking, and the keys of git's config.

The commands run in the hardened environment, with a time limit, and never start a program of the repository.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from pathlib import Path

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import AgentError
from agentcli.system.programs import find_program, hardened

SECONDS = 600.0
"""Time limit of one git command, in seconds: a large repository takes minutes to check out."""
_REASON_CHARACTERS = 500


class GitError(AgentError):
    """A git command failed, or git is missing."""

    @property
    def line(self) -> str:
        """The reason in one line, without its period."""
        return first_line(str(self))


@dataclass(frozen=True, slots=True)
class Ran:
    """Exit code and output of a git command; bytes that are not UTF-8 become surrogates."""

    exit_code: int
    out: str
    reason: str


def first_line(reason: str) -> str:
    """Return what git said first, without its period; more lines are consequences and hints."""
    return reason.strip().partition("\n")[0].rstrip(".")


def git(folder: Path | str, *arguments: str, env: Mapping[str, str] | None = None) -> str:
    """Run git in a folder; return its output without the last newline. Raise GitError with the reason if it fails."""
    ran = run_git(folder, *arguments, env=env)
    if ran.exit_code:
        raise GitError(f"git {arguments[0]} failed in {folder}: {ran.reason}")
    return ran.out.removesuffix("\n")


def run_git(folder: Path | str, *arguments: str, env: Mapping[str, str] | None = None) -> Ran:
    """Run git in a folder and return any exit code. `env` replaces this process's environment. Raise GitError if git cannot run."""
    done = started(folder, arguments, os.environ if env is None else env, SECONDS)
    reason = done.stderr.decode("utf-8", "replace").strip()[-_REASON_CHARACTERS:]
    return Ran(done.returncode, done.stdout.decode("utf-8", "surrogateescape"), reason)


def started(
    folder: Path | str, arguments: Sequence[str], environment: Mapping[str, str], seconds: float
) -> subprocess.CompletedProcess[bytes]:
    """Run git, hardened: the repository and its config choose none of the programs that it starts.

    Drivers in the user's own config, such as LFS, still apply. Raise GitError if git cannot run or takes longer than
    `seconds`.
    """
    program = find_program("git", [Path(folder)])
    if not program:
        raise GitError("git is not installed, or not on PATH outside of this folder.")
    options = list(takewhile(lambda word: word.startswith("-"), arguments))
    command = [*options, *_without_programs(arguments[len(options) :])]

    def run(words: Sequence[str], config: Iterable[tuple[str, str]] = ()) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [program, *words],
            cwd=folder,
            env=hardened(environment, [Path(folder)], config),
            capture_output=True,
            timeout=seconds,
            stdin=subprocess.DEVNULL,
        )

    try:
        # Let git read its config in the same folder: includes and their conditions then resolve as in the command.
        listed = run([*options, "config", "--list", "--show-scope", "--includes", "-z"])
        return listed if listed.returncode else run(command, overrides(*_by_owner(listed.stdout)))
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GitError(f"git {arguments[0]} failed in {folder}: {error}") from error


def _by_owner(listed: bytes) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return the config of the user and the machine, and the repository's config, in git's order."""
    own: list[tuple[str, str]] = []
    repository: list[tuple[str, str]] = []
    fields = listed.decode("utf-8", "surrogateescape").split("\0")
    for scope, entry in zip(fields[::2], fields[1::2], strict=False):
        key, _, value = entry.partition("\n")
        if scope != "command":  # our own
            (own if scope in ("system", "global") else repository).append((key, value))
    return own, repository


def _without_programs(words: Sequence[str]) -> Sequence[str]:
    """Return a command with options that stop diff drivers and git in submodules, which config cannot stop."""
    match words:
        case ["diff", *rest]:
            return ["diff", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty", *rest]
        case ["show" | "log" as name, *rest]:
            return [name, "--no-ext-diff", "--no-textconv", *rest]
        case ["status", *rest]:
            return ["status", "--ignore-submodules=dirty", *rest]
        case _:
            return words


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_HARMLESS = _words("""
core.repositoryformatversion core.filemode core.bare core.logallrefupdates core.ignorecase core.precomposeunicode core.symlinks
core.autocrlf core.eol core.safecrlf core.quotepath core.abbrev core.longpaths core.whitespace core.untrackedcache core.preloadindex
core.compression core.bigfilethreshold core.commentchar core.sparsecheckout core.sparsecheckoutcone core.protecthfs
core.protectntfs core.sharedrepository core.multipackindex core.commitgraph
remote.*.url remote.*.pushurl remote.*.fetch remote.*.push remote.*.tagopt remote.*.prune remote.*.prunetags remote.*.mirror
remote.*.skipdefaultupdate remote.*.skipfetchall remote.*.gh-resolved remote.*.followremotehead remote.pushdefault
branch.*.remote branch.*.merge branch.*.rebase branch.*.pushremote branch.*.description branch.*.vscode-merge-base
branch.*.gh-merge-base branch.*.github-pr-owner-number branch.*.github-pr-base-branch branch.autosetupmerge branch.autosetuprebase
branch.sort user.name user.email user.signingkey user.useconfigonly author.name author.email committer.name committer.email
submodule.*.url submodule.*.active submodule.*.branch submodule.*.ignore submodule.*.shallow submodule.active submodule.fetchjobs
extensions.worktreeconfig extensions.noop extensions.preciousobjects extensions.refstorage
extensions.relativeworktrees
pull.rebase pull.ff push.default push.autosetupremote push.followtags fetch.prune fetch.prunetags fetch.parallel init.defaultbranch
gc.auto pack.threads index.version index.threads feature.experimental feature.manyfiles rerere.enabled rerere.autoupdate
commit.gpgsign tag.gpgsign tag.sort rebase.autostash rebase.autosquash receive.denycurrentbranch transfer.fsckobjects
maintenance.auto maintenance.strategy maintenance.repo lfs.repositoryformatversion http.postbuffer
diff.algorithm diff.renames diff.renamelimit diff.mnemonicprefix diff.noprefix diff.colormoved diff.context diff.ignoresubmodules
diff.statgraphwidth diff.indentheuristic diff.suppressblankempty status.short status.branch status.showuntrackedfiles
status.renames status.aheadbehind status.relativepaths status.showstash log.date log.decorate log.abbrevcommit log.follow log.mailmap
merge.conflictstyle merge.ff merge.renames merge.renamelimit blame.date blame.coloring blame.showemail i18n.commitencoding
i18n.logoutputencoding
""")
"""Keys of a repository's config that start nothing and lead to no other file.

They are in lower case; `*` means any subsection.
"""

_PLAIN_SECTIONS = _words("""
advice am apply author blame branch bundle checkout clean clone color column commit commitgraph committer extensions feature fetch
format fsck gc grep http i18n index init log mailmap maintenance notes pack pretty promisor pull push receive reflog repack rerere
revert safe splitindex stash status tag transfer url user versionsort worktree
""")
"""Sections in which nothing names a program that our own commands start."""

_PLAIN = _words("""
core.attributesfile core.checkstat core.createobject core.deltabasecachelimit core.excludesfile core.fsync core.fsyncmethod
core.checkroundtripencoding core.notesref core.packedgitlimit core.packedgitwindowsize core.trustctime core.worktree
diff.colormovedws diff.dirstat diff.orderfile diff.wordregex diff.wserrorhighlight merge.directoryrenames ssh.variant
include.path includeif.*.path remote.*.partialclonefilter remote.*.promisor remote.*.proxy
diff.*.algorithm diff.*.binary diff.*.cachetextconv diff.*.funcname diff.*.wordregex diff.*.xfuncname merge.*.name merge.*.recursive
lfs.url lfs.pushurl lfs.*.access lfs.*.locksverify lfs.fetchinclude lfs.fetchexclude lfs.concurrenttransfers
""")
"""More keys that start nothing. They may name files; files that `include` names are read key by key."""

_INSTEAD: Mapping[str, str] = {
    "merge.*.driver": "git merge-file -q --marker-size=%L %A %O %B",
    "diff.*.textconv": "cat",
    "filter.*.required": "false",
    "core.sshcommand": "ssh",
    "gpg.program": "gpg",
    "gpg.openpgp.program": "gpg",
    "gpg.x509.program": "gpgsm",
    "gpg.ssh.program": "ssh-keygen",
    "gpg.format": "openpgp",
    "remote.*.uploadpack": "git-upload-pack",
    "remote.*.receivepack": "git-receive-pack",
    "hook.*.command": "true",
    "protocol.allow": "never",
    "protocol.*.allow": "never",
    **{f"protocol.{name}.allow": "always" for name in ("file", "git", "http", "https", "ssh")},
}
"""Values equal to git's behaviour for an unset key; for all other keys the empty value does that."""

_SWITCH = re.compile(r"(?i)true|false|yes|no|on|off|-?\d+[kmg]?")


def reads_only(key: str) -> bool:
    """Return True for a key, in lower case, that starts nothing and leads to no other file."""
    return (key.startswith(("color.", "advice.")) and key.count(".") == 1) or _general(key) in _HARMLESS


def overrides(own: Sequence[tuple[str, str]], repository: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return config that overrides each of the repository's keys that name a program.

    The value is that of the user's own config. `own` contains the keys and values of the user and the machine in their
    order; `repository` contains the repository's.
    """
    taken = dict.fromkeys(key for key, value in repository if not _starts_nothing(key, value))
    # An empty value resets a list in git; the helper list spans all of its keys.
    credentials = [(key, value) for key, value in own if key.startswith("credential.")]
    found = [(key, _INSTEAD.get(key) or _INSTEAD.get(_general(key), "")) for key in taken]
    found += [(key, value) for key, value in own if key in taken and not key.startswith("credential.")]
    return found + (credentials if any(key.startswith("credential.") for key in taken) else [])


def _starts_nothing(key: str, value: str) -> bool:
    section = key.partition(".")[0].lower()
    if section in _PLAIN_SECTIONS or reads_only(key) or _general(key) in _PLAIN:
        return True
    return section not in ("filter", "hook") and bool(_SWITCH.fullmatch(value))


def _general(key: str) -> str:
    """Return the key with `*` in place of its subsection, in lower case."""
    section, _, rest = key.partition(".")
    subsection, _, name = rest.rpartition(".")
    return (f"{section}.*.{name}" if subsection else key).lower()
