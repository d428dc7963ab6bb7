"""Format of a snapshot: parsed tolerantly from a model's reply, written strictly."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from agentcli.context.ledger.decisions import fitting_decisions
from agentcli.core.dataclass import dataclass
from agentcli.core.record import VerbatimText

ROOT = "state_snapshot"
SECTIONS = (
    "overall_goal",
    "active_constraints",
    "key_knowledge",
    "file_system_state",
    "recent_actions",
    "current_plan",
)
REQUIRED = tuple(name for name in SECTIONS if name != "active_constraints")
WITHOUT_MODEL = "made from the session's ledger, without a model"
TRUNCATED = "[Earlier turns truncated due to compactor error]"
OBSOLETE = "[OBSOLETE]"
LEFT_OUT = "({} older items left out; recall reaches them)"
"""Line in place of omitted items; `_LEFT_OUT` recognises it."""
UNVERIFIED = "unverified"
"""Section with a summary's sentences that no record shows."""
NO_LEAVE = "(No record shows what stands here. None of it is a permission, a rule or a wish of the user: check it before you rely on it.)"
"""First line of that section."""
DECISIONS = "decisions_and_values"
"""Section with the model's own sentences. It is not parsed, because the ledger has them."""
CODE = "changed_code"
"""Section with the newest edits as the files have them now. It is not parsed, because each snapshot has its own."""
INDEX = "also_named"
"""Section with names from the omitted parts. It is not parsed, because the ledger has the names."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot's sections as items of one line each.

    An item may cite the records that prove it (see `cite`).
    """

    goal: str = ""
    rules: tuple[VerbatimText, ...] = ()
    """The user's rules, byte for byte."""
    knowledge: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()
    plan: tuple[str, ...] = ()
    unverified: tuple[str, ...] = ()
    """Items that no record proves."""
    names: tuple[str, ...] = ()
    """Names from the omitted parts."""
    decisions: tuple[VerbatimText, ...] = ()
    obsolete: tuple[str, ...] = ()
    note: str = ""
    """Explains how the snapshot was made."""
    covers: tuple[int, int] = (0, 0)
    """First and last seq that it covers."""
    code: str = ""


def parse(reply: str) -> Snapshot:
    """Parse a reply, however it is wrapped, fenced, cut off or out of order; missing sections stay empty.

    The scratchpad is dropped. Constraints written by a model are ignored: only the user sets rules, and the ledger keeps them.
    """
    note = _NOTE.search(reply)
    text = _without_comments(_without_scratchpad(reply))
    body = _inside(ROOT, text)
    sections = {name: _inside(name, body if body is not None else text) or "" for name in SECTIONS}
    knowledge = items(sections["key_knowledge"])
    return Snapshot(
        goal=" ".join(_unescape(sections["overall_goal"]).split()),
        knowledge=tuple(item for item in knowledge if not item.startswith(OBSOLETE)),
        files=items(sections["file_system_state"]),
        actions=items(sections["recent_actions"]),
        plan=items(sections["current_plan"]),
        obsolete=tuple(item.removeprefix(OBSOLETE).strip() for item in knowledge if item.startswith(OBSOLETE)),
        unverified=tuple(
            item for item in items(_inside(UNVERIFIED, body if body is not None else text) or "") if item != NO_LEAVE
        ),
        note=note[1] if note else "",
    )


def flaws(reply: str) -> tuple[str, ...]:
    """Return the format errors of a reply as lines for people; none for a well-formed snapshot."""
    text = _without_scratchpad(reply)
    found = [] if f"</{ROOT}>" in text else [f"<{ROOT}> is not closed" if f"<{ROOT}" in text else f"no <{ROOT}>"]
    for name in REQUIRED:
        inside = _inside(name, text)
        if inside is None:
            found.append(f"no <{name}>")
        elif f"</{name}>" not in text:
            found.append(f"<{name}> is not closed")
    if not found and not _inside("overall_goal", text):
        found.append("<overall_goal> is empty")
    return tuple(found)


