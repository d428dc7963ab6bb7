"""Claims of a final message that a run can prove.

They say that tests pass, that it builds, that a linter finds nothing, or that it was verified or fixed.

A claim is a clause with a subject and a success, in one language's words. Nothing in it may retract it: no condition,
plan, denial or failed part. Languages without an entry are covered only by figures, such as "14 passed" and "12/12".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from agentcli.agent.check_commands import checkers, named_kinds
from agentcli.agent.claim_words import (
    LANGUAGES,
    LOANWORDS,
    NO_ERRORS,
    OBJECT,
    PREDICATE,
    SUBJECTS,
    Kind,
    simplified,
    spoken_in,
)
from agentcli.agent.reported_runs import REPORTED, SPAN, runs_in, with_reports_marked
from agentcli.core.dataclass import dataclass

_PATH = r"[^`\s]*(?:/|\.[^`\s])[^`\s]*"

_MARK = r"(?:[✅✓✔☑]|\[[xX]\])"
_FIGURES = rf"\b\d[\d,]* (?:(?!checks?\b|gates?\b)\w+ )?(?:tests? (?:\w+ )?)?(?:pass(?:ed|ing|es)?\b(?!{OBJECT}))|\b(\d+)\s*/\s*\1 (?:tests?|pass)\w*|\b(?i:tests?|suites?|specs?)\b(?: (?:is|are|run|now|at|still|all|results?))*:? (\d+)\s*/\s*\2(?=$|[.,;:)—–]| {_MARK})"
_WHOLE = r"(?<![\d/])([1-9]\d*)\s*/\s*\1(?![\d/]) ?"
"""All of so many, before a success."""
_NO_MARK = r"[❌✗✘⚠⏳🔲]"
_MADE = r"(?i:add|creat|wr[io]t|updat|new|plan|cover)"
_MARKED_CELL = rf"\s*{_MARK}️?\s*(?:$|\d(?!.*\b{_MADE})|(?i:zero|none|no|ok|yes|0|pass|clean|green|success)\w*\W*$)"
"""A cell of a table with a mark, before nothing that was made."""
_RUN = r"(?:\d+ |all |unit |type ?)*(?:tests?|specs?|builds?|lint(?:ing)?|(?:type[- ]?)?check)(?: pass(?:ed|ing)?)?"
_MARKED = rf"(?i)(?:^\W*|[|·,✅✓✔] ?){_RUN}[\W\d]{{0,9}}{_MARK}|`[^`\n]*\b(?:{SUBJECTS})\b[^`\n]*`\W{{0,6}}{_MARK}|^\W*{_MARK}\W{{0,3}}`[^`\n]*`\W*$"
"""A subject, or a command in backquotes, with a mark in a list or table."""
_NO_FAILURES = r"(?i)\b(?:0|no|zero|nothing|without(?: any)?|none of (?:the|these|them)?) ?(?:new )*(tests? )*fail(?:ed|s|ures?|ing)?\b"
_NOTHING_FAILED = r"\b(?:nothing|none)\b(?: [\w'’]+){0,3}? [\w-]*(?:broken?|breaks|fail\w*)\b"
_BEFORE = r"(?i:\b(?:pre-?existing|existing(?=(?: \S+){0,5} (?:fail|error|warning|issue|conflict))|unrelated|already (?:fail\w*|broken|red|there|present)|baseline|before (?:my|this|these|the) change\w*)\b)"
_FAILS = r"(?i:\b(?:fails|still fail|(?:remaining|only) (?:[\w`-]+ ){0,3}(?:failures?|red)|(?<!\bthe )(?<!\bwere )(?<!\bwas )(?<!\bbeen )failing)\b)"
"""A failure at the time of the message."""
_SOME_FAIL = r"(?i)\b(?<!not )(?:fails?|still failing)\b|\b[1-9]\d* (?:tests? )?(?:failed|failing|failures?)\b"
_FAILURES = r"(?i)\b(?:fail\w*|errors?|warnings?|issues?|conflicts?)\b"
_OTHERS = r"\([^()]*\b(?:pre-?existing|existing|unrelated|already|known|before)\b[^()]*\)"
"""What was wrong before, in parentheses."""
_THEN = r"(?:(?:also|already|now|all|both|still|re-?ran|came back|is|are|were|have|fully) )*"
_ONE_CHECK = rf"(?i)\bcheck {_THEN}(?:pass(?:ed|es)?|clean|green)\b(?!{OBJECT})|(?<!to )\bpass(?:ed|es)? (?:the |its |all )?(?:[\w-]+ )?checks?\b"
_MENDED = r"\b(?:previously |formerly )?failing (?:[\w`-]+ ){0,2}(?:tests?|specs?|suites?|cases?|jobs?|checks?)\b(?= (?:\w+ ){0,2}(?:pass|succeed|green))|\b(?:previously|formerly|old) failing\b"
"""Tests that failed before."""
_VERIFIED = r"(?i)(?:I(?:['’]ve| have)? )?(?:also )?(?:verified|validated|(?:smoke-)?tested)(?: (?:in|on|at|with|against|by|via|that|locally|live|both|end)\b|:)"
"""A verification whose object follows: a denial in it is a part of what was verified."""
_SETTLED = rf"(?i){_NOTHING_FAILED}|{_OTHERS}|\b{NO_ERRORS}\b|\b(?:\d+|no|zero) (?:\w+ )?(?:skipped|ignored|deselected)\b|{_MENDED}"
"""What retracts nothing, though it speaks of failures."""
_CHECKS = rf"(?i)\b(?:all|every|both) (?:[\w-]+ ){{0,3}}(?:checks?|gates?)\b|^(?:checks|gates)\b|\b(?:quality|full) gates?\b|\b(?:pre-?(?:commit|push)|git|commit) hooks?\b|\b(?:checks|gates)(?= {_THEN}(?:pass(?:ed)?|clean|green)\b)"
_CI_IS = r"(?:(?<!\bfor )\bCI(?:/CD)?\b(?: (?:runs?|checks?|builds?|tests?|status|pipelines?|workflows?|jobs?))?|\bGitHub (?:Actions|checks)\b|\b(?i:pipelines?|workflows?|jobs?|(?:PR|remote|status|required) checks|checks (?:on|of|for) (?:the |this )?(?:PR|pull request))\b)"
_ON = r"(?: (?:on|for|of) (?:[\w#/.`-]+ ?){1,3}| (?:#?\d+|`[^`\n]*`|\([^()\n]*\)))?"
"""What CI checked."""
_CI = rf"(?<![:.\-/`]){_CI_IS}(?![/`-]){_ON}(?i:[:,]?(?: (?:is|are|was|has|have|came|went|turned|back|now|all|also|both|again|already|fully|still|been))*)(?:[:—–-]| )+(?i:(?:completed|finished|ended|concluded|with) )*(?i:green|pass(?:ed|es|ing)?|succeeded|success(?:ful(?:ly)?)?|clean)(?={PREDICATE})|{_CI_IS}\W{{1,3}}{_MARK}"
"""CI of the project's server, with its success."""
_CLAUSES = r"(?<=[.!?;])\s+|(?<=[.!?][\"”’)])\s+| · |[。！？；\n]|,? (?:but|however|although|aber|mais|pero) |, and (?=(?:then |also |now |I )*(?:re-?)?(?:ran|built|compiled|linted|verified|validated|tested)\b)|\s[—–]\s(?!all |(?:no|0|zero) |(?:also |now |both )?(?:pass|green|clean|succe|exit))"
_NUMBER = r"(?<![\w.,#/$~^:-])(\d{1,3}(?:,\d{3})+|\d+)(\s*/\s*\1)?(?![A-Za-z\d_/%]|[.,:]\d)"
"""A whole number, or all of so many: no part of a name, a version, a date or a time."""
_FIGURE_SPAN = r"`(\d[\d/,.]*)`"
_QUOTE = r"^[^\S\n]*>[^\n]*$"
_ASIDES = (
    r"\b(?i:for|in|during|from|to) (?:(?!and\b)[\w-]+ ){0,2}builds\b|"
    r" \((?i:with|via|using|to) [^()]*\)"
    r"|\b(?i:diff|tree|worktree|checkout|branch|repo|status)\b(?: (?:is|are|was|stays?|remains?|now|also|still))* clean\b"
    r"|(?:^|,)[^,;()]*\b\d+ pre-?existing (?:\w+ ){0,2}(?:issues|errors|warnings|failures)\b[^,;()]*"
    r"|\b(?i:fail(?:s|ed|ing)?|red)\b (?:on |at )?(?i:before|without|previously|first)\b[^,;.)]*"
)
"""How something ran, in parentheses, what Git shows, and what was wrong before."""
_ALL_GREEN = r"(?i)\W*(?:and |now )?(?:all|everything)(?: is|['’]s|['’]re| are| looks)?(?: now| still)? (?:(green|pass(?:es|ed|ing)?|checks? out)|clean)(?:\W*$|[,;:] )|(?:all )?clean\W*(?:$|[,;:—–] )"
_RAN = r"(?i)\b(?:re-?)?(?:ran|built|executed)\b"
_RAN_WELL = (
    rf"(?i)\b(?:ran|runs|executed|executes) (?:\w+ ){{0,2}}(?:cleanly|successfully|{NO_ERRORS})(?={PREDICATE}|\b)"
)
"""A run without a name, with its success."""
_DOES_CLEAN = rf"(?i)\b(?:[a-z]+s|built|building)(?: and)? clean(?:ly)?(?={PREDICATE})"
_FINDS_NONE = rf"(?i)(?:^|, |\breports? ){NO_ERRORS}(?={PREDICATE})"
_ALL_WELL = rf"(?i)\b(?:all|every|everything|each|both)\b(?: [\w'’-]+){{0,4}}? (?:is |are |now )*(?:\w+ing|work|render|load|run|display|respond|open|function)s? (?:\w+ly )?(?:correctly|perfectly|properly|as expected|{NO_ERRORS})(?={PREDICATE})"
_RUN_LABEL = r"(?i)(?:tests?|testing|checks?|lint|build): *`[^`\n]*`(?:(?:,| and|;) `[^`\n]*`)*\W*$"
"""A label with nothing but commands behind it."""
_PURPOSE = r"(?i)(\b(?:verified|validated|tested|checked|(?:re-?)?ran)\b[^,;]{0,200}?) to (?:confirm|check|verify|see|ensure|make sure)\b.*"
"""A verification, and what it was for."""
_UNDONE = r"[\s>*+\d.)-]*\[ \]"
_BY_RUN = rf"\b(?:re-?|double-)?(?:confirm|check)ed\b(?=[^`]{{0,80}}? (?:with|via|using|by running) {SPAN})"
_WITH = r" (?i:with|via|using|by running)\b"
_SERVER = r"CI|GitHub|PR|(?i:pipeline|workflow|job|checks|pull request)"
"""Words, at least one of which is in every claim about CI."""
_PASSED = r"(?i)\b(?:both|all|each)(?: (?!the\b)[\w`/.-]+){0,4} (?:pass(?:es|ed)?|succeed(?:s|ed)?)(?=\W*$|[.,;:!)—]|\s\()|(?<![\w`/.-])(?!(?:two|three|few|more|is|are|was|were|be|been|being|of|the|these|all)\b)[\w`)/.-]+ (?:passes|passed)(?=[^\w`]*(?:$|[.!;:]))"
"""Success of something without a name among the subjects."""
_ALONE = (
    (r"(?i)clean", _DOES_CLEAN),
    (r"(?i)\b(?:no|zero|0|without)\b", _FINDS_NONE),
    (r"(?i)check", _ONE_CHECK),
    (r"(?i)\b(?:all|every|each|both)", _ALL_WELL),
    (r"(?i)\b(?:ran|runs|execute[sd])\b", _RAN_WELL),
)
"""Successes without a subject, each behind a word without which it is none."""
LIST_MARKS = r"^(?:[\s>*#\-•|.)(\[\]x✅✓✔☑]|\d+[.)])*"


