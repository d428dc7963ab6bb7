"""Front matter: the fields between `---` lines at the head of a Markdown file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from functools import lru_cache
from typing import Any

from agentcli.core.dataclass import dataclass

LIMIT = 65_536
"""Largest size of front matter, in characters."""
DEPTH = 32
"""Largest depth of brackets in front matter."""
_FENCE = re.compile(r"---[ \t]*(?:\n|$)")
_END = re.compile(r"^---[ \t]*(?:\n|$)", re.MULTILINE)
_KEY = re.compile(r"([A-Za-z][\w-]*):(?:[ \t]+(.*))?$")
_WORDS = re.compile(r"(?:\([^()]*\)|[^\s,()])+")
_BOOLEANS: Mapping[str, bool] = {
    "true": True, "yes": True, "on": True, "false": False, "no": False, "off": False,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """Fields and body of a Markdown file.

    `trouble` is why fields are unreadable; `strict` is false for invalid YAML.
    """

    fields: Mapping[str, Any] = field(default_factory=dict)
    body: str = ""
    trouble: str = ""
    strict: bool = True

    def text(self, name: str) -> str:
        """Return a field as text; empty if it is missing, a list or a mapping."""
        value = self.fields.get(name)
        if isinstance(value, bool):
            return "true" if value else "false"
        return str(value).strip() if isinstance(value, str | int | float) else ""

    def flag(self, name: str, default: bool = False) -> bool:
        """Return a field as a truth value."""
        value = self.fields.get(name)
        return value if isinstance(value, bool) else _BOOLEANS.get(self.text(name).lower(), default)

    def number(self, name: str) -> int:
        """Return a field as a whole number, or 0."""
        text = self.text(name)
        return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0

    def items(self, name: str) -> tuple[str, ...]:
        """Return a field as a list: a YAML list, or words between commas or blanks; parentheses group words."""
        value = self.fields.get(name)
        if isinstance(value, list | tuple):
            return tuple(str(item).strip() for item in value if isinstance(item, str | int) and str(item).strip())
        words = _WORDS.findall(self.text(name).removeprefix("[").removesuffix("]"))
        return tuple(word.strip("'\"") for word in words if word != "-")

    def without_effect(self, names: Iterable[str], owner: str) -> Iterator[str]:
        """Yield a note for each of these fields in the file of `owner`, because they have no effect here."""
        for name in names:
            if name in self.fields:
                yield f"{owner}: the field {name} has no effect here."


def read(text: str) -> FrontMatter:
    """Read the front matter of a file's text; without front matter everything is body."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    opening = _FENCE.match(text)
    if opening is None:
        return FrontMatter(body=text)
    end = _END.search(text, opening.end(), opening.end() + LIMIT)
    if end is None:
        why = f"longer than {LIMIT:,} characters" if len(text) > LIMIT else "not closed by ---"
        return FrontMatter(body=text, trouble=f"its front matter is {why}")
    head, body = text[opening.end() : end.start()], text[end.end() :]
    parsed = _parsed(head)
    return FrontMatter(_lines(head), body, strict=False) if parsed is None else FrontMatter(parsed, body)


def _parsed(head: str) -> dict[str, Any] | None:
    """Parse the fields as YAML; return None if the text is not a YAML mapping."""
    import yaml

    try:
        found = yaml.load(head, _loader())
    except (yaml.YAMLError, ValueError, RecursionError, TypeError):
        return None
    if found is None:
        return {}
    return {str(name): value for name, value in found.items()} if isinstance(found, dict) else None


@lru_cache(maxsize=1)
def _loader() -> Any:
    """Return YAML's safe loader without merged keys and deep brackets, so that its time is proportional to the text."""
    import yaml

    class Loader(yaml.SafeLoader):
        def fetch_flow_collection_start(self, kind: Any) -> None:
            if self.flow_level >= DEPTH:
                raise yaml.YAMLError(f"brackets are nested more than {DEPTH} deep")
            super().fetch_flow_collection_start(kind)

        def flatten_mapping(self, node: Any) -> None:
            """Merge nothing."""

    return Loader


def _lines(head: str) -> dict[str, Any]:
    """Return the fields line by line: `key: rest` begins a field, other lines continue it."""
    fields: dict[str, str] = {}
    last = ""
    for line in head.split("\n"):
        found = _KEY.match(line)
        if found and (found[1][0].islower() or not last):
            last = found[1]
            fields[last] = (found[2] or "").strip()
        elif last:
            fields[last] = f"{fields[last]}\n{line}"
    return {name: _unquoted(value.strip()) for name, value in fields.items()}


def _unquoted(value: str) -> str:
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
    return value[1:-1] if quoted else value
