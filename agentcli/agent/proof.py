"""Proof of claims: which checks ran after the last edit, and whether they succeeded.

True exit codes or the output show whether a check succeeded.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import TypeVar

from agentcli.agent.check_commands import (
    EVERY,
    PACKAGE_MANAGERS,
    asks_ci,
    awaits_ci,
    checkers_in,
    kinds_of,
    language_of,
    language_read_by,
    named_kinds,
    only_reads,
    only_shows,
    programs_of_others,
    searches,
    task,
    unredirected,
)
from agentcli.agent.claim_words import Kind
from agentcli.agent.claims import claims
from agentcli.core.dataclass import dataclass
from agentcli.core.message import PIPE_CLOSED
from agentcli.permissions.shell.programs.forge import reads_forge
from agentcli.permissions.shell.programs.known_programs import is_interpreter

PERSON = "person"
"""The command of a step that is the person's words."""


@dataclass(frozen=True, slots=True)
class Step:
    """One finished call: a command with its result, an edit of a file, or the report of somebody else."""

    command: str = ""
    exit: int | None = None
    """Exit code; None if unknown."""
    output: str = ""
    parts: Sequence[int] = ()
    """Exit codes of the parts of its last pipe, if known."""
    edited: str = ""
    comments_only: bool = False
    """True if the edit changed comments only: no test and no build can differ."""
    created: bool = False
    """True if the edit created files."""
    told: bool = False
    """A report of somebody else: a subagent, or the person."""
    ran: bool = True
    """False for a call that was refused, an edit that failed, or a run that never ended."""


@dataclass(frozen=True, slots=True)
class Proof:
    """The newest run of one kind of check."""

    passed: bool | None
    """Its verdict; None if unknown."""
    figure: str = ""
    """A figure such as `14 passed`."""
    command: str = ""
    language: str = ""
    """The language of the files that the command reads; empty if it may read any."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """The runs after the last edit."""

    proofs: dict[Kind, Proof]
    """The runs by kind."""
    checkers: dict[str, Proof]
    """The runs by checkers (see `checkers_in`)."""
    edited: str
    """The file of that edit."""
    touched: str
    """The file edited after every run, though no check reads it; such as a setting, but no text."""
    text: str
    """The text edited last, such as a document, if no command ran in the session."""
    unrun: str
    """The code edited after everything that ran."""
    looked: bool
    """True if a file was read since, or what Git shows."""
    ran: bool
    """True if anything else was run since and did not fail."""
    failed: str
    """The first command that failed since; empty if none did."""
    tests: int | None = None
    """Tests that the runs count at most, with skipped ones; None if any of the successful ones shows no number."""


def ledger(steps: Iterable[Step]) -> Ledger:
    """Return what a session's steps prove at its end."""
    proofs: dict[Kind, Proof] = {}
    checkers: dict[str, Proof] = {}
    counted: dict[str, int | None] = {}
    edited, touched, text, unrun, looked, ran, failed = "", "", "", "", False, False, ""
    steps = _lasting([step for step in steps if step.ran or not step.edited])
    acted = any(step.ran and (step.command or step.told) and step.command != PERSON for step in steps)
    documents = _documents([step.edited for step in steps if step.edited])
    for step in steps[_begin(steps, documents) :]:
        if step.edited and _matters(step.edited) and not _is_document(step.edited, documents):
            edited, failed = step.edited, ""
            looked, ran = looked and step.comments_only, ran and step.comments_only
            unrun = unrun if step.comments_only or _is_data(step.edited) else step.edited
            proofs, checkers = dict(_kept(proofs, step)), dict(_kept(checkers, step))
            counted = counted if "tests" in proofs else {}
            continue
        if step.edited:
            touched, text = ("" if _TEXT.search(step.edited) else step.edited) or touched, step.edited
        if not step.ran:
            continue
        if not step.edited and _reports(step):
            if has_failed(step):
                failed = failed or step.command
            elif _only_reads(step):
                looked, touched = True, ""
                unrun = "" if any(map(searches, (words for words, _ in _lines_of(step)))) else unrun
            else:
                ran, touched, unrun = True, "", ""
        if step.told:
            told = _told(step.output)
            proofs |= told
            checkers |= {task(kind): proof for kind, proof in told.items()}
            continue
        for part in _parts(step):
            if part.edits:
                edited, proofs, checkers, counted = part.edits, {}, {}, {}
            if "tests" in part.kinds and (part.tests is not None or (part.passed and part.text not in counted)):
                counted[part.text] = part.tests
            for kind in part.kinds:
                figure = _figure(step.output) if kind == "tests" else ""
                proof = Proof(part.passed, figure, part.text, language_read_by(part.words))
                # What did not run retracts nothing; a failure of many checks does not say which.
                some = not part.kinds >= EVERY or kind in ("checks", "ci")
                retracts = proof.passed is False and some and not part.missing
                if (proof.passed and not _shows_less(proof, proofs.get(kind))) or kind not in proofs or retracts:
                    proofs[kind] = proof
                names = checkers_in(part.words, part.kinds)
                if proof.passed is not False or (retracts and task(kind) not in names):
                    checkers |= dict.fromkeys(names, proof)
    known = [number for number in counted.values() if number is not None]
    tests = (sum(known) or None) if len(known) == len(counted) else None
    return Ledger(proofs, checkers, edited, touched, "" if acted else text, unrun, looked, ran, failed, tests)


