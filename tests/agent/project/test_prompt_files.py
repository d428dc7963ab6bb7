"""Skills and commands of files in an open session: loaded, granted, kept through a compaction."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

import pytest

from agentcli.agent.ports import ApprovalResponse, Prompt
from agentcli.agent.session import AgentSession
from agentcli.context.settings import ContextSettings
from agentcli.core.errors import InputError
from agentcli.core.event import Event
from agentcli.core.message import File, Message, Text
from agentcli.core.model import Request
from agentcli.core.record import Compaction
from agentcli.core.tasks import emitted
from agentcli.program.prompt_files.discover import discover
from agentcli.providers.scripted.model import Reply, call, say
from tests.agent.open_session import Person, ended, messages, open_session, results, say_to
from tests.tables import each_row

YES, NO = ApprovalResponse("once"), ApprovalResponse("no")


def project(tmp_path: Path, **files: str) -> Path:
    """A repository with these files, by path with `__` for `/`."""
    work = tmp_path / "work"
    (work / ".git").mkdir(parents=True)
    for name, text in files.items():
        path = work / ".claude" / name.replace("__", "/")
        path = path / "SKILL.md" if name.startswith("skills") else path.with_suffix(".md")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return work


def in_project(work: Path, script: object, *, own: bool = False, **more: object) -> AgentSession:
    """A session in a project whose extensions are in force; the user's `own` where asked for."""
    home = work if own else work / "home"
    return open_session(
        work,
        script,
        prompt_files=lambda: discover(None if own else work, home, work / "config"),
        **more,  # type: ignore[arg-type]
    )


def skill(head: str = "", body: str = "Read the file.") -> str:
    return f"---\nname: pdf\ndescription: Reads.\n{head}---\n{body}\n"


def texts(session: AgentSession) -> list[str]:
    """The parts of the newest prompt."""
    return texts_of(next(message for message in reversed(messages(session)) if message.role == "user"))


def texts_of(message: Message) -> list[str]:
    return [part.text for part in message.parts if isinstance(part, Text)]


def once(*calls: object) -> list[Reply]:
    return [say("", *calls), say("Done.")]  # type: ignore[arg-type]


def test_the_model_loads_a_skill_with_its_folder_and_files(tmp_path: Path) -> None:
    work = project(tmp_path, skills__pdf=skill(body="Use ${CLAUDE_SKILL_DIR}/run.py on $ARGUMENTS."))
    folder = work / ".claude/skills/pdf"
    (folder / "run.py").write_text("pass")
    session = in_project(work, once(call("skill", "s1", name="pdf", arguments="a.pdf")))
    say_to(session, "go")
    (result,) = results(session)
    assert result.output == (
        f'<skill name="pdf">\nBase directory for this skill: {folder}\n\nUse {folder}/run.py on a.pdf.\n\n'
        "Files of this skill: run.py\n</skill>"
    )


def test_a_skill_that_stands_in_the_view_is_not_loaded_again_until_it_changes(tmp_path: Path) -> None:
    work = project(tmp_path, skills__pdf=skill())
    file = work / ".claude/skills/pdf/SKILL.md"

    def script(request: Request) -> Reply:
        done = sum(message.role == "assistant" for message in request.messages)
        if done == 2:
            file.write_text(skill(body="Other."))
        return say("", call("skill", f"s{done}", name="pdf")) if done < 3 else say("Done.")

    session = in_project(work, script)
    say_to(session, "go")
    first, second, third = results(session)
    assert second.output == "The skill pdf is loaded already: it is above, unchanged."
    assert "Other." in third.output
    assert "Read the file." in first.output


def test_a_wrong_name_gets_the_near_ones_and_a_hidden_skill_is_for_people_only(tmp_path: Path) -> None:
    work = project(tmp_path, skills__pdf=skill(), skills__mine=skill("disable-model-invocation: true\n"))
    session = in_project(work, once(call("skill", "s1", name="pfd"), call("skill", "s2", name="mine")))
    say_to(session, "go")
    assert results(session)[0].output == "There is no skill 'pfd'. Did you mean pdf? Available: pdf."
    assert results(session)[1].status == "error"
    assert session.prompt_files.is_entry("/mine now")


def test_the_person_loads_a_skill_by_its_name(tmp_path: Path) -> None:
    work = project(tmp_path, skills__pdf=skill(), skills__auto=skill("user-invocable: false\n"))
    session = in_project(work, [say("Done.")])
    say_to(session, "/pdf a.pdf")
    body, typed = texts(session)[-2:]
    assert typed == "/pdf a.pdf"
    assert body.startswith('<skill name="pdf">')
    assert body.endswith("Read the file.\n\nARGUMENTS: a.pdf\n</skill>")
    assert not session.prompt_files.is_entry("/auto")


