"""One file adds tools, commands and handlers."""

from __future__ import annotations

import asyncio
import re
import textwrap
from pathlib import Path

import agentcli
from agentcli import manual
from agentcli.agent.ports import Prompt
from agentcli.core.event import Event
from agentcli.core.message import Message, Part, Text
from agentcli.extension import Status
from agentcli.frontends.commands.outputs import rows_of
from agentcli.frontends.opening import program_of
from agentcli.frontends.terminal.style import MUTE, Look
from agentcli.program.commands import Context as CommandContext
from agentcli.program.commands import OutputCommand, Said
from agentcli.program.options import Options
from tests.e2e.program import Program
from tests.features.extensions.running import folder, outputs, play, warnings, write
from tests.frontends.acp.editor import editing, in_loop
from tests.frontends.python.embedded import calls, environment, options, script, workspace

TICKETS = '''
@tool(effect="none")
async def tickets(query: str, ctx: Context, limit: int = 10) -> str:
    """Search our issue tracker."""
    ctx.state["asked"] = [*ctx.state.get("asked", []), query]
    return f"{limit} tickets about {ctx.state['asked']} in {ctx.cwd.name}"

@on("tool_call")
def no_production(call: ToolCall, ctx: Context):
    if call.name == "bash" and "prod" in call.input["command"]:
        return call.deny("Production is deployed by people.")
'''


def test_a_tool_has_its_context_and_a_handler_denies_a_call(tmp_path: Path) -> None:
    write(tmp_path, TICKETS)
    events = play(
        tmp_path,
        {"calls": [{"name": "tickets", "input": {"query": "a"}}, {"name": "bash", "input": {"command": "echo prod"}}]},
        calls("tickets", query="b"),
        "Done.",
        mode="yolo",
    )
    denied, first, second = outputs(events)
    assert denied == ("denied", "The extension mine blocked this call: Production is deployed by people.")
    assert first == ("success", "10 tickets about ['a'] in work")
    assert second == ("success", "10 tickets about ['a', 'b'] in work")
    assert (events[-1].text, warnings(events)) == ("Done.", [])


def test_a_rule_names_a_tool_of_an_extension(tmp_path: Path) -> None:
    write(tmp_path, TICKETS)
    events = play(tmp_path, calls("tickets", query="a"), "Done.", deny=["tickets"])
    assert outputs(events)[0][0] == "denied"


def test_without_extensions_none_is_loaded(tmp_path: Path) -> None:
    write(tmp_path, TICKETS)
    events = play(tmp_path, calls("tickets", query="a"), "Done.", no_extensions=True)
    assert "tickets" not in events[0].tools
    assert outputs(events)[0][0] == "error"


def test_a_command_has_its_arguments_by_signature_and_sends_a_prompt(tmp_path: Path) -> None:
    write(
        tmp_path,
        '''
        @command("/greet")
        async def greet(ctx: Context, times: int, name: str = "you", *, loud: bool = False) -> str:
            """Greet somebody."""
            ctx.ui.notify("About to greet.")
            return (f"hello {name} " * times).strip() + ("!" if loud else "")

        @command("/ask")
        def ask(ctx: Context, text: str) -> None:
            """Ask the model."""
            ctx.prompt(f"Answer: {text}")
        ''',
    )
    assert play(tmp_path, prompt="/greet --loud 2 Bob and Ann")[-1].text == (
        "About to greet.\nhello Bob and Ann hello Bob and Ann!"
    )
    refused = play(tmp_path, prompt="/greet many")[-1]
    assert (refused.exit_code, refused.error) == (2, "times takes a whole number, not 'many'.")
    events = play(tmp_path, "42.", prompt="/ask of life")
    assert events[-1].text == "42."
    assert "Answer: of life" in [event.text for event in events if getattr(event, "role", "") == "user"]


def test_a_prompt_carries_a_text_that_only_the_model_sees(tmp_path: Path) -> None:
    code = 'if "2" not in event.text:\n            ctx.prompt("Go on.", more="It is 7.")'
    write(tmp_path, f'@on("turn_end")\ndef more(event: TurnEnd, ctx: Context):\n        {code}\n')
    given = Options(cwd=str(workspace(tmp_path)), model=script(tmp_path, "1.", "2."))

    async def main() -> list[Part]:
        program = program_of(given, environment(tmp_path))
        session = program.sessions.begin()
        assert [event async for event in session.turn(Prompt("Begin."), asyncio.Event())]
        await program.close()
        return [
            part for entry in session.history.entries if isinstance(entry.body, Message) for part in entry.body.parts
        ]

    sent = [part for part in asyncio.run(main()) if isinstance(part, Text)]
    assert [part.synthetic for part in sent if part.text in ("Go on.", "It is 7.")] == [False, True]


