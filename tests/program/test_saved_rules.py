"""Rules that "always" saves for one project."""

from __future__ import annotations

import json
import stat
import threading
from pathlib import Path

import pytest

from agentcli.core.errors import ConfigError, InputError
from agentcli.permissions.rules import parse_rules, proposed_rules
from agentcli.program.saved_rules import DAMAGED, SavedRules
from tests.tables import each_row


def repository(tmp_path: Path, name: str) -> Path:
    work = tmp_path / name
    (work / ".git").mkdir(parents=True)
    return work


def texts(saved: SavedRules) -> list[str]:
    rules, trouble = saved.rules()
    assert trouble == ""
    return [str(rule) for rule in rules.allow]


def test_a_saved_rule_is_for_one_project_and_its_owner_alone(tmp_path: Path) -> None:
    one, other = (SavedRules(tmp_path / "store", repository(tmp_path, name)) for name in ("one", "other"))
    one.add(parse_rules(["edit(./src/cart.py)", "bash(npm test)", "edit(./src/cart.py)"]).allow)
    one.add(parse_rules(["bash(npm test)"]).allow)
    assert texts(one) == ["edit(./src/cart.py)", "bash(npm test)"]
    assert {rule.origin for rule in one.rules()[0].allow} == {"your answers"}
    assert texts(other) == []
    assert one.file.parent.parent == tmp_path / "store"
    assert stat.S_IMODE(one.file.stat().st_mode) == 0o600


def test_a_path_counts_from_the_folder_in_which_it_was_approved(tmp_path: Path) -> None:
    work = repository(tmp_path, "work")
    (work / "web").mkdir()
    top, below = SavedRules(tmp_path / "store", work), SavedRules(tmp_path / "store", work / "web")
    below.add(parse_rules(["edit(./a.py)"]).allow)
    assert (texts(top), texts(below)) == ([], ["edit(./a.py)"])


def test_a_rule_about_a_whole_program_takes_the_place_of_a_narrow_one(tmp_path: Path) -> None:
    saved = SavedRules(tmp_path / "store", repository(tmp_path, "work"))
    saved.add(proposed_rules(["bash(make *)", "bash(frob *)"]).allow)
    saved.add(proposed_rules(["bash(make *)"], whole=True).allow)
    assert {str(rule): rule.whole for rule in saved.rules()[0].allow} == {"bash(frob *)": False, "bash(make *)": True}
    saved.add(proposed_rules(["bash(make *)"]).allow)
    assert [rule.whole for rule in saved.rules()[0].allow] == [False, True]
    assert all(rule.proposed for rule in saved.rules()[0].allow)


def test_a_rule_is_removed_by_its_text(tmp_path: Path) -> None:
    saved = SavedRules(tmp_path / "store", repository(tmp_path, "work"))
    saved.add(parse_rules(["bash(a)", "bash(b)"]).allow)
    saved.remove("bash(a)")
    assert texts(saved) == ["bash(b)"]
    with pytest.raises(InputError, match=r"bash\(a\) is not saved for this project. Saved here: bash\(b\)"):
        saved.remove("bash(a)")


@each_row("text", ["", "{", "[]", '{"rules": 3}', '{"rules": [1]}', "[" * 9999, "\x00"])
def test_damage_allows_nothing_and_the_next_rule_is_saved_beside_it(tmp_path: Path, text: str) -> None:
    saved = SavedRules(tmp_path / "store", repository(tmp_path, "work"))
    saved.add(parse_rules(["bash(a)"]).allow)
    saved.file.write_text(text)
    rules, trouble = saved.rules()
    assert rules.allow == ()
    assert ("is damaged" in trouble) is bool(text)
    saved.add(parse_rules(["bash(b)"]).allow)
    assert texts(saved) == ["bash(b)"]
    aside = saved.file.with_name(DAMAGED)
    assert (aside.read_text() if aside.exists() else "") == text


def test_a_rule_that_is_none_allows_nothing_and_is_told(tmp_path: Path) -> None:
    saved = SavedRules(tmp_path / "store", repository(tmp_path, "work"))
    saved.add(parse_rules(["bash(a)"]).allow)
    saved.file.write_text(saved.file.read_text().replace("bash(a)", "bash((((" * 2 + " "))
    rules, trouble = saved.rules()
    assert rules.allow == ()
    assert str(saved.file) in trouble


def test_a_file_that_others_may_write_has_no_effect_and_is_not_changed(tmp_path: Path) -> None:
    saved = SavedRules(tmp_path / "store", repository(tmp_path, "work"))
    saved.add(parse_rules(["bash(a)"]).allow)
    saved.file.chmod(0o622)
    assert saved.rules()[0].allow == ()
    assert "can be changed by others" in saved.rules()[1]
    with pytest.raises(ConfigError):
        saved.add(parse_rules(["bash(b)"]).allow)
    assert [one["rule"] for one in json.loads(saved.file.read_text())["rules"]] == ["bash(a)"]


def test_rules_that_are_saved_at_the_same_time_are_all_kept(tmp_path: Path) -> None:
    work = repository(tmp_path, "work")
    threads = [
        threading.Thread(target=SavedRules(tmp_path / "store", work).add, args=(parse_rules([f"bash(x{n})"]).allow,))
        for n in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(texts(SavedRules(tmp_path / "store", work))) == sorted(f"bash(x{n})" for n in range(12))


def test_a_saved_rule_remembers_whether_a_person_wrote_it(tmp_path: Path) -> None:
    saved = SavedRules(tmp_path / "store", repository(tmp_path, "work"))
    saved.add([*parse_rules(["bash(a *)"]).allow, *proposed_rules(["bash(b *)"]).allow])
    assert [(str(rule), rule.proposed) for rule in saved.rules()[0].allow] == [
        ("bash(a *)", False),
        ("bash(b *)", True),
    ]
