"""Questions of the real program in a real terminal: shown whole, and never answered by keys that came before them."""

from __future__ import annotations

import contextlib
import json
import signal

import pytest

from tests.e2e.program import Program
from tests.sampling import sampled
from tests.terminal import Terminal

SIZES = [(80, 24), (40, 15)]
STEPS = [f"echo step-{n:02}-of-the-hook" for n in range(60)]
COMMAND = " && ".join(STEPS)


def project_hook(program: Program, command: str) -> None:
    hook = {"hooks": [{"type": "command", "command": command}]}
    file = program.work / ".claude/settings.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"hooks": {"UserPromptSubmit": [hook]}}))


def model(program: Program, *replies: object) -> str:
    file = program.base / "script.json"
    file.write_text(json.dumps({"replies": replies}))
    return f"script:{file}"


def shown(t: Terminal) -> str:
    """All that can be seen by scrolling up, without the breaks of its rows."""
    return "".join(row.strip() for row in t.history())


@pytest.mark.full
@pytest.mark.parametrize(("columns", "rows"), SIZES)
def test_a_hook_that_is_longer_than_the_window_is_printed_whole_before_its_question(
    program: Program, columns: int, rows: int
) -> None:
    project_hook(program, COMMAND)
    with program.terminal("-m", "script:echo", columns=columns, rows=rows) as t:
        t.until("Trust this folder?")
        t.send("y", until="shown above)")
        t.settle()
        text = shown(t).replace(" ", "")
        assert [step for step in STEPS if step.replace(" ", "") not in text] == []
        screen = "\n".join(t.screen())
        assert "1. Yes" in screen
        assert "❯ 2. No" in screen
        t.send("n", until="> ")


@pytest.mark.full
@pytest.mark.parametrize(("columns", "rows"), SIZES)
def test_a_question_of_the_model_that_is_longer_than_the_window_is_printed_whole(
    program: Program, columns: int, rows: int
) -> None:
    asked = " ".join(f"word-{n:03}" for n in range(400))
    question = {"question": asked, "options": [{"label": "Left"}, {"label": "Right"}]}
    ask = {"calls": [{"name": "ask_user", "input": {"questions": [question]}}]}
    with program.terminal("-m", model(program, ask, {"text": "Thanks."}), columns=columns, rows=rows) as t:
        t.send("go\r", until="shown above)")
        t.settle()
        assert [n for n in range(400) if f"word-{n:03}" not in shown(t)] == []
        assert "1. Left" in "\n".join(t.screen())
        t.send("2", until="Thanks.")


@pytest.mark.full
@pytest.mark.parametrize("plain", [False, True], ids=["terminal", "plain"])
def test_what_is_typed_before_the_question_of_trust_does_not_answer_it(program: Program, plain: bool) -> None:
    project_hook(program, "touch ran")
    with program.terminal("-m", "script:echo", *["--plain"] * plain) as t:
        t.send("y\ry\ryes please\ry", at_once=True, until="Trust this folder?")
        t.settle(1.0)
        assert not list(program.base.glob("state/agentcli/trusted.json"))
        assert "Let this project" not in shown(t)
        t.send("n\r" if plain else "n", until="Project settings not loaded")


@pytest.mark.full
@pytest.mark.parametrize("plain", [False, True], ids=["terminal", "plain"])
@pytest.mark.parametrize("keys", sampled(["y\ry\ry\r", "yyyy", "1\r1\r"], 3))
def test_keys_that_a_busy_program_finds_after_it_has_asked_answer_nothing(
    program: Program, keys: str, plain: bool
) -> None:
    project_hook(program, "touch ran")
    with program.terminal("-m", "script:echo", *["--plain"] * plain) as t:
        t.until("Trust this folder?")
        # Held back, the program reads nothing: all of this waits when it goes on, at whatever time that is.
        t.signal(signal.SIGSTOP)
        t.send(keys, at_once=True)
        t.signal(signal.SIGCONT)
        t.settle(1.0)
        assert not list(program.base.glob("state/agentcli/trusted.json"))


@pytest.mark.full
def test_the_first_answer_is_not_the_second_ones(program: Program) -> None:
    """A key that repeats answers one question, not those that follow it."""
    project_hook(program, "touch ran")
    with program.terminal("-m", "script:echo") as t:
        t.until("2. No")
        t.send("y", until="Let this project start hook")
        t.send("yyy", at_once=True)
        t.settle(1.0)
        assert "1. Yes" in "\n".join(t.screen())
        t.send("y")
        t.gone("1. Yes")


@pytest.mark.full
def test_ctrl_c_is_heard_at_once(program: Program) -> None:
    project_hook(program, "touch ran")
    with program.terminal("-m", "script:echo") as t:
        t.until("Trust this folder?")
        t.send("\x03", at_once=True, until="Project settings not loaded")


