"""Hooks, commands and instructions work here as in Claude Code, Codex and Gemini CLI: the same files and replies, the same effects."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentcli.providers.scripted.model import Reply, call, say
from tests.ecosystem.others import Other, observed, user_texts
from tests.ecosystem.software import npm_packages

pytestmark = [pytest.mark.ecosystem, pytest.mark.timeout(900)]
PACKAGES = ("@anthropic-ai/claude-code", "@openai/codex", "@google/gemini-cli")
NAMES = {
    "claude": {
        "bash": "Bash",
        "write": "Write",
        "read": "Read",
        "edit": "Edit",
        "task": "Agent",
        "kind": "subagent_type",
    },
    "ours": {"bash": "bash", "write": "write", "read": "read", "edit": "edit", "task": "task", "kind": "agent"},
}


@pytest.fixture(scope="module")
def bin_(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return npm_packages(tmp_path_factory.mktemp("npm"), *PACKAGES)


@pytest.fixture
def both(tmp_path: Path, bin_: Path) -> tuple[Other, Other]:
    return Other(tmp_path / "claude", bin_, "claude"), Other(tmp_path / "ours", bin_, "ours")


def playing(replies: list[Reply], *inside: Reply) -> Callable[[Mapping[str, Any]], Reply]:
    """These replies for the session, the others for its subagent."""
    left, below = [*replies], [*inside]

    def play(request: Mapping[str, Any]) -> Reply:
        if "SUBTASK" in json.dumps(request["messages"][0] if "messages" in request else ""):
            return below.pop(0) if below else say("report")
        return left.pop(0) if left else say("done")

    return play


def test_hooks_get_every_field_that_claude_code_gives(both: tuple[Other, Other]) -> None:
    found = []
    for program in both:
        program.observe()
        name, file = NAMES[program.name], str(program.work / "x.txt")
        agent = {"description": "look", "prompt": "SUBTASK look", name["kind"]: "general-purpose"}
        calls = [
            call(name["bash"], "c1", command="echo one"),
            call(name["bash"], "c2", command="echo bad; exit 3"),
            call(name["write"], "c3", file_path=file, content="hello\n"),
            call(name["read"], "c4", file_path=file),
            call(name["edit"], "c5", file_path=file, old_string="hello", new_string="bye"),
            call(name["task"], "c6", **agent),
        ]
        ran = program.say("go", playing([say("", one) for one in calls]))
        assert ran.returncode == 0, ran.stderr
        found.append(observed(program.out))
    theirs, ours = found
    assert theirs.keys() == ours.keys()
    for event, inputs in theirs.items():
        assert len(inputs) == len(ours[event]), event
        for one, own in zip(inputs, ours[event], strict=True):
            assert one.keys() <= own.keys(), event
            same = {"tool_name", "permission_mode", "agent_type", "source", "reason", "prompt", "stop_hook_active"}
            same |= {"last_assistant_message", "error", "background_tasks", "session_crons", "is_interrupt"}
            assert {key: one[key] for key in same & one.keys()} == {key: own[key] for key in same & one.keys()}, event
            assert one.get("tool_input", {}).keys() == own.get("tool_input", {}).keys()


def test_hooks_get_every_field_that_codex_gives(tmp_path: Path, bin_: Path) -> None:
    codex, ours = Other(tmp_path / "codex", bin_, "codex"), Other(tmp_path / "ours", bin_, "ours")
    for program, name, field in ((codex, "exec_command", "cmd"), (ours, "bash", "command")):
        program.observe()
        ran = program.say("go", playing([say("", call(name, "c1", **{field: "echo one"}))]))
        assert ran.returncode == 0, ran.stderr
    theirs, own = observed(codex.out), observed(ours.out)
    assert theirs.keys() <= own.keys()
    for event, (first, *_) in theirs.items():
        assert first.keys() <= own[event][0].keys(), event
    assert theirs["PreToolUse"][0]["tool_input"] == own["PreToolUse"][0]["tool_input"]


MATCHERS = (
    "Bash", "BASH", "Ba", "Ba.*", "^Bash$", "Bash|Write", "Bash, Write", "Write|Bash ", "*", "", "Bas[h]", "mcp__.*", ".", "Write,Read",
    "Bash-x", "(Bash|Read)", "!Bash", "Bash\n",
)  # fmt: skip
CONDITIONS = (
    "Bash(git *)", "Bash(git:*)", "Bash(echo *)", "Bash", "Bash()", "Bash(git *", "Bash(*one*)", "nonsense(", "Write(*.txt)", "Write(x.txt)",
    "Write(./x.txt)", "Write(/x.txt)", "Write(/sub/x.txt)", "Write(//*/x.txt)", "Write(/**/x.txt)", "Write(sub/**)", "Write(~/x.txt)",
    "Edit(*.txt)", "Edit(/x.txt)", "Read(.env)", "NotebookEdit(*)",
)  # fmt: skip


def test_the_same_hooks_run_as_in_claude_code(both: tuple[Other, Other]) -> None:
    ran = []
    for program in both:
        log, name = program.out / "ran", NAMES[program.name]
        places = {"claude": program.work / ".claude/settings.json"}
        file = places.get(program.name, program.base / "config/agentcli/hooks.json")
        groups = [{"matcher": one, "hooks": [_noting(one, log)]} for one in MATCHERS]
        groups += [{"hooks": [{**_noting(f"if {one}", log), "if": one}]} for one in CONDITIONS]
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps({"hooks": {"PreToolUse": groups}}))
        text, inner = str(program.work / "x.txt"), str(program.work / "sub/x.txt")
        calls = [
            *(call(name["bash"], command=one) for one in ("echo one", "echo one && git status", "FOO=1 git status")),
            *(call(name["bash"], command=one) for one in ("$(echo git) status", "cat .env")),
            *(call(name["write"], file_path=one, content="a") for one in (text, inner)),
            call(name["edit"], file_path=text, old_string="a", new_string="b"),
        ]
        each: list[list[str]] = []

        def play(_: object, each: list[list[str]] = each, log: Path = log, calls: list[Any] = calls) -> Reply:
            each.append(sorted(log.read_text().splitlines()) if log.exists() else [])
            log.unlink(missing_ok=True)
            number = len(each)
            return say("", replace(calls[number - 1], call_id=f"c{number}")) if number <= len(calls) else say("done")

        program.say("go", play)
        ran.append(each)
    assert ran[0] == ran[1]
    assert len(ran[0]) == 9


def _noting(text: str, log: Path) -> dict[str, str]:
    return {"type": "command", "command": f"echo {shlex.quote(repr(text))} >> {log}"}


def printing(**fields: Any) -> str:
    return f"echo '{json.dumps(fields)}'"


def specific(event: str, **fields: Any) -> str:
    return printing(hookSpecificOutput={"hookEventName": event, **fields})


ONCE = "[ -e ../once ] || {{ touch ../once; {}; }}"


@pytest.mark.parametrize(
    ("event", "does"),
    [
        ("PreToolUse", "echo REASON >&2; exit 2"),
        ("PreToolUse", "echo REASON >&2; exit 1"),
        ("PreToolUse", """echo '{"decision": '"""),
        ("PreToolUse", specific("PreToolUse", permissionDecision="deny", permissionDecisionReason="REASON")),
        ("PreToolUse", specific("PreToolUse", permissionDecision="allow", updatedInput={"command": "touch other"})),
        ("PreToolUse", specific("PreToolUse", additionalContext="REASON")),
        ("UserPromptSubmit", "echo REASON"),
        ("UserPromptSubmit", "echo REASON >&2; exit 2"),
        ("SessionStart", "echo REASON"),
        ("SessionStart", """echo 'export SEEN=REASON' >> "$CLAUDE_ENV_FILE" """),
        ("PostToolUse", "echo REASON >&2; exit 2"),
        ("PostToolUse", specific("PostToolUse", additionalContext="REASON")),
        ("Stop", ONCE.format("echo REASON >&2; exit 2")),
        ("Stop", ONCE.format(specific("Stop", additionalContext="REASON"))),
        ("SubagentStop", ONCE.format(printing(decision="block", reason="REASON"))),
        ("SubagentStart", specific("SubagentStart", additionalContext="REASON")),
    ],
)
def test_answers_of_hooks_have_the_effects_that_they_have_in_claude_code(
    both: tuple[Other, Other], event: str, does: str
) -> None:
    effects = []
    for program in both:
        program.observe({event: does})
        name = NAMES[program.name]
        first = call(name["bash"], "c1", command='touch made; echo "$SEEN"')
        if event.startswith("Subagent"):
            agent = {"description": "look", "prompt": "SUBTASK look", name["kind"]: "general-purpose"}
            first = call(name["task"], "c1", **agent)
        program.say("go", playing([say("", first)]))
        reached = [bool(re.search("REASON", json.dumps(request["messages"]))) for request in program.requests]
        effects.append((reached, sorted(path.name for path in program.work.iterdir() if path.name[0] != ".")))
    assert effects[0] == effects[1]


CLAUDE = {
    "plain": ("Do $ARGUMENTS now.", "a b"),
    "none": ("No place for them.", "a b"),
    "numbers": ("[$0] [$1] [$2] [$ARGUMENTS] [$ARGUMENTS[1]]", "a 'b c' d"),
    "second": ("first $1, second $2", "a b c"),
    "escaped": (r"a \$ARGUMENTS b \$0 c \\$0 d \$ARGUMENTS[0] $5 $HOME $$", "x y"),
    "shell": ("---\nallowed-tools: Bash(echo *)\n---\nOut: !`echo hi $ARGUMENTS` end\n!`echo two`", "there"),
    "inside": ("x!`echo no`", ""),
    "block": ("---\nallowed-tools: Bash(echo *)\n---\n```!\necho in\necho more\n```\nafter", ""),
    "fails": ("---\nallowed-tools: Bash(false)\n---\nx !`false` y", ""),
    "file": ("See @note.txt and @missing.txt end", ""),
    "git/sub": ("sub $ARGUMENTS", "1"),
    "quotes": ("[$0] [$1] [$2]", "\"a b\" 'c d' it's on"),
    "open": ("[$0] [$1]", "don't stop"),
    "name": ("Look at @$0, $ARGUMENTSx", "note.txt"),
    "dollars": (r"Cost $5 and \$5 and $$ and ${HOME} $0 [$10]", "a"),
    "badyaml": ("---\ndescription: a: b: c\nargument-hint: [x\n---\nBody $0", "z"),
    "crlf": ("---\r\ndescription: d\r\n---\r\nBody $ARGUMENTS\r\nend\r\n", "z"),
    "lines": ("[$ARGUMENTS]", "a\nb"),
    "code": ("Run `awk '{print $1}' f`:\n\n```bash\nawk '{print $0}' $ARGUMENTS\n```\nend $2", ""),
    "used-code": ("Run `awk '{print $1}' f`:\n\n```bash\nawk '{print $0}' $ARGUMENTS\n```\nend $2", "a b"),
}
SKILLS = {
    "plain": ("Nothing here.", ""),
    "more": ("Nothing here.", "x y"),
    "arguments": ("Do $ARGUMENTS then $0 and $1 in ${CLAUDE_SKILL_DIR}.", "a 'b c'"),
    "Upper_Name": ("Code:\n\n    $0\n", "x"),
    "code": ("Run `awk '{print $1}' f`:\n\n```bash\nawk '{print $0}' $ARGUMENTS\n```\nend", ""),
}
GEMINI = {
    "plain": ('prompt = "Do {{args}} now."', "a b"),
    "none": ('prompt = "No place for them."', "a b"),
    "shell": ('prompt = """Out: !{echo {{args}}} end {{args}}"""', "it's $HOME"),
    "braces": ("""prompt = '''J: !{echo '{"a": {"b": 1}}'} end'''""", ""),
    "fails": ('prompt = """x !{echo bad >&2; exit 3} y"""', ""),
    "file": ('prompt = """See @{note.txt} end"""', ""),
    "missing": ('prompt = """See @{missing.txt} end"""', ""),
    "git/sub": ('prompt = "sub {{args}}"', "1"),
}
_FRAMES = (
    r"^<command-message>.*", r"^<system-reminder>\n.*", r"^Today is.*", r"^<session_context>.*", r"</?(?:shell-output|file)(?: [^>]*)?>\n?",
    r"\[(?:Shell command|exit code) .*?\]\n?(?= |$)",
)  # fmt: skip


def sent(program: Other, line: str) -> str:
    """The text of a prompt as it reached the model, without the frame that each program puts around it; empty if nothing was sent."""
    program.requests.clear()
    program.say(line, playing([say("ok")]))
    if not program.requests:
        return ""
    texts = user_texts(program.requests[0])
    for frame in _FRAMES:
        texts = [re.sub(frame, "", text, flags=re.DOTALL) for text in texts]
    return " ".join("".join(texts).split())


@pytest.mark.parametrize(
    ("theirs", "own", "folder", "ending", "commands"),
    [
        ("claude", "ours", ".claude/commands", ".md", CLAUDE),
        ("gemini", "ours with gemini", ".gemini/commands", ".toml", GEMINI),
    ],
)
def test_commands_send_what_they_send_in_the_program_they_were_written_for(
    tmp_path: Path, bin_: Path, theirs: str, own: str, folder: str, ending: str, commands: dict[str, tuple[str, str]]
) -> None:
    programs = Other(tmp_path / "theirs", bin_, theirs), Other(tmp_path / "own", bin_, own)
    for program in programs:
        (program.work / "note.txt").write_text("the note\n")
        for name, (body, _) in commands.items():
            file = program.work / folder / f"{name}{ending}"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(body)
    for name, (_, given) in commands.items():
        line = f"/{name.replace('/', ':')} {given}".strip()
        first, second = (sent(program, line) for program in programs)
        second = (
            second.removeprefix("the note ") if theirs == "claude" else second
        )  # attached by both, ours before the text
        assert first == second, name


def test_skills_have_the_body_that_they_have_in_claude_code(both: tuple[Other, Other]) -> None:
    bodies = []
    for program, tool, (name, given) in zip(
        both, ("Skill", "skill"), (("skill", "args"), ("name", "arguments")), strict=True
    ):
        for skill, (body, _) in SKILLS.items():
            file = program.work / ".claude/skills" / skill / "SKILL.md"
            file.parent.mkdir(parents=True)
            file.write_text(f"---\nname: {skill}\ndescription: d\n---\n{body}\n")
        uses = [
            call(tool, f"c{n}", **{name: skill, given: used}) for n, (skill, (_, used)) in enumerate(SKILLS.items())
        ]
        program.say("go", playing([say("", one) for one in uses]))
        text = json.dumps(program.requests[-1]["messages"]).replace(str(program.work), "")
        found = re.findall(r"Base directory for this skill: (.*?)(?:</skill>|\")", text.replace('\\"', "'"))
        bodies.append([" ".join(one.replace("\\n", " ").split()) for one in found])
    assert bodies[0] == bodies[1]
    assert len(bodies[0]) == len(SKILLS)


RULES = {
    "": "ROOT, @docs/style.md and `@docs/code.md`\n\n```\n@docs/fence.md\n```\n@docs/one.md @missing.md @../outside.md\n",
    "a/": "RULES-A, @more.md",
    "a/b/": "RULES-B",
    "c/": "RULES-C",
}
FILES = {
    "docs/style.md": "STYLE", "docs/code.md": "CODE", "docs/fence.md": "FENCE", "docs/one.md": "ONE @two.md", "docs/two.md": "TWO @one.md",
    "a/more.md": "MORE-A", "a/b/f.py": "x", "a/f.py": "x", "c/f.py": "x", "../outside.md": "OUTSIDE",
}  # fmt: skip


@pytest.mark.parametrize(
    ("theirs", "file", "tool"), [("claude", "CLAUDE.md", "Read"), ("gemini", "GEMINI.md", "read_file")]
)
def test_instructions_arrive_with_the_same_requests(
    tmp_path: Path, bin_: Path, theirs: str, file: str, tool: str
) -> None:
    arrived = []
    for program in (Other(tmp_path / "theirs", bin_, theirs), Other(tmp_path / "own", bin_, "ours")):
        for folder, text in RULES.items():
            (program.work / folder).mkdir(parents=True, exist_ok=True)
            (program.work / folder / file).write_text(text)
        for name, text in FILES.items():
            (program.work / name).parent.mkdir(parents=True, exist_ok=True)
            (program.work / name).write_text(text)
        reads = [str(program.work / name) for name in ("a/b/f.py", "a/f.py", "c/f.py")]
        name = tool if program.name == theirs else "read"
        program.say("go", playing([say("", call(name, f"c{n}", file_path=path)) for n, path in enumerate(reads)]))
        found, before = [], set[str]()
        for request in program.requests:
            text = json.dumps(request).replace("\\n", " ")
            words = {word for word in re.findall(r"\b[A-Z]{3,}(?:-[A-C])?\b", text) if word in KNOWN}
            found.append(words - before)
            before |= words
        arrived.append(found)
    assert arrived[0] == arrived[1]
    assert [bool(words) for words in arrived[1]] == [True, True, False, True]


KNOWN = {"ROOT", "STYLE", "CODE", "FENCE", "ONE", "TWO", "OUTSIDE", "RULES-A", "MORE-A", "RULES-B", "RULES-C"}
