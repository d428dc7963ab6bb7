"""Kinds of checks that commands run, by their programs and scripts: tests, builds, linters, or all of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise, takewhile
from pathlib import PurePath

from agentcli.agent.claim_words import Kind
from agentcli.permissions.shell.programs.known_programs import is_interpreter, word_set

_READS = word_set("""
cat less more head tail grep egrep rg ag ls find fd echo printf sed awk cut sort uniq wc cd pwd which type export
source . sleep rm cp mv mkdir touch chmod kill pkill ps gh tee tr true false : set unset tar zip unzip rsync scp
stat du df file tree date read git popd pushd return exit wait fi done esac for case nl pgrep pidof basename dirname
realpath readlink column paste fold tac rev od xxd hexdump strings uname id whoami hostname nproc printenv
""")
"""Programs that show, copy or move files: what they print tells nothing of how code behaves."""
_SHOWS = _READS | word_set(
    "[ xargs jq diff curl wget open kubectl test lsof ssh-add az aws gcloud heroku vercel brew apt apt-get pip pip3"
)
_TEST = r"(?:unit-?)?tests?|specs?|pytest|py\.test|tox|nox|unittest|jest|vitest|mocha|ava|karma|cypress|playwright|rspec|minitest|phpunit|pest|paratest|ctest|nextest|gotestsum|bats|behave|e2e|integration|junit|prove|busted|t"
_BUILD = r"build(?:s|x)?|compile|bundle|dist|package|assemble|install(?:Debug|Dist)|webpack|vite|tsup|rollup|esbuild|archive|\w*latex(?:mk)?|tectonic|typst|g?cc|g\+\+|clang(?:\+\+)?|rustc|javac|kotlinc|swiftc|ghc|hugo|testCompile|compile\w+|assemble\w+"
_LINT = r"\w*lint(?:er|ing)?|\w*fmt|format|types?-?check|types|tsc|vue-tsc|svelte-check|style|clippy|vet|prettier|biome|ruff|mypy|pyright|basedpyright|flake8|black|isort|\w+check|clang-tidy|codespell|ktlint\w*|detekt|rubocop|phpstan|psalm|checkstyle\w*|credo|dialyzer|analyze|goimports|markdownlint\S*"
_ALL = r"checks?|verify|ci|validate|pre-?commit|preflight|quality|qa|lefthook|turbo|nx"
_KINDS: Sequence[tuple[Kind, str]] = (("tests", _TEST), ("build", _BUILD), ("lint", _LINT), ("checks", _ALL))
EVERY: frozenset[Kind] = frozenset(("tests", "build", "lint", "checks"))
"""All kinds."""
_COMPILES = word_set(
    "cargo go mvn mvnw gradle gradlew dotnet swift xcodebuild sbt stack cabal mix zig make cmake ctest bazel flutter"
)
"""Programs whose tests compile what they test."""
_INSTALLS = word_set("""
install add i ci remove uninstall get init create clean login publish info view list ls outdated update upgrade why
sync lock
""")
PACKAGE_MANAGERS = word_set("npm pnpm yarn bun pip pip3 uv poetry cargo go gem bundle composer brew pdm conda mix")
_TYPE_CHECKERS = frozenset(["cargo", "deno", "gleam"])
"""Languages' own programs whose `check` compiles, and tests nothing."""
_CHECKS_TYPES = re.compile(r"(?:vue-)?tsc|type-?check|check-types")
_SYNTAX_ONLY = {"php": "-l", "ruby": "-c", "perl": "-c", "luac": "-p"}
"""Options with which interpreters only check the syntax."""
_PARSES_ONLY = {**dict.fromkeys(word_set("bash dash fish ksh sh zsh"), "-n"), "node": "--check"}
"""Options of that kind that prove a check but name none. A message that names the command claims only that command."""
_TOOLCHAINS = _TYPE_CHECKERS | {"go", "swift", "dotnet", "node", "git"}
"""Programs that run no task of the project; git does so in its hooks."""
_FORGES = frozenset(["gh", "glab"])
_ABOUT_CI = frozenset(["pr", "mr", "run", "ci", "workflow", "pipeline"])
_SHOW_CI = frozenset(["checks", "status", "view", "list", "ls", "watch", "get", "trace"])
_STATES = re.compile(r"(?i)check|status|conclusion|actions|/runs\b|pipelines|/jobs\b")
"""What a query names if it asks for results of CI."""
_CI = re.compile(r"(?i)(?:^|[:/_.\-])ci(?:$|[:/_.\-])")
_NO_RUN = re.compile(r"^(?:--help|-h|--version|-V|--collect-only|--co|--list|--listTests|--list-tests|--dry-run|--showConfig)$")  # fmt: skip