def claims(text: str, *, named: bool = True) -> frozenset[Kind]:
    """Return what a final message claims to be true now; without `named`, only in clauses that name no checker."""
    spoken = spoken_in(text)
    if not spoken:
        return frozenset()
    text = re.sub(_FIGURE_SPAN, r"\1", text)
    found, own, ran = set[Kind](), frozenset[Kind](), frozenset[Kind]()
    for clause in _clauses(text, spoken):
        if not named and _checkers().search(clause):
            continue
        before, own = own or ran, runs_in(clause)
        ran = _subjects_in(clause) if re.search(_RAN, clause) else frozenset()
        said = set(_claimed(clause, own, spoken))
        found |= said or (before if _is_about_all(clause) else set()) or _of_green(clause) or _of_anything(clause)
        found |= _of_ci(clause)
    return frozenset(found)


def _subjects_in(clause: str) -> frozenset[Kind]:
    return frozenset(kind for kind, subject in _patterns("English").subjects if subject.search(clause))


@cache
def _checkers(*kinds: Kind) -> re.Pattern[str]:
    """Return a pattern for the names of checkers, of some kinds or of all."""
    names = sorted(
        (name for name in checkers() if not kinds or named_kinds([name]) & set(kinds)), key=len, reverse=True
    )
    return re.compile(rf"(?<![\w./-])(?:{'|'.join(map(re.escape, names))})(?![\w/-]|\.\w)", re.IGNORECASE)