@pytest.mark.full
def test_lines_typed_ahead_at_a_plain_terminal_are_prompts(program: Program) -> None:
    run = {"calls": [{"name": "bash", "input": {"command": "touch made"}}]}
    script = model(program, run, {"text": "First done."}, {"text": "Second done."})
    with program.terminal("-m", script, "--plain") as t:
        t.until("lists the commands")
        t.send("one\r1\rtwo\r", at_once=True, until="Prompts wait for their turn.")
        t.until("4 no")
        t.settle(1.0)
        assert not (program.work / "made").exists()
        t.send("n\r", until="What should it do instead?")
        t.send("\r", until="First done.")
        t.until("> two", "Second done.")


EDIT = {"name": "edit", "input": {"file_path": "cart.py", "old_string": "old", "new_string": "new"}}


@pytest.mark.full
def test_always_is_for_the_project_alone_and_can_be_taken_back(program: Program) -> None:
    script = model(program, {"calls": [EDIT]}, {"text": "Edited."})
    other = Program(program.base)
    for name in ("shop", "other"):
        (program.base / name / ".git").mkdir(parents=True)
        (program.base / name / "cart.py").write_text("old\n")
    shop, elsewhere = ({"cwd": str(program.base / name)} for name in ("shop", "other"))
    with program.terminal("-m", script, **shop) as t:
        t.send("go\r", until="4. No")
        assert [" ".join(row.strip("❯ ").split()) for row in t.screen() if "Yes" in row or "Always" in row] == [
            "1. Yes y",
            "2. Yes, and all edits in this session (Shift-Tab)",
            "3. Always allow edits of cart.py in this project",
        ]
        t.send("3", until="Saved for this project: edit(./cart.py)")
        t.until("Edited.")
        t.send("/permissions\r", until="edit(./cart.py)  (your answers)")
    assert not (program.base / "config/agentcli/config.toml").exists()
    (program.base / "shop/cart.py").write_text("old\n")

    def edited(folder: str) -> bool:
        program.run("-C", str(program.base / folder), "-p", "go", "-m", script)
        return (program.base / folder / "cart.py").read_text() == "new\n"

    assert edited("shop")
    assert not edited("other")
    with other.terminal("-m", script, **elsewhere) as t:
        t.send("go\r", until="3. Always allow edits of cart.py in this project")
        t.send("n")
    with program.terminal("-m", script, **shop) as t:
        t.until("keys")
        t.send("/permissions\r", until="edit(./cart.py)  (your answers)")
        t.send("/permissions remove edit(./cart.py)\r", until="Removed edit(./cart.py).")
    (program.base / "shop/cart.py").write_text("old\n")
    assert not edited("shop")


@pytest.mark.full
def test_always_for_every_project_is_a_choice_of_its_own_whose_rule_is_shown_before(program: Program) -> None:
    run = {"calls": [{"name": "bash", "input": {"command": "touch made"}}]}
    with program.terminal("-m", model(program, run, {"text": "First done."})) as t:
        t.send("go\r", until="Always allow `touch made` in this project")
        t.until("6. Always in every project…")
        t.send("6", until="Save this rule for every project?")
        t.until("bash(touch made)")
        t.send("\r", until="Saved in your config, for every project: bash(touch made)")
    assert 'allow = ["bash(touch made)"]' in (program.base / "config/agentcli/config.toml").read_text()


@pytest.mark.full
def test_what_is_typed_before_a_command_asks_does_not_answer_it(program: Program) -> None:
    plugin = program.work / "plugin"
    (plugin / ".claude-plugin").mkdir(parents=True)
    (plugin / ".claude-plugin/plugin.json").write_text('{"name": "mine", "version": "1"}')
    (plugin / "commands").mkdir()
    (plugin / "commands/go.md").write_text("Go.\n")
    with program.terminal("plugins", "add", "plugin") as t:
        t.send("y\n", until="Add it? [y/N]")
        t.send("y\n", at_once=True)
        assert answered(t, "n\n") == 1
    with program.terminal("plugins", "add", "plugin") as t:
        t.until("Add it? [y/N]")
        assert answered(t, "y\n") == 0
        assert "Added mine" in "\n".join(t.screen())


def answered(t: Terminal, answer: str) -> int:
    """Answer until the program takes it, however late it begins to listen; its exit code."""
    for _ in range(10):
        t.send(answer)
        with contextlib.suppress(AssertionError):
            return t.wait(3)
    raise AssertionError("the question takes no answer")


def test_shift_tab_in_the_question_about_an_edit_allows_all_edits_of_the_session(program: Program) -> None:
    (program.work / "cart.py").write_text("old and more\n")
    more = {"name": "edit", "input": {"file_path": "cart.py", "old_string": "more", "new_string": "less"}}
    with program.terminal("-m", model(program, {"calls": [EDIT]}, {"calls": [more]}, {"text": "Both."})) as t:
        t.until("keys")
        t.send("go\r", until="(Shift-Tab)")
        t.send("\x1b[Z", until="Both.")
        t.until("auto-edit · ")
    assert (program.work / "cart.py").read_text() == "new and less\n"
