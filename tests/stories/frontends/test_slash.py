"""Output and effects of slash commands, on a real session in memory."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agentcli.agent.session import AgentSession
from agentcli.core.errors import InputError, UsageError
from agentcli.core.message import Message, Text
from agentcli.core.record import Undo
from agentcli.frontends.terminal.render import past_messages
from agentcli.frontends.terminal.style import MUTE, Look
from agentcli.providers.scripted.model import say
from agentcli.system.cells import width
from tests.agent.open_session import open_session, say_to
from tests.frontends.terminal.contexts import ScriptedContext
from tests.frontends.terminal.slash import COMMANDS, completions, type_
from tests.tables import each_row


def talked(folder: Path, *prompts: str) -> ScriptedContext:
    """A session in which these were said, each answered with its number."""
    session = open_session(folder, [say(f"answer {n}") for n, _ in enumerate(prompts, 1)])
    say_to(session, *prompts)
    return ScriptedContext(session=session)


def seqs(context: ScriptedContext) -> list[int]:
    return [seq for seq, _ in past_messages.prompts(context.session.journal)]


@each_row(
    ("line", "told"),
    [
        ("/pin", "No message to pin yet"),
        ("/unpin", "Nothing is pinned"),
        ("/fork", "has no messages yet"),
        ("/rewind", "No prompt to rewind to"),
        ("/copy", "No answer to copy"),
        ("/uncompress", "Nothing to undo"),
        ("/undo", "no file checkpoints"),
        ("/todo", "The todo list is empty"),
        ("/diff", "No file has been changed"),
        ("/cost", "Nothing spent yet"),
        ("/why", "No automatic actions yet"),
        ("/rename", "Give a name"),
    ],
)
def test_in_an_empty_session_each_says_that_there_is_nothing_yet(tmp_path: Path, line: str, told: str) -> None:
    assert told in "\n".join(type_(ScriptedContext(session=open_session(tmp_path, [])), line))


def test_what_is_pinned_is_told_with_its_words_and_unpinned_without_a_number(tmp_path: Path) -> None:
    context = talked(tmp_path, "the first", "the second")
    first, second = seqs(context)
    assert type_(context, "/pin") == [f"#{second} is pinned: the second"]
    assert type_(context, f"/pin #{first}") == [f"#{first} is pinned: the first"]
    assert completions("unpin", context) == [str(second), str(first)]
    assert type_(context, "/pin remove") == [f"#{second} is no longer pinned: the second"]
    assert type_(context, f"/pin remove {second}") == [f"#{second} is not pinned. Pinned are #{first}."]
    for odd in ("two", "-1", "²", "1.5", "#", "9" * 5_000):
        assert "not the number of a message" in type_(context, f"/pin {odd}")[0]


BLOCKS = "Try:\n\n```sh\nmake\n```\n\nor\n\n````\n```\n````\n"


@each_row(
    ("line", "copied", "said"),
    [
        ("/copy", "answer 2", "Copied 8 characters"),
        ("/copy 2", BLOCKS, "Copied"),
        ("/copy 3", "", "Only 2 answers to copy."),
        ("/copy 2 code", "```\n", "Copied 4 characters"),
        ("/copy 2 CODE 1", "make\n", "Copied 5 characters"),
        ("/copy 2 code 3", "", "The answer has only 2 code blocks."),
        ("/copy code", "", "The answer has no code block."),
        ("/copy 0", "", "Use /copy, /copy 2"),
        ("/copy codex", "", "Use /copy, /copy 2"),
        ("/copy ²", "", "Use /copy, /copy 2"),
    ],
)
def test_an_older_answer_or_a_code_block_is_copied(tmp_path: Path, line: str, copied: str, said: str) -> None:
    context = talked(tmp_path, "the first", "the second")
    context.copied = ""
    [first] = [record for record in context.session.journal.records() if getattr(record.body, "text", "") == "answer 1"]
    context.session.journal.append(Undo(first.seq - 1, "rewind"))
    for text in (BLOCKS, "answer 2"):
        context.session.journal.append(Message("assistant", (Text(text),)))
    assert type_(context, line)[0].startswith(said)
    assert context.copied == copied


def test_what_no_clipboard_takes_is_only_in_the_file(tmp_path: Path) -> None:
    context = talked(tmp_path, "the first")
    context.copied = ""
    context.session.journal.append(Message("assistant", (Text("ä" * 40_000),)))
    file = context.program.dirs.cache / "copied.txt"
    assert type_(context, "/copy") == [
        f"Too large for the clipboard of most terminals: the 40,000 characters are in {file}."
    ]
    assert (context.copied, file.read_text()) == ("", "ä" * 40_000)


def test_switches_and_names_are_confirmed(tmp_path: Path) -> None:
    context = talked(tmp_path, "hello")
    assert type_(context, "/mode plan") == ["Plan mode: read-only until you approve a plan."]
    assert "Model: demo/demo" in type_(context, "/model demo/demo")[0]
    assert type_(context, "/rename my own") == ["Session renamed to my own. To resume it: agentcli resume 'my own'"]
    assert "Make it permanent" in type_(context, "/config theme dark")[0]
    assert "Unknown theme pink" in type_(context, "/theme pink")[-1]


def test_a_choice_starts_on_what_is_in_use_so_that_enter_changes_nothing(tmp_path: Path) -> None:
    context = talked(tmp_path, "hello")
    context.session.switch(mode="plan")
    type_(context, "/mode")
    assert context.started_on == "plan"


def test_a_name_that_another_session_has_is_refused() -> None:
    context = ScriptedContext()
    context.program.sessions.taken = "mine"
    with pytest.raises(UsageError, match="Another session is called mine"):
        asyncio.run(COMMANDS.run(context, "/rename mine"))


def test_a_name_that_would_steer_a_terminal_is_refused(tmp_path: Path) -> None:
    context = talked(tmp_path, "hello")
    for line in ("/rename a\x1b[2Jb", "/rename a\u202eb"):
        with pytest.raises(InputError, match="cannot contain control or invisible characters"):
            asyncio.run(COMMANDS.run(context, line))


def test_an_export_into_a_folder_is_named_after_the_session(tmp_path: Path) -> None:
    session: AgentSession = open_session(tmp_path, [])
    (tmp_path / "out").mkdir()
    type_(ScriptedContext(session=session), "/export out")
    assert [file.name for file in (tmp_path / "out").iterdir()] == [f"{session.journal.id}.md"]


@pytest.mark.parametrize(
    ("name", "begins"), [("out.htm", "<!doctype html>"), ("out.HTML", "<!doctype html>"), ("out.txt", "# ")]
)
def test_an_export_has_the_form_of_its_ending(tmp_path: Path, name: str, begins: str) -> None:
    type_(ScriptedContext(session=open_session(tmp_path, [])), f"/export {name}")
    assert (tmp_path / name).read_text().startswith(begins)


def test_an_export_with_an_unknown_ending_is_refused(tmp_path: Path) -> None:
    told = type_(ScriptedContext(session=open_session(tmp_path, [])), "/export out.pdf")
    assert told == ["Can't export to .pdf files. Name the file .md, .html or .json."]
    assert not (tmp_path / "out.pdf").exists()


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_the_window_is_drawn_as_wide_as_the_terminal_with_the_marks_of_the_policy(tmp_path: Path, columns: int) -> None:
    context = talked(tmp_path, "hello 説明" * 20)
    context.columns = columns
    context.look = Look(MUTE)
    lines = type_(context, "/context")
    assert "usable" in lines[0]
    assert len(lines[1]) == min(columns - 1, 120)
    assert lines[1].count("╎") == 3
    assert all(width(line) < columns for line in lines[: lines.index("Messages")])
    assert (
        any(
            line.startswith("╎ prunes if that pays, from ") and line.endswith("compacts at 20–70%"[-4:])
            for line in lines
        )
        or columns == 40
    )
    (message,) = [line for line in lines if "hello 説明" in line and "#" in line]
    assert width(message) < columns


def test_an_option_that_compress_does_not_have_is_no_focus(tmp_path: Path) -> None:
    assert "Unknown option --previw" in type_(talked(tmp_path, "hello"), "/compress --previw")[0]


@each_row("name", ["~no-such-user/x.md", "a\0b.md", "no/such/folder.md", "x" * 5_000])
def test_an_export_to_nowhere_is_told(tmp_path: Path, name: str) -> None:
    assert "Try /export FILE." in type_(ScriptedContext(session=open_session(tmp_path, [])), f"/export {name}")[0]


@pytest.mark.full
@each_row("name", list(COMMANDS.all))
def test_whatever_is_typed_after_a_command_is_done_or_told(tmp_path: Path, name: str) -> None:
    for odd in ("²", "\0", "-1", "x" * 5_000, "~no-such-user", "--help", "日本", "[red]{0}%s"):
        context = talked(tmp_path, "hello")
        type_(context, f"/{name} {odd}")
        assert context.output or context.asked or context.drafted or context.copied or context.state.finished


def test_the_summary_of_every_command_fits_into_the_menu() -> None:
    assert [name for name, one in COMMANDS.all.items() if len(one.summary) > 60] == []
