"""A path outside that a person allowed may be used, as it was when they allowed it."""

from __future__ import annotations

from pathlib import Path

from agentcli.tools.grants import grant
from agentcli.tools.table import tools
from tests.tools.conftest import Call
from tests.tools.workplace import Bench

TOOLS = {tool.name: tool for tool in tools()}


def test_an_allowed_path_outside_may_be_used_and_no_other(call: Call, work: Bench, tmp_path: Path) -> None:
    work.options["outside_ok"] = set()
    (tmp_path / "notes.txt").write_text("hello\n")
    (tmp_path / "other.txt").write_text("secret\n")
    given = {"file_path": "../notes.txt"}
    assert call("read", **given).status == "error"
    assert grant(work, TOOLS["read"], given) == tmp_path / "notes.txt"
    assert call("read", **given).status == "success"
    assert call("read", file_path="../other.txt").status == "error"


def test_a_link_that_leads_elsewhere_after_it_was_allowed_is_refused(call: Call, work: Bench, tmp_path: Path) -> None:
    work.options["outside_ok"] = set()
    (tmp_path / "notes.txt").write_text("hello\n")
    (tmp_path / "secret.txt").write_text("secret\n")
    (work.cwd / "link").symlink_to(tmp_path / "notes.txt")
    grant(work, TOOLS["read"], {"file_path": "link"})
    assert call("read", file_path="link").status == "success"
    (work.cwd / "link").unlink()
    (work.cwd / "link").symlink_to(tmp_path / "secret.txt")
    assert call("read", file_path="link").status == "error"


def test_calls_inside_or_without_a_path_grant_nothing(work: Bench) -> None:
    work.options["outside_ok"] = set()
    assert grant(work, TOOLS["read"], {"file_path": "a"}) is None
    assert grant(work, TOOLS["bash"], {"command": "cat /etc/passwd"}) is None
    assert grant(work, TOOLS["grep"], {"pattern": "x"}) is None
    assert work.options["outside_ok"] == set()
