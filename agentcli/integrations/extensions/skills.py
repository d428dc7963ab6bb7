"""Skills: folders with a SKILL.md, whose description stands in the catalogue and whose body is read when it is needed."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import dropwhile, takewhile
from pathlib import Path

from agentcli.core.dataclass import dataclass
from agentcli.core.sanitise import display_path, safe_line
from agentcli.integrations import frontmatter
from agentcli.integrations.extensions.places import Found, Place, files, first_of_each_name, read_text
from agentcli.integrations.extensions.template import Part, parse
from agentcli.integrations.frontmatter import FrontMatter
from agentcli.integrations.regular_file import Unusable

FILE = "SKILL.md"
SKILLS = 500
"""Skills at most."""
DEPTH = 3
"""Levels of folders beneath a folder of skills that are looked at: a skill may lie one folder deeper than usual."""
DESCRIPTION, NAME, COMPATIBILITY = 1_024, 64, 500
"""Characters of the fields at most; a longer description is cut in the catalogue."""
LISTED_FILES = 50
"""Files of a skill that are named with its body."""
_LATER = ("hooks", "paths")
"""Fields that have no effect yet."""


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill as its front matter describes it. `allowed` and `denied` are rules as the file writes them."""

    name: str
    description: str
    file: Path
    place: Place
    hint: str = ""
    names: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    model: str = ""
    effort: str = ""
    agent: str = ""
    forks: bool = False
    for_model: bool = True
    for_person: bool = True

    @property
    def folder(self) -> Path:
        """The folder of the skill."""
        return self.file.parent

    @property
    def from_project(self) -> bool:
        """True if it comes with the repository, not from the user."""
        return self.place.scope == "project"


def find_skills(places: Iterable[Place], notes: list[str]) -> tuple[dict[str, Skill], list[Skill]]:
    """The skills by name, in the order of their names, and those that another one of their name shadows."""
    return first_of_each_name(_files(places, notes), load, "skills", SKILLS, notes)


def _files(places: Iterable[Place], notes: list[str]) -> Iterator[Found]:
    """The files of skills, each once though several links may lead to it."""
    seen: set[Path] = set()
    for place in places:
        for file in files(place, FILE, DEPTH, notes):
            real = Path(os.path.realpath(file.path))
            if "/" in file.inner and real not in seen:
                seen.add(real)
                yield file


def load(found: Found, notes: list[str]) -> Skill | None:
    """The skill that a file describes; None, and a note, for one that cannot be used."""
    path, place, folder = found.path, found.place, found.path.parent
    try:
        head = frontmatter.read(read_text(path, place.within))
    except Unusable as why:
        notes.append(f"{FILE} in {display_path(folder)}: {why}: left out.")
        return None
    notes += _remarks(head, folder)
    # Claude Code takes the first paragraph where there is no description; the specification wants one.
    told = head.text("description") or (_first_paragraph(head.body) if place.program == ".claude" else "")
    description = " ".join(filter(None, (told, head.text("when_to_use"))))
    if not told or head.trouble:
        reason = f": {head.trouble}" if head.trouble else ""
        notes.append(f"{FILE} in {display_path(folder)} has no description{reason}: left out.")
        return None
    if not _usable_name(folder.name):
        notes.append(f"The folder {display_path(folder)} cannot be the name of a skill: left out.")
        return None
    prefix = f"{place.plugin}:" if place.plugin else ""
    return Skill(
        name=prefix + folder.name,
        description=description,
        file=path,
        place=place,
        hint=head.text("argument-hint"),
        names=head.items("arguments"),
        allowed=head.items("allowed-tools"),
        denied=head.items("disallowed-tools"),
        model=head.text("model"),
        effort=head.text("effort"),
        agent=head.text("agent"),
        forks=head.text("context") == "fork",
        for_model=not head.flag("disable-model-invocation"),
        for_person=head.flag("user-invocable", default=True),
    )


def _first_paragraph(body: str) -> str:
    """The first paragraph that is no heading, in one line."""
    rest = dropwhile(lambda line: not line.strip() or line.startswith("#"), body.splitlines())
    return " ".join(line.strip() for line in takewhile(str.strip, rest))