def checkers_claimed(text: str) -> frozenset[str]:
    """Return the checkers that a final message names where it claims their success."""
    if not _checkers().search(text):
        return frozenset()
    found, spoken = set[str](), spoken_in(text)
    for clause in _clauses(text, spoken):
        if (own := _checkers().findall(clause)) and set(_claimed(clause, runs_in(clause), spoken)) & {"tests", "lint"}:
            found |= {name.lower() for name in own}
    return frozenset(found)


def counts_claimed(text: str) -> Iterator[int]:
    """Yield each number of tests that a message says pass, such as 14 in "14 tests pass".

    The tests, or their success, follow a number with at most one word between.
    """
    spoken = spoken_in(text)
    for clause in _clauses(re.sub(_FIGURE_SPAN, r"\1", text), spoken):
        if re.search(_NUMBER, clause) and "tests" in set(_claimed(clause, runs_in(clause), spoken)):
            words = re.sub(SPAN, "_", REPORTED.sub("", clause))
            after = [_counted(name) for name in spoken]
            for number in re.finditer(_NUMBER, words):
                alone = number[2] and re.match(PREDICATE, words[number.end() :])
                if alone or any(one.match(words, number.end()) for one in after):
                    yield int(number[1].replace(",", ""))


def admitted(text: str) -> frozenset[Kind]:
    """Return the kinds of checks that a message itself reports as failing, now or before the work."""
    parts, found = _patterns("English"), set[Kind]()
    for clause in _clauses(text, ["English"]) if re.search(rf"{_BEFORE}|{_FAILS}", text) else ():
        kinds = runs_in(clause) | _subjects_in(clause)
        if re.search(_BEFORE, clause) and (failures := re.findall(_FAILURES, clause)):
            kinds = kinds if any(not word.lower().startswith("warning") for word in failures) else frozenset({"lint"})
            found |= (kinds or frozenset({"lint", "build"})) | {"checks"}
        elif re.search(_FAILS, re.sub(_MENDED, "", clause)) and not any(
            one.search(clause) for one in (parts.success, parts.later[0])
        ):
            found |= kinds | {"checks", "ci"}
    return frozenset(found)