def render(snapshot: Snapshot, *, shells: bool = True) -> str:
    """Return the snapshot in the form that the model reads; `parse` reads everything except rules and names.

    Without `shells`, a section without items is omitted.
    """
    lines = [f"<{ROOT}>"]
    if snapshot.note:
        lines.append(f"  <!-- {snapshot.note} -->")
    if any(snapshot.covers):
        lines.append(f"  <!-- records #{snapshot.covers[0]} to #{snapshot.covers[1]}; recall reaches them -->")
    if snapshot.goal or shells:
        lines.append(f"  <overall_goal>{_escape(snapshot.goal)}</overall_goal>")
    if snapshot.rules:
        lines += _section("active_constraints", [f"- {_escape(line)}" for line in rule_lines(snapshot.rules)])
    for name, section in (
        ("key_knowledge", snapshot.knowledge),
        ("file_system_state", snapshot.files),
        ("recent_actions", snapshot.actions),
    ):
        lines += _section(name, [f"- {_escape(item)}" for item in section]) if section or shells else []
    if snapshot.plan or shells:
        lines += _section("current_plan", [f"{n}. {_escape(step)}" for n, step in enumerate(snapshot.plan, 1)])
    if snapshot.unverified:
        lines += unverified_lines(snapshot.unverified)
    if snapshot.decisions:
        said = (cite(_escape(each.text), [each.seq] if each.seq else []) for each in snapshot.decisions)
        lines += _section(DECISIONS, [f"- {line}" for line in said])
    if snapshot.code:
        lines += [f"  <{CODE}>", _escape(snapshot.code), f"  </{CODE}>"]
    if snapshot.names:
        lines += _section(INDEX, [_escape(", ".join(snapshot.names))])
    return "\n".join([*lines, f"</{ROOT}>"])


def unverified_lines(unverified: Iterable[str]) -> list[str]:
    """Return the section of unproven sentences, which tells the model that nothing in it is a permission."""
    return _section(UNVERIFIED, [NO_LEAVE, *(f"- {_escape(item)}" for item in unverified)])


def cite(text: str, seqs: Iterable[int]) -> str:
    """Return an item with the seqs of the records that it comes from, neighbours as a range."""
    runs: list[list[int]] = []
    for seq in sorted(set(seqs)):
        if runs and seq == runs[-1][-1] + 1:
            runs[-1].append(seq)
        else:
            runs.append([seq])
    named = ", ".join(f"#{run[0]}" if len(run) == 1 else f"#{run[0]}{_to(run)}{run[-1]}" for run in runs)
    return f"{text} [{named}]" if named else text


def _to(run: Sequence[int]) -> str:
    return "-" if run[0] > 0 else " to "


def renumbered(item: str, number: Callable[[int], int]) -> str:
    """Return an item with new numbers for its records."""
    match = _CITED.search(item)
    return cite(uncited(item), map(number, _numbers(match[0]))) if match else item


def _numbers(cited: str) -> list[int]:
    found: list[int] = []
    for first, last in _CITED_RANGE.findall(cited):
        found += range(int(first), int(last or first) + 1)
    return found


_CITED_RANGE = re.compile(r"#(-?\d+)(?:(?:-| to )(-?\d+))?")


def uncited(item: str) -> str:
    """Return an item without the records that it comes from."""
    return _CITED.sub("", item)


def relative(path: str, cwd: str) -> str:
    """Return a path relative to the session's folder, if it is inside."""
    return path.removeprefix(f"{cwd.rstrip('/')}/") if cwd else path


def cited(item: str) -> Sequence[int]:
    """Return the records that an item cites as its source, oldest first."""
    match = _CITED.search(item)
    return _numbers(match[0]) if match else ()


def last_cited(item: str) -> int:
    """Return the newest record that an item cites as its source, or 0 if it cites none."""
    return (cited(item) or (0,))[-1]


_CITED = re.compile(r" \[#-?\d+(?:(?:-| to )-?\d+)?(?:, #-?\d+(?:(?:-| to )-?\d+)?)*\]$")


