"""Skills: folders with a SKILL.md; the catalogue has its description, and the body is read at each use."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from itertools import dropwhile, takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from agentcli.agent.project import frontmatter
from agentcli.agent.project.places import Form, Found, Place, files, read_text
from agentcli.agent.project.prompt_files import Skill
from agentcli.core.sanitise import display_path, safe_line
from agentcli.program.prompt_files.template import parse
from agentcli.system import probe
from agentcli.system.regular_file import Unusable

if TYPE_CHECKING:
    from agentcli.agent.project.frontmatter import FrontMatter
    from agentcli.program.prompt_files.template import Part

FILE = "SKILL.md"
SKILLS, LISTED = 5_000, 500
"""Maximum skills, and maximum skills in the model's catalogue: the nearest ones."""
_NEAREST = ("project", "user", "plugin")
DEPTH = 3
"""Levels of folders to search below a folder of skills: a skill may be one folder deeper than usual."""
DESCRIPTION, NAME, COMPATIBILITY = 1_024, 64, 500
"""Maximum lengths of the fields, in characters; a longer description is cut in the catalogue."""
FOLDERS = 5
"""Maximum folders of further skills in the catalogue."""
LISTED_FILES = 50
"""Maximum files of a skill to list with its body."""
_LATER = ("hooks", "paths")
"""Fields that have no effect yet."""


def load(found: Found, notes: list[str]) -> Skill | None:
    """Return the skill that a file describes, or None after a note if it is unusable."""
    path, place, folder = found.path, found.place, found.path.parent
    try:
        head = frontmatter.read(read_text(path, place.within))
    except Unusable as why:
        notes.append(f"{FILE} in {display_path(folder)}: {why}: left out.")
        return None
    notes += _remarks(head, folder)
    description = _described(head, place)
    if not description or head.trouble:
        reason = f": {head.trouble}" if head.trouble else ""
        notes.append(f"{FILE} in {display_path(folder)} has no description{reason}: left out.")
        return None
    if not _usable_name(folder.name):
        notes.append(f"The folder {display_path(folder)} cannot be the name of a skill: left out.")
        return None
    return Skill(
        name=place.named(folder.name),
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


def _described(head: FrontMatter, place: Place) -> str:
    """Return the description with the advice when to use the skill; empty without a description."""
    # Claude Code uses the first paragraph if there is no description; the specification requires one.
    told = head.text("description") or (_first_paragraph(head.body) if place.program == ".claude" else "")
    return " ".join(filter(None, (told, head.text("when_to_use")))) if told else ""


def _first_paragraph(body: str) -> str:
    """Return the first paragraph that is not a heading, in one line."""
    rest = dropwhile(lambda line: not line.strip() or line.startswith("#"), body.splitlines())
    return " ".join(line.strip() for line in takewhile(str.strip, rest))


def body_of(skill: Skill) -> tuple[Part, ...]:
    """Return the parts of a skill's body, reading the file again. Raise Unusable."""
    body = frontmatter.read(read_text(skill.file, skill.place.within)).body.strip()
    return parse(body, "claude" if skill.place.program == ".claude" else "own", skill.names)


def files_of(skill: Skill) -> Sequence[str]:
    """Return the paths of the skill's other files, relative to its folder."""
    place = Place(skill.folder, skill.place.scope, skill.place.program, skill.place.within)
    found = (file.inner for file in files(place, "", 4, []) if file.inner != FILE)
    return [safe_line(inner) for inner, _ in zip(found, range(LISTED_FILES), strict=False)]


def catalogue(skills: Mapping[str, Skill], characters: int = 0) -> str:
    """Return the lines of the catalogue for the model; beyond `characters` (0: no limit), the last ones are only names."""
    listed = in_catalogue(skills)
    lines = [f"- {skill.name}: {_one_line(skill.description)}" for skill in listed]
    if not characters:
        return "\n".join(lines)
    near = {skill.name for skill in listed}
    far = [skill for skill in skills.values() if skill.for_model and skill.name not in near]
    folders = sorted({safe_line(display_path(skill.place.folder)) for skill in far})
    rest = f"{len(far):,} more skills lie in {', '.join(folders[:FOLDERS])}: list these folders; the skill tool loads a skill by its name."
    size = sum(map(len, lines))
    for number in reversed(range(len(lines))):
        if size <= characters:
            break
        short = f"- {listed[number].name}"
        size -= len(lines[number]) - len(short)
        lines[number] = short
    return "\n".join([*lines, *([rest] if far else [])])


def in_catalogue(skills: Mapping[str, Skill]) -> list[Skill]:
    """Return the skills in the catalogue, sorted by name; if there are too many, prefer the project's, then the user's."""
    for_model = [skill for skill in skills.values() if skill.for_model]
    nearest = sorted(for_model, key=lambda skill: _NEAREST.index(skill.place.scope))[:LISTED]
    return sorted(nearest, key=lambda skill: skill.name)


def check(folder: Path) -> list[str]:
    """Return the errors of a skill's folder against the specification (agentskills.io); none for a valid one."""
    if not probe.is_dir(folder):
        return [f"{display_path(folder)} is not a folder."]
    path = next((folder / name for name in (FILE, FILE.lower()) if probe.exists(folder / name)), None)
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
    errors = [] if head.strict else ["The front matter is not valid YAML."]
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
        yield f"The name {safe_line(name)} differs from the folder's name, {safe_line(folder.resolve().name)}."


def _remarks(head: FrontMatter, folder: Path) -> Iterator[str]:
    name = head.text("name")
    if name and name != folder.name:
        yield f"Skill {safe_line(folder.name)}: the name in the file is {safe_line(name)}; the folder's counts."
    yield from head.without_effect(_LATER, f"Skill {safe_line(folder.name)}")


def _usable_name(name: str) -> bool:
    return 0 < len(name) <= NAME and all(letter.isalnum() or letter in "-_." for letter in name)


def _one_line(text: str) -> str:
    line = safe_line(" ".join(text.split()))
    return line if len(line) <= DESCRIPTION else f"{line[: DESCRIPTION - 1]}…"


FORM = Form("skills", load, most=SKILLS, depth=DEPTH, ending=FILE, in_folders=True)
