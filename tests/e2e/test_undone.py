"""Unattended runs whose model leaves the task undone end with 1 in six languages and on all wires; an answer ends with 0."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path

import pytest

from agentcli.providers.scripted.model import Reply, call, say
from tests.agent.test_ending import UNDONE
from tests.agent.test_written_calls import FORMS
from tests.e2e.program import Program, Ran
from tests.loopback import Loopback

WIRES = {
    "anthropic": ("-m", "anthropic/claude-haiku-5-5"),
    "google": ("-m", "google/gemini-3.8-flash"),
    "responses": ("-m", "openai/gpt-6-mini"),
    "chat": ("-m", "local/some-model"),
}
TASKS = {
    "English": "Fix the discount in cart.py and add a test.",
    "German": "Behebe den Rabatt in cart.py und ergänze einen Test.",
    "Spanish": "Arregla el descuento en cart.py y añade una prueba.",
    "Russian": "Исправь скидку в cart.py и добавь тест.",
    "Chinese": "修复 cart.py 里的折扣，并添加一个测试。",
    "Japanese": "cart.py の割引を修正し、テストを追加してください。",
}
ENDINGS: dict[str, Sequence[str]] = {
    "a promise": (
        "I'll fix the discount now.",
        "Ich behebe den Rabatt jetzt.",
        "Ahora voy a corregir el descuento.",
        "Сейчас исправлю скидку.",
        "我现在来修复折扣。",
        "これから割引を修正します。",
    ),
    "a question": (
        "Should I change it to 0.21?",
        "Soll ich den Faktor auf 0,21 ändern?",
        "¿Quieres que lo cambie a 0,21?",
        "Изменить его на 0,21?",
        "要我把它改成 0.21 吗？",
        "0.21 に変えましょうか？",
    ),
    "a choice": (
        "There are two ways: a factor or a table. Which do you prefer?",
        "Es gibt zwei Wege: einen Faktor oder eine Tabelle. Was ist dir lieber?",
        "Hay dos caminos: un factor o una tabla. ¿Cuál prefieres?",
        "Есть два пути: множитель или таблица. Какой выбрать?",
        "有两种办法：系数或表格。你选哪一种？",
        "方法は二つあります。係数か表か、どちらにしますか？",
    ),
    "a plan": (
        "Plan:\n1. Change the factor\n2. Add a test",
        "Plan:\n1. Den Faktor ändern\n2. Einen Test ergänzen",
        "Plan:\n1. Cambiar el factor\n2. Añadir una prueba",
        "План:\n1. Изменить множитель\n2. Добавить тест",
        "计划：\n1. 修改系数\n2. 添加测试",
        "計画：\n1. 係数を変える\n2. テストを足す",
    ),
    "an offer": (
        "The factor is wrong. I can change it if you like.",
        "Der Faktor ist falsch. Ich kann ihn ändern, wenn du magst.",
        "El factor está mal. Puedo cambiarlo si quieres.",
        "Множитель неверный. Могу исправить, если хотите.",
        "系数不对。如果需要，我可以修改。",
        "係数が違います。よければ直せます。",
    ),
    "a diagnosis": (
        "The factor is 2 where it should be 0.8.",
        "Der Faktor ist 2, richtig wäre 0,8.",
        "El factor es 2 y debería ser 0,8.",
        "Множитель равен 2, а должен быть 0,8.",
        "系数是 2，应该是 0.8。",
        "係数は 2 ですが、正しくは 0.8 です。",
    ),
    "a false success": (
        "Done. The discount is fixed.",
        "Fertig. Der Rabatt stimmt jetzt.",
        "Listo. El descuento está corregido.",
        "Готово. Скидка исправлена.",
        "完成。折扣已修复。",
        "完了しました。割引を直しました。",
    ),
    "a false report": (
        "All 14 tests pass now.",
        "Alle 14 Tests bestehen.",
        "Las 14 pruebas pasan.",
        "Все 14 тестов проходят.",
        "14 个测试全部通过。",
        "14 件のテストがすべて通りました。",
    ),
    "a colon": (
        "Here is the change:",
        "Hier ist die Änderung:",
        "Este es el cambio:",
        "Вот изменение:",
        "修改如下：",
        "変更は次のとおりです：",
    ),
    "a request for leave": (
        "Please confirm, then I go on.",
        "Bitte bestätige, dann mache ich weiter.",
        "Por favor confirma y continúo.",
        "Подтвердите, и я продолжу.",
        "请确认，然后我继续。",
        "確認していただければ続けます。",
    ),
}  # fmt: skip


def run(folder: Path, wire: str, task: str, replies: Callable[[int], Reply]) -> int:
    """Return the exit code of an unattended run whose model gives these replies, by their number."""
    folder.mkdir()
    program = Program(folder)
    (program.work / "cart.py").write_text("def price(n):\n    return n * 2\n")

    numbers = count()
    with Loopback(lambda _: replies(next(numbers)), strict=False) as server:
        program.more = server.env
        local = f'kind = "openai"\nwire = "chat"\nbase_url = "{server.url}/v1"\napi_key_env = "OPENAI_API_KEY"'
        program.config(f"[agent]\ntitles = false\n[providers.local]\n{local}\n")
        ran = program.run("-p", task, *WIRES[wire], "--mode", "yolo")
        assert server.requests, ran.err
    return ran.code


READ = call("read", file_path="cart.py")
WRITE = call("write", file_path="test_cart.py", content="assert True\n")


def scripted(*replies: Reply) -> Callable[[int], Reply]:
    return lambda number: replies[min(number, len(replies) - 1)]


def undone(text: str) -> Callable[[int], Reply]:
    return scripted(say("", READ), say(text))


def sixty() -> Iterator[tuple[str, str, str, str]]:
    """Yield each ending with a wire, the languages turning so that each kind meets each wire."""
    for row, (kind, texts) in enumerate(ENDINGS.items()):
        for column, (language, text) in enumerate(zip(TASKS, texts, strict=True)):
            yield kind, language, text, list(WIRES)[(row + column) % len(WIRES)]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_sixty_undone_ends_in_six_languages_never_exit_with_0(tmp_path: Path) -> None:
    rows = list(sixty())
    codes = {
        (kind, language): run(tmp_path / f"{at}", wire, TASKS[language], undone(text))
        for at, (kind, language, text, wire) in enumerate(rows)
    }
    assert len(codes) == 60
    assert {key: code for key, code in codes.items() if code != 1} == {}


@pytest.mark.slow
@pytest.mark.parametrize("wire", WIRES)
def test_each_end_is_judged_alike_on_each_wire(wire: str, tmp_path: Path) -> None:
    codes = {
        name: run(tmp_path / f"{at}", wire, TASKS["English"], undone(text))
        for at, (name, text) in enumerate(UNDONE.items())
    }
    assert {name: code for name, code in codes.items() if code != 1} == {}


@pytest.mark.slow
@pytest.mark.parametrize("wire", WIRES)
def test_calls_written_as_text_are_run_on_each_wire(wire: str, tmp_path: Path) -> None:
    codes = {}
    for at, (name, text) in enumerate(FORMS.items()):
        written = say(text.replace("a.txt", "cart.py"))
        replies = scripted(written, say("", WRITE), say("The test is there."))
        codes[name] = run(tmp_path / f"{at}", wire, TASKS["English"], replies)
    assert {name: code for name, code in codes.items() if code != 0} == {}


@pytest.mark.full
def test_one_end_of_each_kind_never_exits_with_0(tmp_path: Path) -> None:
    texts = list(ENDINGS.values())[:: len(ENDINGS) // 4]
    codes = [
        run(tmp_path / f"{at}", wire, TASKS["German"], undone(texts[at % len(texts)][1]))
        for at, wire in enumerate(WIRES)
    ]
    assert codes == [1] * len(WIRES)


def test_an_answer_in_any_language_is_the_result_if_the_model_confirms_it(tmp_path: Path) -> None:
    program, answer = Program(tmp_path), "Elle double le prix."
    (program.work / "cart.py").write_text("def price(n):\n    return n * 2\n")

    def ran(*last: str, form: str) -> Ran:
        replies = [{"calls": [{"name": "read", "input": {"file_path": "cart.py"}}]}, *({"text": text} for text in last)]
        (program.base / "script.json").write_text(json.dumps({"replies": replies}))
        return program.run(
            "-p", "Fais un résumé de cart.py en une phrase.", "-m", f"script:{program.base}/script.json", "-o", form
        )

    confirmed = ran(answer, "ANSWERED", form="json")
    assert (confirmed.code, confirmed.result["text"], confirmed.result["turns"]) == (0, answer, 3)
    assert ran(answer, "ANSWERED", form="text").out == f"{answer}\n"
    result = ran(answer, "Voilà.", form="json").result
    assert (result["exit_code"], result["subtype"], result["text"]) == (1, "incomplete", "Voilà.")
