"""What a rule is about, and which commands, paths and addresses its pattern matches."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentcli.core.errors import ConfigError, UsageError
from agentcli.permissions.decide import Decision
from agentcli.permissions.paths import Workspace
from agentcli.permissions.rules import (
    Rule,
    Rules,
    command_pattern,
    exact,
    exact_path,
    in_own_names,
    parse_rule,
    parse_rules,
    path_rule,
    proposed_rules,
    url_matches,
    wildcard,
)
from tests.permissions.corpus import make_workspace
from tests.permissions.deciding import explain_command
from tests.tables import each_row


@each_row(
    ("text", "tool", "pattern"),
    [
        ("bash", "bash", ""),
        (" Bash(npm test) ", "bash", "npm test"),
        ("bash( a ) b )", "bash", "a ) b"),
        ("mcp__Git__push", "mcp__Git__push", ""),
        ("*", "*", ""),
        ("mcp__*", "mcp__*", ""),
        ("bash(a\nb)", "bash", "a\nb"),
    ],
)
def test_a_rule_is_a_tool_and_maybe_a_pattern(text: str, tool: str, pattern: str) -> None:
    rule = parse_rule(text, "session")
    assert (rule.tool, rule.pattern, rule.origin) == (tool, pattern, "session")
    assert str(rule) == (f"{tool}({pattern})" if pattern else tool)


@each_row(
    ("rule", "tool", "applies"),
    [
        ("edit", "edit", True),
        ("edit", "multi_edit", True),
        ("edit", "write", False),
        ("multi_edit", "edit", False),
        ("*", "anything", True),
        ("web_*", "web_fetch", True),
        ("web_*", "bash", False),
        ("mcp__git", "mcp__git__push", True),
        ("mcp__git", "mcp__github__push", False),
        ("mcp__git__push", "mcp__git__push", True),
        ("mcp__git__push", "mcp__git__push__now", False),
        ("mcp__git__*", "mcp__git__push", True),
        ("git", "git__push", False),
    ],
)
def test_a_rule_applies_to_its_tool_and_that_of_a_server_to_all_its_tools(rule: str, tool: str, applies: bool) -> None:
    assert parse_rule(rule).is_for(tool) is applies


def test_rules_are_listed_strongest_first_and_add_up() -> None:
    some = parse_rules(["read"], ["edit"], ["bash"], "project") + parse_rules(allow=["grep"], deny=["list"])
    assert [(kind, str(rule), rule.origin) for kind, rule in some.listed()] == [
        ("deny", "bash", "project"),
        ("deny", "list", "config"),
        ("ask", "edit", "project"),
        ("allow", "read", "project"),
        ("allow", "grep", "config"),
    ]


def test_a_rule_about_no_tool_says_where_it_stands() -> None:
    names = ["bash", "web_fetch"]
    known = in_own_names(parse_rules(["WebFetch(domain:a.b)", "mcp__x__y", "web_*"]), names)
    assert [str(rule) for rule in known.allow] == ["web_fetch(domain:a.b)", "mcp__x__y", "web_*"]
    with pytest.raises(
        ConfigError, match=r"permissions\.deny: 'bsh' is about a tool that does not exist: bsh\. Did you"
    ):
        in_own_names(parse_rules(deny=["bsh"]), names)
    with pytest.raises(UsageError, match=r"--ask: 'zzz' .*: zzz\. `agentcli tools` lists them\."):
        in_own_names(Rules(ask=(Rule("zzz", "", "flag"),)), names)


@each_row(
    ("pattern", "text", "matches"),
    [
        ("a*c", "abbc", True),
        ("a*c", "a\nc", True),
        ("a*c", "abd", False),
        ("a.c", "abc", False),
        (r"a\*c", "a*c", True),
        (r"a\*c", "abc", False),
        (r"a\\*", "a\\b", True),
        (r"a\b", r"a\b", True),
        ("", "", True),
        ("*", "", True),
    ],
)
def test_a_star_is_any_text_and_a_backslash_makes_it_a_star(pattern: str, text: str, matches: bool) -> None:
    assert (wildcard(pattern).fullmatch(text) is not None) is matches


@each_row("text", ["a*b", r"a\b", r"\*", "a.b", ""])
def test_an_exact_pattern_matches_its_text_alone(text: str) -> None:
    assert wildcard(exact(text)).fullmatch(text)
    assert not wildcard(exact(text)).fullmatch(f"{text}x")


@each_row(
    ("pattern", "command", "matches"),
    [
        ("npm test *", "npm test", True),
        ("npm test *", "npm test -- x", True),
        ("npm test *", "npm tests", False),
        ("npm test:*", "npm test", True),
        ("npm test:*", "npm test x", True),
        ("npm test:*", "npm test:unit", False),
        ("npm  test", "npm test", True),
        ("npm test", "npm test x", False),
        (r"npm test \*", "npm test *", True),
        (r"npm test \*", "npm test", False),
        (r"npm test:\*", "npm test:*", True),
        ("npm *", "npm\ntest", False),
        ("npm*", "npm\ntest", True),
        ("a\n  b *", "a\n  b c", True),
        ("a\n  b", "a b", False),
        ("*", "anything", True),
    ],
)
def test_a_command_matches_with_any_arguments_where_the_pattern_ends_in_a_star(
    pattern: str, command: str, matches: bool
) -> None:
    assert (command_pattern(pattern).fullmatch(command) is not None) is matches


@each_row(
    ("pattern", "url", "allows", "denies"),
    [
        ("https://a.b/c/*", "https://a.b/c/d", True, True),
        ("https://a.b/c/*", "https://a.b/d", False, False),
        ("https://a.b/c/*", "http://a.b/c/d", False, False),
        ("https://a.b/c/*", "https://x.a.b/c/d", False, False),
        ("https://a.b/c/*", "https://A.B./c/d", True, True),
        ("https://a.b/c/*", "https://a.b:443/c/d", True, True),
        ("https://a.b/c/*", "https://a.b:444/c/d", False, False),
        ("https://a.b:443/c/*", "https://a.b/c/d", True, True),
        ("http://a.b:80/c/*", "http://a.b/c/d", True, True),
        ("http://a.b:81/c/*", "http://a.b:81/c/d", True, True),
        ("https://a.b", "https://a.b/any/thing", True, True),
        ("https://a.b/", "https://a.b", True, True),
        ("https://a.b/c", "https://a.b/c/", False, False),
        ("https://a.b/c/", "https://a.b/c/", True, True),
        ("https://*.a.b/*", "https://x.a.b/c", True, True),
        ("https://*.a.b/*", "https://a.b/c", False, False),
        ("https://a.b/c/*", "https://a.b/x/../c/d", False, True),
        ("https://a.b/c/*", "https://a.b/%63/d", False, True),
        ("https://a.b/c%20d", "https://a.b/c%20d", True, True),
        ("https://a.b/c/*", "https://a.b//c/d", False, True),
        ("https://a.b/c/*", "https://a.b/c/../x", False, True),
        ("https://a.b/*", "https://u@a.b/c", False, False),
        ("https://a.b/*", "https://a.b:x/c", False, False),
        ("*://a.b/*", "ftp://a.b/c", False, False),
        ("a.b/*", "https://a.b/c", False, False),
        ("domain:a.b", "https://a.b/c", True, True),
        ("domain:a.b", "https://x.a.b:8080/c", True, True),
        ("domain:*.a.b", "https://a.b/c", True, True),
        ("domain:a.b", "https://xa.b/c", False, False),
        ("domain:a.b", "https://c/a.b", False, False),
        ("domain:bücher.de", "https://xn--bcher-kva.de/x", True, True),
        ("domain:a.b", "https://A.B.", True, True),
        ("domain:a.b", "nonsense", False, False),
    ],
)
def test_an_address_is_allowed_in_all_its_spellings_and_denied_in_any(
    pattern: str, url: str, allows: bool, denies: bool
) -> None:
    assert (url_matches(pattern, url, strict=True), url_matches(pattern, url)) == (allows, denies)


HERE = "~/work"
"""The workspace's first root, as a pattern names it."""


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A workspace of two roots, with a link in the first to a folder in the second."""
    work, other, home = tmp_path / "home/work", tmp_path / "other", tmp_path / "home"
    (work / "secrets/deep").mkdir(parents=True)
    (other / "real").mkdir(parents=True)
    (work / "app/[slug]").mkdir(parents=True)
    (work / "link").symlink_to(other / "real")
    return Workspace(work, (work, other), home)


@each_row(
    ("pattern", "path", "strictly", "loosely"),
    [
        ("", "any", True, True),
        ("secrets/**", "secrets/x", True, True),
        ("secrets/**", "./secrets/../secrets/x", True, True),
        ("secrets", "secrets/deep/x", False, True),
        ("secrets", "secrets", True, True),
        ("SECRETS/**", "secrets/x", False, True),
        ("secrets/**", "Secrets/x", False, True),
        ("secrets/*", "secrets/deep/x", False, False),
        ("real/**", "link/x", True, True),
        ("link/**", "link/x", False, True),
        ("link", "link/x", False, True),
        (f"{HERE}/secrets/**", "secrets/x", True, True),
        (HERE, "secrets/x", False, True),
        ("~/*", "secrets/x", False, False),
        ("*.py", "/etc/a.py", False, True),
        ("./a.py", "/etc/a.py", False, True),
        ("/etc/**", "/etc/a", True, True),
        ("/etc", "/etc/a", False, True),
        ("work", "secrets/x", False, False),
        ("secrets/**", "secrets/\0", False, False),
        ("app/[slug]/**", "app/[slug]/x", True, True),
        ("app/[slug]/**", "app/s/x", False, True),
        ("app/[slug]", "app/[slug]/x", False, True),
        ("gone/[slug]/x", "gone/s/x", True, True),
        (r"app/\[slug\]/x", "app/[slug]/x", True, True),
        (r"app/\[slug\]/x", "app/s/x", False, False),
        ("*.{pem,key}", "x/a.key", True, True),
        ("{secrets,keys}/**", "keys/a", True, True),
        ("./.env.*", ".env.local", True, True),
        ("./.env.*", ".env.example", True, False),
        ("./.env*", ".env.local.sample", True, False),
        (".env.example", ".env.example", True, True),
        ("./.env.*/**", ".env.d/a.dist", True, True),
        ("secrets/**", "secrets/.env.example", True, True),
    ],
)
def test_a_path_is_allowed_by_what_it_leads_to_and_denied_by_what_it_says_too(
    pattern: str, path: str, strictly: bool, loosely: bool, workspace: Workspace
) -> None:
    rules = [Rule("read", pattern)]
    found = [path_rule(rules, path, workspace, strict=strict) for strict in (True, False)]
    assert [rule is not None for rule in found] == [strictly, loosely]
    assert path_rule([], path, workspace, strict=False) is None


def test_a_path_that_was_judged_before_is_not_followed_again(workspace: Workspace) -> None:
    rules = [Rule("read", "secrets/**")]
    elsewhere = workspace.cwd / "src"
    assert path_rule(rules, "secrets/x", workspace, strict=True, target=elsewhere) is None
    assert path_rule(rules, "secrets/x", workspace, strict=False, target=elsewhere) is rules[0]


def test_a_path_that_is_saved_is_relative_to_its_workspace(workspace: Workspace) -> None:
    work, other = workspace.cwd, workspace.roots[1]
    assert exact_path(work / "a*b/c", workspace) == "./a\\*b/c"
    assert exact_path(other / "x", workspace) == "./x"
    assert exact_path(work, workspace) == str(work)
    assert exact_path(Path("/etc/hosts"), workspace) == "/etc/hosts"


@each_row(
    ("pattern", "path", "covered"),
    [
        ("secrets", "secrets", True),
        ("secrets", "secrets/a/key", True),
        ("SECRETS", "secrets/a/key", True),
        ("secrets", "Secrets/a/key", True),
        ("a/secrets", "a/Secrets/key", True),
        ("secret", "secrets/key", False),
        ("secrets*", "secrets/a/key", False),
        ("secrets/*", "secrets/a/key", False),
    ],
)
def test_a_folder_that_a_deny_rule_names_is_covered_in_any_case(
    pattern: str, path: str, covered: bool, tmp_path: Path
) -> None:
    workspace = Workspace(tmp_path, (tmp_path,), tmp_path / "home")
    found = path_rule([parse_rule(f"read({pattern})")], path, workspace, strict=False)
    assert (found is not None) is covered


def test_many_wildcards_in_a_rule_take_no_time() -> None:
    assert wildcard("*a" * 40 + "b").fullmatch("a" * 5_000) is None
    assert wildcard("*a" * 40 + "*b").fullmatch("a" * 5_000 + "b")
    assert [bool(wildcard("a*b*c").fullmatch(text)) for text in ("abc", "axbxbxc", "abcb", "bc")] == [
        True,
        True,
        False,
        False,
    ]


# Rules that a person wrote are obeyed as written; the caution about options belongs to rules that agentcli proposes.


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return make_workspace(tmp_path_factory.mktemp("written"))


def judged(rules: Rules, command: str, made: Workspace) -> Decision:
    return explain_command(command, made, "ask", rules)


@each_row(
    ("rule", "command"),
    [
        ("npm test *", "npm test x"),
        ("npm test:*", "npm test src/app/page.test.ts --reporter ./node_modules/x"),
        ("gcc *", "gcc -o build/a a.c -Iinclude -DX='a b' -fuse-ld=lld"),
        ("hg commit *", "hg commit -m x"),
        ("pytest *", "pytest /opt/x -o addopts= -p no:cacheprovider"),
        ("make *", "make -C src CFLAGS='-O2 -g' DESTDIR=/opt/x install"),
        ("go *", "go build -ldflags '-s -w' -o /opt/x/a ./..."),
        ("cp *", "cp README.md /opt/x/README.md"),
        ("jest *", "jest --config src/jest.config.js"),
        ("git commit *", "git commit -m 'run sh -c x' -C HEAD"),
        ("gcc -wrapper *", "gcc -wrapper ./x a.c"),
        ("gcc *", 'for f in src/a src/b; do gcc "$f.c" -o "$f"; done'),
        ("npm test *", "CI=1 FORCE_COLOR=0 npm test"),
        ("npm run *", "npm run dev > out.log 2>&1"),
        ("npm run *", "timeout 60 npm run test"),
        ("git *", "git diff HEAD~1 > a.diff"),
        ("make", "if make; then echo ok; fi"),
        ("uv run *", "uv run python - <<'E'\nx\nE"),
        ("cd * && npm test", "cd src && npm test | tail -3"),
        ("python3 *", "python3 -c 'import os; os.system(\"/bin/sh\")'"),
    ],
)
def test_a_rule_that_a_person_wrote_covers_what_it_matches(made: Workspace, rule: str, command: str) -> None:
    for origin in ("config", "flag", "your answers", "session"):
        rules = parse_rules([f"bash({rule})"], origin=origin)
        assert judged(rules, command, made).decision == "allow", origin


@each_row(
    ("rule", "command", "named"),
    [
        ("gcc *", "gcc -wrapper ./x a.c", "-wrapper"),
        ("cmake *", "cmake -E env ./x", "-E"),
        ("npm *", "npm run build --script-shell ./x", "--script-shell"),
        ("npx *", "npx jest --runner ./x", "--runner"),
        ("tar *", "tar cf a.tar src --use-compress-program=./x", "--use-compress-program"),
        ("find *", "find . -name x -exec ./x '{}' \\;", "-exec"),
        ("git *", "git -c core.pager=./x log", "-c"),
        ("git fetch *", "git fetch --upload-pack=./x", "--upload-pack"),
        ("tracker *", "tracker list --with '/bin/sh -c x'", "--with"),
        ("make *", "make SHELL=./x", "SHELL"),
        ("jest *", "jest --config /opt/x/jest.config.js", "--config"),
        ("NODE_OPTIONS=* node *", "NODE_OPTIONS=--require=./x node a.js", ""),
        ("npm test *", "NODE_OPTIONS=--require=./x npm test", ""),
        ("npm test *", "PATH=x npm test", ""),
    ],
)
def test_an_option_that_is_known_to_start_a_program_asks_and_says_so(
    made: Workspace, rule: str, command: str, named: str
) -> None:
    decision = judged(parse_rules([f"bash({rule})"]), command, made)
    assert decision.decision == "ask"
    assert named in decision.why


def test_what_always_asks_asks_under_a_rule_that_a_person_wrote(made: Workspace) -> None:
    for rule, command in (("rm *", "rm -rf ~"), ("cp *", "cp x .git/hooks/pre-commit"), ("dd *", "dd of=/dev/sda")):
        assert judged(parse_rules([f"bash({rule})"]), command, made).decision == "ask"


@each_row(
    ("rule", "command"),
    [
        ("cd * && npm test", "npm test"),
        ("cd * && npm test", "cd src; npm test"),
        ("cd * && npm test", "cd /opt && npm test"),
        ("cd * && npm test", "cd src && npm test && make"),
        ("git add * && git commit *", "git commit -m x"),
        ("npm run *", "npm run x > /etc/passwd"),
        ("npm run *", "npm run x > .git/hooks/pre-commit"),
        ("npm run *", "npm run x > $F"),
        ("npm run *", "timeout 60 npm run x --script-shell ./y"),
        ("npm run *", "timeout 60 sh -c 'npm run x'"),
        ("npm run *", "npm run x; echo y > z"),
        ("npm run *", "npm run x > a; rm b"),
        ("git *", "git diff > a; git -c core.pager=./x log"),
        ("make", "make > a & rm b"),
        ("make", "make <<< x"),
    ],
)
def test_a_rule_that_a_person_wrote_covers_no_other_command_beside_it(made: Workspace, rule: str, command: str) -> None:
    assert judged(parse_rules([f"bash({rule})"]), command, made).decision == "ask"


def test_a_proposed_rule_covers_only_words_of_its_kind(made: Workspace) -> None:
    for rule, command in (("gcc *", "gcc -o build/a a.c"), ("npm test *", "npm test --prefix x"), ("cp *", "cp x /y")):
        assert judged(proposed_rules([f"bash({rule})"]), command, made).decision == "ask"
