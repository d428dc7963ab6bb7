"""Claims of a final message that a run can prove."""

from __future__ import annotations

from agentcli.agent.claims import claims
from tests.tables import each_row


@each_row(
    ("text", "kinds"),
    [
        ("All tests pass.", {"tests"}),
        ("All 14 tests pass, lint is clean and the build succeeds.", {"tests", "lint", "build"}),
        ("- **Tests:** 1274 pass, 0 fail. Lint: clean.", {"tests", "lint"}),
        ("✅ Tests: ✓ | Lint ✓", {"tests", "lint"}),
        ("Type checking passed.", {"lint"}),
        ("It is fixed now.", {"fixed"}),
        ("I verified it with the browser.", {"verified"}),
        ("All checks pass.", {"checks"}),
        ("Alle Tests bestehen, und der Build läuft ohne Fehler.", {"tests", "build"}),
        ("Todas las pruebas pasan.", {"tests"}),
        ("Tous les tests passent.", {"tests"}),
        ("Все тесты проходят.", {"tests"}),
        ("所有测试都通过了。", {"tests"}),
        ("すべてのテストが通りました。", {"tests"}),
        ("모든 테스트가 통과했습니다.", {"tests"}),
        ("The tests do not pass yet.", set()),
        ("2 tests fail, the others pass.", set()),
        ("The tests should pass now.", set()),
        ("Run `pytest` to see whether the tests pass.", set()),
        ("I added tests for the cart.", set()),
        ("Do all tests pass?", set()),
        ("CI is green for the tests.", set()),
        ("```\n14 tests passed\n```", set()),
        ("Die Tests bestehen noch nicht.", set()),
        ("测试没有通过。", set()),
    ],
)
def test_a_claim_is_a_clause_that_says_that_something_holds(text: str, kinds: set[str]) -> None:
    assert claims(text) == kinds
