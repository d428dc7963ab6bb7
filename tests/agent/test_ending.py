"""The judge of the end of a turn: an end that leaves the task undone never counts as done without a person, in no language; true ends do."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from agentcli.agent.ending import NO_CHANGE
from agentcli.core.event import Noticed, TurnEnded
from agentcli.core.message import Text, ToolCall
from agentcli.core.on_demand import OnDemand
from agentcli.frontends.run.results import ResultBuilder, conclusion
from agentcli.permissions.rules import parse_rules
from agentcli.providers.scripted.model import Reply, call, say
from agentcli.sessions.checkpoints.changes import Changes
from agentcli.sessions.store import Store
from tests.agent.open_session import ended, messages, open_session, results, say_to

TASK = "The discount in cart.py is wrong: fix it, and add a test."
LOOK = call("bash", command="ls")
READ = call("read", file_path="cart.py")
WRITE = call("write", file_path="test_cart.py", content="assert True\n")
CHECK = call("bash", command="touch .checked")

UNDONE = {
    "a promise": "I'll fix the discount now.",
    "a short promise": "Fixing it now.",
    "a next step": "The bug is in line 1. Next step: change the factor.",
    "a colon": "Here is the change:",
    "a question": "Should I change it to 0.21?",
    "a choice": "There are two ways. Which one do you prefer?",
    "a plan": "Plan:\n1. Change the factor in cart.py\n2. Add a test",
    "an offer": "The factor is 2 where it should be 0.2. I can change it if you like.",
    "a false success": "Done. The discount is fixed, and I added a test for it.",
    "a false report": "All 14 tests pass now.",
    "a repeated task": "Fix the discount in cart.py and add a test.",
    "German": "Ich behebe den Fehler jetzt.",
    "German, a question": "Soll ich den Faktor auf 0,21 ändern?",
    "French": "Je vais corriger la remise.",
    "Spanish": "Ahora voy a corregir el descuento.",
    "Portuguese": "Vou corrigir o desconto agora.",
    "Italian": "Ora correggo lo sconto.",
    "Russian": "Сейчас исправлю скидку.",
    "Chinese": "我现在来修复折扣。",
    "Japanese": "これから割引を修正します。",
    "Korean": "이제 할인을 수정하겠습니다.",
    "a language without an entry": "Jag rättar till rabatten nu.",
}
BROKEN = {
    "JSON that ends early": '<tool_call>\n{"name": "read", "arguments": {"file_pa\n</tool_call>',
    "no such tool": '<|tool_calls_section_begin|><|tool_call_begin|>functions.launch:0<|tool_call_argument_begin|>{}<|tool_call_end|>',
    "Harmony": "<|channel|>commentary to=functions.launch <|constrain|>json<|message|>{}<|call|>",
    "DeepSeek": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>launch<｜tool▁sep｜>{}<｜tool▁call▁end｜>",
    "Mistral": "[TOOL_CALLS]launch[ARGS]{}",
    "invoke": '<function_calls>\n<invoke name="launch">\n</invoke>\n</function_calls>',
}  # fmt: skip
TASKS = {
    "German": "Behebe den Rabatt in cart.py.",
    "French": "Corrige la remise dans cart.py.",
    "Spanish": "Arregla el descuento en cart.py.",
    "Portuguese": "Corrija o desconto em cart.py.",
    "Italian": "Correggi lo sconto in cart.py.",
    "Dutch": "Herstel de korting in cart.py.",
    "Polish": "Napraw rabat w cart.py.",
    "Russian": "Исправь скидку в cart.py.",
    "Turkish": "cart.py içindeki indirimi düzelt.",
    "Chinese": "修复 cart.py 里的折扣。",
    "Japanese": "cart.py の割引を修正してください。",
    "Korean": "cart.py의 할인을 고쳐줘.",
    "a requirement": "`price()` should round to two digits.",
    "after where": "In cart.py, swap the factor for 0.8.",
    "after what is wrong": "The discount is off by a tenth, sort it out.",
    "beside a quotation": "> totals are doubled\n\nPlease fix.",
    "a polite question": "Could you fix the discount in cart.py?",
    "a long report": "The discount in cart.py is wrong: fix it.\n\n" + "12: price(2) -> 4\n\nIt was 1.6.\n\n" * 60,
    "a list": "Two things for cart.py:\n1. Rename the function `price`\n2. Update its callers",
}


def run(
    folder: Path, script: Sequence[Reply], task: str = TASK, *, attended: bool = False
) -> tuple[TurnEnded, list[str]]:
    """How a turn ended, and the notices in it."""
    folder.mkdir(exist_ok=True)
    (folder / "cart.py").write_text("def price(n):\n    return n * 2\n")
    session = open_session(folder, script, mode="yolo", attended=attended)
    events = say_to(session, task)
    session.close()
    return ended(events), [event.message for event in events if isinstance(event, Noticed)]


@pytest.mark.parametrize("text", UNDONE.values(), ids=UNDONE)
def test_a_run_without_a_person_never_succeeds_with_an_undone_task(text: str, tmp_path: Path) -> None:
    last, _ = run(tmp_path, [say("", LOOK), say("", READ), say(text)])
    how = conclusion(last, None, 0)
    result = ResultBuilder().result(how.error, how.subtype, how.exit_code)
    assert (last.ending, result.exit_code, result.subtype, last.text) == ("incomplete", 1, "incomplete", text)


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_a_written_call_that_cannot_be_run_is_no_end_of_any_task(text: str, tmp_path: Path) -> None:
    last, _ = run(tmp_path, [say("", WRITE), say(text)], "go")
    assert (last.ending, "wrote a call as text" in str(last.error)) == ("incomplete", True)


@pytest.mark.parametrize("text", UNDONE.values(), ids=UNDONE)
def test_a_person_gets_one_line_about_an_undone_task(text: str, tmp_path: Path) -> None:
    last, notices = run(tmp_path, [say("", READ), say(text)], attended=True)
    assert (last.ending, len(notices), "Type “continue”" in notices[0]) == ("done", 1, True)


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_a_task_that_asks_for_a_change_is_recognised_in_many_languages(task: str, tmp_path: Path) -> None:
    script = [say("", READ), say("Done.")]
    assert run(tmp_path, script, task)[0].ending == "incomplete"
    assert run(tmp_path, script, task, attended=True)[1] == [NO_CHANGE]


@pytest.mark.parametrize("task", ["Rätta rabatten i cart.py.", "أصلح الخصم في cart.py.", "แก้ส่วนลดใน cart.py"])
def test_a_task_in_any_other_language_is_not_done_without_a_change(task: str, tmp_path: Path) -> None:
    assert run(tmp_path, [say("", READ), say("Done.")], task)[0].ending == "incomplete"


TRUE = {
    "a change": (TASK, [say("", READ), say("", WRITE), say("Fixed.")]),
    "a check that shows that nothing is to do": (TASK, [say("", CHECK), say("It is right as it is.")]),
    "a change after the reminder": (TASK, [say("Should I?"), say("", WRITE), say("Done.")]),
    "a change, with an offer": (
        TASK,
        [say("", WRITE), say("Fixed. Shall I add a test for zero too?"), say("ANSWERED")],
    ),
    "an answer": ("What does price() do?", [say("", READ), say("It doubles `n`.")]),
    "an answer with an offer": ("Why is the total wrong?", [say("", READ), say("It doubles. Shall I change it?")]),
    "a review": ("Review cart.py.", [say("", READ), say("1. `price` doubles.\n2. No test.")]),
    "a proposal": ("Fix the price next; what would you propose?", [say("I would halve it.")]),
    "a reading only": ("Find out how to fix cart.py, but do not change anything.", [say("Halve the factor.")]),
    "a review by long instructions": (
        "You review changes. Report what you find.\n\n## Input\n\n**Commit hash**: none\n\nUpdate: none\n\n"
        + "> Fix the login.\n" * 60
        + "\nAdd no praise.\n\nBe short.\n\nName each file.",
        [say("", READ), say("No bug found.")],
    ),
    "an opinion on a quoted change": (
        "What do you think of this?\n\n" + "-   delete(state, name)\n" * 60,
        [say("", READ), say("It is right.")],
    ),
    "a summary in French": (
        "Fais un résumé de cart.py.",
        [say("", READ), say("Une fonction."), say("ANSWERED")],
    ),
    "a summary in German": (
        "Schreib eine Zusammenfassung von cart.py.",
        [say("", READ), say("Eine Funktion."), say("ANSWERED")],
    ),
    "a list in Spanish": (
        "Haz una lista de las funciones de cart.py.",
        [say("", READ), say("- price"), say("ANSWERED")],
    ),
    "a table": ("Make a table of the functions in cart.py.", [say("", READ), say("| price |\n|---|")]),
    "what to change in Chinese": (
        "总结一下 cart.py 需要修改的地方。",
        [say("", READ), say("系数。"), say("ANSWERED")],
    ),
    "what to change in Japanese": ("修正方法を教えて。", [say("", READ), say("係数です。"), say("ANSWERED")]),
    "what to change in Korean": (
        "cart.py에서 수정이 필요한 부분을 알려 줘.",
        [say("", READ), say("계수입니다."), say("ANSWERED")],
    ),
    "a question in Arabic": ("ماذا يفعل cart.py؟", [say("", READ), say("يضاعف القيمة.")]),
    "a translation of an order": ("Translate to French: 'Fix the discount now.'", [say("Corrigez la remise.")]),
    "an opinion on an order": ("Rate this message: Fix discount", [say("It names no cause.")]),
    "an explanation of a change": ("Explain:\n```\nremove the old call\n```", [say("A call goes.")]),
    "a choice": ("Tell me what to do next, fix or rewrite.", [say("Fix.")]),
    "an advice": (TASK, [say("", WRITE), say("Ich würde als Nächstes die Steuer prüfen lassen.")]),
    "what the model leaves": (TASK, [say("", WRITE), say("I will not touch the taxes.")]),
    "a request to tell": (TASK, [say("", WRITE), say("Let me know if totals differ.")]),
    "an explanation that ends as an announcement does": (
        "カートの係数の働きを教えてほしい",
        [say("", READ), say("在庫が変わると、古い値をまとめて削除します。"), say("ANSWERED")],
    ),
    "a text": ("Write a haiku about carts.", [say("Wheels turn, coins fall down")]),
}


@pytest.mark.parametrize(("task", "script"), TRUE.values(), ids=TRUE)
def test_a_true_end_is_done(task: str, script: list[Reply], tmp_path: Path) -> None:
    assert run(tmp_path, script, task)[0].ending == "done"


TITLES = {
    "a ticket": ("Round-trip bookings for the checkout", "I looked around. What shall I begin with?"),
    "a complaint": ("the totals look off since Monday", "You could halve the factor in `cart.py`."),
    "an error": ("KeyError: 'price' in cart.py", "Open `cart.py` and replace `n * 2` by `n * 0.8`."),
    "a wish": ("Visitors ought to see net amounts", "That needs a second column. I could build it."),
    "an adjective": ("Saner defaults for the cart, please", "```diff\n-    return n * 2\n+    return n * 0.8\n```"),
    "a verb that no list names": ("tighten the cart module", "This is out of my reach here."),
    "a question before an order": ("Why is it doubled? Fix it.", "Because of the factor in line 2."),
    "a request in the form of a question": ("Can you tidy the cart?", "Yes: the factor goes, and a test comes."),
    "a number": ("#31", "What is #31 about?"),
    "a request in German": ("Kannst du den Warenkorb aufräumen?", "Ja, der Faktor stört."),
    "a question with what should be": ("why does ESC not empty the cart? should be working", "Set a `tabIndex`."),
    "a report in Swedish": ("Summan blir fel när kunden har rabatt", "Byt `2` mot `0.8` på rad 2."),
    "a report in Greek": ("Το σύνολο διπλασιάζεται στο cart.py", "Αλλάξτε τον συντελεστή στη γραμμή 2."),
    "a report in Hebrew": ("הסכום בעגלה יוצא כפול", "צריך לשנות את המקדם."),
}


@pytest.mark.parametrize(("task", "text"), TITLES.values(), ids=TITLES)
def test_without_a_change_only_a_plain_question_or_the_model_shows_that_a_text_is_all(
    task: str, text: str, tmp_path: Path
) -> None:
    assert run(tmp_path, [say("", READ), say(text)], task)[0].ending == "incomplete"
    last, _ = run(tmp_path, [say("", READ), say(text), say("ANSWERED")], task)
    assert (last.ending, last.text, last.steps) == ("done", text, 3)
    assert run(tmp_path, [say("", READ), say(text), say("", WRITE), say("Changed.")], task)[0].ending == "done"


@pytest.mark.parametrize("text", ["Done. It is halved.", "Erledigt: der Faktor ist 0,8.", "完成。系数已改。"])
def test_a_claim_of_success_is_no_answer_of_a_turn_that_changed_nothing(text: str, tmp_path: Path) -> None:
    script = [say("", READ), say(text), say("ANSWERED")]
    assert run(tmp_path, script, "a sane factor in the cart module")[0].ending == "incomplete"


PLAIN = {
    "a greeting": ("say hello", "Hello! What can I do for you?"),
    "a word": ("thanks", "You are welcome. Anything else?"),
    "a question": ("which file holds the price", "cart.py"),
    "a verb that asks, in German": ("Erkläre mir bitte den Faktor im Warenkorb", "Er verdoppelt."),
    "a verb that asks, in Chinese": ("解释一下 cart.py 里的系数", "它把价格翻倍。"),
    "a choice": ("Is a factor or a table better here?", "A table. Shall I draft one?"),
    "a wish for no change": ("Why is it doubled? No changes please.", "The factor is 2."),
    "a question in Japanese": ("この係数は何をしていますか", "価格を倍にします。"),
    "a question in Greek": ("τι κάνει ο συντελεστής στο cart.py;", "Διπλασιάζει την τιμή."),
    "a question about a branch": ("Merge or not? (branch: fix/totals)", "Merge it: the factor is right."),
    "an explanation in Japanese that tells what the code does": (
        "カートの係数の働きを教えてほしい",
        "価格を倍にします。在庫が変わると、古い値をまとめて削除します。最後に合計を丸めます。",
    ),
}


@pytest.mark.parametrize(("task", "text"), PLAIN.values(), ids=PLAIN)
def test_a_plain_question_costs_no_request_more(task: str, text: str, tmp_path: Path) -> None:
    last, _ = run(tmp_path, [say(text)], task)
    assert (last.ending, last.steps) == ("done", 1)


def test_a_message_that_finds_nothing_to_change_needs_no_confirmation(tmp_path: Path) -> None:
    text = "No change is needed: line 2 multiplies by `n` already."
    last, _ = run(tmp_path, [say("", READ), say(text)], "Make sure that cart.py multiplies.")
    assert (last.ending, last.steps) == ("done", 2)
    assert run(tmp_path, [say("", READ), say(f"{text} Shall I test it?")], TASK)[0].ending == "incomplete"
    assert run(tmp_path, [say(text)], TASK)[0].ending == "incomplete"
    claimed = [say("", READ), say("Every total goes through one helper now. No change is needed in the tests.")]
    assert run(tmp_path, claimed, "Make sure that cart.py multiplies.")[0].ending == "incomplete"


def test_a_question_to_nobody_about_a_short_task_is_no_conversation(tmp_path: Path) -> None:
    assert run(tmp_path, [say("Mielelläni! Missä kori on?")], "lisää testit korille")[0].ending == "incomplete"


NO_CHANGE_REPORTED = {
    "English": "`cart.py` handles it since May. I changed nothing.",
    "English, a file": "No such version is published, so I left `cart.py` untouched.",
    "German": "Der Faktor stimmt schon. Ich habe nichts geändert.",
    "German, nothing needed": "Der Faktor stimmt schon. Keine Änderung nötig.",
    "French": "Le facteur est déjà juste. Aucun fichier n'a été modifié.",
    "Spanish": "Ya lo hace. No modifiqué nada.",
    "English, as it is": "Each function has a docstring, so I left the file as is.",
    "English, at the end": "There are none left. I searched `src`, so there was nothing to remove.",
    "Polish": "To już działa, więc niczego nie zmieniałem.",
    "Chinese": "系数是对的。没有改动。",
}


@pytest.mark.parametrize("text", NO_CHANGE_REPORTED.values(), ids=NO_CHANGE_REPORTED)
def test_a_message_that_says_that_nothing_was_changed_needs_no_confirmation(text: str, tmp_path: Path) -> None:
    assert (last := run(tmp_path, [say("", READ), say(text)])[0]).ending == "done"
    assert last.steps == 2
    assert run(tmp_path, [say("", READ), say(f"{text} Shall I?")])[0].ending == "incomplete"
    assert run(tmp_path, [say("", READ), say(f"Done. {text}")])[0].ending == "incomplete"
    assert run(tmp_path, [say("", READ), say(f"{text} I'll fix it now.")])[0].ending == "incomplete"


TOLD = {
    "English": "benchmark the cart and tell me the numbers",
    "French": "tu peux relire cart.py et me dire si tu vois des bugs ?",
    "Portuguese": "roda os testes e me fala se passou",
    "Russian": "посмотри ветку и скажи, можно ли мержить",
    "Japanese": "テストだけ実行して結果を教えて。",
}


@pytest.mark.parametrize("task", TOLD.values(), ids=TOLD)
def test_a_task_to_look_and_tell_is_one_for_an_answer(task: str, tmp_path: Path) -> None:
    last, _ = run(tmp_path, [say("", READ), say("12 ms.")], task)
    assert (last.ending, last.steps) == ("done", 2)
    assert run(tmp_path, [say("", READ), say("12 ms.")], f"Fix it, {task}")[0].ending == "incomplete"


def test_a_failed_check_is_the_answer_of_a_task_that_asks_to_run_it(tmp_path: Path) -> None:
    fails = call("bash", command="python -m unittest missing_test")
    last, _ = run(
        tmp_path, [say("", fails), say("57 of 58 tests pass; `carts › empty` does not.")], "run the test suite"
    )
    assert (last.ending, last.steps) == ("done", 2)


def test_a_quoted_question_is_no_question(tmp_path: Path) -> None:
    last, _ = run(tmp_path, [say("", WRITE), say('The dialog now reads: "Delete it? Continue?"')])
    assert (last.ending, last.steps) == ("done", 2)


CHECKED = call("bash", command="python -c 'import cart'")


def run_with_checkpoints(
    folder: Path, script: Sequence[Reply], task: str = TASK, *, more: Sequence[str] = ()
) -> tuple[str, int]:
    """How a turn of a session with checkpoints ended, and its requests; `more` are files like `cart.py`."""
    work, store = folder / "work", Store(folder / "sessions")
    work.mkdir(parents=True)
    for name in ("cart.py", *more):
        (work / name).write_text("def price(n):\n    return n * 2\n")
    journal = store.create(work)
    kept = store.checkpoints(journal, [work])
    session = open_session(
        work,
        script,
        mode="yolo",
        attended=False,
        journal=journal,
        changes=lambda _: lambda append: OnDemand(lambda: Changes(journal, kept, append), lambda: True),
    )
    last = ended(say_to(session, task))
    session.close()
    return last.ending, last.steps


def test_a_check_before_any_change_shows_nothing(tmp_path: Path) -> None:
    script = [say("", CHECKED), say("Replace the factor, then it will be right.")]
    assert run_with_checkpoints(tmp_path / "1", script)[0] == "incomplete"
    assert run_with_checkpoints(tmp_path / "2", [*script, say("ANSWERED")]) == ("done", 3)
    script = [say("", CHECKED), say("It imports.")]
    assert run_with_checkpoints(tmp_path / "3", script, "run an import of cart.py") == ("done", 2)


def test_a_command_that_changes_a_file_is_a_deed_whatever_its_program(tmp_path: Path) -> None:
    write = call("bash", command='python -c \'open("rates.py", "w").write("RATE = 0.8")\'')
    script = [say("", write), say("The rate has its own module.")]
    assert run_with_checkpoints(tmp_path, script) == ("done", 2)
    assert (tmp_path / "work" / "rates.py").exists()


NEVER_TOUCHED = {
    "the next file, in Swedish": ("Byt faktorn överallt", "test_cart.py är klar. Härnäst tar jag `test_tax.py`."),
    "a file of the task": ("Rename price, and delete `old.ts`", "All is in place: `old.ts` is deleted."),
    "a file of the task without its ending": (
        "Cambia el puerto en cart.py y en docker-compose",
        "Listo, también en `docker-compose.yml`.",
    ),
}


@pytest.mark.parametrize(("task", "text"), NEVER_TOUCHED.values(), ids=NEVER_TOUCHED)
def test_a_reply_after_a_change_must_settle_a_file_that_no_call_touched(task: str, text: str, tmp_path: Path) -> None:
    script = [say("", WRITE), say(text)]
    assert run_with_checkpoints(tmp_path / "1", script, task) == ("incomplete", 3)
    assert run_with_checkpoints(tmp_path / "2", [*script, say("ANSWERED")], task) == ("done", 3)
    seen = call("bash", command="ls test_tax.py old.ts docker-compose.yml; true")
    assert run_with_checkpoints(tmp_path / "3", [say("", seen), *script], task) == ("done", 3)


def test_a_file_in_a_command_of_the_reply_is_nothing_to_settle(tmp_path: Path) -> None:
    text = "`test_cart.py` has (`a`, `b`) of `rates`. Run `python tax.py`, or:\n\n```\npython bill.py\n```"
    assert run_with_checkpoints(tmp_path, [say("", WRITE), say(text)]) == ("done", 2)


@pytest.mark.parametrize(
    ("task", "how"), [("Replace `n * 2` by `rate(n)`", ("incomplete", 4)), ("The factor is wrong", ("done", 3))]
)
def test_a_file_that_a_search_for_what_the_task_names_found_is_to_settle(
    task: str, how: tuple[str, int], tmp_path: Path
) -> None:
    change = call("write", file_path="cart.py", content="def rate(n):\n    return n * 2\n")
    script = [say("", call("grep", pattern=r"n \* 2")), say("", READ), say("", change)]
    steps = [*script, say("Ahora llama a `rate`. La otra sigue igual.")]
    assert run_with_checkpoints(tmp_path / "1", steps, task, more=["tax.py"]) == (how[0], how[1] + 1)
    assert run_with_checkpoints(tmp_path / "2", [*steps, say("ANSWERED")], task, more=["tax.py"])[0] == "done"
    steps = [*script, say("", call("write", file_path="tax.py", content="\n")), say("Listo.")]
    assert run_with_checkpoints(tmp_path / "3", steps, task, more=["tax.py"])[0] == "incomplete"
    seen = [*script, say("", call("read", file_path="tax.py")), say("Ahora se llama `rate`.")]
    assert run_with_checkpoints(tmp_path / "4", seen, task, more=["tax.py"]) == ("done", 5)


SCRIPT = call("bash", command="sync")


def test_a_script_that_changed_no_file_is_a_deed_only_at_the_end(tmp_path: Path) -> None:
    task, said = "Kill the slow query in the index of the cart", "Going to add the index."
    assert run_with_checkpoints(tmp_path / "1", [say("", SCRIPT), say("The index is live.")], task) == ("done", 2)
    script = [say("", SCRIPT), say("", READ), say(said)]
    assert run_with_checkpoints(tmp_path / "2", script, task) == ("incomplete", 4)
    assert run_with_checkpoints(tmp_path / "3", [*script, say("ANSWERED")], task) == ("done", 4)
    live = [say("", SCRIPT), say("", READ), say("Done: it is live."), say("ANSWERED")]
    assert run_with_checkpoints(tmp_path / "4", live, task) == ("done", 4)


def test_a_file_listed_beside_a_changed_one_is_to_settle_if_the_reply_names_it(tmp_path: Path) -> None:
    task, listed = "Ge priserna en skatt", say("", call("bash", command="ls *.py"), READ)
    script = [listed, say("", call("write", file_path="cart.py", content="def rate(n):\n    return n\n"))]
    named = [*script, say("`cart` har en. `tax` följer samma mönster.")]
    assert run_with_checkpoints(tmp_path / "1", named, task, more=["tax.py"]) == ("incomplete", 4)
    assert run_with_checkpoints(tmp_path / "2", [*named, say("ANSWERED")], task, more=["tax.py"]) == ("done", 4)
    for n, text in enumerate(("`cart` har en.", "Priserna har tax.")):
        assert run_with_checkpoints(tmp_path / f"other {n}", [*script, say(text)], task, more=["tax.py"]) == ("done", 3)


def test_a_program_that_is_missing_never_ran(tmp_path: Path) -> None:
    script = [say("", call("bash", command="no-such-formatter .")), say("It has to be installed first.")]
    assert run(tmp_path / "1", script, "run the formatter over the whole repo")[0].ending == "incomplete"
    assert run(tmp_path / "2", [*script, say("ANSWERED")], "run the formatter over the whole repo")[0].ending == "done"


def test_a_call_in_json_after_a_text_is_one_that_nothing_ran(tmp_path: Path) -> None:
    task, text = (
        "Elenca i file grandi e aggiungili",
        'Due file:\n\n{"tool": "bash", "input": {"command": "printf \'a\n\' >> x"}}',
    )
    assert "as text" in str(run(tmp_path / "1", [say("", READ), say(text)], task)[0].error)
    other = text.replace('"bash"', '"carts"')
    assert run(tmp_path / "2", [say("", READ), say(other)], "What would the client send?")[0].ending == "done"


def test_a_confirmed_message_stays_confirmed_if_it_is_repeated(tmp_path: Path) -> None:
    fails, text = (
        call("bash", command="python -m unittest missing_test"),
        "The factor is right. All 4 tests of it pass.",
    )
    script = [say("", WRITE), say("", fails), say(text), say("ANSWERED"), say(text)]
    assert run_with_checkpoints(tmp_path, script) == ("done", 5)


def test_a_percentage_that_is_not_reached_is_left(tmp_path: Path) -> None:
    task = "Bringe die Abdeckung auf 90 %"
    below = [say("", WRITE), say("Jetzt sind es 88 % (vorher 64 %).")]
    assert run_with_checkpoints(tmp_path / "1", below, task) == ("incomplete", 3)
    assert run_with_checkpoints(tmp_path / "2", [say("", WRITE), say("Jetzt sind es 91,5 %.")], task) == ("done", 2)


def test_a_numbered_plan_is_no_answer_to_a_short_task_that_made_calls(tmp_path: Path) -> None:
    plan = "Voici :\n\n1. **Jeton** sur les routes\n2. **Limite** de débit"
    assert run(tmp_path / "1", [say("", READ), say(plan)], "Sécurise l'API")[0].ending == "incomplete"
    assert run(tmp_path / "2", [say(plan)], "bonjour")[0].ending == "done"


def test_a_folder_beside_the_changed_one_is_named_as_a_file_is(tmp_path: Path) -> None:
    change = call("write", file_path="Core.Tests/cart.cs", content="class Cart;\n")
    script = [say("", change), say("Core.Tests is converted. Moving on to Api.Tests now.")]
    assert run_with_checkpoints(tmp_path, script, "Convert all test projects") == ("incomplete", 3)


FAILING = {
    "a check": call("bash", command="python -m unittest missing_test"),
    "an edit": call("edit", file_path="test_cart.py", old_string="not there", new_string="x"),
}


@pytest.mark.parametrize("fails", FAILING.values(), ids=FAILING)
def test_what_fails_after_a_change_is_no_end(fails: ToolCall, tmp_path: Path) -> None:
    script = [say("", WRITE), say("", fails), say("El factor ya está. El siguiente paso es sustituir el resto.")]
    assert run_with_checkpoints(tmp_path / "1", script) == ("incomplete", 4)
    assert run_with_checkpoints(tmp_path / "2", [*script, say("ANSWERED")]) == ("done", 4)
    fixed = call("write", file_path="test_cart.py", content="assert 1\n")
    assert run_with_checkpoints(tmp_path / "3", [*script[:2], say("", fixed), say("Fixed.")]) == ("done", 4)


def test_a_command_that_ran_before_the_edit_too_checks_it(tmp_path: Path) -> None:
    fails = call("bash", command="python -c 'raise SystemExit(1)'")
    script = [say("", fails), say("", WRITE), say("", fails), say("The factor is right.")]
    assert run_with_checkpoints(tmp_path / "1", script) == ("incomplete", 5)
    assert run_with_checkpoints(tmp_path / "2", [*script, say("ANSWERED")]) == ("done", 5)


def test_another_command_that_fails_after_a_change_reminds_once(tmp_path: Path) -> None:
    fails = call("bash", command="python -c 'raise SystemExit(1)'")
    assert run_with_checkpoints(tmp_path, [say("", WRITE), say("", fails), say("The factor is right.")]) == ("done", 4)


OFFER = say("Fixed. Shall I open a pull request?")


def test_an_offer_after_work_that_is_shown_to_be_finished_needs_no_confirmation(tmp_path: Path) -> None:
    passes = call("bash", command="python -m compileall -q .")
    listed = call("todo", todos=[{"content": "the test", "status": "completed"}])
    assert run_with_checkpoints(tmp_path / "1", [say("", WRITE), say("", passes), OFFER]) == ("done", 3)
    assert run_with_checkpoints(tmp_path / "2", [say("", WRITE), say("", listed), OFFER]) == ("done", 3)
    assert run_with_checkpoints(tmp_path / "3", [say("", passes), say("", WRITE), OFFER]) == ("incomplete", 4)


OPEN_ENDS = {
    "a question": "The factor is right now. Shall I go on with the tests?",
    "a list with boxes": "So far:\n\n- [x] the factor\n- [ ] the test",
    "an announcement after a colon": "The factor is right. The test is next: I'll write it for zero.",
    "what is left": "The factor is right.\n\nRemaining:\n- the test",
    "what is left, in German": "Der Faktor stimmt.\n\nNoch offen:\n- der Test",
    "the rest, in English": "The factor is right. The other modules need the same.",
    "the rest, in French": "Le facteur est juste. Il reste le test.",
    "the rest, in Chinese": "系数已改。其余文件还需处理。",
    "what is left, in a sentence": "The factor is right.\n\n**Not done:** the test, which needs a table.\n\nRun it again.",
    "what remains open": "The factor is right. Issues 2 and 3 remain open.",
    "what comes next": "The factor is right. The test comes next.",
    "a sentence without a verb": "The factor is right. Moving on to the test.",
    "an announcement in Vietnamese": "Đã sửa hệ số. Tiếp theo tôi sẽ viết bài kiểm tra.",
    "an announcement in Japanese": "係数を直しました。続いてテストを書きます。",
    "half a block of code": "The test is:\n\n```python\ndef test_price():\n    assert pri",
}


def test_a_text_that_the_task_does_not_name_may_be_its_plan(tmp_path: Path) -> None:
    task, text = "Port cart.py to Rust", "The steps are in PLAN.md. Beginning with the crate."
    script = [say("", call("write", file_path="PLAN.md", content="1. A crate\n2. Its tests\n")), say(text)]
    assert run_with_checkpoints(tmp_path / "1", script, task) == ("incomplete", 3)
    assert run_with_checkpoints(tmp_path / "2", [*script, say("ANSWERED")], task) == ("done", 3)
    assert run_with_checkpoints(tmp_path / "3", script, "Plan how to port cart.py") == ("done", 2)
    assert run_with_checkpoints(tmp_path / "4", [script[0], say("Done.")], "Document cart.py") == ("done", 2)
    assert run_with_checkpoints(tmp_path / "5", [say("", WRITE), *script], task) == ("done", 3)
    for n, name in enumerate(("README.md", "carts.md")):
        written = [say("", call("write", file_path=name, content="A cart.\n")), say(f"{name} is new. It is short.")]
        assert run_with_checkpoints(tmp_path / f"{n + 6}", written, "Document the cart") == ("done", 2)
    script = [
        say("", call("write", file_path="notes/cart-design.md", content="- [ ] A crate\n")),
        say("It is there. The crate is next."),
    ]
    assert run_with_checkpoints(tmp_path / "8", script, task) == ("incomplete", 3)
    result = [say("", call("write", file_path="out.txt", content="A crate\n")), say("It is written. All is well.")]
    assert run_with_checkpoints(tmp_path / "9", result, task) == ("done", 2)


ELSE_ORDERED = {
    "after a search": "find the factor and raise its default to 3",
    "after a question": "Why is the total wrong? Round it up.",
    "in a file named by its kind": "Write a Dockerfile for the cart",
    "after a review": "Review cart.py and address the issues",
}


@pytest.mark.parametrize("task", ELSE_ORDERED.values(), ids=ELSE_ORDERED)
def test_a_question_is_no_end_of_a_task_with_another_imperative(task: str, tmp_path: Path) -> None:
    script = [say("", READ), say("There are two ways. Which one do you mean?")]
    assert run(tmp_path / "1", script, task)[0].ending == "incomplete"
    assert run(tmp_path / "2", [*script, say("ANSWERED")], task)[0].ending == "done"


def test_an_order_that_follows_a_question_in_its_sentence_is_no_answer_without_a_change(tmp_path: Path) -> None:
    script = [say("", READ), say("One issue: the price doubles.")]
    assert run(tmp_path / "1", script, "Review cart.py and address the issues")[0].ending == "incomplete"
    only = "Review cart.py and sort the issues. Do not make changes."
    assert run(tmp_path / "2", script, only)[0].steps == 2
    assert run(tmp_path / "3", [script[1]], "Review cart.py and address the issues")[0].steps == 1


NO_ORDER = {
    "a manner": "Explain the factor. Keep it brief.",
    "a question with an imperative": "How do I round the total and raise the factor?",
    "a statement": "The total looks odd. Why?",
}


@pytest.mark.parametrize("task", NO_ORDER.values(), ids=NO_ORDER)
def test_an_answer_to_a_question_costs_no_request_whatever_else_the_task_says(task: str, tmp_path: Path) -> None:
    last, _ = run(tmp_path, [say("", READ), say("It doubles the price.")], task)
    assert (last.ending, last.steps) == ("done", 2)


def test_json_that_calls_a_tool_of_another_program_is_a_call_that_nothing_ran(tmp_path: Path) -> None:
    text = '```json\n{"action": "run_and_save", "action_input": {"cmd": "date"}}\n```'
    assert "as text" in str(run(tmp_path / "1", [say(text)], "list the files and save them")[0].error)
    assert run(tmp_path / "2", [say(text)], "What JSON has action_input?")[0].ending == "done"
    assert (
        run(tmp_path / "3", [say('{"name": "carts", "params": {"n": 2}}')], "Which package is it?")[0].ending == "done"
    )


def test_an_offer_and_an_idea_for_later_announce_nothing(tmp_path: Path) -> None:
    offer = "계수를 고쳤습니다. 원하시면 테스트도 추가해 드리겠습니다."
    idea = "係数を直しました。今後はログに ID を含めると追跡しやすくなります。"
    assert run(tmp_path / "1", [say("", WRITE), say(offer)])[0].steps == 2
    assert run(tmp_path / "2", [say("", WRITE), say(idea)])[0].steps == 2


def test_an_element_named_as_a_tool_is_a_call_that_nothing_ran(tmp_path: Path) -> None:
    text = 'The page comes first.\n\n<write_page path="403.html">\n<h1>No</h1>\n</write_page>'
    assert run(tmp_path, [say("", READ), say(text)], "show a 403 page")[0].ending == "incomplete"
    assert run(tmp_path, [say("", READ), say(f"It is:\n\n```\n{text}\n```")], "show a 403 page")[0].ending == "done"


@pytest.mark.parametrize("text", OPEN_ENDS.values(), ids=OPEN_ENDS)
def test_a_part_of_the_work_is_no_end_if_the_message_leaves_the_rest_open(text: str, tmp_path: Path) -> None:
    last, _ = run(tmp_path / "1", [say("", WRITE), say(text)])
    assert (last.ending, last.steps) == ("incomplete", 3)
    again = [say("", WRITE), say(text), say("", CHECK), say("All is there.")]
    assert run(tmp_path / "2", again)[0].ending == "done"


NOTHING_OPEN = {
    "none": "The factor is right. No remaining call is wrong.",
    "a name": "The factor is right while `len(remaining)` is 2.",
    "no work": "The factor is right, and there is nothing left to do.",
    "a place": "The factor is next to the total.",
}


@pytest.mark.parametrize("text", NOTHING_OPEN.values(), ids=NOTHING_OPEN)
def test_a_word_for_what_is_left_may_say_that_nothing_is(text: str, tmp_path: Path) -> None:
    assert run(tmp_path, [say("", WRITE), say(text)])[0].steps == 2


def test_what_remains_after_git_without_a_changed_file_is_not_of_the_task(tmp_path: Path) -> None:
    task, said = "make it a repository", say("Done. The remaining files were there before.")
    made = say("", call("bash", command="git init -q"))
    assert run_with_checkpoints(tmp_path / "1", [made, said], task) == ("done", 2)
    assert run_with_checkpoints(tmp_path / "2", [say("", WRITE), made, said], task)[0] == "incomplete"
    moved = say("", call("bash", command="git init -q && git add . && git mv cart.py carts.py"))
    assert run_with_checkpoints(tmp_path / "3", [moved, said], task)[0] == "incomplete"


def test_a_question_after_the_answer_to_a_question_is_an_offer_whatever_the_turn_did(tmp_path: Path) -> None:
    script = [say("", WRITE), say("It doubles, as the new test shows. Shall I halve it?")]
    assert run(tmp_path / "1", script, "Why is the total in cart.py wrong?")[0].steps == 2
    assert run(tmp_path / "2", script, "Why is the total in cart.py wrong? Fix it.")[0].ending == "incomplete"


FETCH = call("bash", command="python fetch.py")
REPORTS = {
    "English": ("The rates could not be fetched: the host refuses the connection.", "done"),
    "Chinese": ("没能下载：端口 4873 没有响应。", "done"),
    "Japanese, by its status": ("サーバーが 403 を返しました。", "done"),
    "not named": ("The rates come from the server now.", "incomplete"),
    "named by the task only": ("rates.example serves the tables now.", "incomplete"),
    "a question": ("The connection was refused. Shall I try another host?", "incomplete"),
    "a success": ("Done: the connection works.", "incomplete"),
}


@pytest.mark.parametrize(("text", "ending"), REPORTS.values(), ids=REPORTS)
def test_a_server_out_of_reach_explains_why_nothing_changed_if_the_message_names_its_error(
    text: str, ending: str, tmp_path: Path
) -> None:
    error = "connect to rates.example port 4873: Connection refused (403)"
    (tmp_path / "fetch.py").write_text(f"raise SystemExit({error!r})\n")
    script = [say("", FETCH), say(text)]
    assert run(tmp_path, script, "Update rates.json from rates.example and wire the tables")[0].ending == ending


@pytest.mark.parametrize("error", ["unexpected character in line 4873", "localhost:4873: Connection refused"])
def test_an_error_that_can_be_mended_here_explains_no_unchanged_task(error: str, tmp_path: Path) -> None:
    (tmp_path / "fetch.py").write_text(f"raise SystemExit({error!r})\n")
    script = [say("", FETCH), say(f"It ends with: {error}.")]
    assert run(tmp_path, script, "Update rates.json with fetch.py")[0].ending == "incomplete"


def test_a_script_without_spaces_has_words(tmp_path: Path) -> None:
    script = [say("", READ), say("เดี๋ยวจะเพิ่มปุ่มให้ครับ")]
    assert run(tmp_path / "1", script, "เพิ่มปุ่มออกจากระบบในเมนู")[0].ending == "incomplete"
    assert run(tmp_path / "2", [say("สวัสดีครับ")], "สวัสดีครับ")[0].steps == 1


def test_progress_clears_the_count_so_that_a_later_promise_is_reminded_again(tmp_path: Path) -> None:
    script = [say("Let me look."), say("", READ), say("", LOOK), say("Let me fix it."), say("", WRITE), say("Fixed.")]
    last, _ = run(tmp_path, script)
    assert (last.ending, last.steps) == ("done", 6)


def test_a_model_that_only_reads_and_promises_is_not_reminded_for_ever(tmp_path: Path) -> None:
    script = [
        each
        for n in range(20)
        for each in (say("", call("bash", command=f"ls -{'a' * n}l")), say("Next I will fix it."))
    ]
    last, _ = run(tmp_path, script)
    assert (last.ending, last.steps < 20) == ("incomplete", True)


def test_a_denial_explains_why_nothing_changed(tmp_path: Path) -> None:
    session = open_session(tmp_path, [say("", WRITE), say("I may not write here.")], mode="ask", attended=False)
    assert ended(say_to(session, TASK)).ending == "done"
    assert [result.status for result in results(session)] == ["denied"]


def test_a_reading_command_is_no_deed_even_if_a_rule_allows_all_commands(tmp_path: Path) -> None:
    script = [say("", LOOK), say("Done. The discount is fixed.")]
    session = open_session(tmp_path, script, mode="ask", attended=False, rules=parse_rules(allow=["bash"]))
    assert ended(say_to(session, TASK)).ending == "incomplete"


def test_an_edit_that_leaves_its_file_as_it_was_is_no_deed(tmp_path: Path) -> None:
    same = call("write", file_path="cart.py", content="def price(n):\n    return n * 2\n")
    assert run(tmp_path, [say("", READ), say("", same), say("Done.")])[0].ending == "incomplete"


def test_a_plan_before_a_list_is_an_announcement_even_if_nothing_was_ordered(tmp_path: Path) -> None:
    script = [say("", READ), say("The factor is wrong. I need to:\n\n1. Halve it\n2. Add a test")]
    assert run(tmp_path, script, "The total is wrong.")[0].ending == "incomplete"
    script = [say("", READ), say("It is wrong. Want me to mend it? I'll start with:\n\n1. The factor")]
    assert run(tmp_path, script, "Why is the total wrong?")[0].ending == "done"


NOBODY = {
    "English": ("Cart totals look odd; modernise cart.py.", "Shall I begin?"),
    "Catalan": ("Corregeix el descompte a cart.py.", "El factor és incorrecte. Vols que el canviï?"),
    "Bulgarian": ("Поправи отстъпката в cart.py.", "Множителят е грешен. Да го сменя ли?"),
    "Bengali": ("cart.py-তে ছাড় ঠিক করো।", "গুণক ভুল। আমি কি বদলাব?"),
}


@pytest.mark.parametrize(("task", "text"), NOBODY.values(), ids=NOBODY)
def test_a_question_to_nobody_is_reminded_whatever_the_language_of_the_task(
    task: str, text: str, tmp_path: Path
) -> None:
    last, _ = run(tmp_path, [say("", READ), say(text)], task)
    assert (last.ending, "asks only for an answer" in str(last.error)) == ("incomplete", True)
    last, _ = run(tmp_path, [say("", READ), say(text), say("ANSWERED")], task)
    assert (last.ending, last.steps) == ("done", 3)


def test_an_answer_to_a_question_may_end_with_an_offer(tmp_path: Path) -> None:
    last, _ = run(tmp_path, [say("", READ), say("It doubles. Shall I go on?")], "Explain cart.py.")
    assert (last.ending, last.steps) == ("done", 2)


def test_the_answer_is_the_message_before_the_one_that_confirms_it(tmp_path: Path) -> None:
    script = [say("", READ), say("Elle double le prix."), say("**ANSWERED**")]
    last, _ = run(tmp_path, script, "Fais un résumé de cart.py en une phrase.")
    assert (last.ending, last.text) == ("done", "Elle double le prix.")
    script[-1] = say("ANSWERED: elle double.")
    assert run(tmp_path, script, "Fais un résumé de cart.py en une phrase.")[0].text == "elle double."
    script[1:] = [say("ANSWERED")]
    assert run(tmp_path, script, "Corrige cart.py.")[0].ending == "incomplete"
    assert run(tmp_path, [say("", READ), say("Done."), say("ANSWERED")], TASK)[0].ending == "incomplete"


def test_in_plan_mode_a_plan_is_the_result(tmp_path: Path) -> None:
    session = open_session(tmp_path, [say("Plan:\n1. Halve the factor")], mode="plan", attended=False)
    assert ended(say_to(session, TASK)).ending == "done"


def test_the_reminder_says_how_to_end_if_nothing_has_to_change(tmp_path: Path) -> None:
    session = open_session(tmp_path, [say("It is fine.")], mode="yolo", attended=False)
    say_to(session, TASK)
    said = "".join(part.text for each in messages(session) for part in each.parts if isinstance(part, Text))
    assert "If nothing has to change, run what shows it" in said


@pytest.mark.parametrize("text", ["Half is done. Should I go on?", "还要补测试吗？", "**Soll ich weitermachen?**"])
def test_a_question_after_work_is_answered_once_without_a_person(text: str, tmp_path: Path) -> None:
    script = [say("", WRITE), say(text), say("", CHECK), say("Done. Anything else?")]
    last, _ = run(tmp_path, script)
    assert (last.ending, last.steps, last.text) == ("done", 4, "Done. Anything else?")
    assert run(tmp_path, script, attended=True)[0].steps == 2


def test_a_task_that_asks_for_an_answer_in_english_compiles_no_other_languages_orders() -> None:
    program = (
        "import re\n"
        "compiled, compile_one = [], re.compile\n"
        "re.compile = lambda pattern, flags=0: compiled.append(str(pattern)) or compile_one(pattern, flags)\n"
        "from agentcli.agent.ending import Deeds, undone\n"
        "assert not list(undone('hello', Deeds(), 'Say hello', alone=True))\n"
        "assert not [pattern for pattern in compiled if 'behebe' in pattern]\n"
        "assert list(undone('hello', Deeds(), 'Behebe den Fehler', alone=True))\n"
        "assert [pattern for pattern in compiled if 'behebe' in pattern]\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(__file__).parents[2])