def _shows_less(proof: Proof, earlier: Proof | None) -> bool:
    """Return True if an earlier success counts more tests, such as that of the whole suite before a commit's hook."""
    new, old = (re.match(r"[\d,]+", one.figure) if one is not None and one.passed else None for one in (proof, earlier))
    return new is not None and old is not None and int(new[0].replace(",", "")) < int(old[0].replace(",", ""))


def examines(command: str) -> bool:
    """Return True for a line that may have changed nothing.

    It consists of checks, programs that show something, package managers, and interpreters. Only changed files show
    that it did more.
    """
    return all(_examines(words) for words, _ in _commands(_HERE.sub(r" \3", command)))


def publishes(command: str) -> bool:
    """Return True for a line with git or gh: what it does may change no file."""
    return any(PurePath(words[0]).name in ("git", "gh") and not _examines(words) for words, _ in _commands(command))


def checks(command: str) -> bool:
    """Return True for a line that runs a check here, such as tests or a build."""
    return any(True for _ in checks_in(command))


def checks_in(command: str) -> Iterator[list[str]]:
    """Yield the words of each check that a line runs here."""
    for words, _ in _commands(_HERE.sub(r" \3", command)):
        if kinds_of(words) and not asks_ci(words):
            yield words


def shows(command: str) -> bool:
    """Return True for a line that only shows something."""
    return all(only_shows(words) for words, _ in _commands(_HERE.sub(r" \3", command)))


def _examines(words: Sequence[str]) -> bool:
    program = PurePath(words[0]).name
    if program == "gh":
        return reads_forge(words) or awaits_ci(words)
    shows = only_shows(words) and program != "git"
    return shows or bool(kinds_of(words)) or program in PACKAGE_MANAGERS or is_interpreter(program)


def _only_reads(step: Step) -> bool:
    return bool(step.command) and step.command != PERSON and all(only_reads(words) for words, _ in _lines_of(step))


def lines_of_failure(output: str) -> Iterator[str]:
    """Yield the lines of an output that tell of a failure."""
    return (line for line in output.splitlines() if _FAILED.search(line) or _TROUBLE.search(line))


def has_failed(step: Step) -> bool:
    """Return True for a command that failed, also if a pipe hides it."""
    found = [words for words, _ in _lines_of(step)]
    piped = zip(found[-len(step.parts) :], step.parts, strict=False) if len(step.parts) > 1 else ()
    hidden = any(code not in (0, PIPE_CLOSED) and not only_reads(words) for words, code in piped)
    return hidden or (bool(step.exit) and not (step.exit == 1 and found and searches(found[-1])))


def _lines_of(step: Step) -> Iterator[tuple[list[str], str]]:
    return _commands(_HERE.sub(r" \3", step.command))


