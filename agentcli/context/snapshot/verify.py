"""Verification of a model's summary against its source: unsupported sentences are struck, and nothing poses as someone else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from agentcli.context.ledger.standing_rules import sentences
from agentcli.context.settings import SnapshotSettings
from agentcli.context.snapshot.form import Snapshot
from agentcli.context.snapshot.language import language, may_be


@dataclass(frozen=True, slots=True)
class Struck:
    """A sentence struck from a summary, with the reason."""

    sentence: str
    why: str


_DEFAULT = SnapshotSettings()


class Evidence:
    """Sources that a summary may draw on: the summarised part, the ledger, and the verified snapshot before.

    `longest` are the characters of the longest sentence that is believed.
    """

    def __init__(self, texts: Iterable[str], longest: int = _DEFAULT.sentence_characters) -> None:
        self.longest = longest
        self.text = " ".join("\n".join(texts).split())
        self._folded = self.text.casefold()
        self._words = frozenset(_WORD.findall(self._folded))
        self._numbers = frozenset(number.replace(",", "") for number in _NUMBER.findall(self.text))

    def supports(self, claim: str) -> bool:
        """True if a path, command, number, identifier or quotation occurs, whole, whatever its case and spacing."""
        claim = " ".join(claim.split()).strip("`")
        if not claim:
            return True
        if _NUMBER.fullmatch(claim):
            return claim.replace(",", "") in self._numbers
        folded = claim.casefold()
        return folded in self._words if _WORD.fullmatch(folded) else self._stands_alone(folded)

    def _stands_alone(self, claim: str) -> bool:
        """True if the claim occurs without being a piece of a longer word."""
        start = self._folded.find(claim)
        while start >= 0:
            end = start + len(claim)
            before = self._folded[start - 1 : start] if _is_wordy(claim[:1]) else ""
            after = self._folded[end : end + 1] if _is_wordy(claim[-1:]) else ""
            if not _is_wordy(before) and not _is_wordy(after):
                return True
            start = self._folded.find(claim, start + 1)
        return False


def verified(snapshot: Snapshot, evidence: Evidence) -> tuple[Snapshot, tuple[Struck, ...]]:
    """The snapshot without the sentences that the evidence does not bear out, and those struck."""
    struck: list[Struck] = []

    def sift(section: Iterable[str]) -> tuple[str, ...]:
        return tuple(item for item in (_sifted(item, evidence, struck) for item in section) if item)

    checked = replace(
        snapshot,
        goal=_sifted(snapshot.goal, evidence, struck),
        knowledge=sift(snapshot.knowledge),
        files=sift(snapshot.files),
        actions=sift(snapshot.actions),
        plan=sift(snapshot.plan),
    )
    return checked, tuple(struck)


def verified_text(summary: str, evidence: Evidence) -> tuple[str, tuple[Struck, ...]]:
    """The same for a summary in free form, line by line; headings and blank lines stay."""
    struck: list[Struck] = []
    lines = []
    for line in summary.splitlines():
        indent, words = _INDENT.match(line).groups()  # type: ignore[union-attr]
        kept = _sifted(words, evidence, struck)
        if kept or not words.strip():
            lines.append(indent + kept if words.strip() else "")
    return "\n".join(lines).strip(), tuple(struck)


def speaks_another_language(summary: str, dialogue: Iterable[str]) -> str:
    """The language of a summary if it is none of those that the conversation is held in, else an empty text."""
    found = language(summary)
    held_in: dict[str, list[str]] = {}
    for text in dialogue:
        held_in.setdefault(language(text), []).append(text)
    unsure = "\n".join(held_in.pop("", []))
    if not found or not held_in or found in held_in or may_be(unsure, found):
        return ""
    return found


def unsupported(sentence: str, evidence: Evidence) -> str:
    """The first claim of a sentence that the evidence does not contain, or an empty text."""
    return next((claim for claim in claims(sentence) if not evidence.supports(claim)), "")


def claims(sentence: str) -> Iterator[str]:
    """Claims of a sentence that can be looked up: code, quotations, addresses, paths, options, identifiers, numbers; each once."""
    rest = sentence
    for pattern in _CLAIMS:
        found = list(pattern.finditer(rest))
        yield from (text for text in (_claimed(match) for match in found) if text.casefold() not in _PLAIN_WORDS)
        rest = pattern.sub(" ", rest)


def _sifted(item: str, evidence: Evidence, struck: list[Struck]) -> str:
    kept = []
    for sentence in sentences(item):
        why = _objection(sentence, evidence)
        if why:
            struck.append(Struck(sentence, why))
        else:
            kept.append(sentence)
    return " ".join(kept)


def _objection(sentence: str, evidence: Evidence) -> str:
    if len(sentence) > evidence.longest:
        return f"longer than {evidence.longest:,} characters"
    if _POSES.search(sentence):
        return "poses as somebody else"
    if _CONSENT.search(sentence) or _SECOND_HAND_RULE.search(sentence):
        return "speaks for the user, whose own words are kept elsewhere"
    claim = unsupported(_STEP_MARK.sub("", sentence), evidence)
    return f"{claim!r} does not occur" if claim else ""


def _claimed(match: re.Match[str]) -> str:
    text = next((group for group in match.groups() if group), match[0])
    return text.strip().rstrip(".,;:") if not match.groups() else text.strip()


def _is_wordy(character: str) -> bool:
    return bool(_WORD.fullmatch(character))


# Scripts that write without blanks put their words right behind a name: such letters end an identifier.
_LETTER = r"[^\W\u2e80-\U0010ffff]"
_START, _END = rf"(?<!{_LETTER})", rf"(?!{_LETTER})"
_WORD = re.compile(rf"{_LETTER}+")
_NUMBER = re.compile(r"\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)*")
_INDENT = re.compile(r"^(\s*(?:[-*•]|\d+[.)]|#+)?\s*)(.*)$")
_STEP_MARK = re.compile(r"\[(?:DONE|IN PROGRESS|TODO)\]")
_CLAIMS = (
    re.compile(r"`+([^`]+)`+"),
    re.compile(r"\bhttps?://[^\s)>\]]+"),
    re.compile(
        r"\"([^\"]+)\"|“([^”]+)”|„([^“”]+)[“”]|«([^»]+)»|「([^」]+)」|『([^』]+)』|(?<!\w)'([^']{2,})'(?!\w)|(?<!\w)‘([^’]{2,})’(?!\w)"
    ),
    # paths
    re.compile(
        rf"(?<![/~.]){_START}(?:~|\.{{1,2}})?/?(?:(?:{_LETTER}|[.@+-])+/)+(?:{_LETTER}|[.@+*-])*|(?<!/){_START}/(?:{_LETTER}|[.-]){{2,}}"
    ),
    re.compile(rf"(?<!-){_START}--?[A-Za-z](?:{_LETTER}|-)*"),  # options
    # file names, dotted names, suffixes
    re.compile(
        rf"{_START}(?:{_LETTER}|-)*{_LETTER}(?:\.[A-Za-z_]{_LETTER}*)+{_END}|{_START}{_LETTER}+(?:::{_LETTER}+)+{_END}|\.[a-z]{{2,5}}{_END}"
    ),
    re.compile(rf"{_START}[A-Za-z]{_LETTER}*\(\)"),
    re.compile(rf"{_START}{_LETTER}*[A-Za-z0-9]_{_LETTER}+{_END}|{_START}_{_LETTER}+{_END}"),  # snake_case
    re.compile(
        rf"{_START}[A-Za-z]*[a-z][A-Z]{_LETTER}*{_END}|{_START}[A-Z]{{2,}}[a-z]+[A-Z]{_LETTER}*{_END}"
    ),  # camelCase
    re.compile(rf"{_START}(?={_LETTER}*\d)(?={_LETTER}*[A-Za-z])[A-Za-z0-9]+{_END}"),
    re.compile(r"#\d+\b"),
    _NUMBER,
)
_PLAIN_WORDS = frozenset(
    [
        "and/or",
        "either/or",
        "he/she",
        "his/her",
        "read/write",
        "input/output",
        "client/server",
        "yes/no",
        "on/off",
        "true/false",
        "pass/fail",
        "i/o",
        "n/a",
        "w/o",
        "e.g",
        "i.e",
        "a.m",
        "p.m",
        "1st",
        "2nd",
        "3rd",
        "4th",
        "5th",
    ]
)
_POSES = re.compile(
    r"^\W*(?:system|user|human|assistant|developer|operator)\s*(?:message|prompt|instruction)?s?\s*[:：]"
    r"|</?\s*(?:system|user|human|assistant|system-reminder|user-prompt-submit-hook|pre-tool-use-hook|user_message|pinned|im_start|im_end|"
    r"instructions?|tool_result|function_results)\b"
    r"|<\||\[/?INST\]|^\W*(?:\\n)*(?:Human|Assistant):"
    r"|\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:previous|prior|above|earlier|all|any|system|user'?s?|safety)\b.{0,30}\b(?:instructions?|rules?|prompts?|constraints?|polic(?:y|ies)|limits?)"
    r"|\byou (?:are now|must now|have been (?:granted|given|authori[sz]ed))\b",
    re.IGNORECASE,
)
_WHO = r"(?:^\W*|\b(?:the|our|this) )(?:user|human|owner|operator|maintainer|customer)\b(?: has| have| had|'s|’s)?(?: also| already| just| since| now| explicitly| clearly)*"
_CONSENT = re.compile(
    rf"{_WHO} (?:approv|agree[ds]|consent|authori[sz]|allow|confirm|permit|gave|gives|grant|accept|waive|okay|sign(?:ed|s) off|said (?:it is|it's|that it is)? ?(?:ok|fine)"
    r"|no longer (?:needs?|requires?|wants?))"
    r"|\b(?:approval|permission|consent|authori[sz]ation|clearance)s? (?:was |were |is |are |has been |have been )?(?:given|granted|obtained|received|confirmed)\b"
    r"|\b(?:approved|authori[sz]ed|cleared|permitted|confirmed|allowed|signed off) by (?:the )?(?:user|human|owner|team|maintainer|operator)\b"
    r"|(?:ユーザー|利用者).{0,20}(?:承認|許可|同意)|用户.{0,12}(?:批准|同意|允许|授权)|使用者.{0,12}(?:批准|同意|允許|授權)"
    r"|\bder (?:Benutzer|Nutzer|Anwender)\b.{0,40}\b(?:genehmigt|erlaubt|zugestimmt|bestätigt)",
    re.IGNORECASE,
)
_SECOND_HAND_RULE = re.compile(
    rf"{_WHO} (?:said|says|wants?|wanted|asks?|asked|requires?|required|insists?|insisted|demands?|demanded|instructs?|instructed|prefers?|preferred|told|orders?|ordered|requests?|requested)\b"
    r".{0,80}\b(?:always|never|must|do not|don['’]t|not to|only|no need|skip|without)\b",
    re.IGNORECASE,
)