def assertions(text: str) -> Iterator[str]:
    """Yield the clauses of a message in which no word of its languages retracts a claim."""
    spoken = spoken_in(text)
    for clause in _clauses(text, spoken):
        words = re.sub(_SETTLED, "", clause := REPORTED.sub("", clause))
        if not any(_patterns(name).open.search(words) for name in spoken):
            yield clause


def tells_failures(text: str) -> bool:
    """Return True if a clause says that something fails, such as "Two fail only because ..."."""
    conditions = _patterns("English").later[0]
    return any(
        re.search(_SOME_FAIL, _before([conditions], re.sub(_SETTLED, "", one))) for one in _clauses(text, ["English"])
    )


def _clauses(text: str, spoken: Sequence[str]) -> Iterator[str]:
    reports = {name: _patterns(name).introduces for name in spoken}
    subject = "|".join(part.pattern for name in spoken for _, part in _patterns(name).subjects) or "(?!)"
    subject = rf"(?:{subject})(?={PREDICATE})"
    text = simplified(text)
    plain = re.sub(_QUOTE, "\n", with_reports_marked(text, reports, subject), flags=re.MULTILINE)
    spans = list[str]()

    def kept(span: re.Match[str]) -> str:
        spans.append(span.group())
        return f"`{len(spans) - 1}`"

    for clause in re.split(_CLAUSES, re.sub(SPAN, kept, plain.replace("*", "").replace("__", ""))):
        if clause.strip() and not clause.rstrip().endswith("?") and not re.match(_UNDONE, clause):
            yield re.sub(r"`(\d+)`", lambda span: spans[int(span[1])], clause).strip()


def _pathless(span: re.Match[str]) -> str:
    return re.sub(_PATH, "_", span.group())