def _reports(step: Step) -> bool:
    """Return False for words of the person that report no result."""
    return step.command != PERSON or bool(claims(step.output)) or _summary(step.output) is not None


def _lasting(steps: Sequence[Step]) -> Sequence[Step]:
    """Leave out the edits of files that the session created, and removed later."""
    created = {step.edited for step in steps if step.created}
    gone = set[str]()
    for step in steps if created else ():
        gone.discard(step.edited)
        if "rm " in step.command and not step.exit:
            gone |= {path for path in created if _removes(step.command, path)}
    return [step for step in steps if step.edited not in gone] if gone else steps


def _removes(command: str, path: str) -> bool:
    return re.search(rf"\brm [^;&|\n]*{re.escape(PurePath(path).name)}(?![\w.-])", command) is not None


_TEXTS = r"\.(?:md|mdx|rst|txt|adoc|svg|png|jpe?g|gif|log|csv)$|(?:^|/)docs?/(?:[^/]+/)*[^/]+\.(?:json|ya?ml|toml)$|(?:^|/)(?:LICENSE|CHANGELOG|AUTHORS|CODEOWNERS)[^/]*$"
_TEXT = re.compile(rf"(?i){_TEXTS}|^/|[\\/](?:Temp|tmp|scratchpad)[\\/]")
"""Texts, pictures, and files outside the working folder."""
_UNTESTED = re.compile(
    rf"(?i){_TEXTS}|(?:^|/)\.(?!/|config/)[^/]+/|(?:^|/)\.(?:git|env)[^/]*$|[\\/](?:Temp|tmp|scratchpad)[\\/]"
)
"""Files that no check reads: texts, pictures, hidden folders, and values of the environment."""


_DATA = frozenset([".yaml", ".yml", ".json", ".toml"])


def _matters(path: str) -> bool:
    return not _UNTESTED.search(path) and not path.startswith(("/tmp/", "/private/tmp/", "/var/folders/"))


def changes_code(step: Step) -> bool:
    """Return True for an edit that may change the result of a check."""
    return bool(step.edited) and step.ran and not step.comments_only and _matters(step.edited)


def _is_data(path: str) -> bool:
    """Return True for a file that nothing runs, such as settings."""
    return PurePath(path).suffix in ("", ".ini", ".cfg", ".conf", *_DATA)


def _documents(paths: Sequence[str]) -> frozenset[PurePath]:
    """Return the folders below the working folder in which a session edited texts, and no code."""
    texts = {path.parent for path in map(PurePath, paths) if _UNTESTED.search(str(path)) and path.parent.name}
    code = [path for path in map(PurePath, paths) if _matters(str(path)) and path.suffix not in _DATA]
    return frozenset(folder for folder in texts if not any(folder in path.parents for path in code))


def _is_document(path: str, documents: frozenset[PurePath]) -> bool:
    """Return True for a data file among documents, such as the status of a plan."""
    return PurePath(path).suffix in _DATA and PurePath(path).parent in documents


def _begin(steps: Sequence[Step], documents: frozenset[PurePath]) -> int:
    """Return the index of the last edit that leaves no proof valid, as far as the names of programs show."""
    firsts: dict[str, int] = {}
    for at in range(len(steps) - 1, -1, -1):
        step = steps[at]
        if (
            step.edited
            and not step.comments_only
            and not _unread(step.edited)
            and _matters(step.edited)
            and not _is_document(step.edited, documents)
        ):
            language = language_of(step.edited)
            if language and language not in firsts:
                others = programs_of_others(language)
                firsts[language] = next((i for i, one in enumerate(steps) if others.search(one.command)), len(steps))
            if not language or firsts[language] > at:
                return at
    return 0


_Name = TypeVar("_Name", bound=str)


def _kept(proofs: Mapping[_Name, Proof], edit: Step) -> Iterator[tuple[_Name, Proof]]:
    """Yield the proofs that an edit leaves valid: it changed only comments, or what they do not read.

    `proofs` are those of kinds of checks, or of checkers by their names.
    """
    language, unread = language_of(edit.edited), _unread(edit.edited)
    for name, proof in proofs.items():
        other = language and proof.language and language != proof.language
        kind = name.removeprefix(task(""))
        if other or (edit.comments_only and kind in _MEANING) or kind in unread or named_kinds([name]) & unread:
            yield name, proof


