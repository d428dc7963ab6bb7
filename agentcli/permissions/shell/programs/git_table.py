"""Git commands that only read, in the notation of `Shape`, and which of them show the content of tracked files."""

from __future__ import annotations

import fnmatch
import glob
import os
import re
from collections.abc import Sequence
from pathlib import Path

from agentcli.permissions.shell.programs.known_programs import word_set
from agentcli.permissions.shell.programs.option_grammar import Found, Shape, fit

_DIFF = """
-pusbwWaRzDB -NUM -U:number -M -C -S:text -G:text -l:number -O:path --patch --no-patch --unified=number --raw --patch-with-raw
--stat[=word] --numstat --shortstat --dirstat[=word] --compact-summary --summary --name-only --name-status --color[=word]
--no-color --color-moved[=word] --word-diff[=word] --color-words --no-renames --find-renames[=word] --find-copies[=word] --check
--full-index --binary --abbrev[=number] --diff-filter=word --pickaxe-all --pickaxe-regex --text --ignore-space-at-eol
--ignore-space-change --ignore-all-space --ignore-blank-lines --function-context --exit-code --quiet --minimal --patience
--histogram --diff-algorithm=word --inter-hunk-context=number --relative[=path] --no-ext-diff --no-textconv
--no-stat --oneline --ignore-submodules[=word] --src-prefix=word --dst-prefix=word --no-prefix --merge-base --cc --combined-all-paths
"""
_LOG = (
    _DIFF
    + """
-gncmitEFP -n:number -L:range --oneline --graph --all --decorate[=word] --no-decorate --pretty[=format] --format=format
--abbrev-commit --no-abbrev-commit --follow --max-count=number --skip=number --since=text --after=text --until=text --before=text
--author=text --committer=text --grep=text --invert-grep --all-match --regexp-ignore-case --extended-regexp --fixed-strings
--perl-regexp --merges --no-merges --first-parent --reverse --branches[=text] --tags[=text] --remotes[=text] --date=text
--date-order --topo-order --author-date-order --full-history --simplify-by-decoration --left-right --left-only --right-only --cherry-pick --cherry-mark
--cherry --walk-reflogs --no-walk --boundary --ancestry-path --parents --children --source --show-pulls --no-notes --no-mailmap
--use-mailmap --log-size --relative-date --exclude=text --not --reflog --no-show-signature
"""
)
_GIT_GREP = """
-nilLcwvEFGPIhHopqWaz -NUM -A:number -B:number -C:number -m:number --line-number --ignore-case --files-with-matches --name-only
--count --word-regexp --extended-regexp --fixed-strings --perl-regexp --all-match --break --heading --show-function --cached
--column --color[=word] --no-color --max-depth=number --max-count=number --after-context=number
--before-context=number --context=number --only-matching --full-name --exclude-standard --function-context --invert-match --quiet
"""
_REFS = """
--sort=text --format=format --color[=word] --no-color --contains=rev --no-contains=rev --merged=rev --no-merged=rev
--points-at=rev
"""
_GIT_STATUS = """
-sbvz -u:word --short --branch --porcelain[=word] --long --verbose --untracked-files[=word] --ignored[=word] --show-stash
--ahead-behind --no-ahead-behind --renames --no-renames --ignore-submodules[=word] --column[=word] --no-column
"""
_GIT_BLAME = """
-bltfnsewpM -L:text -C --root --show-stats --porcelain --line-porcelain --date=text --show-name --show-number --show-email
--abbrev=number --since=text --ignore-rev=text --reverse --first-parent
"""
_GIT_REV_PARSE = """
-q --show-toplevel --abbrev-ref[=word] --short[=number] --verify --quiet --git-dir --absolute-git-dir --git-common-dir
--is-inside-work-tree --is-inside-git-dir --is-bare-repository --is-shallow-repository --show-prefix --show-cdup --symbolic
--symbolic-full-name --all --branches --tags --remotes --show-object-format
"""
_GIT_LS_FILES = """
-cdmoistuvzkfr -x:text --cached --deleted --modified --others --ignored --stage --unmerged --exclude=text --exclude-standard
--full-name --error-unmatch --directory --no-empty-directory --eol --deduplicate --abbrev=number
"""
_GIT_DESCRIBE = """
--all --tags --contains --abbrev=number --always --dirty[=word] --long --exact-match --match=text --first-parent
--candidates=number
"""
_GIT_SHORTLOG = """
-sne --summary --numbered --email --no-merges --since=text --until=text --all --author=text --group=text --format=format
"""
_GIT_SHOW_REF = """
-dsq --tags --heads --branches --head --verify --hash[=number] --abbrev[=number] --dereference --quiet
"""
_GIT_FOR_EACH_REF = """
--count=number --sort=text --format=format --contains=rev --merged=rev --no-merged=rev --points-at=rev --shell
"""
_GIT_BRANCH = """
-arvi --all --remotes --verbose --show-current --list --column[=word] --no-column --abbrev=number --no-abbrev --ignore-case
"""