def body_of(skill: Skill) -> tuple[Part, ...]:
    """The parts of a skill's body, read anew. Raises Unusable."""
    body = frontmatter.read(read_text(skill.file, skill.place.within)).body.strip()
    return parse(body, "claude" if skill.place.program == ".claude" else "own", skill.names)


def files_of(skill: Skill) -> Sequence[str]:
    """The paths of the skill's other files, seen from its folder."""
    place = Place(skill.folder, skill.place.scope, skill.place.program, skill.place.within)
    found = (file.inner for file in files(place, "", 4, []) if file.inner != FILE)
    return [safe_line(inner) for inner, _ in zip(found, range(LISTED_FILES), strict=False)]


def catalogue(skills: Mapping[str, Skill], characters: int = 0) -> str:
    """The lines of the catalogue that the model sees; over so many characters (0: no limit), those at the end are names only."""
    listed = [skill for skill in skills.values() if skill.for_model]
    lines = [f"- {skill.name}: {_one_line(skill.description)}" for skill in listed]
    if not characters:
        return "\n".join(lines)
    size = sum(map(len, lines))
    for number in reversed(range(len(lines))):
        if size <= characters:
            break
        short = f"- {listed[number].name}"
        size -= len(lines[number]) - len(short)
        lines[number] = short
    return "\n".join(lines)


def check(folder: Path) -> list[str]:
    """The errors of a skill's folder against the specification (agentskills.io); none for a valid one."""
    if not folder.is_dir():
        return [f"{display_path(folder)} is no folder."]
    path = next((folder / name for name in (FILE, FILE.lower()) if (folder / name).exists()), None)
    if path is None:
        return [f"There is no {FILE}."]
    try:
        head = frontmatter.read(read_text(path))
    except Unusable as why:
        return [f"{path.name}: {why}."]
    if head.trouble:
        return [f"{path.name}: {head.trouble}."]
    if not head.fields:
        return [f"{path.name} must begin with front matter (---)."]
    errors = [] if head.strict else ["The front matter is no valid YAML."]
    return [*errors, *_field_errors(head, folder)]


_FIELDS = frozenset({"name", "description", "license", "allowed-tools", "metadata", "compatibility"})


def _field_errors(head: FrontMatter, folder: Path) -> Iterator[str]:
    unknown = sorted(set(head.fields) - _FIELDS)
    if unknown:
        yield f"Fields that the specification does not have: {', '.join(map(safe_line, unknown))}."
    yield from _name_errors(head.text("name"), folder)
    description = head.text("description")
    if not description:
        yield "The field description is missing or empty."
    if len(description) > DESCRIPTION:
        yield f"The description has {len(description):,} characters, more than {DESCRIPTION:,}."
    if "compatibility" in head.fields and len(head.text("compatibility")) > COMPATIBILITY:
        yield f"The field compatibility has more than {COMPATIBILITY} characters."


def _name_errors(given: str, folder: Path) -> Iterator[str]:
    name = unicodedata.normalize("NFKC", given)
    if not name:
        yield "The field name is missing or empty."
        return
    if len(name) > NAME:
        yield f"The name has {len(name)} characters, more than {NAME}."
    if name != name.lower():
        yield f"The name {safe_line(name)} must be in lower case."
    if name.startswith("-") or name.endswith("-") or "--" in name:
        yield f"The name {safe_line(name)} must not begin or end with a hyphen, nor have two in a row."
    if not all(letter.isalnum() or letter == "-" for letter in name):
        yield f"The name {safe_line(name)} may have letters, digits and hyphens only."
    if name != unicodedata.normalize("NFKC", folder.resolve().name):
        yield f"The name {safe_line(name)} is not that of the folder, {safe_line(folder.resolve().name)}."


def _remarks(head: FrontMatter, folder: Path) -> Iterator[str]:
    name = head.text("name")
    if name and name != folder.name:
        yield f"Skill {safe_line(folder.name)}: the name in the file is {safe_line(name)}; the folder's counts."
    for field in _LATER:
        if field in head.fields:
            yield f"Skill {safe_line(folder.name)}: the field {field} has no effect here."


def _usable_name(name: str) -> bool:
    return 0 < len(name) <= NAME and all(letter.isalnum() or letter in "-_." for letter in name)


def _one_line(text: str) -> str:
    line = safe_line(" ".join(text.split()))
    return line if len(line) <= DESCRIPTION else f"{line[: DESCRIPTION - 1]}…"
