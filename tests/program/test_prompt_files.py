"""Commands and agents as four programs write them, and the check of skills."""

from __future__ import annotations

from pathlib import Path

from agentcli.agent.project.places import Place, find
from agentcli.agent.project.prompt_files import AgentKind
from agentcli.core.aliases import OPENCODE
from agentcli.program.prompt_files import agents
from agentcli.program.prompt_files.skills import check
from tests.tables import each_row

OWN = {own for own, _ in OPENCODE.values()}


def place(folder: Path, program: str = ".claude", plugin: str = "") -> Place:
    return Place(folder, "plugin" if plugin else "user", program, plugin=plugin)


def written(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".toml" if "prompt = " in text or "prompt=" in text else ".md").write_text(text)
    return folder


def agent(tmp_path: Path, head: str, program: str = ".claude", notes: list[str] | None = None) -> AgentKind:
    written(tmp_path, one=f"---\nname: rev\ndescription: Reviews.\n{head}---\nYou review.")
    return next(iter(find(agents.FORM, [place(tmp_path, program)], [] if notes is None else notes)[0].values()))


def test_an_agent_is_its_head_and_its_body(tmp_path: Path) -> None:
    notes: list[str] = []
    head = "tools: Glob, Read\ndisallowedTools: Bash\nmodel: inherit\nmaxTurns: 500\nskills: [pdf]\nisolation: worktree\npermissionMode: bypassPermissions\n"
    kind = agent(tmp_path, head, notes=notes)
    assert (kind.name, kind.prompt, kind.tools, kind.denied) == ("rev", "You review.", ("Glob", "Read"), ("Bash",))
    assert (kind.model, kind.max_steps, kind.skills, kind.worktree) == ("", 100, ("pdf",), True)
    assert notes == ["Agent rev: the field permissionMode has no effect here."]
    assert agent(tmp_path, "").tools is None
    assert agent(tmp_path, "max_turns: 7\n", ".gemini").max_steps == 7


def test_opencode_names_an_agent_by_its_file_and_denies_tools_by_a_mapping(tmp_path: Path) -> None:
    kind = agent(tmp_path, "mode: subagent\ntools:\n  write: false\n  bash: true\n", ".opencode")
    assert (kind.name, kind.tools, kind.denied) == ("one", None, ("write", "edit", "multi_edit"))


@each_row(
    ("head", "tools", "denied"),
    [
        ("permission: {edit: deny, webfetch: ask}", None, {"write", "edit", "multi_edit"}),
        ('permission: {bash: {"*": ask, "rm *": deny}, read: {"*": allow}}', None, {"bash"}),
        ('tools: {"*": false, read: true, skill: true}', ("read", "skill"), set()),
        ('tools: {read: true, "*": false}', (), set()),
        ('permission: {"*": deny, edit: allow}', ("write", "edit", "multi_edit"), set()),
        ("permission: deny", (), set()),
        (
            'tools: {bash: false}\npermission: {bash: allow, "web*": deny}',
            None,
            {"web_fetch", "web_search", "mcp__web*"},
        ),
        ('tools: {"docs_*": false, my_server_find: false}', None, {"mcp__docs_**", "mcp__my_*server_*find"}),
    ],
)
def test_the_last_entry_of_opencode_about_a_tool_counts(
    head: str, tools: tuple[str, ...] | None, denied: set[str], tmp_path: Path
) -> None:
    kind = agent(tmp_path, f"{head}\n", ".opencode")
    assert kind.tools == tools
    assert denied <= {*kind.denied}
    assert tools is not None or {name for name in kind.denied if name in OWN or name.startswith("mcp__")} == denied


@each_row(
    ("head", "error"),
    [
        ("name: pdf\ndescription: d", ""),
        ("name: pdf\ndescription: d\nlicense: MIT\nallowed-tools: Read\nmetadata: {a: b}", ""),
        ("description: d", "The field name is missing"),
        ("name: pdf", "The field description is missing"),
        ("name: Pdf\ndescription: d", "must be in lower case"),
        ("name: pdf--x\ndescription: d", "two in a row"),
        ("name: pdf_x\ndescription: d", "letters, digits and hyphens"),
        ("name: other\ndescription: d", "differs from the folder's name, pdf"),
        (f"name: pdf\ndescription: {'d' * 1025}", "1,025 characters"),
        ("name: pdf\ndescription: d\nmodel: x", "the specification does not have: model"),
        ("name: pdf\ndescription: a: b", "is not valid YAML"),
    ],
)
def test_a_skill_is_checked_against_the_specification(head: str, error: str, tmp_path: Path) -> None:
    folder = tmp_path / "pdf"
    folder.mkdir()
    (folder / "SKILL.md").write_text(f"---\n{head}\n---\n")
    errors = check(folder)
    assert any(error in one for one in errors) if error else errors == []
    assert check(tmp_path) == ["There is no SKILL.md."]


def test_the_name_of_a_skill_has_at_most_64_characters(tmp_path: Path) -> None:
    for length, errors in ((64, []), (65, ["The name has 65 characters, more than 64."])):
        folder = tmp_path / ("x" * length)
        folder.mkdir()
        (folder / "SKILL.md").write_text(f"---\nname: {folder.name}\ndescription: d\n---\n")
        assert check(folder) == errors