def test_the_examples_of_the_manual_load_and_work(tmp_path: Path) -> None:
    found = re.findall(r"(?:^    .*\n|^\n)+", manual.page("extensions"), re.MULTILINE)
    blocks = [textwrap.dedent(one) for one in found if re.search(r"^    @\w", one, re.MULTILINE)]
    assert len(blocks) == 6
    for number, block in enumerate(blocks):
        write(tmp_path, block.replace('"ist"', '"HTTP"'), f"mine{number}")
    (folder(tmp_path).parent / "config.toml").write_text("[extensions.mine2]\nurl = 'https://example.org'\n")
    asked = calls("tickets", query="a"), calls("bash", command="echo prod"), calls("bash", command="echo Traceback")
    events = play(tmp_path, *asked, "Done.", "See http://a.", "HTTP.", mode="yolo")
    assert outputs(events)[0] == ("success", "no ticket about a")
    assert [status for status, _ in outputs(events)] == ["success", "denied", "success"]
    assert [events[-1].text, warnings(events)] == ["HTTP.", []]
    (folder(tmp_path) / "mine1.py").unlink()
    assert play(tmp_path, prompt="/stage")[-1].text == "dev"


def test_a_function_around_a_turn_reminds_goes_on_and_changes_the_end(tmp_path: Path) -> None:
    write(
        tmp_path,
        """
        from dataclasses import replace

        @around_turn
        async def twice(turn: Turn, ctx: Context) -> Ended:
            turn.remind("Be brief.")
            first = await turn.run()
            ctx.ui.notify("once more")
            second = await turn.go_on(f"Again: {first.text}")
            return replace(second, text=f"{first.text}+{second.text}")
        """,
    )
    events = play(tmp_path, "One.", "Two.")
    assert (events[-1].text, warnings(events)) == ("One.+Two.", [])
    assert "once more" in [event.message for event in events if isinstance(event, agentcli.WarningEvent)]
    write(tmp_path, "@around_turn\nasync def no(turn, ctx):\n    raise AgentError('Not today.')\n")
    refused = play(tmp_path, "One.")[-1]
    assert (refused.exit_code, refused.error) == (1, "Not today.")


def test_an_extension_is_the_engine_of_web_search(tmp_path: Path) -> None:
    write(
        tmp_path,
        """
        @search_engine
        async def search(query: str, ctx: Context) -> list[Source]:
            if query == "private":
                await ctx.fetch("http://127.0.0.1:1/")
            return [Source("https://a.example", query, "A passage.")] if query != "none" else 3
        """,
    )
    asked = [calls("web_search", query=query) for query in ("cats", "private", "none")]
    more = {"mode": "yolo", "set": {"tools.web_search": "extension"}}
    events = play(tmp_path, *asked, "Done.", **more)
    found, private, none = outputs(events)
    assert found == ("success", "[mine on cats]\n1. cats\n   https://a.example\n   A passage.")
    assert (private[0], "127.0.0.1" in private[1]) == ("error", True)
    assert none == ("error", "The search by mine failed.")
    assert warnings(events) == ["Extension mine, search: a search engine returns a list of Source."]


def test_a_handler_judges_the_calls_of_subagents(tmp_path: Path) -> None:
    write(tmp_path, TICKETS)
    work = calls("task", description="x", prompt="Do it."), calls("bash", command="echo prod"), "Sub.", "Done."
    [denial] = play(tmp_path, *work, mode="yolo")[-1].permission_denials
    assert (denial.name, denial.rule) == ("bash", "extension:mine")


def test_a_text_of_rich_is_shown_as_it_is_and_a_str_as_markdown(tmp_path: Path) -> None:
    write(
        tmp_path,
        """
        from rich.text import Text

        @command("/plain")
        def plain(ctx: Context) -> None:
            ctx.ui.show(Text("# *a*"))
            ctx.ui.show(Text("# *a*"), title="Framed")
            ctx.ui.show("# *a*", title="Read")
        """,
    )

    async def rows() -> list[str]:
        program = program_of(Options(cwd=str(workspace(tmp_path)), model="script:echo"), environment(tmp_path))
        session = program.sessions.begin()
        [command] = program.added_commands
        assert isinstance(command, OutputCommand)
        shown = [output async for output in command.yields(CommandContext(session, program), "")]
        await program.close()
        return [row for one in shown if isinstance(one, Said) for row in rows_of(one, 80, Look(MUTE))]

    plain, *framed = (row for row in asyncio.run(rows()) if row != "╰ ")
    assert (plain, framed) == ("# *a*", ["╭ Framed", "│ # *a*", "╭ Read", "│ a"])