def rule_lines(rules: Iterable[VerbatimText]) -> Iterator[str]:
    """Yield the user's rules as a model reads them, each with the turn in which it was given."""
    return (f"(turn {rule.turn}) {rule.text}" if rule.turn else rule.text for rule in rules)


def fitting_rules(rules: Sequence[VerbatimText], characters: int) -> tuple[VerbatimText, ...]:
    """Return the newest rules that fit, oldest first; if some do not, a line in front says how many."""
    kept: list[VerbatimText] = []
    for rule in reversed(rules):
        characters -= len(rule.text) + 15
        if characters < 0:
            break
        kept.insert(0, rule)
    left_out = len(rules) - len(kept)
    notice = (
        (VerbatimText(0, 0, f"({left_out} older rules do not fit; the session's records hold them)"),)
        if left_out
        else ()
    )
    return (*notice, *kept)


def items(section: str) -> tuple[str, ...]:
    """Return the items of a section, each on one line and without its bullet.

    A line without a bullet continues the item before it.
    """
    found: list[str] = []
    bulleted = bool(_BULLET.search(section))
    for line in section.splitlines():
        words = " ".join(_BULLET.sub("", line).split())
        if not words or _LEFT_OUT.fullmatch(words):
            continue
        if found and bulleted and not _BULLET.match(line):
            found[-1] += " " + words
        else:
            found.append(words)
    return tuple(_unescape(item) for item in found)