def test_a_skill_is_carried_through_a_compaction_in_its_newest_form(tmp_path: Path) -> None:
    work = project(tmp_path, skills__pdf=skill(body="word " * 30))
    session = in_project(
        work,
        [say("", call("skill", "s1", name="pdf")), *(say("Long. " * 400) for _ in range(8))],
        context=ContextSettings(policy="gemini"),
    )
    say_to(session, *["go " * 400] * 4)
    body = results(session)[0].output

    async def compress() -> list[Event]:
        return [event async for event in emitted(partial(session.compactor.compact, asyncio.Event(), trigger="manual"))]

    for _ in range(2):
        asyncio.run(compress())
        assert session.history.compaction is not None
        record = session.history.compaction.body
        assert isinstance(record, Compaction)
        assert [piece.text for piece in record.skills] == [body]
        shown = [
            block.part.text
            for block in session.conversation.builder.window().view.blocks
            if isinstance(block.part, Text)
        ]
        assert shown.count(body) == 1
        say_to(session, *["go on " * 400] * 2)


@pytest.mark.parametrize(("answer", "runs"), [(YES, True), (NO, False)])
def test_what_a_projects_skill_allows_is_asked_about_once_and_ends_with_the_turn(
    answer: ApprovalResponse, runs: bool, tmp_path: Path
) -> None:
    work = project(tmp_path, skills__pdf=skill("allowed-tools: Bash(touch *), OtherTool\n"))
    touch = call("bash", "b1", command="touch made")
    person = Person(answer, NO, NO)
    session = in_project(
        work,
        [say("", call("skill", "s1", name="pdf")), say("", touch), say("Done."), say("", touch), say("Done.")],
        person=person,
    )
    say_to(session, "go")
    assert person.asked[0].preview == "bash(touch *)"
    assert (work / "made").exists() is runs
    (work / "made").unlink(missing_ok=True)
    say_to(session, "again")
    assert not (work / "made").exists()


@pytest.mark.parametrize("prompt", ["/x", "/pdf"], ids=["command", "skill"])
@pytest.mark.parametrize("answer", [YES, NO, None], ids=["yes", "no", "nobody"])
def test_what_a_projects_file_allows_is_asked_about_as_well_if_the_person_types_its_name(
    answer: ApprovalResponse | None, prompt: str, tmp_path: Path
) -> None:
    head = "allowed-tools: Bash(touch *)\n"
    work = project(tmp_path, skills__pdf=skill(head), commands__x=f"---\n{head}---\nDo it.")
    touch = call("bash", "b1", command="touch made")
    person = Person(answer, NO, NO)
    session = in_project(work, [*once(touch), say("Done.")], person=person)
    say_to(session, prompt)
    assert person.asked[0].preview == "bash(touch *)"
    assert (work / "made").exists() is (answer is YES)
    say_to(session, prompt)
    again = [ask.preview for ask in person.asked[1:]].count("bash(touch *)")
    assert again == (0 if answer is YES else 1), "agreed once for the session"


def test_a_projects_command_runs_nothing_of_its_text_by_rules_that_nobody_agreed_to(tmp_path: Path) -> None:
    text = "---\nallowed-tools: Bash(touch *)\n---\nNow !`touch made`."
    session = in_project(project(tmp_path, commands__x=text), [say("Done.")], person=Person(NO, NO))
    assert isinstance(ended(say_to(session, "/x")).error, InputError)
    assert not (session.cwd / "made").exists()


def test_what_the_users_own_command_allows_needs_no_question(tmp_path: Path) -> None:
    work = project(tmp_path, commands__x="---\nallowed-tools: Bash(touch *)\n---\nDo it.")
    person = Person()
    session = in_project(work, once(call("bash", "b1", command="touch made")), own=True, person=person)
    say_to(session, "/x")
    assert (work / "made").exists()
    assert not person.asked


def test_what_the_users_own_skill_allows_and_denies_holds_for_the_turn(tmp_path: Path) -> None:
    head = "allowed-tools: Bash(touch *)\ndisallowed-tools: [Read]\n"
    work = project(tmp_path, skills__pdf=skill(head))
    touch, read = call("bash", "b1", command="touch made"), call("read", "r1", file_path="made")
    session = in_project(work, [say("", call("skill", "s1", name="pdf")), say("", touch, read), say("Done.")], own=True)
    say_to(session, "go")
    assert (work / "made").exists()
    assert {result.call_id: result.status for result in results(session)}["r1"] == "denied"


