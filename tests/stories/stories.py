"""The stories: what a person does with the program, step by step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.stories.story import Story

PRICES = '''"""Prices in whole cents."""


def discount(cents, quantity):
    """Ten percent from ten pieces on."""
    if quantity > 10:
        return cents * quantity // 10
    return 0
'''
CHECK = "from prices import discount\n\nassert discount(100, 10) == 100, 'ten pieces get no discount'\nprint('1 check passed')\n"


def say(text: str, *calls: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"text": text, "calls": list(calls), **more}


def call(name: str, **given: Any) -> dict[str, Any]:
    return {"name": name, "input": given}


READ = call("read", file_path="prices.py")
EDIT = call("edit", file_path="prices.py", old_string="quantity > 10", new_string="quantity >= 10")


def first_minutes(story: Story) -> None:
    story.file("prices.py", PRICES)
    story.start(
        replies=[
            say("I look.", READ),
            say("`prices.py` computes a **discount**:\n\n- ten percent\n- from ten pieces on"),
        ]
    )
    story.terminal.until("? keys")
    story.scene("The start")
    story.type("/rev", until="/review")
    story.scene("Commands are completed")
    story.type("\x15what is here?\r", until="from ten pieces on")
    story.scene("An answer")
    story.type("\x0f", until="─ Transcript ─")
    story.type("/cents", until="1 of")
    story.scene("The transcript, searched")
    story.type("\x1bq", until="> ")
    story.terminal.gone("Transcript")
    story.type("\x04", until="agentcli resume")
    assert story.terminal.wait() == 0
    story.scene("The end names the way back")


def fix_with_approvals(story: Story) -> None:
    story.file("prices.py", PRICES)
    story.file("check.py", CHECK)
    run = call("bash", command="python3 check.py", description="run the check")
    story.start(
        replies=[
            say("I read the code first.", READ),
            say("The comment says *from ten pieces on*, the code says `> 10`.", EDIT),
            say("Now the check.", run),
            say("Fixed: `discount` began at eleven pieces."),
        ]
    )
    story.terminal.until("? keys")
    story.type("the discount is wrong, fix it\r", until="1. Yes")
    story.scene("An edit is put to the person")
    story.type("1", until="Run this command?")
    story.scene("A command is put to the person")
    story.type("y", until="began at eleven pieces")
    story.scene("Done")
    story.type("/diff\r", until=">= 10")
    story.scene("The changes of the session")


def long_turn_with_steering(story: Story) -> None:
    wait = call(
        "bash", command="until [ -e go ]; do sleep 0.1; done; echo 300 tests passed", description="run the tests"
    )
    story.start(
        "--mode",
        "yolo",
        replies=[say("I run the tests.", wait), say("All pass, and I left `b.py` alone."), say("Committed nothing.")],
    )
    story.terminal.until("? keys")
    story.type("run all tests\r", until="Running")
    story.type("leave b.py alone\r", until="After this step: leave b.py alone")
    story.type("then say what you committed\t", until="After this turn: then say")
    story.scene("It works; a message for now and one for later")
    story.file("go", "")
    story.terminal.until("Committed nothing.", seconds=30)
    story.scene("Both were heard")


def compaction_and_uncompress(story: Story) -> None:
    for name in "abc":
        story.file(f"{name}.txt", "".join(f"{name} line {n} of a long file\n" for n in range(400)))
    reads = [say(f"I read {name}.", call("read", file_path=f"{name}.txt")) for name in "abc"]
    story.start(replies=[*reads, say("Three long files, none of them needed any more."), say("Yes: a, b and c.")])
    story.terminal.until("? keys")
    story.type("read the three files\r", until="none of them needed")
    story.type("/compress keep the names\r", until="Summarised")
    story.scene("Compacted by hand")
    story.type("/uncompress\r", until="Compaction undone")
    story.scene("Taken back")
    story.type("do you still know them?\r", until="Yes: a, b and c.")
    story.scene("It continues with all of it")


def undo_and_rewind(story: Story) -> None:
    story.file("prices.py", PRICES)
    story.start("--mode", "auto-edit", replies=[say("I change it.", EDIT), say("Changed."), say("Nothing else.")])
    story.terminal.until("? keys")
    story.type("fix the discount\r", until=" in, ")
    story.type("/undo\r", until="Restored")
    story.type("/redo\r")
    story.scene("Undone and done again")
    story.type("anything else?\r", until="Nothing else.")
    story.type("/rewind\r", until="Rewind to which prompt?")
    story.scene("A prompt is chosen")
    story.type("fix\r", until="Restore what?")
    story.scene("Conversation, files or both")
    story.type("both\r", until="Rewound to before")
    story.scene("The prompt is back in the input")
    assert "quantity > 10" in (story.program.work / "prices.py").read_text()


def resume(story: Story) -> None:
    story.file("prices.py", PRICES)
    story.start(replies=[say("I look.", READ), say("The discount is **ten percent**.")])
    story.terminal.until("? keys")
    story.type("how much is the discount?\r", until="ten percent.")
    story.type("\x04", until="agentcli resume")
    assert story.terminal.wait() == 0
    story.start("resume", replies=[say("From *ten pieces* on, as you asked before.")])
    story.terminal.until("Resume which session?")
    story.scene("A session is chosen")
    story.type("\r", until="ten percent.")
    story.scene("It stands as it was left")
    story.type("and from how many pieces?\r", until="as you asked before")
    story.scene("It goes on")


def plan_mode(story: Story) -> None:
    story.file("prices.py", PRICES)
    plan = "# Fix the discount\n\n1. `prices.py`: `quantity >= 10`\n2. Run the **check**"
    story.start(
        "--mode",
        "plan",
        replies=[
            say("I look first.", READ),
            say("", call("exit_plan", plan=plan)),
            say("As planned.", EDIT),
            say("Done as planned."),
        ],
    )
    story.terminal.until("? keys")
    story.type("plan a fix of the discount\r", until="1. Yes, and let it edit")
    story.scene("The plan is put to the person")
    story.type("1", until="Done as planned.")
    story.scene("It is carried out without asking about each edit")


STORIES: Mapping[str, Callable[[Story], None]] = {
    one.__name__: one
    for one in (
        first_minutes,
        fix_with_approvals,
        long_turn_with_steering,
        compaction_and_uncompress,
        undo_and_rewind,
        resume,
        plan_mode,
    )
}
