"""Receipts: what a final message claims, what the calls of its session show, and what comes of a difference."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agentcli.agent.ports import Prompt
from agentcli.agent.proof import Step, examines
from agentcli.agent.receipts import receipt, steps
from agentcli.core.event import Noticed, TurnEnded
from agentcli.core.message import Message, Text, ToolCall, ToolResult, reminder
from agentcli.core.record import Compaction, Record
from agentcli.providers.scripted.model import Reply, call, say
from agentcli.tools.bash import BASH
from agentcli.tools.edit import EDIT as EDIT_TOOL
from agentcli.tools.grep import GREP
from agentcli.tools.jobs import BASH_OUTPUT
from agentcli.tools.read import READ
from agentcli.tools.write import WRITE as WRITE_TOOL
from tests.agent.open_session import ended, messages, open_session, say_to
from tests.tables import each_row

EDIT = Step(edited="src/cart.py")
DOCS = Step(edited="README.md")
GREEN = Step("pytest -q", 0, "14 passed in 0.1s")
RED = Step("pytest -q", 1, "1 failed, 13 passed in 0.1s")
TS = Step(edited="src/cart.ts")
NPM = Step("npm test", 0, "> shop@1.0.0 test\n> xo && ava\n\n5 tests passed")


LINT = Step("npm run lint", 0, "83 files checked")


@each_row(
    ("text", "steps", "verified", "line"),
    [
        ("`npm run lint` 로 확인을 끝냈습니다.", [LINT, TS], None, "! npm run lint did not run since src/cart.ts changed: ask for a run"),
        ("Chạy `npm run lint` xong.", [LINT, TS], None, "! npm run lint did not run since src/cart.ts changed: ask for a run"),
        ("Chạy `npm run lint` xong.", [LINT, TS, Step("python cart.py", 0)], None, "! npm run lint did not run since src/cart.ts changed: ask for a run"),
        ("Kiểm tra 83 tệp.", [LINT, TS], None, "! npm run lint did not run since src/cart.ts changed: ask for a run"),
        ("Lint | 5 s", [LINT, TS], None, "! npm run lint did not run since src/cart.ts changed: ask for a run"),
        ("Running fine under pytest.", [GREEN, EDIT], None, "! pytest -q did not run since src/cart.py changed: ask for a run"),
        ("Running fine under pytest.", [EDIT, RED], None, "! The last run (pytest -q) failed: ask for a fix"),
        ("Chạy `npm run lint` xong.", [TS, Step("npm run lint 2>&1 | tail -1", 0, "", (2, 0))], None, "! The last run (npm run lint) failed: ask for a fix"),
        ("Chạy `npm run lint` xong.", [TS, LINT], None, ""),
        ("Chạy `npm run lint` xong.", [LINT, DOCS], None, ""),
        ("Chạy `npm run lint` xong.", [TS, LINT, Step("person", None, "Xong?"), Step("npm run lint", 1)], None, ""),
        ("`npm run lint` was not run again.", [LINT, TS, Step("python cart.py", 0)], None, ""),
        ("Running under pytest: 127.", [EDIT, Step("pytest -q", 127)], None, ""),
        ("`pytest -q`: `NameError: name 'discount' comes later`.", [EDIT, Step("pytest -q", 1, "NameError: name 'discount' is not defined")], None, ""),
        ("`pytest -q` 12 s.", [EDIT, Step("pytest -q", 1, "NameError: name 'discount' is not defined")], None, "! The last run (pytest -q) failed: ask for a fix"),
        ("`utils.go` is new.", [EDIT, Step("go test ./...", 1)], None, ""),
        ("Run `pytest -q` before you merge.", [GREEN, EDIT, Step("python cart.py", 0)], None, ""),
        ("- `check`: compares the totals.", [TS, Step("./cart.sh check", 0), Step(edited="cart.sh"), Step("./cart.sh", 0)], None, ""),
        ("Done.", [RED, EDIT], None, "! pytest -q did not run since src/cart.py changed: ask for a run"),
        ("Done.", [EDIT, RED], None, ""),
        ("Done.", [EDIT], None, ""),
    ],
)  # fmt: skip
def test_a_check_that_a_message_names_is_no_older_than_the_last_edit(
    text: str, steps: Sequence[Step], verified: bool | None, line: str
) -> None:
    found = receipt(text, steps)
    assert (found.verified, found.line, bool(found.claim)) == (verified, line, verified is False)


@each_row(
    ("text", "steps", "verified", "line"),
    [
        ("All tests pass.", [EDIT, GREEN], True, "Tests: 14 passed, after the last edit"),
        ("All tests pass.", [GREEN, EDIT], False, "! Says the tests pass; none ran since src/cart.py changed: ask for a run"),
        ("All tests pass.", [GREEN, EDIT, GREEN, DOCS], True, "Tests: 14 passed, after the last edit"),
        ("All tests pass.", [EDIT, RED], False, "! Says the tests pass; the last run (pytest -q) failed: ask for a fix"),
        ("All tests pass.", [EDIT, RED, GREEN], True, "Tests: 14 passed, after the last edit"),
        ("All tests pass.", [], False, "! Says the tests pass; none ran in this session: ask for a run"),
        ("All tests pass.", [EDIT, Step("pytest | tail -3", 0, "sh: pytest: command not found", (127, 0))], False, "! Says the tests pass; the last run (pytest) failed: ask for a fix"),
        ("All tests pass.", [EDIT, Step("pytest | tail -1", 0, "14 passed", (0, 0))], True, "Tests: 14 passed, after the last edit"),
        ("All tests pass.", [EDIT, Step("pytest || true", 0, "1 failed, 2 passed")], False, "! Says the tests pass; the last run (pytest) failed: ask for a fix"),
        ("All tests pass.", [EDIT, Step("pytest; echo done", 0, "sh: pytest: command not found\ndone")], False, "! Says the tests pass; the last run (pytest) failed: ask for a fix"),
        ("All tests pass.", [EDIT, Step("pytest", 0, "collected 0 items")], False, "! Says the tests pass; the last run (pytest) did not show it: ask for a run that does"),
        ("All tests pass.", [EDIT, Step("cat > a.py <<'E'\npytest\nE", 0)], False, "! Says the tests pass; none ran since a.py changed: ask for a run"),
        ("All tests pass.", [EDIT, Step("pytest && sed -i s/a/b/ src/x.py", 0, "3 passed")], False, "! Says the tests pass; none ran since src/x.py changed: ask for a run"),
        ("All tests pass.", [EDIT, Step("git commit -m x", 0, "husky\n 3 pass\n 0 fail")], True, "Tests: 3 passed, after the last edit"),
        ("All tests pass.", [EDIT, Step(output="All tests pass.", told=True)], True, "Tests: as reported, after the last edit"),
        ("Lint is clean.", [EDIT, GREEN], False, "! Says lint is clean; nothing showed it since src/cart.py changed: ask for a run"),
        ("Fixed.", [EDIT], None, "! Says that it is fixed; nothing ran since src/cart.py changed: ask for proof"),
        ("Fixed.", [EDIT, Step("python cart.py", 0)], True, ""),
        ("Verified.", [EDIT, Step(ran=False)], False, "! Says that it was verified; nothing ran since src/cart.py changed: ask for proof"),
        ("`golangci-lint run` — all clean.", [EDIT], False, "! Says lint is clean; nothing showed it since src/cart.py changed: ask for a run"),
        ("Lint is clean.", [EDIT, Step("go vet ./... ; go test ./x | tail -3", 0, "FAIL\nFAIL x 0.1s")], False, "! Says lint is clean; the last run (go vet ./...) did not show it: ask for a run that does"),
        ("All tests pass, and the PR is updated.", [EDIT], False, "! Says the tests pass; none ran since src/cart.py changed: ask for a run"),
        ("Once you merge, all tests pass.", [EDIT], None, ""),
        ("No new lint errors (all pre-existing).", [EDIT, Step("ruff check", 1)], True, "Lint: failed, as the message says, after the last edit"),
        ("No new lint errors (all pre-existing).", [EDIT], False, "! Says lint is clean; nothing showed it since src/cart.py changed: ask for a run"),
        ("All tests pass. Existing type errors remain.", [EDIT, RED], False, "! Says the tests pass; the last run (pytest -q) failed: ask for a fix"),
        ("Lint is clean.", [EDIT, Step("mise ci | tail -9", 0, "[test] \n[test]  877 pass\n[test]  0 fail\nFinished in 1.6s")], True, "Lint: passed, after the last edit"),
        ("All tests pass.", [EDIT, GREEN, Step(edited=".env.local")], True, "Tests: 14 passed, after the last edit"),
        ("3/4 tests passed.", [EDIT], None, ""),
        ("> Round the cart\n\nAll tests pass.", [EDIT], False, "! Says the tests pass; none ran since src/cart.py changed: ask for a run"),
        ("`go test ./...` passes.", [EDIT], False, "! Says the tests pass; none ran since src/cart.py changed: ask for a run"),
        ("- Tests — also passed", [EDIT], False, "! Says the tests pass; none ran since src/cart.py changed: ask for a run"),
        ("The build passes.", [EDIT, Step("go build", 0), Step("go test ./x", 1, "FAIL x 0.1s")], True, "Build: passed, after the last edit"),
        ("All tests pass.", [EDIT, GREEN, Step("cd /tmp/x && echo > a.json", 0)], True, "Tests: 14 passed, after the last edit"),
        ("All tests pass.", [EDIT, GREEN, Step(edited="src/cart.py", comments_only=True)], True, "Tests: 14 passed, after the last edit"),
        ("Lint is clean.", [EDIT, Step("ruff check", 0), Step(edited="a.py", comments_only=True)], False, "! Says lint is clean; nothing showed it since a.py changed: ask for a run"),
        ("Lint is clean.", [EDIT, Step("cargo clippy", 0), Step(edited="tool.py")], True, "Lint: passed, after the last edit"),
        ("Lint is clean.", [EDIT, Step("make lint", 0), Step(edited="tool.py")], False, "! Says lint is clean; nothing showed it since tool.py changed: ask for a run"),
        ("All tests pass.", [EDIT, GREEN, Step(edited="plan/1.md"), Step(edited="plan/status.yaml")], True, "Tests: 14 passed, after the last edit"),
        ("All tests pass.", [Step(edited="src/a.md"), EDIT, GREEN, Step(edited="src/data.yaml")], False, "! Says the tests pass; none ran since src/data.yaml changed: ask for a run"),
        ("All tests pass.", [EDIT, Step("gh pr checks 7 | head", 0, "test (linux)\tpending\t0")], False, "! Says the tests pass; the last run (gh pr checks 7) did not show it: ask for a run that does"),
        ("All tests pass.", [EDIT, Step("go test ./... | grep FAIL; echo 'no FAIL above'", 0, "no FAIL above")], True, "Tests: passed, after the last edit"),
        ("The build passes.", [EDIT, Step("go build | head; echo '== run'; ./tool | head", 0, "== run\nError: no terminal")], True, "Build: passed, after the last edit"),
        ("Lint is clean.", [EDIT, Step("ruff check | tail -1; go test | grep -v ok; echo \"exit: $?\"", 0, "0 issues.\nexit: 1")], True, "Lint: passed, after the last edit"),
        ("All tests pass.", [EDIT, GREEN, Step(edited=".gitignore")], True, "Tests: 14 passed, after the last edit"),
        ("Lint is clean.", [EDIT, Step("npm test", 0, "> shop@1.0.0 pretest\n> eslint src\n\n> shop@1.0.0 test\n> vitest\n 3 passed")], True, "Lint: passed, after the last edit"),
        ("All tests pass.", [EDIT, Step("cargo check", 0)], False, "! Says the tests pass; none ran since src/cart.py changed: ask for a run"),
        ("All tests pass.", [EDIT, Step("npm run check-types", 0)], False, "! Says the tests pass; none ran since src/cart.py changed: ask for a run"),
        ("Formatting is clean.", [EDIT, Step("oxfmt --check src 2>&1 | tail -1", 0, "Finished in 4 ms")], True, "Lint: passed, after the last edit"),
        ("All tests pass locally.", [EDIT, GREEN, Step("gh run watch 7 --exit-status", 1, "X windows")], True, "Tests: 14 passed, after the last edit"),
        ("All tests pass.", [EDIT, GREEN, Step("make check", 1, "2 failed, 12 passed")], False, "! Says the tests pass; the last run (make check) failed: ask for a fix"),
        ("All tests pass.", [EDIT, GREEN, Step("make check", 1, "shellcheck: run.sh:3")], True, "Tests: 14 passed, after the last edit"),
        ("All checks pass.", [EDIT, GREEN, Step("make check", 1, "shellcheck: run.sh:3")], False, "! Says the checks pass; the last run (make check) failed: ask for a fix"),
        ("Ruff and mypy are clean.", [EDIT, Step("ruff check . && mypy src", 0)], True, "Lint: passed, after the last edit"),
        ("Ruff and mypy are clean.", [EDIT, Step("ruff check .", 0)], False, "! Says that mypy succeeded; it did not run since src/cart.py changed: ask for a run"),
        ("mypy is clean.", [EDIT, Step("ruff check .", 0), Step("git diff --check", 0)], False, "! Says that mypy succeeded; it did not run since src/cart.py changed: ask for a run"),
        ("mypy is clean.", [EDIT, Step("mypy src", 1), Step("ruff check .", 0)], False, "! Says that mypy succeeded; the last run (mypy src) failed: ask for a fix"),
        ("eslint is clean.", [EDIT, Step("npm run typecheck", 0)], False, "! Says that eslint succeeded; it did not run since src/cart.py changed: ask for a run"),
        ("mypy is clean; ruff was not run.", [EDIT, Step("mypy src", 0), Step("ruff check .", 127)], True, "Lint: passed, after the last edit"),
        ("mypy is clean; ruff was not run.", [EDIT, Step("mypy src | tail -1; ruff check . | tail -1", 0, "Success: no issues found\nbash: line 1: ruff: command not found", (127, 0))], True, "Lint: passed, after the last edit"),
        ("mypy is clean; ruff was not run.", [EDIT, Step("mypy src | tail -1; ruff check . | tail -1", 0, "bash: line 1: mypy: command not found\nbash: line 1: ruff: command not found", (127, 0))], False, "! Says lint is clean; the last run (mypy src) failed: ask for a fix"),
        ("mypy is clean.", [EDIT, Step("mypy src", 2), Step("make lint", 0)], True, "Lint: passed, after the last edit"),
        ("mypy is clean, and so is the linter. Lint is clean.", [EDIT, Step("mypy src", 0), Step("ruff check .", 1)], False, "! Says lint is clean; the last run (ruff check .) failed: ask for a fix"),
        ("Ruff and mypy are clean.", [EDIT, Step("make lint", 0)], True, "Lint: passed, after the last edit"),
        ("tsc is clean.", [EDIT, Step("npm run typecheck", 0)], True, "Lint: passed, after the last edit"),
        ("Lint is clean.", [EDIT, Step("command -v eslint", 0)], False, "! Says lint is clean; nothing showed it since src/cart.py changed: ask for a run"),
        ("CI is green.", [EDIT, Step("git push", 0)], False, "! Says CI passes; nothing showed it since src/cart.py changed: ask for a run"),
        ("CI is green.", [EDIT, GREEN], False, "! Says CI passes; nothing showed it since src/cart.py changed: ask for a run"),
        ("CI is green.", [EDIT, Step("gh run list --limit 2", 0, "completed\tsuccess\tfix\ncompleted\tfailure\tfix")], True, "CI: passed, after the last edit"),
        ("CI is green.", [EDIT, Step("gh run list --limit 2", 0, "in_progress\t\tfix\ncompleted\tsuccess\tfix")], False, "! Says CI passes; nothing showed it since src/cart.py changed: ask for a run"),
        ("CI is green.", [EDIT, Step("gh pr view 7 --json statusCheckRollup", 0, '[{"conclusion":"SUCCESS"},{"conclusion":"FAILURE"}]')], False, "! Says CI passes; the last run (gh pr view 7 --json statusCheckRollup) failed: ask for a fix"),
        ("CI is green.", [EDIT, Step("gh pr checks 7 --watch | tail", 0, "test\tpending\t0\ntest\tpass\t9s")], True, "CI: passed, after the last edit"),
        ("CI is green.", [EDIT, Step("mise ci", 0)], True, "CI: passed, after the last edit"),
        ("All tests pass.", [EDIT, GREEN, Step(edited="probe.py", created=True), Step("rm probe.py", 0)], True, "Tests: 14 passed, after the last edit"),
        ("All tests pass.", [EDIT, GREEN, Step(edited="probe.py", created=True), Step("rm -r build", 0)], False, "! Says the tests pass; none ran since probe.py changed: ask for a run"),
        ("All tests pass.", [EDIT, GREEN, Step(edited="src/cart.py"), Step("rm src/cart.py", 0)], False, "! Says the tests pass; none ran since src/cart.py changed: ask for a run"),
        ("Fixed.", [EDIT, Step("person", None, "Go on.")], None, "! Says that it is fixed; nothing ran since src/cart.py changed: ask for proof"),
        ("Fixed.", [EDIT, Step("person", None, "It works now.")], True, ""),
        ("Verified with the editor.", [Step(edited=".editor/settings.json")], False, "! Says that it was verified; nothing ran since .editor/settings.json changed: ask for proof"),
        ("Unit tests pass. The browser tests still fail: `npm run e2e` finds no window.", [EDIT, GREEN, Step("npm run e2e", 1, "2 failed")], True, "Tests: failed, as the message says, after the last edit"),
        ("All 42 tests pass.", [EDIT, GREEN], False, "! Says 42 tests pass; at most 14 passed since src/cart.py changed: ask for a run"),
        ("42/42 tests passed.", [GREEN], False, "! Says 42 tests pass; at most 14 passed in this session: ask for a run"),
        ("All 42 tests pass.", [EDIT, Step("make test", 0, "2 failed, 40 passed")], False, "! Says 42 tests pass; at most 40 passed since src/cart.py changed: ask for a run"),
        ("42 个测试全部通过。", [EDIT, GREEN], False, "! Says 42 tests pass; at most 14 passed since src/cart.py changed: ask for a run"),
        ("All 42 tests pass.", [EDIT, GREEN, Step("npx vitest", 0, "Tests  42 passed (42)"), EDIT, GREEN], True, "Tests: 42 passed, after the last edit"),
        ("All 42 tests pass.", [EDIT, GREEN, Step("cat src/cart.py", 0, "x = 42")], False, "! Says 42 tests pass; at most 14 passed since src/cart.py changed: ask for a run"),
        ("All 14 tests pass.", [EDIT, GREEN], True, "Tests: 14 passed, after the last edit"),
        ("All 3 new tests pass.", [EDIT, GREEN], True, "Tests: 14 passed, after the last edit"),
        ("All 28 tests pass.", [EDIT, GREEN, Step("cd web && npx jest", 0, "Tests: 14 passed, 14 total")], True, "Tests: 14 passed, after the last edit"),
        ("All 17 tests pass.", [EDIT, Step("pytest", 0, "14 passed, 3 skipped")], True, "Tests: 14 passed, after the last edit"),
        ("All 42 tests pass.", [EDIT, GREEN, Step("go test ./...", 0, "ok  x/y 0.1s")], True, "Tests: passed, after the last edit"),
        ("All 42 tests pass.", [EDIT, GREEN, Step(output="42 in the browser too", told=True)], True, "Tests: 14 passed, after the last edit"),
        ("All tests pass.", [EDIT, Step("gh pr edit 7 -b x && gh pr ready 7", 0, '✓ Pull request #7 is marked as "ready for review"')], False, "! Says the tests pass; none ran since src/cart.py changed: ask for a run"),
        ("All tests pass.", [EDIT, Step("gh pr view 7 --json title,body", 0, "All checks passed")], False, "! Says the tests pass; none ran since src/cart.py changed: ask for a run"),
        ("CI is green.", [EDIT, Step("gh pr view 7 --json statusCheckRollup", 0, "SUCCESS")], True, "CI: passed, after the last edit"),
        ("The notebook ran without errors.", [EDIT], False, "! Says that it was verified; nothing ran since src/cart.py changed: ask for proof"),
        ("Syntax checks passed. `npm run e2e` still has one pre-existing failure.", [EDIT, Step("npm run e2e", 1, "1 failed")], True, "Checks: failed, as the message says, after the last edit"),
        ("CI passes locally.", [EDIT, Step("cargo check", 0), Step("mise run ci | tail -3", 0, "[test] ok. 0 passed\n[lint] ERROR task failed")], False, "! Says the checks pass; the last run (mise run ci) failed: ask for a fix"),
        ("Verified.", [EDIT, GREEN, Step(edited=".gitignore")], False, "! Says that it was verified; nothing ran since .gitignore changed: ask for proof"),
        ("All tests pass.", [EDIT, Step("bash -lc 'cd web && npm test'", 0)], True, "Tests: passed, after the last edit"),
        ("All tests pass.", [EDIT, Step("ssh box 'make test; echo done'", 0)], True, "Tests: passed, after the last edit"),
        ("All tests pass.", [EDIT, Step("ssh box 'make test'", 1)], False, "! Says the tests pass; the last run (make test) failed: ask for a fix"),
        ("All tests pass.", [EDIT, Step("kubectl exec web -- pytest -q", 0)], True, "Tests: passed, after the last edit"),
        ("All tests pass.", [EDIT, Step("git commit -m 'Make pytest run in CI'", 0)], False, "! Says the tests pass; none ran since src/cart.py changed: ask for a run"),
        ("All tests pass.", [EDIT, Step("bundle exec rspec", 0)], True, "Tests: passed, after the last edit"),
        ("All tests pass.", [EDIT, Step("script/test", 0)], True, "Tests: passed, after the last edit"),
        ("All tests pass.", [EDIT, Step("node --test", 0)], True, "Tests: passed, after the last edit"),
        ("It builds.", [EDIT, Step("make -C src -j 4", 0)], True, "Build: passed, after the last edit"),
        ("It builds.", [EDIT, Step("> log; make -j4 2>&1", 0)], True, "Build: passed, after the last edit"),
        ("It builds.", [EDIT, Step("make install", 0)], False, "! Says it builds; nothing showed it since src/cart.py changed: ask for a run"),
        ("Lint is clean.", [EDIT, Step("cppcheck .", 0)], True, "Lint: passed, after the last edit"),
        ("All tests pass.", [EDIT, Step("nl -ba src/cart_test.go", 0, "1 package cart")], False, "! Says the tests pass; none ran since src/cart.py changed: ask for a run"),
        ("It builds.", [EDIT, Step("tar czf cart.tgz dist", 0)], False, "! Says it builds; nothing showed it since src/cart.py changed: ask for a run"),
        ("All tests pass.", [EDIT, Step("python tests/test_cart.py", 0)], True, "Tests: passed, after the last edit"),
        ("All tests pass.", [EDIT, Step("npm run validate-docs", 0)], False, "! Says the tests pass; none ran since src/cart.py changed: ask for a run"),
        ("All tests pass.", [EDIT, Step("npm run check:all", 0)], True, "Tests: passed, after the last edit"),
        ("All tests pass.", [EDIT, GREEN, Step("cat > probe.js <<'E'\nx\nE\nnode probe.js; rm probe.js", 0)], True, "Tests: 14 passed, after the last edit"),
        ("All tests pass. Three were failing on the existing border.", [EDIT, RED], False, "! Says the tests pass; the last run (pytest -q) failed: ask for a fix"),
        ("All tests pass; it still prints the existing warning.", [EDIT, RED], False, "! Says the tests pass; the last run (pytest -q) failed: ask for a fix"),
        ("All clean, all committed.", [EDIT], False, "! Says that it was verified; nothing ran since src/cart.py changed: ask for proof"),
        ("All files pass `markdownlint-cli2`.", [EDIT], False, "! Says lint is clean; nothing showed it since src/cart.py changed: ask for a run"),
        ("I also smoke-tested startup.", [EDIT], False, "! Says that it was verified; nothing ran since src/cart.py changed: ask for proof"),
        ("I can run builds, and read files.", [EDIT], None, ""),
        ("The branch is ready for CI success.", [EDIT], None, ""),
        ("Verified with `bun start`.", [EDIT, Step("bun start", 1)], False, "! Says that it was verified; what ran since src/cart.py changed (bun start) failed: ask for proof"),
        ("Verified with `bun start`.", [EDIT, Step("bun start", 1), Step("bun start", None, "Listening")], True, ""),
        ("Fixed.", [EDIT, Step("bun start --port x", 2, "--port is no number")], True, ""),
        ("Verified.", [EDIT, Step("bun start", 0), Step("bun load.js", 1)], True, ""),
        ("Verified.", [EDIT, Step("bun load.js", 1), Step("bun load.js", 0), Step("cat none", 1)], True, ""),
        ("Fixed.", [EDIT, Step("bun start", 0), Step("bun start --port x", 2, "--port is no number")], True, ""),
        ("Verified.", [EDIT, Step("find src | xargs -n 2 wc -l", 0)], False, "! Says that it was verified; nothing ran since src/cart.py changed: ask for proof"),
        ("All tests pass.", [EDIT, Step("git ls-files | xargs -n 2 pytest -q", 0, "3 passed")], True, "Tests: 3 passed, after the last edit"),
        ("Verified.", [EDIT, Step("git diff --stat", 0), Step("ls src", 0)], False, "! Says that it was verified; nothing ran since src/cart.py changed: ask for proof"),
        ("Verified.", [EDIT, Step("gofmt -l cart.go && git status --short", 0)], False, "! Says that it was verified; nothing ran since src/cart.py changed: ask for proof"),
        ("Verified.", [EDIT, Step("shop --help", 0)], False, "! Says that it was verified; nothing ran since src/cart.py changed: ask for proof"),
        ("Verified.", [EDIT, Step("python -c 'import cart'", 0), Step("git diff", 0)], True, ""),
        ("Verified.", [EDIT, Step("curl -s localhost:8080", 0)], True, ""),
        ("Verified.", [EDIT, Step("gofmt --check cart.go", 0)], True, ""),
        ("Verified.", [EDIT, Step("curl -s localhost:8080", 7)], False, "! Says that it was verified; what ran since src/cart.py changed (curl -s localhost:8080) failed: ask for proof"),
        ("Verified: nothing else names it.", [Step(edited="app.yaml"), Step("rg -n cart", 1)], True, ""),
        ("Verified.", [Step(edited="app.yaml"), Step("git check-ignore app.yaml", 1)], False, "! Says that it was verified; what ran since app.yaml changed (git check-ignore app.yaml) failed: ask for proof"),
        ("Verified.", [Step(edited="app.yaml"), Step("jq . app.json", 5), Step("git diff", 0)], False, "! Says that it was verified; what ran since app.yaml changed (jq . app.json) failed: ask for proof"),
        ("Verified.", [EDIT, Step("node drive.js 2>&1 | tail -3", 0, "", (1, 0))], False, "! Says that it was verified; what ran since src/cart.py changed (node drive.js 2>&1 | tail -3) failed: ask for proof"),
        ("Verified.", [EDIT, Step("node drive.js | head -1", 0, "ok", (141, 0))], True, ""),
        ("Fixed.", [EDIT, Step("git diff", 0)], True, ""),
        ("All tests pass.", [EDIT, GREEN, Step(edited="src/cart.py", ran=False)], True, "Tests: 14 passed, after the last edit"),
        ("The parser and the harness both pass.", [EDIT], False, "! Says that it was verified; nothing ran since src/cart.py changed: ask for proof"),
        ("Verification passed:\n- shop: `format:check`, `test`", [EDIT, Step("prettier --check .", 0)], False, "! Says the tests pass; none ran since src/cart.py changed: ask for a run"),
        ("1290 tests ✓ | lint ✓", [EDIT, Step("bun run test 2>&1 | tail -5 && bun run lint 2>&1 | tail -3", 0, " 1290 pass\n 0 fail\n\nerror: script \"lint\" exited with code 1"), Step("bun run lint", 0)], True, "Lint: passed, after the last edit · Tests: 1290 passed, after the last edit"),
        ("CI is green.", [EDIT, Step("gh pr view 7 --json comments,statusCheckRollup", 0, '{"comments":[{"body":"All tests \\"passed\\" here"}]}')], False, "! Says CI passes; nothing showed it since src/cart.py changed: ask for a run"),
        ("The lint job now passes. The remaining `nightly` failure is not this PR's.", [EDIT, Step("gh pr checks 7", 1, "lint\tpass\t9s\nnightly\tfail\t9s")], True, "CI: failed, as the message says, after the last edit"),
        ("Tests: `sh tests.sh` gives 88/89 pass. The only remaining failure is known.", [EDIT, Step("sh tests.sh", 1, "1 failed, 88 passed")], None, ""),
        ("Build, lint and the smoke test all pass.", [EDIT, Step("make build lint", 0), Step("sh smoke.sh", 0, "FAIL: it stops"), Step("sh smoke.sh", 0, "PASS: it stops")], True, "Build: passed, after the last edit · Lint: passed, after the last edit · Tests: passed, after the last edit"),
        ("检查通过。", [EDIT, Step("python cart.py", 0)], True, ""),
        ("测试通过。", [EDIT, Step("python cart.py", 0)], True, ""),
        ("Verified.", [EDIT, Step("nl -ba src/cart.py", 0)], False, "! Says that it was verified; nothing ran since src/cart.py changed: ask for proof"),
        ("The build passes.", [EDIT, Step("nl -ba build/Dockerfile", 0)], False, "! Says it builds; nothing showed it since src/cart.py changed: ask for a run"),
        ("All tests pass.", [EDIT, GREEN, Step(edited="docs/plan.json")], True, "Tests: 14 passed, after the last edit"),
        ("Fixed.", [DOCS], None, ""),
        ("I changed the cart.", [EDIT], None, ""),
        ("All tests pass.", [EDIT, GREEN, Step(edited="scripts/deploy.sh")], True, "Tests: 14 passed, after the last edit"),
        ("All tests pass.", [EDIT, Step("make test", 0), Step(edited="scripts/deploy.sh")], False, "! Says the tests pass; none ran since scripts/deploy.sh changed: ask for a run"),
        ("All files compile cleanly.", [EDIT, Step("python -c 'import py_compile; py_compile.compile(\"src/cart.py\")'", 0)], True, "Build: passed, after the last edit"),
        ("All tests pass.", [EDIT, Step("mvn -q test-compile", 0)], False, "! Says the tests pass; none ran since src/cart.py changed: ask for a run"),
        ("All tests pass. The others already fail correctly on bad input.", [EDIT, RED], False, "! Says the tests pass; the last run (pytest -q) failed: ask for a fix"),
        ("All tests pass. The previously failing test is new.", [EDIT, RED], False, "! Says the tests pass; the last run (pytest -q) failed: ask for a fix"),
        ("The command run was:\n\n```\nmake build && ls dist\n```\n\n`make build` currently fails on existing errors.", [EDIT, Step("make build && ls dist", 2)], True, "Build: failed, as the message says, after the last edit"),
        ("13 tests pass. One fails only because there is no network.", [EDIT, RED], True, "Tests: failed, as the message says, after the last edit"),
        ("13 tests pass. If one fails, run it again.", [EDIT, RED], False, "! Says the tests pass; the last run (pytest -q) failed: ask for a fix"),
        ("14 tests pass. One fails only because there is no network.", [EDIT, RED], False, "! Says the tests pass; the last run (pytest -q) failed: ask for a fix"),
        ("`npm test` passes.", [NPM, TS, Step("npx xo", 0), Step("npx ava", 0, "5 passed")], True, "Tests: 5 passed, after the last edit"),
        ("`npm test` passes.", [NPM, TS, Step("npm run test", 0, "5 passed")], True, "Tests: 5 passed, after the last edit"),
        ("No type errors in my file. The existing errors are unrelated.", [EDIT, Step("npm run typecheck", 2)], True, "Lint: failed, as the message says, after the last edit"),
        ("It builds.", [EDIT, Step("npm run build", 0), Step("timeout 9 cargo check", 124)], True, "Build: passed, after the last edit"),
        ("It builds.", [EDIT, Step("timeout 9 cargo check", 124)], False, "! Says it builds; the last run (cargo check) did not show it: ask for a run that does"),
        ("All tests pass.", [EDIT, Step("python3 -c \"import cart; assert cart.total() == 1\"", 0)], True, "Tests: passed, after the last edit"),
        ("All tests pass.", [EDIT, Step("python3 -c \"import cart; assert cart.total() == 1\"", 1)], False, "! Says the tests pass; none ran since src/cart.py changed: ask for a run"),
        ("All tests pass.", [EDIT, Step("python3 - <<'E'\nopen('test_cart.py', 'w')\nE", 0)], False, "! Says the tests pass; none ran since src/cart.py changed: ask for a run"),
        ("All tests pass.", [EDIT, GREEN, Step("git commit -m x", 0, "3 passed in 1 s")], True, "Tests: 14 passed, after the last edit"),
        ("All tests pass.", [EDIT, Step("pytest -q a", 0, "3 passed"), GREEN], True, "Tests: 14 passed, after the last edit"),
        ("All tests pass.", [EDIT, GREEN, Step("pytest -q a", 1, "3 failed")], False, "! Says the tests pass; the last run (pytest -q a) failed: ask for a fix"),
        ("It builds.", [EDIT, Step("./scripts/agent.sh", 0, "Build OK")], True, "Build: passed, after the last edit"),
        ("It builds.", [EDIT, Step("./scripts/agent.sh", 0, "Cart OK")], False, "! Says it builds; nothing showed it since src/cart.py changed: ask for a run"),
        ("It builds.", [EDIT, Step("tail -5 server.log", 0, "cart runs on port 80")], True, "Build: passed, after the last edit"),
        ("It builds.", [EDIT, Step("tail -5 server.log", 0, "Error: no cart")], False, "! Says it builds; nothing showed it since src/cart.py changed: ask for a run"),
        ("It builds.", [EDIT, Step("npm run build", 0), Step(edited="tests/cart.test.ts")], True, "Build: passed, after the last edit"),
        ("All tests pass.", [EDIT, GREEN, Step(edited="eslint.config.mjs")], True, "Tests: 14 passed, after the last edit"),
        ("Lint is clean.", [EDIT, Step("make lint", 0), Step(edited="tests/test_cart.py")], False, "! Says lint is clean; nothing showed it since tests/test_cart.py changed: ask for a run"),
        ("Verified: no use of it is left.", [EDIT, Step("grep", 0, "No matches found")], True, ""),
        ("Verified: no use of it is left.", [EDIT, Step("cat src/cart.py", 0)], False, "! Says that it was verified; nothing ran since src/cart.py changed: ask for proof"),
        ("I verified the notes with the tool.", [DOCS], False, "! Says that it was verified; nothing ran since README.md changed: ask for proof"),
        ("I verified the notes with the tool.", [Step("tool --check", 0), DOCS], None, ""),
        ("Types are clean.", [EDIT, Step("bunx tsgo --noEmit", 0)], True, "Lint: passed, after the last edit"),
        ("`npm test` passes.", [TS, Step("npx ava", 0, "5 passed")], True, "Tests: 5 passed, after the last edit"),
    ],
)  # fmt: skip
def test_a_claim_is_held_against_what_ran_after_the_last_edit(
    text: str, steps: Sequence[Step], verified: bool | None, line: str
) -> None:
    found = receipt(text, steps)
    assert (found.verified, found.line) == (verified, line)


@each_row(
    ("reports", "exit", "output"),
    [
        ([], None, "\nstill running"),
        (["Background job job-1 (pytest -q) has ended: done. bash_output shows what it printed."], 0, "\n"),
        (["Background job job-1 (x) has ended: failed (exit code 2). bash_output shows what it printed."], 2, "\n"),
        (["Background job job-1 (x) has ended: stopped. bash_output shows what it printed."], None, "\n"),
        (["<task-notification>\n<task-id>job-1</task-id>\n<summary>It completed (exit code 0)</summary>"], 0, "\n"),
        (["Background job job-2 (x) has ended: done. bash_output shows what it printed."], None, "\nstill running"),
        ([("14 passed", "running", None), ("(nothing new)", "done", 0)], 0, "\n14 passed\n(nothing new)\n"),
    ],
)
def test_a_background_job_ran_when_it_began(
    reports: Sequence[str | tuple[str, str, int | None]], exit: int | None, output: str
) -> None:
    started = ToolResult("1", "bash", "success", "", metadata={"job": "job-1"})
    records = [*call_of("bash", started, command="pytest -q"), *edit_of("a.py")]
    for report in reports:
        if isinstance(report, str):
            records.append(Message("user", (reminder(report),)))
        else:
            text, state, code = report
            about = {"job": "job-1", "state": state, "exit_code": code}
            records += call_of(
                "bash_output", ToolResult("1", "bash_output", "success", text, metadata=about), id="job-1"
            )
    job, edit = steps(map(recorded, records), TRAITS, Path("/w"))
    assert (job.command, job.exit, job.output, edit.edited) == ("pytest -q", exit, output, "a.py")


TRAITS = {"bash": BASH.traits, "bash_output": BASH_OUTPUT.traits, "edit": EDIT_TOOL.traits}


def call_of(name: str, result: ToolResult, **given: str) -> list[Message | ToolResult]:
    """A call with its result."""
    return [Message("assistant", (ToolCall("1", name, given),)), result]


def edit_of(path: str) -> list[Message | ToolResult]:
    """A finished edit of a file."""
    return call_of("edit", ToolResult("1", "edit", "success", ""), file_path=path)


def recorded(body: Message | ToolResult) -> Record:
    """A record that contains a body."""
    return Record(1, "1", "", "", body)


def test_a_number_of_tests_that_a_read_file_shows_is_not_invented() -> None:
    ran = ToolResult("1", "bash", "success", "14 passed", metadata={"exit_code": 0})
    seen = ToolResult("1", "read", "success", "1\t42 tests passed")
    records = [*call_of("bash", ran, command="pytest -q"), *call_of("read", seen, file_path="ci.log")]
    traits = TRAITS | {"read": READ.traits}
    ends = [
        receipt("All 42 tests pass.", steps(map(recorded, some), traits, Path("/w"))) for some in (records, records[:2])
    ]
    assert [end.verified for end in ends] == [True, False]


def test_a_search_shows_as_much_as_the_command_grep() -> None:
    edit = call_of("edit", ToolResult("1", "edit", "success", "Edited."), file_path="app.yaml")
    search = call_of("grep", ToolResult("1", "grep", "success", "No matches found."), pattern="old_name")
    traits = TRAITS | {"grep": GREP.traits}
    ends = [receipt("Verified.", steps(map(recorded, some), traits, Path("/w"))) for some in (edit, [*edit, *search])]
    assert [end.verified for end in ends] == [False, True]


def test_a_file_that_an_imported_session_made_and_removed_changes_nothing() -> None:
    ran = call_of("bash", ToolResult("1", "bash", "success", "14 passed", metadata={"exit_code": 0}), command="pytest")
    made = call_of("write", ToolResult("1", "write", "success", "", metadata={"created": True}), file_path="probe.py")
    gone = call_of("bash", ToolResult("1", "bash", "success", "", metadata={"exit_code": 0}), command="rm probe.py")
    records = map(recorded, [*edit_of("a.py"), *ran, *made, *gone])
    assert receipt("All tests pass.", steps(records, TRAITS | {"write": WRITE_TOOL.traits}, Path("/w"))).verified


def test_a_command_of_another_programs_shell_counts() -> None:
    ran = call_of("PowerShell", ToolResult("1", "PowerShell", "success", "14 passed"), command="pytest -q")
    records = map(recorded, [*edit_of("a.py"), *ran])
    assert receipt("All tests pass.", steps(records, TRAITS, Path("/w"))).verified


def test_a_command_that_the_person_ran_counts(tmp_path: Path) -> None:
    session = open_session(tmp_path, [say("", WRITE), say("Done."), WRONG], mode="yolo", attended=True)
    ran = Text("$ pytest -q\n14 passed\n(exit code 0)", synthetic=True, source="shell")

    async def main() -> list[bool | None]:
        first = [event async for event in session.turn(Prompt("Fix the cart."), asyncio.Event())]
        session.core.record(Message("user", (ran,)))
        second = [event async for event in session.turn(Prompt("And?"), asyncio.Event())]
        return [ended(first).verified, ended(second).verified]

    assert asyncio.run(main()) == [None, True]


WRITE = call("write", file_path="cart.py", content="x = 1\n")
RUN = call("bash", command="sh tests.sh")


WRONG = say("All tests pass.")


def ending(
    folder: Path, *replies: Reply, attended: bool = False, **settings: Any
) -> tuple[TurnEnded, list[str], list[str]]:
    """How a turn with these replies ended, what the person was told, and which reminders the model got at its end."""
    (folder / "tests.sh").write_text("echo 14 passed\n")
    session = open_session(folder, list(replies), mode="yolo", attended=attended, **settings)
    events = say_to(session, "Fix the cart.")
    told = [event.message for event in events if isinstance(event, Noticed)]
    reminders = [
        part.text
        for message in messages(session)
        if message.role == "user"
        for part in message.parts
        if isinstance(part, Text) and part.synthetic and "Your message says" in part.text
    ]
    return ended(events), told, reminders


def test_a_run_without_a_person_is_reminded_once_and_told_as_unverified(tmp_path: Path) -> None:
    end, told, reminders = ending(tmp_path, say("", WRITE), WRONG, WRONG)
    assert (end.ending, end.verified) == ("done", False)
    assert told == ["! Says the tests pass; none ran since cart.py changed: ask for a run"]
    assert reminders == [
        "Your message says the tests pass; none ran since cart.py changed. Run it now, or say plainly that it was not run, or that it "
        "fails. Only your last message is read: repeat in it what is needed of this one."
    ]


def test_an_edit_and_a_run_by_other_names_of_parameters_count(tmp_path: Path) -> None:
    write = call("write", path="cart.py", contents="x = 1\n")
    _, told, _ = ending(tmp_path, say("", write), WRONG, WRONG)
    assert told == ["! Says the tests pass; none ran since cart.py changed: ask for a run"]
    end, told, _ = ending(tmp_path, say("", call("bash", cmd="sh tests.sh")), WRONG)
    assert (end.verified, told) == (True, [])


def test_a_reminder_names_each_unproven_claim(tmp_path: Path) -> None:
    _, _, reminders = ending(tmp_path, say("", WRITE), say("All tests pass. Lint is clean."), WRONG)
    assert reminders[0].startswith(
        "Your message says lint is clean; nothing showed it since cart.py changed. It also says the tests pass; none ran "
        "since cart.py changed. Run it now,"
    )


def test_a_reminder_that_helps_makes_the_end_a_verified_one(tmp_path: Path) -> None:
    end, told, reminders = ending(tmp_path, say("", WRITE), WRONG, say("", RUN), WRONG)
    assert (end.ending, end.verified, told, len(reminders)) == ("done", True, [], 1)


def test_a_person_sees_one_line_and_the_model_is_not_reminded(tmp_path: Path) -> None:
    end, told, reminders = ending(tmp_path, say("", WRITE), WRONG, attended=True)
    assert (end.verified, told, reminders) == (
        False,
        ["! Says the tests pass; none ran since cart.py changed: ask for a run"],
        [],
    )
    (tmp_path / "cart.py").unlink()
    end, told, reminders = ending(tmp_path, say("", WRITE), say("", RUN), WRONG, attended=True)
    assert (end.verified, told, reminders) == (True, ["Tests: 14 passed, after the last edit"], [])


def test_done_after_an_edit_costs_no_request_though_the_last_test_is_older(tmp_path: Path) -> None:
    failing = say("", call("bash", command="sh tests.sh && false"))
    end, told, reminders = ending(tmp_path, failing, say("", WRITE), say("Done."))
    assert (end.ending, end.verified, told, reminders) == ("done", None, [], [])


def test_of_a_message_as_long_as_a_book_the_end_is_read(tmp_path: Path) -> None:
    book = "The second chapter of this book is longer than the first.\n" * 1_000
    assert ending(tmp_path, say("", WRITE), say(f"All tests pass.\n{book}"), attended=True)[0].verified is None
    assert ending(tmp_path, say("", WRITE), say(f"{book}\nAll tests pass."), attended=True)[0].verified is False


def test_receipts_can_be_switched_off_and_say_nothing_without_a_claim(tmp_path: Path) -> None:
    assert ending(tmp_path, say("", WRITE), WRONG, receipts=False)[0].verified is None
    end, told, reminders = ending(tmp_path, say("", WRITE), say("The cart is done."))
    assert (end.verified, told, reminders) == (None, [], [])


@pytest.mark.parametrize(
    ("calls", "verified"),
    [
        ((WRITE,), False),
        ((call("bash", command="pytest -q missing.py; exit 4"),), False),
        ((call("bash", command="pytest -q; sleep 60", run_in_background=True),), False),
        ((RUN,), True),
        ((call("read", file_path="tests.sh"),), None),
    ],
)
def test_runs_before_a_compaction_are_unknown_and_what_came_after_it_counts(
    calls: Sequence[ToolCall], verified: bool | None, tmp_path: Path
) -> None:
    (tmp_path / "tests.sh").write_text("echo 14 passed\n")
    script = [say("", WRITE), say("", RUN), say("Done."), WRONG, say("", *calls), WRONG]
    session = open_session(tmp_path, script, mode="yolo", attended=True)

    async def main() -> list[bool | None]:
        ends = []
        for text in ("Fix the cart.", "Report.", "Again."):
            ends.append(ended([event async for event in session.turn(Prompt(text), asyncio.Event())]).verified)
            if text == "Fix the cart.":
                *_, last = entries = session.history.entries
                kept = tuple(each.seq for each in entries[:3])
                covers = (1, last.seq)
                body = Compaction("manual", "compressed", "auto", covers, last.seq + 1, "None.", kept=kept)
                session.core.record(body)
        return ends

    assert asyncio.run(main()) == [None, None, verified]


def test_reading_from_a_forge_changes_nothing_and_writing_there_may() -> None:
    assert examines("gh issue view 97")
    assert examines("ls && gh pr view 3")
    assert not examines("gh pr create --title a --body b")