_APART: Sequence[tuple[re.Pattern[str], frozenset[Kind]]] = (
    (re.compile(r"(?i)(?:^|[/\\._-])(?:tests?|specs?)[/\\._-]"), frozenset({"build"})),
    (
        re.compile(
            r"(?i)(?:^|[/\\])\.?(?:\w*lint[\w-]*|prettier|biome|ruff|golangci)(?:rc|ignore|\.config|\.(?:jsonc?|ya?ml|toml)$)"
        ),
        frozenset(("tests", "build")),
    ),
)
"""Paths of tests and of linters' settings, with the checks that do not read them."""


def _unread(path: str) -> frozenset[Kind]:
    """Return the kinds of checks that do not read a file of the code."""
    return next((kinds for pattern, kinds in _APART if pattern.search(path)), frozenset())


_MEANING: frozenset[str] = frozenset(("tests", "build"))
"""Checks that comments do not change."""


@dataclass(frozen=True, slots=True)
class _Part:
    words: Sequence[str]
    kinds: frozenset[Kind]
    passed: bool | None
    edits: str = ""
    tests: int | None = None
    """Tests that its output counts at most; None if unknown."""
    missing: bool = False
    """True if its program is missing."""

    @property
    def text(self) -> str:
        return line_of(self.words)


def line_of(words: Sequence[str]) -> str:
    """Return a command without redirections."""
    return shlex.join(unredirected(words))


_HERE = re.compile(r"(?s)<<-?\s*(['\"]?)(\w+)\1([^\n]*)\n.*?(?:\n\s*\2\b|\Z)")


def _parts(step: Step) -> Iterator[_Part]:
    """Yield the commands of a line with their verdicts."""
    found = list(_commands(_HERE.sub(r" \3", step.command)))
    tested = any("tests" in kinds_of(words) for words, _ in found)
    printed = _TASK.sub("", step.output)
    shown = _sections([words for words, _ in found], printed)
    strict = re.search(r"\bset -\w*e|pipefail", step.command) is not None
    whole = step.exit is not None
    last_pipe = len(found) - len(step.parts)
    away = False
    for at, (words, after) in enumerate(found):
        away = _is_away(words[-1]) if words[0] == "cd" else away
        edits = "" if away else _edits(words, after)
        edits = "" if edits and _removes(step.command, edits) else edits
        kinds = EVERY if _by_hook(words, step.output) else kinds_of(words)
        exit = step.exit if whole and _is_true(found, at, strict) else None
        if len(step.parts) > 1 and at >= last_pipe:
            exit = step.parts[at - last_pipe] if step.parts[at - last_pipe] != PIPE_CLOSED else exit
        if not kinds:
            yield _Part(words, kinds, None if exit is None else exit == 0, edits)
            continue
        output = "\n".join(row for row in shown[at].split("\n") if not _of_another(row, words, found))
        summary = _summary(output)
        if asks_ci(words):
            awaited = awaits_ci(words)
            summary = _result_of_ci(output, newest_first="list" in words)
            if summary is None and not awaited:
                continue
            passed = _verdict(step.exit if awaited and _is_true(found, at, strict) else None, summary, output)
            yield _Part(words, kinds, passed)
            continue
        # If a chain of && succeeded, all its parts did; a failure may be another part's.
        if exit and any(joint == "&&" for _, joint in found[at:]) and summary is not None:
            exit = None
        # A failure that tests report beside a linter is not the linter's.
        others = tested and summary is False and "tests" not in kinds
        passed = summary if exit == _TIMED_OUT else None if others and exit is None else _verdict(exit, summary, output)
        if passed:
            kinds |= {kind for words in commands_of_script(output) for kind in kinds_of(words)}
            kinds |= _named_in(output)
        # Tests that fail were built.
        failing = passed is False and summary is False and "tests" in kinds and words[0] != "gh"
        kinds = kinds & _OF_TESTS if failing else kinds
        yield _Part(words, kinds, passed, edits, _most(output), exit == 127)
    if found and not any(kinds_of(words) or _by_hook(words, step.output) for words, _ in found):
        run = next((words for words, _ in found if not only_shows(words)), ())
        if (run or _TEST_SUMMARY.search(printed)) and (summary := _summary(printed)) is not None:
            kinds = _OF_TESTS | (_named_in(printed) if summary else frozenset())
            yield _Part(run or found[0][0], kinds, summary, tests=_most(printed) or 0)
        elif not has_failed(step) and not _TROUBLE.search(printed):
            logs = _LOGGED if any(_LOG.search(word) for words, _ in found for word in words) else frozenset[Kind]()
            tests = _OF_TESTS if _tests_inline(step.command) else frozenset[Kind]()
            if kinds := (_named_in(printed) | tests) if run else logs:
                yield _Part(run or found[0][0], kinds, True)


