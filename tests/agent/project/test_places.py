"""Folders of extensions, the hostile ones as well: a named note and nothing else."""

from __future__ import annotations

import os
from pathlib import Path

from agentcli.agent.project.places import FILE_BYTES, Place, files, first_of_each_name
from agentcli.agent.project.prompt_files import Skill
from agentcli.core.sanitise import display_path
from agentcli.program.prompt_files.discover import catalogue, changes_since, discover
from agentcli.program.prompt_files.mentions import named
from tests.tables import each_row

HOME, CONFIG = Path("home"), Path("config")


def skill(folder: Path, description: str = "Does it.", body: str = "Do it.", more: str = "") -> Path:
    """A skill in this folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(f"---\nname: {folder.name}\ndescription: {description}\n{more}---\n{body}\n")
    return folder


def repository(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    (work / ".git").mkdir(parents=True)
    return work


def found(tmp_path: Path, cwd: Path | None):  # type: ignore[no-untyped-def]
    return discover(cwd, tmp_path / HOME, tmp_path / CONFIG)


def test_the_nearest_skill_of_a_name_wins_and_the_others_are_named(tmp_path: Path) -> None:
    work = repository(tmp_path)
    near = skill(work / "sub/.claude/skills/pdf")
    skill(work / ".agentcli/skills/pdf")
    skill(tmp_path / HOME / ".agents/skills/pdf")
    own = skill(tmp_path / CONFIG / "skills/own")
    here = found(tmp_path, work / "sub")
    assert {name: one.folder for name, one in here.skills.items()} == {"own": own, "pdf": near}
    assert len(here.shadowed) == 2
    assert [*found(tmp_path, None).skills] == ["own", "pdf"]  # untrusted: the user's alone
    assert found(tmp_path, None).skills["pdf"].place.scope == "user"


def test_a_skill_without_a_description_is_left_out_and_another_name_is_noted(tmp_path: Path) -> None:
    work = repository(tmp_path)
    skill(work / ".agents/skills/empty", "")
    (skill(work / ".claude/skills/other") / "SKILL.md").write_text("---\nname: wrong\ndescription: x\nhooks: {}\n---\n")
    here = found(tmp_path, work)
    assert [*here.skills] == ["other"]
    assert any(
        note.startswith("SKILL.md in ") and note.endswith("has no description: left out.") for note in here.notes
    )
    assert "Skill other: the name in the file is wrong; the folder's counts." in here.notes
    assert "Skill other: the field hooks has no effect here." in here.notes


def test_links_out_of_the_repository_are_named_and_not_followed(tmp_path: Path) -> None:
    work, outside = repository(tmp_path), skill(tmp_path / "outside/secret")
    (work / ".claude/skills").mkdir(parents=True)
    (work / ".claude/skills/secret").symlink_to(outside)
    (work / ".claude/commands").symlink_to(tmp_path / "outside")
    (work / ".gemini/agents").mkdir(parents=True)
    (work / ".gemini/agents/a.md").symlink_to(outside / "SKILL.md")
    here = found(tmp_path, work)
    assert [*here.skills, *here.commands, *here.agents] == []
    assert sum("leads out of the repository" in note for note in here.notes) == 3


def test_cycles_of_links_end(tmp_path: Path) -> None:
    work = repository(tmp_path)
    skill(work / ".claude/skills/good")
    (work / ".claude/skills/loop").symlink_to(work / ".claude/skills")
    (work / ".claude/skills/self").symlink_to("self")
    (work / ".claude/commands").mkdir()
    (work / ".claude/commands/up").symlink_to(work / ".claude")
    here = found(tmp_path, work)
    assert [*here.skills] == ["good"]
    assert [*here.commands] == ["up:skills:good:SKILL"]


@each_row("kind", ["large", "binary", "pipe", "unreadable front matter"])
def test_files_that_cannot_be_used_are_named(kind: str, tmp_path: Path) -> None:
    work = repository(tmp_path)
    folder = work / ".agents/skills/bad"
    file = skill(folder) / "SKILL.md"
    if kind == "large":
        with file.open("ab") as stream:
            stream.truncate(10 * FILE_BYTES)
    elif kind == "binary":
        file.write_bytes(b"---\nname: bad\0\n---")
    elif kind == "pipe":
        file.unlink()
        os.mkfifo(file)
    else:
        file.write_text("---\ndescription: x\n")
    here = found(tmp_path, work)
    assert not here.skills
    assert len(here.notes) == 1
    assert "SKILL.md in" in here.notes[0]


def test_escape_sequences_reach_no_terminal_and_names_that_hold_them_are_refused(tmp_path: Path) -> None:
    work = repository(tmp_path)
    skill(work / ".claude/skills/good", "red \x1b[31m text")
    skill(work / ".claude/skills/b\x1b[2Jad")
    here = found(tmp_path, work)
    assert [*here.skills] == ["good"]
    assert "\x1b" not in "".join([*here.notes, catalogue(here.skills, {}, 100_000)])


def test_the_catalogue_is_sorted_cut_and_silent_without_skills(tmp_path: Path) -> None:
    work = repository(tmp_path)
    assert catalogue({}, {}, 200_000) == ""
    for name in ("b", "a", "c"):
        skill(work / f".claude/skills/{name}", name * 1_500)
    skill(work / ".claude/skills/quiet", more="disable-model-invocation: true\n")
    text = catalogue(found(tmp_path, work).skills, {}, 1_000)
    lines = text.splitlines()
    assert lines[0] == "# Skills"
    assert [line[:4] for line in lines[3:]] == ["- a:", "- b:", "- c:"]
    many = {f"s{n:03}": found(tmp_path, work).skills["a"] for n in range(20)}
    short = catalogue(many, {}, 1_000)
    assert "- a: " in short
    assert short.splitlines()[-1] == "- a"


def test_of_very_many_skills_the_nearest_are_in_the_catalogue_and_the_others_are_told_and_loadable(
    tmp_path: Path,
) -> None:
    work = repository(tmp_path)
    for number in range(505):
        skill(tmp_path / HOME / f".agents/skills/a{number:03}")
    for name in ("z1", "z2"):
        skill(work / f".claude/skills/{name}")
    skills = found(tmp_path, work).skills
    assert len(skills) == 507
    block = catalogue(skills, {}, 200_000)
    assert "- z1: " in block
    assert "- z2: " in block
    assert block.count("\n- ") == 500
    assert "7 more skills lie in " in block
    assert ".agents/skills: list these folders; the skill tool loads a skill by its name." in block
    assert changes_since(["You are", block], skills, {}) == ""


def test_changes_since_a_session_began_are_told(tmp_path: Path) -> None:
    work = repository(tmp_path)
    skill(work / ".claude/skills/a")
    block = catalogue(found(tmp_path, work).skills, {}, 1_000)
    assert changes_since(["You are", block], found(tmp_path, work).skills, {}) == ""
    skill(work / ".claude/skills/b", "New one.")
    told = changes_since(["You are", block], found(tmp_path, work).skills, {})
    assert "- b: New one." in told
    assert "Gone: a." in changes_since(["You are", block], {}, {})


def test_a_skill_beats_a_command_of_its_place_and_a_prefix_names_the_shadowed_one(tmp_path: Path) -> None:
    work = repository(tmp_path)
    skill(work / ".claude/skills/both")
    for folder in (work / ".claude/commands", tmp_path / HOME / ".claude/commands"):
        (folder / "git").mkdir(parents=True)
        (folder / "both.md").write_text("text")
        (folder / "git/x.md").write_text("---\ndescription: X\n---\ntext")
    here = found(tmp_path, work)
    assert isinstance(named(here, "both"), Skill)
    assert [*here.commands] == ["both", "git:x"]
    other = named(here, "user:git:x")
    assert other is not None
    assert other.place.scope == "user"
    assert named(here, "x") is None


def test_files_after_the_most_names_are_left_out_and_the_first_of_them_is_named(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.md").touch()
    notes: list[str] = []
    beneath = files(Place(tmp_path, "user", ".agentcli"), ".md", 1, notes)
    found, shadowed = first_of_each_name(beneath, lambda file, _: file.path, "agents", 2, notes)
    assert ([*found], shadowed) == (["a.md", "b.md"], [])
    assert notes == [f"There are more than 2 agents: those of {display_path(tmp_path)} from c.md on are left out."]


def test_the_first_paragraph_describes_a_skill_of_claude_code_that_has_no_description(tmp_path: Path) -> None:
    work = repository(tmp_path)
    folder = skill(work / ".claude/skills/pdf")
    (folder / "SKILL.md").write_text("---\nname: pdf\n---\n# PDF\n\nReads PDF files,\nall of them.\n\nMore.\n")
    (skill(work / ".claude/skills/open") / "SKILL.md").write_text("---\nname: open\nNever closed.\n")
    (skill(work / ".claude/skills/bare") / "SKILL.md").write_text("# Bare\n")
    here = found(tmp_path, work)
    assert {name: one.description for name, one in here.skills.items()} == {"pdf": "Reads PDF files, all of them."}
    assert sum("no description" in note for note in here.notes) == 2