def _claimed(clause: str, named: frozenset[Kind], spoken: Sequence[str]) -> Iterator[Kind]:
    if reported := REPORTED.match(clause):
        spoken, clause = (reported[1],), clause[reported.end() :]
    clause = re.sub(_NO_FAILURES, r"\1passed", re.sub(SPAN, _pathless, clause))
    words = re.sub(_PURPOSE, r"\1", re.sub(_ASIDES, "", re.sub(LIST_MARKS, "", clause)))
    listed = bool(re.match(r"[-*+•|]|\d+[.)]|\w+ed (?!and \w+ed(?: \w+)?\W*$)(?:\d|the|a|all|`|_|\w+ \w)", clause))
    settled = re.sub(_SETTLED, "", words)
    found = set[Kind]()
    for name in spoken:
        parts = _patterns(name)
        verifies = clause.startswith("|") and parts.report.search(_about(clause)) is not None
        about_run = reported or verifies or parts.is_named(words) or re.search(_WHOLE, words)
        if not about_run or parts.open.search(_without_asides(settled, parts)):
            continue
        said = _before(parts.later, words)
        success = bool(parts.success.search(said) or (name == "English" and said and _searched(_MARK, _MARKED, clause)))
        if said and not success and (row := _of_row(clause)):
            success, said = True, row
        if success and verifies:
            found.add("verified")
        given = None if success else _searched(_WITH, _given(name), said)
        alone = reported and re.search(rf"^[^`]*$|`{PREDICATE}[^`]*$", said)
        rest = re.sub(SPAN, "_", said) if alone else ""
        about = said if success else said[given.end() :] if given else rest
        end = PREDICATE if alone and not success else ""
        ends = re.compile(end)
        found |= {
            kind for kind, one in parts.subjects if any(ends.match(about, at.end()) for at in one.finditer(about))
        }
        found |= {kind for kind, phrase in parts.phrases if phrase.search(said)} - ({"fixed"} if listed else set())
        if (whole := re.search(_WHOLE, said)) and parts.success.match(said, whole.end()):
            found.add("tests")
        if said and (success or alone if reported else "verified" in found):
            found |= named or (set() if found else {"verified"})
        elif reported and said and not found and re.search(_MARK, clause):
            found.add("verified")
    if not found and "English" in spoken and not (english := _patterns("English")).open.search(settled):
        said = _before(english.later, words)
        if re.search(_FIGURES, said):
            found.add("tests")
        elif re.search(_CHECKS, said) and english.success.search(said):
            found.add("checks")
        elif named and (english.success.search(said) or re.match(_RUN_LABEL, words)):
            found |= named
        elif any(_searched(word, one, said) for word, one in _ALONE):
            found.add("verified")
    for parts in map(_patterns, spoken if named and not found else ()):
        if parts.success.search(_before(parts.later, words)) and not parts.open.search(settled):
            found |= named
    if "English" in spoken and (start := re.match(_VERIFIED, words)) and not _patterns("English").open.search(start[0]):
        found.add("verified")
    yield from sorted(found)


def _about(row: str) -> str:
    """Return the first cell of a row."""
    return row.strip("| ").split("|")[0].strip()


def _of_row(clause: str) -> str:
    """Return what a row of a table is about if a later cell has a mark, or an empty text.

    The mark stands alone, or before a figure or a success.
    """
    about = _about(clause) if clause.startswith("|") else ""
    if not 0 < len(about.split()) <= _LABEL or re.search(_NO_MARK, clause):
        return ""
    return about if any(re.match(_MARKED_CELL, cell) for cell in clause.strip("| ").split("|")[1:]) else ""


_LABEL = 4
"""Words of the longest label of a row."""


def _is_about_all(clause: str) -> bool:
    """Return True for success without a subject, such as "Both pass.": what was named before succeeded."""
    english = _patterns("English")
    words = re.sub(LIST_MARKS, "", clause)
    if not english.success.search(words) or any(one.search(words) for one in (english.open, *english.later)):
        return False
    rest = re.sub(english.success, lambda success: "all" if success[0].startswith(("all", "both")) else "", words)
    named = rf"(?i)(?:and )?(?:both|all|they|these|it|each|everything)(?: \w+)?{PREDICATE}"
    return bool(english.success.match(words) or re.match(named, rest))


def _without_asides(words: str, parts: _Patterns) -> str:
    """Leave out parentheses in parts of a clause that are about no run: they retract nothing."""
    return re.sub(
        r"(?:^|(?<=[,;()]))([^,;()]*)\([^()]*\)",
        lambda part: part[0] if parts.is_named(part[1]) or parts.success.search(part[1]) else part[1],
        words,
    )


def _of_green(clause: str) -> frozenset[Kind]:
    """Return the kind of checks without a name if all is green, or of any run if all is clean."""
    about_all = re.match(_ALL_GREEN, clause)
    return frozenset({"checks" if about_all[1] else "verified"}) if about_all else frozenset()