def unredirected(words: Sequence[str]) -> list[str]:
    """Return the words of a command without redirections, whose operators are words of their own."""
    kept, target = list[str](), False
    for word in words:
        if target:
            target = False
        elif set(word) <= set("<>&|"):
            del kept[len(kept) - (kept[-1:] in (["1"], ["2"])) :]
            target = True
        else:
            kept.append(word)
    return kept


def kinds_of(words: Sequence[str]) -> frozenset[Kind]:
    """Return the kinds of checks that a command runs; empty for any other command."""
    program = PurePath(words[0]).name if words else ""
    if asks_ci(words):
        return EVERY | {"ci"}
    if only_shows(words) and not any(map(_NO_RUN.match, words)):
        return frozenset()
    options = takewhile(lambda word: word.startswith("-"), words[1:])
    kinds = frozenset[Kind]({"lint"}) if _PARSES_ONLY.get(program, "") in options else named_kinds(words)
    found = _widened(kinds, program, words)
    return found | {"ci"} if found == EVERY and any(map(_CI.search, words)) else found


def asks_ci(words: Sequence[str]) -> bool:
    """Return True for a command that may show results of CI: in its output, and rarely by its exit code."""
    if not words or PurePath(words[0]).name not in _FORGES:
        return False
    query = "api" in words[1:3] or ("--json" in words and not {"run", "checks"} & set(words[1:4]))
    if query:
        return any(map(_STATES.search, words[2:]))
    return not (_ABOUT_CI.isdisjoint(words[1:3]) or _SHOW_CI.isdisjoint(words[2:4]))


def awaits_ci(words: Sequence[str]) -> bool:
    """Return True for a command whose exit code is the result of CI."""
    return list(words[1:3]) in (["pr", "checks"], ["run", "watch"], ["ci", "status"])


def named_kinds(words: Sequence[str]) -> frozenset[Kind]:
    """Return the kinds of checks that a command names, except those that it only runs as a step."""
    words = unredirected(words)
    if only_shows(words) or any(map(_NO_RUN.match, words)):
        return frozenset()
    program = PurePath(words[0]).name
    operands = [word for word in words[1:] if not word.startswith("-") or (program, word) == ("node", "--test")]
    if program in _MAKES and _makes_all(words):
        return frozenset({"build"})
    if _SYNTAX_ONLY.get(program) in words:
        return frozenset({"lint"})
    if (
        program in PACKAGE_MANAGERS
        and operands
        and operands[0] in _INSTALLS
        and not (program == "go" and "test" in operands)
    ):
        return frozenset()
    if is_interpreter(program) and (module := re.search(_CALLS_MODULE, " ".join(words[1:]))):
        return named_kinds([program, "-m", module[1]])
    own = _named(PurePath(program).stem if program.endswith((".sh", ".py", ".js", ".ts", ".mjs", ".rb")) else program)
    if own and own != {"checks"}:
        return own
    if program in _TYPE_CHECKERS and operands and operands[0] == "check":
        return frozenset({"lint", "build"})
    operands = [word for at, word in enumerate(operands) if not _is_data(word, [program, *operands[:at]])]
    inner = {kind for word in operands for kind in _named(_script(word))}
    found = frozenset(inner | own)
    if found & {"lint", "build"} and "tests" in found:
        # eslint tests/ lints: the first word that is a check's name decides.
        first = next((kinds for word in operands if (kinds := _named(_script(word)))), frozenset[Kind]())
        separate = any(re.search(r"(?i)(?:^|[:_-])tests?(?:$|[:_-])", word) and "/" not in word for word in operands)
        found = found if separate else first
    return found or (frozenset({"lint"}) if {"--check", "--noEmit"} & set(words) else found)