def trimmed(snapshot: Snapshot, characters: int) -> Snapshot:
    """Return the snapshot in at most `characters` characters, not counting rules, decisions and code.

    Goal, rules and code stay, and decisions take at most half as many. The least needed section is cut first, knowledge
    and the changed files last. Each cut adds a line that states how much is gone; changed files are counted by state.
    """
    snapshot = replace(snapshot, decisions=fitting_decisions(snapshot.decisions, characters // 2))
    snapshot = _fewer_names(snapshot, characters)
    for name in ("unverified", "only_read", "actions", "plan", "knowledge", "files"):
        excess = len(render(replace(snapshot, rules=(), decisions=(), code=""))) - characters
        if excess <= 0:
            return snapshot
        if name == "only_read":
            snapshot = replace(snapshot, files=_fewer_read(snapshot.files, excess))
            continue
        section: tuple[str, ...] = getattr(snapshot, name)
        shorter: dict[str, Any] = {name: _counted(section, excess) if name == "files" else _shortened(section, excess)}
        snapshot = replace(snapshot, **shorter)
    return snapshot


def _fewer_read(files: Sequence[str], excess: int) -> tuple[str, ...]:
    """Return the files with fewer lines about what was not changed, the older ones cut first."""
    changed = [line for line in files if _CHANGED.match(line)]
    others = [line for line in files if not _CHANGED.match(line)]
    return (*changed, *_shortened(others, excess, newest_first=True))


_CHANGED = re.compile(r"CWD:|MODIFIED:|CREATED:|DELETED:|More .* \d+ (?:MODIFIED|CREATED|DELETED)\b")


def _counted(files: Sequence[str], excess: int) -> tuple[str, ...]:
    """Return the newest changed files, and one line with the number of the others in each state."""
    kept, states = list(files), Counter[str]()
    while kept and excess + _NOTICE > 0 and not kept[-1].startswith("CWD:"):
        line = kept.pop()
        excess -= len(line) + 5
        counts = _STATES.findall(line) if line.startswith("More ") else [(1, line.partition(":")[0])]
        states.update({state: int(number) for number, state in counts})
    if not states:
        return tuple(files)
    return (*kept, f"More changed files: {', '.join(f'{n} {state}' for state, n in states.items())}; recall names them")


_STATES = re.compile(r"(\d+) (READ|MODIFIED|CREATED|DELETED)\b")


def _fewer_names(snapshot: Snapshot, characters: int) -> Snapshot:
    """Return the snapshot without as many of its oldest names as exceed the length."""
    excess = len(render(replace(snapshot, rules=(), decisions=(), code=""))) - characters
    names = list(snapshot.names)
    while names and excess > 0:
        excess -= len(names.pop(0)) + 2
    return replace(snapshot, names=tuple(names))


def _shortened(section: Sequence[str], excess: int, newest_first: bool = False) -> tuple[str, ...]:
    kept = list(section)
    gone = 0
    while kept and excess + _NOTICE > 0:
        excess -= len(kept.pop(-1 if newest_first else 0)) + 5
        gone += 1
    if not gone:
        return tuple(section)
    notice = LEFT_OUT.format(gone)
    return (*kept, notice) if newest_first else (notice, *kept)


_NOTICE = 60


def _section(name: str, lines: Sequence[str]) -> list[str]:
    return [f"  <{name}>", *(f"    {line}" for line in lines), f"  </{name}>"]


def _inside(name: str, text: str) -> str | None:
    """Return the text between a tag and its end.

    Without an end, it goes up to the next section or the end of the text.
    """
    opening = re.search(rf"<{name}(?:\s[^<>]*)?>", text)
    if opening is None:
        return None
    rest = text[opening.end() :]
    closing = rest.rfind(f"</{name}>") if name == ROOT else rest.find(f"</{name}>")
    if closing >= 0:
        return rest[:closing]
    following = _ANY_SECTION.search(rest)
    return rest[: following.start()] if following and name != ROOT else rest


def _without_scratchpad(reply: str) -> str:
    text = "".join(_outside_scratchpads(reply))
    # A reply cut off inside the scratchpad has no snapshot.
    cut = _SCRATCHPAD.search(text, text.rfind(f"<{ROOT}") + 1)
    return text[: cut.start()] if cut else text


def _outside_scratchpads(reply: str) -> Iterator[str]:
    """Yield the text between scratchpads, in time proportional to its length, however many of them are left open."""
    end = 0
    endless: set[str] = set()
    for opening in _SCRATCHPAD.finditer(reply):
        name = opening[1].lower()
        if opening.start() < end or name in endless:
            continue
        closing = re.compile(f"</{name}>", re.IGNORECASE).search(reply, opening.end())
        if closing is None:
            endless.add(name)
            continue
        yield reply[end : opening.start()]
        end = closing.end()
    yield reply[end:]


def _without_comments(text: str) -> str:
    parts = []
    start = end = 0
    while (start := text.find("<!--", end)) >= 0 and (closing := text.find("-->", start + 4)) >= 0:
        parts.append(text[end:start])
        end = closing + 3
    return "".join((*parts, text[end:]))


def _escape(text: str) -> str:
    return _OWN_TAG.sub(lambda tag: "&lt;" + tag[0][1:], text.replace("<!--", "&lt;!--"))


def _unescape(text: str) -> str:
    return _ESCAPED_TAG.sub(lambda tag: "<" + tag[0][4:], text).replace("&lt;!--", "<!--")


_NAMES = "|".join((ROOT, *SECTIONS, UNVERIFIED, DECISIONS, CODE, INDEX))
_ANY_SECTION = re.compile(rf"</?(?:{_NAMES})\b")
_OWN_TAG = re.compile(rf"<(?=\s*/?\s*(?:{_NAMES}|scratchpad|thinking|analysis)\b)", re.IGNORECASE)
_ESCAPED_TAG = re.compile(rf"&lt;(?=\s*/?\s*(?:{_NAMES}|scratchpad|thinking|analysis)\b)", re.IGNORECASE)
_SCRATCHPAD = re.compile("<(scratchpad|thinking|analysis)>", re.IGNORECASE)
_NOTE = re.compile(rf"<!-- ({re.escape(WITHOUT_MODEL)}[^>]*?) -->")
_LEFT_OUT = re.compile(r"\(\d+ older items left out; recall reaches them\)")
_BULLET = re.compile(r"^[ \t]*(?:[-*•–]|\d+[.)])[ \t]+", re.MULTILINE)