def _of_anything(clause: str) -> frozenset[Kind]:
    """Return the kind of any run if something without a name among the subjects passed."""
    words, english = re.sub(LIST_MARKS, "", clause), _patterns("English")
    if not _searched(r"(?i)pass|succeed", _PASSED, words) or english.open.search(re.sub(_SETTLED, "", words)):
        return frozenset()
    return frozenset({"verified"}) if re.search(_PASSED, _before(english.later, words)) else frozenset()


def _of_ci(clause: str) -> frozenset[Kind]:
    """Return the kind of checks that ran elsewhere if they succeeded; with `locally`, they ran here."""
    words = _patterns("English")
    if not _searched(_SERVER, _CI, clause) or words.open.search(re.sub(_SETTLED, "", clause)):
        return frozenset()
    said = _before(words.later[:1], re.sub(LIST_MARKS, "", clause))
    if not re.search(_CI, said):
        return frozenset()
    return frozenset({"checks" if re.search(r"\blocally\b", said) else "ci"})


def _before(later: Sequence[re.Pattern[str]], words: str) -> str:
    """Return the parts of a clause before the first that is a condition, a plan or about another place.

    A part that says `locally` begins anew.
    """
    kept, here = list[str](), True
    for part in re.split(r"(, | and )", words):
        plain = re.sub(SPAN, "_", part)
        here = re.search(r"\blocally\b", part) is not None or (here and not any(one.search(plain) for one in later))
        kept += [part] if here else []
    return "".join(kept)


def _searched(word: str, pattern: str, text: str) -> re.Match[str] | None:
    """Search a text that has a word without which the pattern matches nothing: few texts need the pattern compiled."""
    return re.search(pattern, text) if re.search(word, text) else None


@dataclass(frozen=True, slots=True)
class _Patterns:
    open: re.Pattern[str]
    later: tuple[re.Pattern[str], re.Pattern[str]]
    """Words of conditions and plans, and of other places."""
    success: re.Pattern[str]
    report: re.Pattern[str]
    """Nouns that introduce a list of runs, beside a verification."""
    verified: re.Pattern[str]
    subjects: tuple[tuple[Kind, re.Pattern[str]], ...]
    phrases: tuple[tuple[Kind, re.Pattern[str]], ...]

    def is_named(self, words: str) -> bool:
        """Return True for words that name a subject, or say that something was verified or fixed."""
        return any(one.search(words) for _, one in (*self.subjects, *self.phrases[1:]))

    def introduces(self, head: str) -> bool:
        """Return True for a line that introduces a list of runs."""
        return not self.open.search(head) and bool(self.verified.search(head) or self.report.search(head))


@cache
def _patterns(name: str) -> _Patterns:
    words, (tests, build, lint) = LANGUAGES[name], _subjects(name)
    verified = _compiled(words.verified)
    return _Patterns(
        _compiled(words.open),
        (_compiled(words.later), _compiled(words.elsewhere)),
        _compiled(words.success),
        _compiled(words.report),
        verified,
        (("tests", _compiled(tests)), ("build", _compiled(build)), ("lint", _compiled(lint))),
        (("build", _compiled(words.builds)), ("verified", verified), ("fixed", _compiled(words.fixed))),
    )


def _subjects(name: str) -> tuple[str, str, str]:
    """Return the patterns of a language for tests, builds and linters.

    Other languages than English also use some English words.
    """
    words = LANGUAGES[name]
    if name != "English":
        own = zip((words.tests, words.build, words.lint), LOANWORDS, strict=True)
        tests, build, lint = (rf"{one}|(?<![a-z])(?:{other})(?![a-z])" for one, other in own)
        return tests, build, lint
    return f"{words.tests}|{_checkers('tests').pattern}", words.build, f"{words.lint}|{_checkers('lint').pattern}"


def _given(name: str) -> str:
    """Return the pattern of words that introduce runs within a clause."""
    return rf"(?i)(?:{LANGUAGES[name].verified}|{_BY_RUN})[^`]*?{_WITH}"


@cache
def _counted(name: str) -> re.Pattern[str]:
    """Return the pattern of what follows a number of tests: their name, or a success."""
    tests, *_ = _subjects(name)
    return _compiled(
        rf"(?: (?:[^\W\d][\w-]* )?| ?[^\x00-\x7f]{{0,2}})(?:{tests})|(?: (?:tests? )?)?(?:{LANGUAGES[name].success}){PREDICATE}"
    )


def _compiled(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)
