"""The skills, commands and agents that others have published, read as they lie."""

from __future__ import annotations

import asyncio
import json
import random
import shutil
import subprocess
from functools import partial
from pathlib import Path

import pytest

from agentcli.agent.project.places import Place, find
from agentcli.core.event import Event
from agentcli.core.message import Text
from agentcli.core.model import Request
from agentcli.core.tasks import emitted
from agentcli.features.hooks.loaded import loaded
from agentcli.frontends.cli import run
from agentcli.frontends.opening import project_of
from agentcli.program.options import Options
from agentcli.program.prompt_files.agents import FORM as AGENT_FORM
from agentcli.program.prompt_files.commands import FORM as COMMAND_FORM
from agentcli.program.prompt_files.commands import body_of
from agentcli.program.prompt_files.discover import discover
from agentcli.program.prompt_files.installed_plugins import Plugins
from agentcli.program.prompt_files.skills import FORM as SKILL_FORM
from agentcli.program.prompt_files.skills import check
from agentcli.providers.scripted.model import Reply, call, say
from agentcli.tools.registry import tools
from tests.agent.open_session import open_session, results, say_to
from tests.ecosystem.software import python_package, repository
from tests.program.prompt_files.commit_command import assert_shows_git, changed_repository, sent

pytestmark = [pytest.mark.ecosystem, pytest.mark.timeout(900)]
MUTATIONS = 50
_ORACLE = """
import json, sys
from pathlib import Path
from skills_ref.validator import validate
print(json.dumps([bool(validate(Path(line))) for line in json.load(sys.stdin)]))
"""