_OF_TESTS: frozenset[Kind] = frozenset(("tests", "checks"))
"""What a run of tests shows."""
_TIMED_OUT = 124
"""Exit code of `timeout` for a command that did not end: it neither succeeded nor failed."""
_INLINE = re.compile(r"\b(?:python3?|node|ruby|perl|php|bun|deno)\b[^\n]{0,40}?(?: -[a-z]{0,3}[ce]\b|<<)")
"""An interpreter with a script in the command."""
_TESTS = re.compile(r"\bassert\b|print\([^)\n]{0,40}(?i:\btests?\b|测试|テスト|тест)")
"""A statement that tests, or tells of a test."""


def _tests_inline(command: str) -> bool:
    """Return True for a command with a script that tests something."""
    return _INLINE.search(command) is not None and _TESTS.search(command) is not None


_CI_FAILED = r"\b(?:fail\w*|error|timed_out|cancelled|action_required)\b|^X |✗"
_CI_RUNS = r"\b(?:pending|in_progress|queued|waiting|requested|expected)\b"
_CI_PASSED = r"\b(?:success\w*|pass(?:ed|ing)?|succeeded)\b|✓"
_PROSE = re.compile(r'"(?:body|title|description|message)": *"(?:[^"\\]|\\.)*"')
"""What people wrote, in JSON."""
_CI_NONE = re.compile(r"(?i)\b0 [a-z]+\b")


def _result_of_ci(output: str, newest_first: bool) -> bool | None:
    """Return the result of CI in an output; None if some of it runs, or there is none.

    The last row of a check in a table counts: who waits prints the table again.
    """
    output = _PROSE.sub("", output)
    rows = dict(row.split("\t", 1) for row in output.splitlines() if "\t" in row)
    text = _CI_NONE.sub("", "\n".join(rows.values() if rows and not newest_first else [output]))
    found = {
        each.start(): result
        for result, words in ((False, _CI_FAILED), (None, _CI_RUNS), (True, _CI_PASSED))
        if (each := re.search(f"(?im){words}", text))
    }
    if newest_first:
        return found[min(found)] if found else None
    results = set(found.values())
    return False if False in results else True if results == {True} else None


_TASK = re.compile(r"(?m)^\[[a-z][\w:./-]*\] ")
"""Name of a task before each line that it prints."""
_SHOWN = 2000
"""Characters at the end of an output in which a check names what succeeded."""
_LOG = re.compile(r"\.(?:log|out|output)$")
"""The end of a file's name in which a server prints what it rebuilt."""
_LOGGED: frozenset[Kind] = frozenset(("build", "checks"))
_SCRIPT = re.compile(r"(?m)^[>$] (.+)$")
"""A command of a script, as npm, yarn, pnpm, bun and mise show it before they run it."""


def commands_of_script(output: str) -> Iterator[list[str]]:
    """Yield the words of each command that a script shows that it ran."""
    for line in _SCRIPT.findall(output):
        yield from (words for words, _ in _commands(line) if "@" not in words[0] and not only_shows(words))