def test_the_costs_of_all_turns_are_known_after_a_resume(tmp_path: Path) -> None:
    write(tmp_path, "@on('turn_end')\ndef f(event, ctx):\n    ctx.ui.notify(f'{len(ctx.costs)} turns')\n")
    first = play(tmp_path, "One.")
    again = play(tmp_path, "Two.", resume=first[-1].session_id)
    told = [event.message for event in (*first, *again) if isinstance(event, agentcli.WarningEvent)]
    assert [text for text in told if text.endswith(" turns")] == ["1 turns", "2 turns"]


def test_a_setting_may_have_a_list_as_its_default(tmp_path: Path) -> None:
    write(
        tmp_path,
        """
        @settings
        class Settings:
            words: list[str] = ["prod"]
            more: list[str] = ["a"]

        @command("/words")
        def words(ctx: Context) -> str:
            ctx.settings.words.append("own")
            return f"{ctx.settings.words + ctx.settings.more}"
        """,
    )
    (folder(tmp_path).parent / "config.toml").write_text("[extensions.mine]\nmore = ['b']\n")
    assert [play(tmp_path, prompt="/words")[-1].text for _ in range(2)] == ["['prod', 'own', 'b']"] * 2


def test_an_import_is_tried_with_its_settings_and_each_fault_once(tmp_path: Path) -> None:
    code = "@settings\nclass S:\n    url: str\n    most: int = 1\n"
    lacks, bad = write(tmp_path, code, "lacks"), write(tmp_path, "1 / 0\n", "bad")
    program = Program(tmp_path)
    tried = program.run("extensions", "test", str(lacks))
    assert (tried.code, tried.out.split("\n")[:2]) == (
        1,
        [
            f"lacks  settings url, most ({lacks})",
            "Extension lacks, settings: extensions.lacks.url is not set, and has no default.",
        ],
    )
    failed = program.run("extensions", "test", str(bad))
    assert (failed.code, failed.out.count("ZeroDivisionError")) == (1, 1)


def test_a_setting_of_a_wrong_type_is_a_fault(tmp_path: Path) -> None:
    write(
        tmp_path, "@settings\nclass S:\n    most: int = 3\n@on('prompt')\ndef f(p, ctx):\n    ctx.settings.most + 1\n"
    )
    (folder(tmp_path).parent / "config.toml").write_text("[extensions.mine]\nmost = 'many'\n")
    assert "extensions.mine.most" in warnings(play(tmp_path, "Done."))[0]


HEARD = """
from pathlib import Path

def note(text):
    with open(Path(__file__).with_suffix(".txt"), "a") as file:
        file.write(text + "\\n")

@on("session_end")
def at_end(event): note(f"end {event.reason}")
@on("idle", every=0)
def idle(event): note("idle")
@on("file_changed")
def changed(event): note(f"file {event.path.name}")
@on("model_changed")
def model(event): note(f"model {event.new}")
@on("mode_changed")
def mode(event): note(f"mode {event.old} {event.new}")
"""


def test_a_text_in_the_status_line_follows_its_facts_and_keeps_its_colours(tmp_path: Path) -> None:
    write(
        tmp_path,
        """
        @on("status", every=3600)
        async def line(status: Status, ctx: Context) -> str:
            done = await ctx.execute("cat; exit 3", stdin=status.mode)
            ctx.state["called"] = ctx.state.get("called", 0) + 1
            return f"\\x1b[35m{done.output} {done.exit_code}\\x1b[2J {ctx.state['called']}"
        """,
    )

    async def main() -> list[tuple[bool, str]]:
        program = program_of(Options(cwd=str(workspace(tmp_path)), model="script:echo"), environment(tmp_path))
        session = program.sessions.begin()
        [part] = [part for part in session.parts.all if part.reads_status]
        seen = []
        for mode, seconds in (("ask", 1.0), ("ask", 2.0), ("yolo", 3.0)):
            now = Status(model="x", mode=mode, used=0, usable=1, window=1, seconds=seconds)
            seen.append((await part.refresh_status(now), part.status))
        await program.close()
        return seen

    text = "\x1b[35m{} 3\\x1b[2J {}\x1b[0m"
    assert asyncio.run(main()) == [
        (True, text.format("ask", 1)),
        (False, text.format("ask", 1)),
        (True, text.format("yolo", 2)),
    ]


