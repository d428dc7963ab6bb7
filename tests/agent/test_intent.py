"""Intent of texts."""

from __future__ import annotations

from agentcli.agent.intent import announces, orders_change, unclear, wants_answer
from tests.tables import each_row


@each_row(
    "text",
    [
        "Der Faktor stimmt. Ich werde die Tests schreiben.",
        "Le facteur est corrigé. **Je vais** écrire les tests.",
        "1. Déjame ver el archivo.",
        "Vou escrever os testes.",
        "Scriverò i test.",
        "Nu schrijf ik de tests.",
        "Teraz napiszę testy.",
        "Теперь напишу тесты.",
        "ŞİMDİ testleri yazıyorum",
        "现在我来写测试。",
        "次にテストを書きます。",
        "이제 테스트를 작성하겠습니다.",
        "Тепер напишу тести.",
        "الآن سأكتب الاختبارات",
        "अब मैं टेस्ट लिखूंगा",
    ],
)
def test_an_announcement_is_known_in_every_language(text: str) -> None:
    assert announces(text)


@each_row("text", ["Done.", "The class has a rich echo.", "Pandora is fixed.", "Les tests passent."])
def test_a_statement_announces_nothing(text: str) -> None:
    assert not announces(text)


@each_row(
    "task",
    [
        "How does it choose the pager? Summarise what changed about it. Change nothing.",
        "Explain the parser. Please change no files yet.",
        "Erkläre den Parser. Ändere nichts.",
    ],
)
def test_an_order_to_change_nothing_makes_a_task_a_question(task: str) -> None:
    assert wants_answer(task)
    assert not orders_change(task)
    assert not unclear("It reads PAGER.", task, called=True, ran=True)


@each_row(
    "task",
    [
        "Fix the total. Change nothing else.",
        "Fix `total`, which returns nothing.",
        "Add --dry-run: with it, change nothing.",
    ],
)
def test_an_order_that_speaks_of_nothing_is_still_an_order(task: str) -> None:
    assert orders_change(task)