GIT_READERS: dict[str, tuple[Shape, ...]] = {
    "status": (Shape(_GIT_STATUS.replace("-sbvz -u:word", "-sbvzu"), "rev*"), Shape(_GIT_STATUS, "rev*")),
    "diff": (
        Shape(_DIFF + " --cached --staged", "rev*"),
        Shape(_DIFF + " --no-index", "path path", needs="--no-index"),
    ),
    "log": (Shape(_LOG, "rev*"),),
    "show": (Shape(_LOG, "rev*"),),
    "whatchanged": (Shape(_LOG, "rev*"),),
    "blame": (Shape(_GIT_BLAME, "rev*"),),
    "annotate": (Shape("-L:text", "rev*"),),
    "branch": (
        Shape(_REFS + _GIT_BRANCH),
        Shape("-arvi --all --remotes --verbose --merged --no-merged"),
        Shape(_REFS + " -arvil --list --all --remotes --verbose --ignore-case", "pattern*", needs="-l --list"),
    ),
    "tag": (
        Shape(_REFS + " -n --column[=word]"),
        Shape("-n:number"),
        Shape(_REFS + " -li -n:number --list --ignore-case", "pattern*", needs="-l --list"),
    ),
    "remote": (Shape("-v --verbose"), Shape("--push --all", "=get-url word"), Shape("", "=show")),
    "show-branch": (Shape("-ar --all --remotes --list --current --topo-order --sha1-name --no-name", "rev*"),),
    "stash": (Shape(_LOG, "=list"), Shape(_DIFF + " --include-untracked", "=show rev?")),
    "rev-parse": (Shape(_GIT_REV_PARSE, "rev*"),),
    "rev-list": (Shape(_LOG + " --count --objects --disk-usage --max-parents=number --min-parents=number", "rev*"),),
    "help": (Shape(),),
    "fsck": (
        Shape(
            "--full --strict --no-dangling --dangling --connectivity-only --no-reflogs --unreachable --no-progress --root --tags"
        ),
    ),
    "ls-files": (Shape(_GIT_LS_FILES, "rev*"),),
    "ls-tree": (Shape("-drtlz --name-only --name-status --long --full-name --full-tree --abbrev=number", "rev rev*"),),
    "cat-file": (Shape("-pets", "rev", needs="-p -e -t -s"), Shape("", "=blob|tree|commit|tag rev")),
    "describe": (Shape(_GIT_DESCRIBE, "rev*"),),
    "shortlog": (Shape(_GIT_SHORTLOG, "rev*"),),
    "reflog": (Shape(_LOG), Shape(_LOG, "=show rev*"), Shape(_LOG, "ref")),
    "name-rev": (Shape("--tags --all --name-only --always", "rev*"),),
    "merge-base": (Shape("-a --all --is-ancestor --fork-point --octopus --independent", "rev rev*"),),
    "diff-tree": (Shape(_DIFF + " -rtm --no-commit-id --root", "rev rev*"),),
    "diff-index": (Shape(_DIFF + " -m --cached", "rev rev*"),),
    "diff-files": (Shape(_DIFF, "rev*"),),
    "show-ref": (Shape(_GIT_SHOW_REF, "rev*"),),
    "for-each-ref": (Shape(_GIT_FOR_EACH_REF, "rev*"),),
    "symbolic-ref": (Shape("-q --short --quiet", "rev"),),
    "grep": (Shape(_GIT_GREP, "text rev*"), Shape(_GIT_GREP + " -e:text --and --or --not", "rev*", needs="-e")),
    "worktree": (Shape("-v --porcelain", "=list"),),
    "submodule": (Shape("-q --quiet --cached", "=status path*"),),
    "clean": (Shape("-ndfxXq -e:text --dry-run --force --quiet --exclude=text", "path*", needs="-n --dry-run"),),
    "count-objects": (Shape("-vH --verbose --human-readable"),),
    "check-ignore": (Shape("-qvn --quiet --verbose --non-matching --no-index", "entry entry*"),),
    "config": (
        Shape("--get --get-all --show-origin --show-scope --local --global --type=word", "key"),
        Shape("--local --show-origin --get", "key"),
    ),
    "cherry": (Shape("-v --verbose --abbrev=number", "rev*"),),
    "range-diff": (Shape("-s --no-color --no-patch --stat", "rev rev*"),),
    "var": (Shape("", "=GIT_AUTHOR_IDENT|GIT_COMMITTER_IDENT"),),
    "notes": (Shape("", "=list rev?"),),
    "check-ref-format": (Shape("--allow-onelevel --normalize --refspec-pattern", "text"),),
    "bisect": (Shape("", "=log"),),
    "version": (Shape(),),
    "--version": (Shape(),),
}
SETTINGS_SHOWN = tuple(
    Shape(
        "-lz --list --get --get-all --get-regexp --get-urlmatch --null --name-only --show-origin --show-scope --includes --no-includes"
        " --global --local --worktree --system --bool --int --path --type=word --default=text -f:path --file=path",
        "text*",
        needs=needs,
    )
    for needs in ("-l --list", "--get --get-all --get-regexp --get-urlmatch")
)
"""`git config` that shows settings."""

