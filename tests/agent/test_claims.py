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
        ("Die Tests des Moduls laufen durch.", {"tests"}),
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
        ("Updated the test to pass the agent type.", set()),
        ("This lets tests pass a no-op delay.", set()),
        ("52 sequences pass to the terminal.", set()),
        ("The template is a clean slate for your tests.", set()),
        ("Added a green button to both test clients successfully.", set()),
        ("I added `make clean` and `make test`.", set()),
        ("There is no test where it succeeds.", set()),
        ("It parses at build time without errors.", set()),
        ("Other checks were already green: tests, licenses.", set()),
        ("Every one of the seven passes `go test ./...`.", {"tests"}),
        ("The suite passes (with an empty config, because failing hooks disturb it).", {"tests"}),
        ("The PR is up, all checks green locally.", {"checks"}),
        ("The license check passed.", {"verified"}),
        ("All 8 test cases pass.", {"tests"}),
        ("- `pnpm --filter api test` ✅ (6/6)", {"tests"}),
        ("He said “Open it.” All tests pass.", {"tests"}),
        ("Tests pass · 0 markers remaining", {"tests"}),
        ("No errors and all tests pass.", {"tests"}),
        ("All tests continue to pass.", {"tests"}),
        ("Sorted the keys to pass lint.", set()),
        ("| `golangci-lint run` | `0 issues.` |", {"lint"}),
        ("Die Tests bestehen noch nicht.", set()),
        ("测试没有通过。", set()),
    ],
)
def test_a_claim_is_a_clause_that_says_that_something_holds(text: str, kinds: set[str]) -> None:
    assert claims(text) == kinds