@pytest.fixture(scope="module")
def skills(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return repository("anthropics/skills", tmp_path_factory.mktemp("skills")) / "skills"


@pytest.fixture(scope="module")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return repository("anthropics/claude-code", tmp_path_factory.mktemp("claude")) / "plugins"


def mutated(folder: Path, target: Path, number: int) -> Path:
    """A copy of a skill's description with one thing changed."""
    chosen = random.Random(number)
    copy = target / str(number) / folder.name
    copy.mkdir(parents=True)
    text = (folder / "SKILL.md").read_text()
    name = f"name: {folder.name}"
    changes = (
        (name, f"name: {folder.name.upper()}"),
        (name, f"name: -{folder.name}"),
        (name, f"name: {folder.name}--x"),
        (name, "name: other"),
        (name, ""),
        (name, f"name: {folder.name}_x"),
        (name, f"name: {'x' * 65}"),
        (name, "name:"),
        (name, f"{name}\nmodel: opus"),
        (name, f"{name}\nlicence: MIT"),
        (name, f"{name}\ncompatibility: {'x' * chosen.randint(400, 600)}"),
        (name, f"{name}\nallowed-tools: Read Bash(git:*)"),
        (name, f"{name}\nmetadata:\n  author: me"),
        ("description:", "descriptions:"),
        (
            "description:",
            f"description: {'d' * chosen.randint(900, 1_200)}\nlicense:" if "license:" not in text else "description:",
        ),
        ("---\n", "--\n"),
        ("---\n", ""),
        ("\n---\n", "\n"),
    )
    old, new = changes[number % len(changes)]
    (copy / "SKILL.md").write_text(text.replace(old, new, 1))
    return copy


def test_the_check_agrees_with_the_reference_on_all_skills_and_on_their_mutations(skills: Path, tmp_path: Path) -> None:
    python = python_package("skills-ref", folder=tmp_path) / "python"
    folders = [folder for folder in sorted(skills.iterdir()) if folder.is_dir()]
    folders += [mutated(folders[n % len(folders)], tmp_path / "mutated", n) for n in range(MUTATIONS)]
    asked = json.dumps([str(folder) for folder in folders])
    answer = subprocess.run([python, "-c", _ORACLE], input=asked, capture_output=True, text=True, check=True).stdout
    differing = [
        (str(folder), check(folder))
        for folder, wrong in zip(folders, json.loads(answer), strict=True)
        if bool(check(folder)) != wrong
    ]
    assert differing == []


def test_all_skills_load_and_one_is_used_to_the_end(skills: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / ".git").mkdir(parents=True)
    (work / ".agents").mkdir()
    shutil.copytree(skills, work / ".agents/skills", symlinks=True)
    notes: list[str] = []
    found, _ = find(SKILL_FORM, [Place(work / ".agents/skills", "project", ".agents", work)], notes)
    assert len(found) >= 17
    assert notes == []
    script = next(path for path in (work / ".agents/skills/pdf/scripts").glob("check_*.py"))
    asked: list[Request] = []
    replies = [
        say("", call("skill", "s1", name="pdf")),
        say("", call("read", "r1", file_path=str(script))),
        *(say("Long. " * 400) for _ in range(9)),
    ]

    def play(request: Request) -> Reply:
        asked.append(request)
        return replies[min(len(asked), len(replies)) - 1]

    session = open_session(work, play, prompt_files=lambda: discover(work, tmp_path / "home", tmp_path / "config"))
    say_to(session, *["go " * 400] * 4)
    body = (work / ".agents/skills/pdf/SKILL.md").read_text().partition("\n---\n")[2].strip()
    assert body in results(session)[0].output
    assert results(session)[1].status == "success"

    async def compress() -> list[Event]:
        return [event async for event in emitted(partial(session.compactor.compact, asyncio.Event(), trigger="manual"))]

    asyncio.run(compress())
    say_to(session, "once more")
    sent = [part.text for message in asked[-1].messages for part in message.parts if isinstance(part, Text)]
    assert any("Base directory for this skill" in text for text in sent)
    assert len({request.system for request in asked}) == 1


def test_all_commands_and_agents_of_the_plugins_load(plugins: Path) -> None:
    notes: list[str] = []
    every = [plugin for plugin in sorted(plugins.iterdir()) if plugin.is_dir()]
    commands = [Place(plugin / "commands", "plugin", ".claude", plugin=plugin.name) for plugin in every]
    agents = [Place(plugin / "agents", "plugin", ".claude", plugin=plugin.name) for plugin in every]
    found, _ = find(COMMAND_FORM, commands, notes)
    kinds, _ = find(AGENT_FORM, agents, notes)
    assert len(found) == sum(1 for plugin in every for _ in plugin.glob("commands/**/*.md"))
    assert len(kinds) == sum(1 for plugin in every for _ in plugin.glob("agents/**/*.md"))
    assert len(found) >= 15
    assert len(kinds) >= 15
    assert notes == []
    assert all(body_of(command) for command in found.values())
    assert all(kind.description and kind.prompt for kind in kinds.values())


def at_home_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the program keep everything below a folder, and work there."""
    for name in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(folder / name))
    monkeypatch.setenv("HOME", str(folder / "home"))
    monkeypatch.chdir(folder)


def test_all_plugins_are_added_and_removed_without_a_trace(
    plugins: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_home_in(tmp_path, monkeypatch)
    every = [plugin for plugin in sorted(plugins.iterdir()) if plugin.is_dir()]
    assert [run(["plugins", "add", str(plugin), "--yes"]) for plugin in every] == [0] * len(every)
    project = project_of(Options())
    assert len(every) >= 13
    assert not [note for note in project.prompt_files.notes if "left out" in note]
    assert "commit-commands:commit" in project.prompt_files.commands
    assert {hook.event for hook in loaded(project).hooks} >= {"PreToolUse", "PostToolUse", "Stop", "UserPromptSubmit"}
    installed = [one.name for one in Plugins(project.dirs).installed()]
    assert [run(["plugins", "remove", name]) for name in installed] == [0] * len(every)
    assert not [*(tmp_path / "DATA/agentcli/plugins").iterdir()]


def test_commit_of_commit_commands_sends_what_git_says(
    plugins: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_home_in(tmp_path, monkeypatch)
    assert run(["plugins", "add", str(plugins / "commit-commands"), "--yes"]) == 0
    assert_shows_git(sent(changed_repository(tmp_path / "work"), "/commit-commands:commit"))


def test_the_reviewer_of_feature_dev_has_its_tools_and_its_text(plugins: Path, tmp_path: Path) -> None:
    (tmp_path / "home/.claude").mkdir(parents=True)
    shutil.copytree(plugins / "feature-dev/agents", tmp_path / "home/.claude/agents")
    asked: list[Request] = []

    def play(request: Request) -> Reply:
        if any("You are a subagent" in block for block in request.system):
            asked.append(request)
            return say("Fine.")
        calls = [call("task", f"t{n}", description="d", prompt="p", agent="code-reviewer") for n in range(3)]
        return say("", *calls) if len(request.messages) == 1 else say("Done.")

    session = open_session(tmp_path, play, prompt_files=lambda: discover(None, tmp_path / "home", tmp_path / "config"))
    say_to(session, "go")
    assert [result.output.partition("\n[task(")[0] for result in results(session)] == ["Fine."] * 3
    names = {tool.name for tool in asked[0].tools}
    assert asked[0].system[0].startswith("You are an expert code reviewer")
    assert names == {"read", "glob", "grep", "list", "bash_output", "bash_stop", "todo", "web_fetch"}
    assert names < {tool.name for tool in tools()}