def _named_in(output: str) -> frozenset[Kind]:
    """Return the kinds of checks, other than tests, whose success an output tells at its end."""
    return (claims(output[-_SHOWN:]) & EVERY) - {"tests"}


def _sections(commands: Sequence[Sequence[str]], output: str) -> Sequence[str]:
    """Return for each command its part of the output.

    What `echo` prints divides the output, and is none of the other commands' own.
    """
    shown, begun, at = list[str](), 0, 0
    for index, words in enumerate(commands):
        before = commands[index - 1] if index else ()
        if (mark := _echoed(words, only_shows(before))) and (found := re.compile(mark).search(output, at)):
            shown += [output[at : found.start()]] * (index - begun) + [""]
            begun, at = index + 1, found.end()
    return shown + [output[at:]] * (len(commands) - begun)


def _echoed(words: Sequence[str], shows: bool) -> str:
    """Return a pattern for what a command echoes; empty if it may be about the checks before it.

    The exit code of a command that only `shows` what another printed is not that of a check.
    """
    said, code, _ = words[1].partition("$?") if words[0] == "echo" and len(words) == 2 else ("", "", "")
    fixed = len(said) > 1 and "$" not in said and (shows or not code)
    return re.escape(said) + (r"\d*" if code else "") if fixed else ""


def _is_away(folder: str) -> bool:
    """Return True for a folder whose files no check of the workspace reads."""
    return folder.startswith("$") or not _matters(folder.rstrip("/") + "/_")


def _by_hook(words: Sequence[str], output: str) -> bool:
    """Return True for a commit or push whose hook ran checks: if they fail, the command stops."""
    acts = PurePath(words[0]).name == "git" and {"commit", "push"} & set(words) and "--no-verify" not in words
    return bool(acts) and (_TEST_SUMMARY.search(output) is not None or _HOOK.search(output) is not None)


_HOOK = re.compile(r"(?i)husky|lefthook|pre-?commit|lint-staged|\btsc\b|eslint|biome|\.{6,}Passed|ruff|clippy|prettier")


def _is_true(found: Sequence[tuple[list[str], str]], at: int, strict: bool) -> bool:
    """Return True if the line's exit code is zero only if this command's is."""
    joints = [joint for _, joint in found[at:-1]]
    last = found[at][1] if at < len(found) - 1 else ""
    if last in ("|", "|&", "||", "&"):
        return strict and last in ("|", "|&")
    return strict or (all(joint == "&&" for joint in joints if joint not in ("|", "|&")) and not _ends(joints))


def _ends(joints: Sequence[str]) -> bool:
    return any(joint in (";", "||", "&") for joint in joints)


def _verdict(exit: int | None, summary: bool | None, output: str) -> bool | None:
    if _NOTHING_RAN.search(output) and summary is not True:
        return None
    if exit is not None:
        return exit == 0
    if summary is not None:
        return summary
    # Words of failure in an output without a true exit code may be about something else.
    return False if _COULD_NOT.search(output) else None if _TROUBLE.search(output) else True


def _of_another(row: str, words: Sequence[str], found: Iterable[tuple[Sequence[str], str]]) -> bool:
    """Return True for a line that says that another command's program is missing, or that another's script failed."""
    missing = re.fullmatch(r".*: (\S+): (?:command )?not found", row) if row.endswith("not found") else None
    script = re.match(_SCRIPT_FAILED, row)
    others = (other for other, _ in found)
    return (missing is not None and missing[1] != words[0]) or (
        script is not None and script[1] not in words and any(script[1] in other for other in others)
    )


def _commands(text: str) -> Iterator[tuple[list[str], str]]:
    """Yield the words of each command, and the operator after it."""
    lexer = shlex.shlex(text.replace("\\\n", " "), posix=True, punctuation_chars=";|&()<>\n")
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t\r", True, ""
    try:
        tokens = list(lexer)
    except ValueError:
        tokens = re.split(r"\s+|([;|&\n]+)", text)
    words: list[str] = []
    for token in (*filter(None, tokens), ";"):
        if set(token) <= set(";|&()\n") and not set(token) & set("<>"):
            if kept := _started(words):
                joint = token.strip("()\n") or ";"
                joint = joint if joint in ("&&", "||", "|", "|&", "&") else ";"
                *inner, (last, _) = list(_commands(_line_in(kept))) or [(kept, "")]
                yield from inner
                yield last, joint
            words = []
        elif token.startswith("#") and not words:
            words.append(":")
        else:
            words.append(token)