_PATCHES = word_set("""
-p -u -U -W -c -m -L -S -G --patch --unified --function-context --cc --patch-with-raw --word-diff --color-words --binary --check
""")
"""Options that show changes as text, or search their text."""

_SUMMARIES = word_set("""
-s --no-patch --stat --numstat --shortstat --dirstat --summary --compact-summary --name-only --name-status --raw --quiet
""")
"""Options that show no text unless one of the others requests it."""

_WITH_TEXT = word_set("diff show range-diff")
_WITHOUT_TEXT = word_set("log reflog whatchanged rev-list diff-tree diff-index diff-files")
_SHOWING = _WITH_TEXT | _WITHOUT_TEXT | word_set("status ls-files ls-tree")
"""Commands that name files, some of them with changes as text."""
LIMITED = word_set("diff show log whatchanged rev-list diff-tree diff-index diff-files grep reflog")
"""Commands that treat an operand as a path if a file of that name exists.

Git refuses to guess if it may also be a revision.
"""


_EXCLUDING = re.compile(r":(?:(?P<sign>[!^]/?|/[!^])|\((?P<words>[a-z,]*)\))(?P<rest>.*)", re.DOTALL)
_EXCLUDING_WORDS = frozenset({"exclude", "top", "glob", "literal"})


def path_named(revision: str) -> str | None:
    """Return the path in a revision such as `HEAD:path` or `:0:path`; None if it has none.

    As in git, a colon in braces belongs to a date or a pattern. `:/text` is the commit with that message.
    """
    if revision.startswith(":"):
        rest = revision[3:] if re.match(r":[0-3]:", revision) else revision[1:]
        return None if revision.startswith(":/") else rest
    depth = 0
    for index, sign in enumerate(revision):
        depth += {"{": 1, "}": -1 if depth else 0}.get(sign, 0)
        if sign == ":" and not depth:
            return revision[index + 1 :]
    return None


def shows_text(subcommand: str, found: Found) -> bool:
    """Return True if a recognised git command shows the content of files other than one given with its revision."""
    options = {value for kind, value in found if kind == "option"}
    values = [value for kind, value in found if kind == "rev"]
    patch = not options.isdisjoint(_PATCHES)
    match subcommand:
        case "grep":
            return True
        case "status":
            return not options.isdisjoint(("-v", "--verbose"))
        case "cat-file":
            asked = "-p" in options or any(value == "blob" for kind, value in found if kind.startswith("="))
            return asked and any(path_named(value) is None for value in values)
        case "show" if values and all(path_named(value) is not None for value in values):
            return False
        case "stash" if any(value == "list" for kind, value in found if kind.startswith("=")):
            return patch
        case "stash":
            return patch or options.isdisjoint(_SUMMARIES)
        case _ if subcommand in _WITH_TEXT:
            return patch or options.isdisjoint(_SUMMARIES)
        case _:
            return patch and subcommand in _WITHOUT_TEXT