def test_changes_between_turns_idle_time_and_the_end_are_events(tmp_path: Path) -> None:
    file, work = write(tmp_path, HEARD), workspace(tmp_path)
    (work / "a.txt").write_text("one")
    given = Options(cwd=str(work), model=script(tmp_path, calls("read", path=str(work / "a.txt")), "Read."))

    async def main() -> None:
        program = program_of(given, environment(tmp_path))
        session = program.sessions.begin()
        say = [event async for event in session.turn(Prompt("Read it."), asyncio.Event())]
        assert say
        (work / "a.txt").write_text("two")
        session.switch(mode="yolo", model="script:echo")
        say = [event async for event in session.turn(Prompt("Go on."), asyncio.Event())]
        assert not session.is_due()
        async with asyncio.timeout(10):
            while "idle" not in file.with_suffix(".txt").read_text():  # noqa: ASYNC110 (a handler writes it)
                await asyncio.sleep(0.01)
        await session.end("exit")
        await program.close()

    asyncio.run(main())
    heard = file.with_suffix(".txt").read_text().splitlines()
    assert sorted({*heard}) == ["end exit", "file a.txt", "idle", "mode ask yolo", "model script/echo"]


BOTH = '''
@tool(effect="none")
def tickets(query: str) -> str:
    """Search our issue tracker."""
    return f"no ticket about {query}"

@command("/greet")
async def greet(ctx: Context, name: str) -> str:
    """Greet somebody."""
    return f"hello {name}"
'''


@in_loop
async def test_a_tool_and_a_command_work_in_editors(tmp_path: Path) -> None:
    file = tmp_path / "CONFIG" / "agentcli" / "extensions" / "mine.py"
    file.parent.mkdir(parents=True)
    file.write_text(f"from agentcli.extension import *\n{BOTH}")
    asked = {"calls": [{"name": "tickets", "input": {"query": "a"}}]}
    async with editing(tmp_path, asked, {"text": "Done."}) as editor:
        session = await editor.new()
        assert await editor.say(session, "/greet Bob") == "end_turn"
        assert editor.person.text == "hello Bob"
        assert await editor.say(session, "Look.") == "end_turn"
        assert "no ticket about a" in str(editor.person.of("tool_call_update"))
        known = [
            each["name"] for one in editor.person.of("available_commands_update") for each in one["availableCommands"]
        ]
        assert "greet" in known
        editor.person.updates.clear()
        await editor.say(session, "/extensions")
        assert re.search(
            r"mine  tools tickets; commands /greet \(.*\) · \d+ tokens in each request · 2 calls", editor.person.text
        )


def test_a_tool_and_a_command_work_in_the_python_api(tmp_path: Path) -> None:
    write(tmp_path, BOTH)

    async def main() -> list[str]:
        async with agentcli.Session(**options(tmp_path, calls("tickets", query="a"), "Done.")) as session:
            said = [event for text in ("/greet Bob", "Look.") async for event in session.say(text)]
        results = [event for event in said if isinstance(event, agentcli.Result)]
        return [*(one.text for one in results), *(text for _, text in outputs(said))]

    assert asyncio.run(main()) == ["hello Bob", "Done.", "no ticket about a"]


def test_a_message_is_pinned_before_a_compaction(tmp_path: Path) -> None:
    write(
        tmp_path,
        """
        @on("before_compact")
        def keep(event, ctx):
            for said in ctx.history:
                if "MUST" in said.text:
                    ctx.pin(said.number)

        @command("/keep")
        def keep_it(ctx: Context, number: int) -> None:
            ctx.pin(number)
        """,
    )

    async def main() -> None:
        program = program_of(
            Options(cwd=str(workspace(tmp_path)), model=script(tmp_path, *["So."] * 9)), environment(tmp_path)
        )
        session = program.sessions.begin()
        for text in ("It MUST stay.", *["word " * 4_000] * 8):
            assert [event async for event in session.turn(Prompt(text), asyncio.Event())]
        events: list[Event] = []

        async def keep(event: Event) -> None:
            events.append(event)

        await session.compactor.compact(asyncio.Event(), keep, trigger="manual", focus="")
        pinned = [session.journal.record(seq) for seq in session.history.pins]
        assert [record.body.text for record in pinned if record and isinstance(record.body, Message)] == [
            "It MUST stay."
        ]
        await program.close()

    asyncio.run(main())
    assert "there is no message 999 to pin" in play(tmp_path, prompt="/keep 999")[-1].text
