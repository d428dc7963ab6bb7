import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcli.agent.permissions import Place, Rules, explain
from agentcli.agent.permissions.shell import dissect
from agentcli.core.message import ToolCall
from agentcli.core.record import Mode
from tests.agent.permissions.corpus import commands, workspace

SAFE = commands("safe.txt")
HOSTILE = commands("hostile.txt")
JOINTS = (" && ", " || ", "; ", " | ", "\n", " & ", "\n\n", " |& ", ";", "&&")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return workspace(tmp_path_factory.mktemp("corpus"))


def decided(command: str, place: Place, mode: Mode = "ask") -> str:
    return explain(ToolCall("c", "bash", {"command": command}), Rules(), mode, place).decision


def whole(command: str) -> bool:
    """A hostile command that stays what it is when something is put beside it."""
    ends = ("|", "&&", "||", "\\", "&", ";", "(", "{")
    bare = command.strip()
    return (
        bool(bare) and not bare.endswith(ends) and not bare.startswith(("&", "|", ";", ")")) and dissect(command).whole
    )


def test_no_ordinary_reading_command_asks(place: Place) -> None:
    assert len(SAFE) > 500
    assert [command for command in SAFE if decided(command, place) != "allow"] == []


def test_no_hostile_command_runs_unasked(place: Place) -> None:
    assert len(HOSTILE) > 1_000
    assert [command for command in HOSTILE if decided(command, place) == "allow"] == []
    assert [command for command in HOSTILE if decided(command, place, "plan") == "allow"] == []


WHOLE = [command for command in HOSTILE if whole(command)]
UNMOVED = [command for command in SAFE if not command.lstrip().startswith("cd ")]


@given(st.sampled_from(UNMOVED), st.sampled_from(JOINTS), st.sampled_from(WHOLE), st.booleans())
@settings(max_examples=300, deadline=None)
def test_a_hostile_command_spliced_onto_a_safe_one_never_runs_unasked(
    place: Place, safe: str, joint: str, hostile: str, first: bool
) -> None:
    line = hostile + joint + safe if first else safe + joint + hostile
    assert decided(line, place) != "allow", line


@pytest.mark.slow
def test_no_splice_of_both_corpora_runs_unasked(place: Place) -> None:
    dice = random.Random(7)
    for _ in range(10_000):
        parts = [*dice.choices(UNMOVED, k=dice.randint(0, 3)), dice.choice(WHOLE), dice.choice(UNMOVED)]
        line = parts[0]
        for part in parts[1:]:
            line += dice.choice(JOINTS) + part
        assert decided(line, place) != "allow", line


def test_safe_commands_may_be_joined_freely(place: Place) -> None:
    dice = random.Random(11)
    for _ in range(300):
        line = (
            dice.choice(UNMOVED).strip()
            + dice.choice((" && ", " || ", "; ", " | ", "\n"))
            + dice.choice(UNMOVED).strip()
        )
        assert decided(line, place) == "allow", line


def test_a_folder_that_is_no_repository_reads_the_same(tmp_path: Path) -> None:
    assert decided("git status && git log --oneline | head", Place(tmp_path)) == "allow"