def fits_git_reading(words: Sequence[str]) -> bool:
    """Return True if a git command only reads with these arguments, in any repository."""
    return len(words) > 1 and words[1] in GIT_READERS and not isinstance(fit(GIT_READERS[words[1]], words[2:]), str)


def git_names_only(words: Sequence[str]) -> bool:
    """Return True if a git command shows names of files, commits and figures, and nothing of what files contain."""
    if words[0] != "git" or len(words) < 2 or words[1] not in _SHOWING:
        return False
    fitting = fit(GIT_READERS[words[1]], words[2:])
    if isinstance(fitting, str) or shows_text(words[1], fitting[1]):
        return False
    return not any(kind == "rev" and path_named(value) for kind, value in fitting[1])


def git_only_names(words: Sequence[str]) -> bool:
    """Return True if a git command neither shows nor changes what the files that it names contain."""
    return git_names_only(words) or (tuple(words[:2]) == ("git", "rm") and "--cached" in words) or _unstages(words)


def _unstages(words: Sequence[str]) -> bool:
    """Return True if a git command only takes changes out of the next commit."""
    options = {word for word in words[2:] if word.startswith("-")} - {"-q", "--quiet", "--"}
    if tuple(words[:2]) == ("git", "reset"):
        return options <= {"--mixed"}
    return tuple(words[:2]) == ("git", "restore") and bool(options) and options <= {"--staged", "-S"}


def limits(subcommand: str, found: Found, here: str) -> list[str]:
    """Return the paths to which a command is limited; empty if it may show every file."""
    if subcommand not in LIMITED:
        return []
    behind = [value for kind, value in found if kind == "behind"]
    if ("option", "--") not in found:
        revs = (value for kind, value in found if kind == "rev")
        behind = [value for value in revs if value[:1] != ":" and os.path.lexists(os.path.join(here, value))]
    return behind or (["."] if subcommand == "grep" else [])


def leaves_out(word: str) -> bool:
    """Return True if a word is a pathspec that excludes files from git's output, and so selects none."""
    return word.startswith((":(exclude", ":!", ":^"))


def shows_path(specs: Sequence[str], here: str, top: Path, path: str) -> bool:
    """Return True if a command in a folder, limited to these pathspecs, may show a file, or if in doubt."""
    included = [spec for spec in specs if _excluded(spec) is None]
    left_out = (excluded for spec in specs if (excluded := _excluded(spec)) is not None)
    inside = not included or any(covers(spec, here, path) for spec in included)
    return inside and not any(_left_out(excluded, here, top, path) for excluded in left_out)


def covers(spec: str, here: str, path: str) -> bool:
    """Return True if a pathspec may match a file, or if in doubt."""
    if spec.startswith(":") or any(sign in spec for sign in "[\\"):
        return True
    path, full = path.casefold(), os.path.normpath(os.path.join(here, spec)).casefold()
    if path == full or path.startswith(full.rstrip("/") + "/"):
        return True
    wild = not {"*", "?"}.isdisjoint(spec)
    return wild and (".." in spec or fnmatch.fnmatchcase(path, f"{glob.escape(here)}/{spec}*".casefold()))


def _excluded(spec: str) -> tuple[frozenset[str], str] | None:
    """Return the words and the pattern of a pathspec that excludes files; None if it excludes none."""
    match = _EXCLUDING.fullmatch(spec)
    if not match:
        return None
    if match["sign"]:
        return frozenset(["exclude", *(["top"] if "/" in match["sign"] else [])]), match["rest"]
    words = frozenset(match["words"].split(","))
    if "glob" in words and not match["rest"].endswith("/**"):
        return None
    return (words, match["rest"]) if "exclude" in words and words <= _EXCLUDING_WORDS else None


def _left_out(excluded: tuple[frozenset[str], str], here: str, top: Path, path: str) -> bool:
    """Return True if a pattern certainly excludes a file; False if in doubt."""
    words, pattern = excluded
    path = os.path.relpath(path, str(top) if "top" in words else here)
    if "literal" not in words:
        pattern = pattern.removesuffix("/**").removesuffix("/*")
    pattern = pattern.rstrip("/")
    if not pattern or path.startswith(".."):
        return False
    if "literal" in words or not set(pattern) & set("*?[\\"):
        return path == pattern or path.startswith(pattern + "/")
    return "\\" not in pattern and fnmatch.fnmatchcase(path, pattern)
