"""Tokens, login links and the checks that each request passes, before any of them reaches a session."""

from __future__ import annotations

import stat
from pathlib import Path

from agentcli.frontends.serve.access import LINK_SECONDS, PAGE_SECONDS, PERIOD, WRONG, Access, Grant
from agentcli.frontends.serve.drawing import tree_of


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def test_a_link_logs_in_once_and_only_for_minutes(tmp_path: Path) -> None:
    clock = Clock()
    access = Access(tmp_path, 8020, clock)
    code = access.link(read_only=False)
    token, read_only = access.log_in(code)
    assert not read_only
    assert access.check(f"Bearer {token}") == Grant(False, "the page")
    assert access.log_in(code) == "unknown"
    late = access.link(read_only=True)
    clock.now += LINK_SECONDS + 1
    assert access.log_in(late) == "unknown"
    clock.now += PAGE_SECONDS
    assert access.check(f"Bearer {token}") == "unknown"


def test_a_page_stays_logged_in_when_the_server_is_started_again_on_its_port_alone(tmp_path: Path) -> None:
    first = Access(tmp_path, 8020)
    token, read_only = first.log_in(first.link(read_only=True))
    assert read_only
    assert Access(tmp_path, 8020).check(f"Bearer {token}") == Grant(True, "the page")
    assert Access(tmp_path, 8021).check(f"Bearer {token}") == "unknown"
    first.log_out(f"Bearer {token}")
    assert Access(tmp_path, 8020).check(f"Bearer {token}") == "unknown"


def test_many_wrong_tokens_are_told_to_wait_and_hinder_no_right_one(tmp_path: Path) -> None:
    clock = Clock()
    access = Access(tmp_path, 8020, clock)
    code = access.link(read_only=False)
    for n in range(WRONG):
        assert access.check(f"Bearer wrong{n}") == "unknown"
    assert access.check("Bearer wrong") == access.log_in("wrong") == "limited"
    token, _ = access.log_in(code)
    assert access.check(f"Bearer {token}") == Grant(False, "the page")
    clock.now += PERIOD + 1
    assert access.check("Bearer wrong") == "unknown"


def test_only_the_owner_reads_the_tokens_and_no_page_token_is_on_disk(tmp_path: Path) -> None:
    access = Access(tmp_path, 8020)
    token, _ = access.log_in(access.link(read_only=False))
    files = list((tmp_path / "serve").iterdir())
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert stat.S_IMODE((tmp_path / "serve").stat().st_mode) == 0o700
    assert not [file for file in files if token in file.read_text()]
    assert access.check(f"Bearer {(tmp_path / 'serve/token-read').read_text().strip()}").read_only  # type: ignore[union-attr]


def test_what_the_export_draws_becomes_a_tree_of_allowed_elements_only() -> None:
    markup = (
        '<section class="user" id="r1" onclick="evil()"><a class="who" href="javascript:evil()">You</a>'
        '<a href="https://example.org/">ok</a><script>evil()</script><img src="http://evil/x.png" alt="a">'
        '<img src="data:image/png;base64,AA=="><iframe src="x"></iframe><svg onload=evil()>&lt;b&gt;</svg></section>'
    )
    assert tree_of([markup]) == [
        ["section", {"class": "user"}, ["a", {"class": "who"}, "You"], ["a", {"href": "https://example.org/"}, "ok"],
         "evil()", ["img", {"alt": "a"}], ["img", {"src": "data:image/png;base64,AA=="}], "<b>"]
    ]  # fmt: skip