_CALLS_MODULE = r"\b(?<!\.)import (?:\w+, )*(\w+)\b(?s:.*)\b\1\.(?:main|compile\w*)\("
"""Code on the command line that runs a check as a module, such as `py_compile.compile(name)`."""


def _is_data(word: str, before: Sequence[str]) -> bool:
    """Return True for an operand that names no task: code, or a file that no interpreter before it runs."""
    path = PurePath(word)
    of_file = path.suffix and ("/" in word or language_of(word)) and not word.startswith("./")
    return len(word.split()) > 1 or bool(of_file and not any(map(is_interpreter, before)))


_MAKES = frozenset(["make", "gmake", "ninja"])


def _makes_all(words: Sequence[str]) -> bool:
    """Return True if a command names no target of make, or `all`."""
    named = (
        word
        for before, word in pairwise(words)
        if not word.startswith("-") and "=" not in word and not word.isdigit() and not re.fullmatch(r"-[CfIo]", before)
    )
    return set(named) <= {"all"}


_LANGUAGES = {
    "Rust": ("rs", "cargo rustc rustfmt clippy-driver"),
    "Go": ("go", "go gofmt goimports golangci-lint staticcheck gotestsum"),
    "Python": ("py pyi", "pytest ruff mypy pyright basedpyright flake8 pylint black isort tox nox"),
    "JavaScript": (
        "js jsx ts tsx mjs cjs mts cts vue svelte astro css scss html",
        "npm pnpm yarn bun npx tsc vue-tsc eslint prettier biome vitest jest vite",
    ),
    "Java": ("java kt kts scala groovy", "mvn mvnw gradle gradlew sbt ktlint detekt"),
    "Ruby": ("rb erb", "rspec rubocop rake"),
    "PHP": ("php", "phpunit pest phpstan psalm"),
    "Swift": ("swift", "swift swiftlint"),
    ".NET": ("cs fs vb", "dotnet"),
    "Shell": ("sh bash zsh fish", "shellcheck shfmt"),
}
"""Languages with the endings of their files and the programs that read no other language's files."""


def language_of(path: str) -> str:
    """Return the language of a source file; empty for any other file."""
    ending = PurePath(path).suffix.removeprefix(".").lower()
    return next((name for name, (endings, _) in _LANGUAGES.items() if ending in endings.split()), "")


def language_read_by(words: Sequence[str]) -> str:
    """Return the language of the files that a command checks; empty if it may be any."""
    program = PurePath(words[0]).name if words else ""
    return next((name for name, (_, programs) in _LANGUAGES.items() if program in programs.split()), "")


@cache
def checkers() -> frozenset[str]:
    """Return the names of the programs that check by themselves what they are given, and run no others."""
    names = [name for _, programs in _LANGUAGES.values() for name in programs.split() if name not in ("tox", "nox")]
    return frozenset(["clippy", *(name for name in names if named_kinds([name]) & {"tests", "lint"})])


def checkers_in(words: Sequence[str], kinds: frozenset[Kind]) -> frozenset[str]:
    """Return the checkers that a command with checks of these kinds runs.

    If a task, a script or a hook chooses them, it is `task` with each kind.
    """
    named = checkers().intersection(PurePath(word).name for word in words)
    if named or (words and PurePath(words[0]).name in _TOOLCHAINS and not kinds >= EVERY):
        return named
    if any(map(_CHECKS_TYPES.fullmatch, words)):
        return frozenset(name for name in checkers() if _CHECKS_TYPES.fullmatch(name))
    return frozenset(map(task, kinds))


