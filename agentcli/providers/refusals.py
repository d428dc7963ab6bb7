"""Refusals of requests.

A refusal may state that the server does not accept an optional field. It may also mention fields, or identify parts.
Only a sentence about the field itself counts as a statement: `thinking: Extra inputs are not permitted`. A single word
does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agentcli.providers.provider import Wording


def stated(answer: str, fields: Mapping[str, Wording], keywords: frozenset[str]) -> tuple[set[str], set[str]]:
    """Return the capabilities, and the schema keywords, that a refusal states the server does not accept."""
    text, found = plain(answer), set[str]()
    for capability, wording in fields.items():
        if wording.stated and re.search(wording.stated, text):
            found.add(capability)
            text = re.sub(wording.stated, " ", text)
    named = [*_unknown(text)]
    found |= {owner for name in named if (owner := _owner(name, fields))}
    return found, {keyword for keyword in keywords if keyword.lower() in named}


def mentioned(answer: str, fields: Mapping[str, Wording]) -> set[str]:
    """Return the capabilities that a refusal mentions. Text matched by one does not count for later ones."""
    text, found = plain(answer), set()
    for capability, wording in fields.items():
        pattern = rf"(?<!\w)(?:{wording.names})(?!\w)"
        if re.search(pattern, text):
            found.add(capability)
            text = re.sub(pattern, " ", text)
    return found


def about_images(answer: str) -> bool:
    """Return True if a refusal is about images, whether it identifies one or not."""
    return bool(_IMAGE.search(plain(answer)))


def places(answer: str) -> Sequence[Sequence[str]]:
    """Return the places in the body that a refusal contains, such as `messages.3.content.1`, each as its steps."""
    found = dict.fromkeys(re.findall(_PLACE, plain(answer)))
    return [re.findall(r"\w+", place) for place in found]


def tools_named(answer: str, names: Sequence[str]) -> list[str]:
    """Return the tools that a refusal quotes."""
    quoted = set(re.findall(r"""(?:function|tool)s? ?:? ?["'`]([\w.-]+)["'`]""", answer.replace("\\", "")))
    return [name for name in names if name in quoted]


def nodes(body: Any, steps: Sequence[str]) -> Iterator[Any]:
    """Yield the values on the way to a place in a body, the deepest first.

    Steps without a value are skipped: servers put the kind of a block between its number and its field.
    """
    passed = []
    for step in steps:
        inner = _step(body, step)
        if inner is not None:
            body = inner
            passed.append(inner)
    yield from reversed(passed)


def plain(answer: str) -> str:
    """Return a refusal in lower case, without the backslashes of a JSON text within another."""
    return " ".join(answer.lower().replace("\\n", " ").replace("\\", "").split())


def _step(value: Any, step: str) -> Any:
    if isinstance(value, list | tuple):
        return value[int(step)] if step.isdigit() and int(step) < len(value) else None
    if isinstance(value, Mapping):
        spelled = step.replace("_", "")
        return next((inner for name, inner in value.items() if name.replace("_", "").lower() == spelled), None)
    return None


_PLACE = r"(?:messages|contents|input|tools|system)(?:\.\w+|\[\w+\])+"
_IMAGE = re.compile(r"\b(?:images?|image_url|input_image|inline_?data|pictures?)\b")
_QUOTE = r"[\"'`*]*"
_PATH = r"[a-z_$][\w.$\[\]-]*\w"
_PHRASE = r"[a-z_$][\w.$\[\]-]*(?: [a-z][\w-]*){0,4}?"
_KIND = r"(?:name|parameter|field|argument|key|keyword|property|attribute|variant)s?\b"
_BEGIN = r"(?:^|[.:;,(\[{\"'`>] ?|\b(?:the|parameter|field|argument|that|and) )"
_TAIL = r"(?P<tail>(?: (?!- )[^ .:;,(){}\"]+)*)"
_FORMS = (
    rf"(?:unknown|unrecogni[sz]ed|unexpected|unsupported|extra) (?:request |keyword )?{_KIND}(?: supplied| provided)?:? ?{_QUOTE}"
    rf"(?P<what>{_PATH})(?![^.]{{0,200}}proto field)",
    rf"(?P<what>{_PATH}):? extra inputs? (?:is|are) not permitted",
    rf"extra inputs? (?:is|are) not permitted[,.:;]? ?(?:field:? ?)?{_QUOTE}(?P<what>{_PATH}(?:, {_PATH})*){_QUOTE}$",
    rf"extra inputs? (?:is|are) not permitted[,.:;]? ?field:? ?{_QUOTE}(?P<what>{_PATH})",
    rf"additional properties are not allowed ?\(?{_QUOTE}(?P<what>{_PATH})",
    rf"unexpected value(?:\(s\)|s)?:? {_QUOTE}(?P<what>{_PATH}){_QUOTE} for the {_QUOTE}anthropic-beta",
    rf"{_BEGIN}{_QUOTE}(?P<what>{_PHRASE}){_QUOTE} (?:is|are) (?:unsupported|not (?:currently |yet )?"
    rf"(?:supported|permitted|allowed|accepted|available|recogni[sz]ed|implemented)){_TAIL}",
    rf"(?:does|do)(?: not|n't) (?:currently |yet )?(?:support|accept|take|allow|recogni[sz]e|know)(?: the| an?)? "
    rf"{_QUOTE}(?P<what>{_PHRASE}){_QUOTE}(?P<tail>(?: (?:with|for|on|by|in|at|when|if|unless|while)\b[^.:;,(){{}}\"]*)?)(?=[.:;,(){{}}\"'` ]|$)",
    rf"no (?:endpoint|model|provider)s? (?:found |available )?that supports? (?P<what>{_PHRASE})(?=[.:;,(){{}}\"'`]|$)",
)  # fmt: skip
"""Sentences that state that something is not accepted; `tail` may limit them to a case."""
_EVERYWHERE = re.compile(
    r"(?: (?:with|for|on|by|in|at) (?:this|the|your|that|our)?\b[\w'/ -]*?\b(?:model|endpoint|server|provider|api|backend|deployment|version)s?)?"
    r"(?: (?:yet|currently|here|at this time))?"
)
"""Tails that limit nothing: the field is refused in every request."""
_NOUN = re.compile(rf" (?:request )?(?:{_KIND}|options?|features?|blocks?|modes?|contents?)$")


def _unknown(text: str) -> Iterator[str]:
    """Yield the names of everything that a text states is not accepted, wherever it may be in a request."""
    for form in _FORMS:
        for found in re.finditer(form, text):
            tail = (found.groupdict().get("tail") or "").rstrip("'`")
            if not tail or _EVERYWHERE.fullmatch(tail):
                names = [name.strip() for name in found["what"].split(",")]
                yield from (*names, *(_NOUN.sub("", name) for name in names))


def _owner(name: str, fields: Mapping[str, Wording]) -> str:
    """Return the capability of this name; empty if there is none, or if its path leads through another one's field.

    A field that is refused inside another one, such as a mark on a thought, may be accepted elsewhere.
    """
    if whole := _named(name, fields):
        return whole
    steps = [step for step in re.split(r"[.\[\]]+", name) if step and not step.isdigit() and step != "*"]
    owners = [_named(step, fields) for step in steps]
    last = owners[-1] if owners else ""
    return last if {*owners} <= {"", last} else ""


def _named(name: str, fields: Mapping[str, Wording]) -> str:
    return next((capability for capability, wording in fields.items() if re.fullmatch(wording.names, name)), "")