def test_files_of_a_skill_are_read_without_asking(tmp_path: Path) -> None:
    work = project(tmp_path)
    folder = tmp_path / "home/.claude/skills/pdf"
    folder.mkdir(parents=True)
    for name in ("SKILL.md", "forms.md", ".env"):
        (folder / name).write_text(skill())
    found = discover(None, tmp_path / "home", tmp_path / "config")
    session = open_session(
        work,
        once(
            call("read", "r1", file_path=str(folder / "forms.md")),
            call("read", "r2", file_path=str(folder / ".env")),
            call("glob", "g1", path=str(folder), pattern="*.md"),
            call("grep", "g2", path=str(folder), pattern="Read", glob=".env*"),
        ),
        prompt_files=lambda: found,
        readable=lambda: found.readable,
        person=(person := Person()),
    )
    say_to(session, "go")
    assert {result.call_id: result.status for result in results(session)} == {
        "r1": "success",
        "r2": "denied",
        "g1": "success",
        "g2": "denied",
    }
    assert len(person.asked) == 2


def test_a_forked_skill_runs_in_a_subagent(tmp_path: Path) -> None:
    work = project(tmp_path, skills__pdf=skill("context: fork\nagent: explore\n", "Find it."))

    def script(request: Request) -> Reply:
        if any("You are a subagent" in block for block in request.system):
            return say("Found by the child.")
        return once(call("skill", "s1", name="pdf"))[min(len(request.messages) // 2, 1)]

    session = in_project(work, script)
    say_to(session, "go")
    assert results(session)[0].output.startswith("Found by the child.\n")


def test_a_command_is_the_users_message_with_what_it_ran_in_tags(tmp_path: Path) -> None:
    text = "---\nallowed-tools: Bash(echo *)\n---\nState:\n!`echo one`\nLook at @notes.md, then $ARGUMENTS."
    work = project(tmp_path, commands__git__x=text)
    (work / "notes.md").write_text("Notes.")
    session = in_project(work, [say("Done.")])
    say_to(session, "/git:x fix 'it all'")
    assert texts(session)[-3:] == [
        "State:\n",
        '<shell-output command="echo one">\none\n</shell-output>',
        "\nLook at @notes.md, then fix 'it all'.",
    ]
    message = messages(session)[0]
    assert message.typed == "/git:x fix 'it all'"
    assert [part.text for part in message.parts if isinstance(part, File)] == ["Notes."]
    request = session.conversation.builder.request()
    sent = [part.text for part in request.messages[0].parts if isinstance(part, Text)]
    assert sent[-3:] == texts(session)[-3:]  # in their places


def test_a_command_that_may_not_run_ends_before_anything_is_sent(tmp_path: Path) -> None:
    work = project(tmp_path, commands__x="Now !`touch made`.", commands__bad="Now !`false`.")

    def why(line: str, **more: object) -> str:
        session = in_project(work, [say("Done.")], **more)
        error = ended(say_to(session, line)).error
        assert isinstance(error, InputError)
        assert not messages(session)
        return str(error)

    refused = why("/x", attended=False)
    start = "Command /x wants to run touch made; allow it with --allow 'bash(touch made)'. "
    assert refused.startswith(start)
    assert refused.endswith(" No one can approve it, so it is denied."), "and nothing that is for the model"
    assert "false failed" in why("/bad", person=Person(YES))
    assert "was not run, since it wants to run touch made" in why("/x", person=Person(NO))
    assert not (work / "made").exists()


def test_a_command_of_gemini_cli_is_sent_with_the_output_of_one_that_failed(tmp_path: Path) -> None:
    work = project(tmp_path)
    folder = work / ".gemini/commands"
    folder.mkdir(parents=True)
    (folder / "find.toml").write_text('prompt = """Found: !{grep {{args}} none; echo seen; exit 3} end"""')
    session = in_project(work, [say("Done.")], mode="yolo")
    say_to(session, "/find it's")
    assert "seen\n[exit code 3]\n</shell-output>" in texts(session)[-2]
    assert texts(session)[-1] == " end"


def test_text_that_no_person_typed_is_no_command(tmp_path: Path) -> None:
    session = in_project(project(tmp_path, commands__x="Other."), [say("Done.")])

    async def turn() -> None:
        async for _ in session.turn(Prompt("/x", typed=False), asyncio.Event()):
            pass

    asyncio.run(turn())
    assert texts(session)[-1] == "/x"


def test_another_model_and_effort_hold_for_the_turn(tmp_path: Path) -> None:
    work = project(
        tmp_path, commands__x="---\nmodel: demo/other\neffort: low\n---\nGo.", commands__y="---\nmodel: opus\n---\nGo."
    )
    asked: list[tuple[str, object]] = []

    def script(request: Request) -> Reply:
        asked.append((request.model.id, request.options["effort"]))
        return say("Done.")

    session = in_project(work, script)
    say_to(session, "/x", "hello", "/y")
    own = session.core.model.id
    assert asked == [("other", "low"), (own, ""), (own, "")]


def test_skills_that_come_later_are_told_with_the_next_prompt_and_the_system_text_stays(tmp_path: Path) -> None:
    work = project(tmp_path, skills__pdf=skill())
    session = in_project(work, [say("Done.")], system=("You are a test.", "# Skills\n\n- pdf: Reads."))
    say_to(session, "one")
    before = session.conversation.builder.system
    later = work / ".claude/skills/new"
    later.mkdir()
    (later / "SKILL.md").write_text(skill().replace("pdf", "new"))
    say_to(session, "two", "three")
    told = [
        text
        for message in messages(session)
        for text in [part.text for part in message.parts if isinstance(part, Text)]
        if "- new: Reads." in text
    ]
    assert len(told) == 1
    assert session.conversation.builder.system == before


def test_a_prompt_may_begin_with_an_agent(tmp_path: Path) -> None:
    work = project(tmp_path, agents__rev="---\nname: rev\ndescription: d\n---\nYou review.")
    session = in_project(work, [say("Done.")])
    say_to(session, "@rev look at it")
    assert "call task with agent='rev'" in texts(session)[-2]
    assert texts(session)[-1] == "@rev look at it"


@pytest.mark.parametrize("trusted", [True, False])
def test_skills_further_down_are_told_once_a_call_touches_their_folder(tmp_path: Path, trusted: bool) -> None:
    work = project(tmp_path, skills__pdf=skill())
    for name in ("pdf", "deploy"):
        folder = work / "web/app/.claude/skills" / name
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(skill(body=f"The {name} of app.").replace("pdf", name))
    (work / "web/app/x.py").write_text("x = 1\n")
    asked: list[Request] = []
    calls = [
        [call("read", "r1", file_path="web/app/x.py")],
        [call("skill", "s1", name="deploy"), call("skill", "s2", name="web/app:pdf")],
    ]

    def play(request: Request) -> Reply:
        asked.append(request)
        return say("", *calls.pop(0)) if calls else say("Done.")

    session = in_project(
        work, play, mode="yolo", trusted=trusted, system=("You are a test.", "# Skills\n\n- pdf: Reads.")
    )
    say_to(session, "one", "two")
    told = [text for message in messages(session) for text in texts_of(message) if "- deploy: Reads." in text]
    assert all((request.system, request.tools) == (asked[0].system, asked[0].tools) for request in asked)
    if not trusted:
        assert told == []
        return
    (reminder,) = told
    assert "- web/app:pdf: Reads." in reminder
    assert "The deploy of app." in results(session)[1].output
    assert "The pdf of app." in results(session)[2].output
    resumed = in_project(work, [say("Done.")], trusted=True, journal=session.journal)
    assert sorted(resumed.prompt_files.found.skills) == ["deploy", "pdf", "web/app:pdf"]


def test_skills_of_ignored_folders_and_behind_links_out_stay_unknown(tmp_path: Path) -> None:
    work = project(tmp_path)
    outside = tmp_path / "outside/skills/secret"
    outside.mkdir(parents=True)
    (outside / "SKILL.md").write_text(skill())
    for name in ("a", "build"):
        (work / name / ".claude").mkdir(parents=True)
        (work / name / "x").write_text("x")
    (work / "a/.claude/skills").symlink_to(tmp_path / "outside/skills")
    (work / "build/.claude/skills/made").mkdir(parents=True)
    (work / "build/.claude/skills/made/SKILL.md").write_text(skill())
    (work / ".gitignore").write_text("build/\n")
    reads = [call("read", name, file_path=f"{name}/x") for name in ("a", "build")]
    session = in_project(work, once(*reads), mode="yolo", trusted=True)
    say_to(session, "one")
    assert not session.prompt_files.found.skills
    assert any("leads out of the repository" in note for note in session.prompt_files.found.notes)


def test_a_subagent_without_the_skill_tool_hears_of_no_change_of_skills(tmp_path: Path) -> None:
    agent = "---\nname: looks\ndescription: Looks.\ntools: Read\n---\nYou look.\n"
    work = project(tmp_path, skills__pdf=skill(), agents__looks=agent)
    asked: list[Request] = []

    def model(request: Request) -> Reply:
        asked.append(request)
        first = len(asked) == 1
        return say("", call("task", description="d", prompt="look", agent="looks")) if first else say("Done.")

    say_to(in_project(work, model), "go")
    child = next(request for request in asked if any("You look." in block for block in request.system))
    assert "have changed" not in str(child.messages)


def named(name: str, body: str, head: str = "") -> str:
    return f"---\nname: {name}\ndescription: Does.\n{head}---\n{body}\n"


def test_a_prompt_names_skills_and_commands_anywhere_and_its_text_stays(tmp_path: Path) -> None:
    files = {"skills__pdf": named("pdf", "Read it."), "skills__release": named("release", "Tag it.")}
    work = project(tmp_path, **files, commands__fix="Fix it well.")
    session = in_project(work, [say("Done."), say("Done.")])
    prompt = "use $pdf, then ($release) and /fix; not $pdf twice"
    say_to(session, prompt)
    *before, last = texts(session)
    assert last == prompt
    assert [text.partition(">")[0] for text in before[-3:]] == [
        '<skill name="pdf"', '<skill name="release"', '<command name="fix"'
    ]  # fmt: skip
    assert "Read it." in before[-3]
    assert "Tag it." in before[-2]
    assert "Fix it well." in before[-1]
    say_to(session, "again $pdf")
    assert "The user names the skill pdf again: it is above, unchanged." in texts(session)[0]
    assert not any("Read it." in text for text in texts(session))


@each_row(
    "text",
    [
        "echo $HOME costs $5, $pdfs $PDF $pdf/x $pdf.txt ${pdf} \\$pdf US$pdf $pdf-x",
        "run `echo $pdf` and\n```\n$pdf /fix\n```",
        "see /tmp and a/pdf and /fix/x and x/fix",
        "```\n$pdf",
    ],
)
def test_words_that_name_no_skill_stay_text(text: str, tmp_path: Path) -> None:
    work = project(tmp_path, skills__pdf=named("pdf", "Read it."), commands__tmp="Not this.", commands__fix="Fix it.")
    session = in_project(work, [say("Done.")])
    say_to(session, text)
    assert texts(session)[-1] == text
    assert not any("Read it." in one or "Fix it" in one or "Not this" in one for one in texts(session))


def test_a_skill_that_begins_a_prompt_is_loaded_once_and_further_ones_with_it(tmp_path: Path) -> None:
    files = {"skills__pdf": named("pdf", "Read $ARGUMENTS."), "skills__release": named("release", "Tag it.")}
    session = in_project(project(tmp_path, **files), [say("Done.")])
    say_to(session, "/pdf a.pdf with $release and /pdf")
    joined = "\n".join(texts(session))
    assert joined.count('<skill name="pdf"') == 1
    assert joined.count('<skill name="release"') == 1
    assert "Read a.pdf with $release and /pdf." in joined


def test_only_the_part_of_a_prompt_that_the_person_wrote_names_skills(tmp_path: Path) -> None:
    files = {"skills__pdf": named("pdf", "Read it."), "skills__release": named("release", "Tag it.")}
    session = in_project(project(tmp_path, **files), [say("Done.")])

    async def go() -> None:
        prompt = Prompt("a diff with $release\n\nuse $pdf", own="use $pdf")
        _ = [event async for event in session.turn(prompt, asyncio.Event())]

    asyncio.run(go())
    joined = "\n".join(texts(session))
    assert "Read it." in joined
    assert "Tag it." not in joined


def test_what_skills_within_a_prompt_allow_is_asked_about_and_holds_together(tmp_path: Path) -> None:
    files = {
        "skills__pdf": named("pdf", "Read.", "allowed-tools: Bash(touch a)\n"),
        "skills__release": named("release", "Tag.", "allowed-tools: Bash(touch b)\n"),
    }
    work, person = project(tmp_path, **files), Person(YES, NO)
    script = [say("", call("bash", command="touch a")), say("", call("bash", command="touch b")), say("Done.")]
    session = in_project(work, script, person=person)
    say_to(session, "use $pdf and $release")
    assert [asked.title for asked in person.asked][:2] == ["Skill pdf", "Skill release"]
    assert (work / "a").exists()
    assert not (work / "b").exists()