def task(kind: str) -> str:
    """Return the name for whatever checkers of a kind a task chooses."""
    return f"task {kind}"


@cache
def programs_of_others(language: str) -> re.Pattern[str]:
    """Return a pattern for the programs that read files of one other language only."""
    names = (name for other, (_, programs) in _LANGUAGES.items() if other != language for name in programs.split())
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})\b")


def _widened(kinds: frozenset[Kind], program: str, words: Sequence[str]) -> frozenset[Kind]:
    if "checks" in kinds:
        return EVERY if any(_checks_all(_script(word)) for word in words) else frozenset({"checks"})
    more: set[Kind] = set(kinds)
    if kinds:
        more.add("checks")
    if "tests" in kinds and (program in _COMPILES or any(word in _COMPILES for word in words)):
        more.add("build")
    if "build" in kinds or any(map(_CHECKS_TYPES.fullmatch, words)):
        more |= {"lint", "build"}
    if "lint" in kinds and any(word in ("clippy", "vet") for word in words):
        more.add("build")
    return frozenset(more)


_WHOLLY = re.compile(rf"(?:.*[/@])?(?:(?:{_ALL}|run|all|full|local|code|quick|fast|dev|pre|push|commit)[:_.\-\d]*)+")


def _checks_all(word: str) -> bool:
    """Return True for a name of a check of everything; `check:docs` and `validate-schema` check a part."""
    return "checks" in _named(word) and _WHOLLY.fullmatch(word.lower()) is not None


def _script(word: str) -> str:
    """Return the name by which a word may refer to a check: a script without its folder and extension."""
    path = PurePath(word)
    return path.stem if path.suffix in (".sh", ".py", ".js", ".ts", ".mjs", ".rb", ".bat") else word


@cache
def _named(word: str) -> frozenset[Kind]:
    if re.fullmatch(r"Test-[A-Z][A-Za-z]+", word):
        return frozenset()  # a command of PowerShell, such as Test-Path
    found = set[Kind]()
    for kind, names in _KINDS:
        if re.search(rf"(?i)(?:^|[:/_.\-@+])(?:{names})(?:$|[:/_.\-@\d])", word) and word != ".":
            found.add(kind)
    if len(found) > 1:
        found.discard("checks")  # check-types, test:ci
    if "build" in found and "compile" in word:
        found.discard("tests")  # test-compile
    if re.search(r"[a-z]Tests?$|^test[A-Z]|^check[A-Z]|^test_", word):
        found.add("tests")
    return frozenset(found)


_FORMATTERS = re.compile(r"\w*fmt|format|prettier|black|isort")
_SEARCHES = frozenset(["grep", "egrep", "rg", "ag", "diff"])
"""Programs that end with 1 if they find nothing."""


def only_reads(words: Sequence[str]) -> bool:
    """Return True for a command that runs nothing of what was made: it reads files, asks for help, or formats."""
    program = PurePath(words[0]).name if words else ""
    formats = any(map(_FORMATTERS.fullmatch, words)) and "--check" not in words and not only_shows(words)
    reads = only_shows(words) and program in _READS and not asks_ci(words)
    helps = not {"--help", "--version"}.isdisjoint(words) or words[-1:] in (["-h"], ["-V"])
    return not words or reads or formats or helps


def searches(words: Sequence[str]) -> bool:
    """Return True for a command that fails if it finds nothing."""
    return bool(words) and PurePath(words[0]).name in _SEARCHES


def only_shows(words: Sequence[str]) -> bool:
    """Return True for a command that only shows, copies or moves something; a file called `test` is a script."""
    return not words or (PurePath(words[0]).name in _SHOWS and not words[0].endswith("/test"))