_LINE = re.compile(r"-\w*c|--?(?:run|command)|:::")
"""An option whose value is a line of commands."""


def _line_in(words: Sequence[str]) -> str:
    """Return the line that a command hands to a shell, here or elsewhere; empty without one."""
    program = PurePath(words[0]).name
    if program == "kubectl" and "--" in words:
        return shlex.join(words[words.index("--") + 1 :])
    shells = any(PurePath(word).name in _SHELLS for word in words)
    if only_shows(words) or (is_interpreter(program) and not shells):
        return ""
    line = words[-1] if len(words) > 1 and " " in words[-1].strip() else ""
    return line if program == "ssh" or _LINE.fullmatch(words[-2] if line else "") else ""


_SHELLS = frozenset(["sh", "bash", "zsh", "dash", "ksh", "fish"])
_BEFORE = frozenset(["if", "then", "elif", "else", "while", "until", "do", "time", "sudo", "env", "nohup", "command", "exec", "!", "{", "nice", "stdbuf", "caffeinate", "xvfb-run", "rtk"])  # fmt: skip


def _started(words: Sequence[str]) -> list[str]:
    """Return the words from the program on, without keywords, assignments and programs that only start another."""
    left = list(words)
    while left:
        if left[0] == "command" and left[1:2] in (["-v"], ["-V"]):
            return ["which", *left[2:]]
        if left[:2] == ["bundle", "exec"]:
            del left[:2]
        elif left[0] in _BEFORE or re.match(r"\w+=", left[0]):
            left.pop(0)
        elif left[0] == "xargs":
            del left[0]
            while left and left[0].startswith("-"):
                del left[: 2 if re.fullmatch("-[nPLIdEs]", left[0]) else 1]
            left = left or [":"]
        elif left[0] == "timeout":
            left.pop(0)
            while left and (left[0].startswith("-") or re.match(r"\d", left[0])):
                left.pop(0)
        else:
            break
    return left


_WRITES = re.compile(r"^(?:>|>>|>\|)$")


def _edits(words: Sequence[str], after: str) -> str:
    """Return the workspace file that a command changes, as far as its words reveal."""
    program = PurePath(words[0]).name
    target = ""
    for at, word in enumerate(words[:-1]):
        if _WRITES.match(word) and not (at and words[at - 1] in ("2", "1") and words[at + 1].startswith("&")):
            target = words[at + 1]
    if program in ("sed", "perl") and any(re.match(r"-\w*i|--in-place", word) for word in words[1:]):
        target = words[-1]
    if program == "tee":
        target = next((word for word in words[1:] if not word.startswith("-")), "")
    if program == "patch":
        return words[-1]
    return (
        target
        if "." in PurePath(target).name and _matters(target) and not target.startswith(("/dev", "&", "$", "~"))
        else ""
    )


_TEST_SUMMARY = re.compile(
    r"(?im)^test result: (?:ok|FAILED)|^(?:ok|FAIL)\s+\S+\s+[\d.(]|\b(\d[\d,]*) (?:tests? )?(?:passed|passing)\b|^\s*(\d+) pass\b|^Ran (\d+) tests?|^# pass (\d+)|"
    r"\b(\d+) (?:examples?|runs|tests), .*\b\d+ failures?|Tests run: (\d+)|^OK \((\d+) tests?|All tests passed|\bpass(?:ed)?:?\s+(\d+)\b|^PASS(?:$|[:\s])|\bBUILD SUCCESS|\b100% tests passed"
)
_SCRIPT_FAILED = r"error: (?:recipe|script) [\"`']?([^\"`'\s]+)[\"`']? (?:failed|exited)"
_FAILED = re.compile(
    r"(?m)\b[1-9]\d* (?:tests? |examples? |suites? )?(?:failed|failing|failures?)\b|^\s*[1-9]\d* fail\b|^--- FAIL|^FAIL\b|^FAILED\b|test result: FAILED|^# fail [1-9]|"
    r"Failures: [1-9]|Errors: [1-9]|BUILD FAILED|BUILD FAILURE|Test Suites: \d+ failed|"
    r"^(?:g?make(?:\[\d+\])?: \*\*\* |ERROR task failed|error: (?:recipe|script) \S+ (?:failed|exited)|task: Failed to run task|\s*ELIFECYCLE|npm (?:ERR!|error) Lifecycle script|error Command failed)"
)


_MAYBE_FAILED = re.compile(r"\b[1-9]\d* errors?\b(?! (?:suppressed|ignored))|✗|✘|✖ [1-9]")
"""Signs of a failure that tests also print about what they test."""
_CLEAN = re.compile(
    r"(?im)All checks passed|no issues found|\b0 (?:errors?|issues?)\b|Success: no issues|✔ No|no (?:lint )?(?:errors|problems|warnings)|Finished `?\w+`? |Compiled successfully|built in [\d.]+|Build completed|exit(?:ed)?(?: ?code| status)?[ :=]+0\b|EXIT[:=_ ]*0\b|rc=0\b"
)
_TROUBLE = re.compile(
    r"(?m)command not found|No such file or directory|^Traceback|^npm ERR!|ELIFECYCLE|error TS\d|^error(?:\[|:)|Error: |^panic:|cannot find module|No module named|exit(?:ed)?(?: ?code| status)?[ :=]+[1-9]|\bFAIL\b|\bfailed\b|Missing script|Permission denied|unrecognized (?:option|arguments)|exit code [1-9]",
    re.IGNORECASE,
)
_COULD_NOT = re.compile(
    r"(?i)command not found|No module named|Missing script|cannot find module|error TS\d|unrecognized (?:option|argument|subcommand)|no such file or directory"
)
_NOTHING_RAN = re.compile(r"(?im)no tests? ran|collected 0 items|No tests? (?:found|files? found|were executed)|\bRan 0 tests|Started in the background|running in (?:the )?background|still running|\tpending\t")  # fmt: skip


def _summary(output: str) -> bool | None:
    """Return the checks' result in an output: passed, failed, or nothing."""
    if _FAILED.search(output):
        return False
    if _TEST_SUMMARY.search(output) and not re.search(r"(?m)\b0 passed\b|Tests run: 0\b", output):
        return True
    if _MAYBE_FAILED.search(output):
        return False
    return True if _CLEAN.search(output) and not _TROUBLE.search(output.replace("0 failed", "")) else None


_PASSED = re.compile(r"(?i)\b(\d[\d,]*) (?:tests? )?pass(?:ed|ing)?\b")
_RAN = re.compile(
    r"(?im)^Ran (\d+) tests?|Tests run: (\d+)|^OK \((\d+) tests?|(\d+) (?:examples?|runs), .*0 failures|^[#ℹ] pass (\d+)$"
)
_SKIPPED = re.compile(r"(?i)\b(\d[\d,]*) (?:tests? )?(?:skipped|ignored|pending|todo|xfailed|xpassed)\b")


def _most(output: str) -> int | None:
    """Return the number of tests in all summaries of an output, with skipped ones; None if it has none."""
    found = _PASSED.findall(output) or ["".join(row) for row in _RAN.findall(output)]
    return sum(int(number.replace(",", "")) for number in (*found, *_SKIPPED.findall(output))) if found else None


def _figure(output: str) -> str:
    """Return the number of passed tests from their summary: `14 passed`; empty if it has none."""
    if found := _PASSED.findall(output):
        return f"{found[-1]} passed"
    ran = _RAN.findall(output)
    return f"{''.join(ran[-1])} ran" if ran else ""


def _told(text: str) -> dict[Kind, Proof]:
    said = claims(text)
    return {kind: Proof(True, "", "reported") for kind in said if kind in EVERY} | (
        {"checks": Proof(True, "", "reported")} if said else {}
    )
