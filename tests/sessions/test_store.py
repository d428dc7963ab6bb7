from __future__ import annotations

from pathlib import Path

import pytest

from agentcli.core.errors import InputError, SessionBusy, StoreError
from agentcli.core.record import Title
from agentcli.sessions.info import Parent, new_id
from agentcli.sessions.store import Store
from agentcli.sessions.summaries import glance, subfolders
from tests.counted import counted
from tests.sessions.bodies import read, user
from tests.sessions.disks import FAULTS, Failing


def started(store: Store, directory: Path, prompt: str = "hello", name: str = "", parent: Parent | None = None):
    session = store.create(directory, parent=parent)
    session.append(user(prompt))
    if name:
        session.append(Title(name=name))
    session.close()
    return session.info


def test_subfolders_of_one_repository_are_one_project(store: Store, tmp_path: Path) -> None:
    (tmp_path / "code" / "src" / "deep").mkdir(parents=True)
    (tmp_path / "code" / ".git").mkdir()
    one = store.project_id(tmp_path / "code")
    assert one == store.project_id(tmp_path / "code" / "src" / "deep")
    assert one.startswith("code-")


def test_folders_with_the_same_name_are_different_projects(store: Store, tmp_path: Path) -> None:
    for parent in ("a", "b"):
        (tmp_path / parent / "same name").mkdir(parents=True)
    ids = {store.project_id(tmp_path / parent / "same name") for parent in ("a", "b")}
    assert len(ids) == 2
    assert all(name.startswith("same-name-") for name in ids)


def test_ids_sort_by_time() -> None:
    ids = [new_id() for _ in range(200)]
    by_microsecond = [text[:-3] for text in ids]
    assert by_microsecond == sorted(by_microsecond)


def test_a_session_is_found_by_id_by_a_unique_beginning_and_by_name(store: Store, tmp_path: Path) -> None:
    first, second = started(store, tmp_path), started(store, tmp_path, name="second one")
    project = first.project_id
    assert store.find(first.id, project).id == first.id
    assert store.find(second.id[:-2], project).id == second.id
    assert store.find("second one", project).id == second.id


def test_a_whole_id_is_found_from_any_project(store: Store, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    info = started(store, tmp_path)
    assert store.find(info.id, store.project_id(tmp_path / "elsewhere")).id == info.id


def test_a_whole_id_is_found_without_a_list_of_all_sessions(store: Store, tmp_path: Path) -> None:
    infos = [started(store, tmp_path) for _ in range(5)]
    with counted(subfolders, glance) as calls:
        assert store.find(infos[2].id).id == infos[2].id
    assert calls == {subfolders: 1, glance: 1}


def test_what_fits_several_sessions_names_them(store: Store, tmp_path: Path) -> None:
    first, second = started(store, tmp_path, "one"), started(store, tmp_path, "two")
    with pytest.raises(InputError) as raised:
        store.find(first.id[:4], first.project_id)
    assert all(word in str(raised.value) for word in (first.id, second.id, "one", "two"))


@pytest.mark.parametrize("selector", ["nobody", "", "../x", "*", "2"])
def test_what_fits_no_session_is_an_error_and_makes_none(store: Store, tmp_path: Path, selector: str) -> None:
    with pytest.raises(InputError):
        store.find(selector, store.project_id(tmp_path))
    assert store.list() == []


def test_the_newest_session_is_the_one_last_written_to(store: Store, tmp_path: Path) -> None:
    first = started(store, tmp_path)
    started(store, tmp_path)
    with_more = store.open(first.project_id, first.id)
    with_more.append(user("more"))
    with_more.close()
    started(store, tmp_path, parent=Parent(first.id, 1, "subagent"))
    newest = store.newest(first.project_id)
    assert newest is not None
    assert newest.id == first.id
    assert store.newest("nowhere-0000000000") is None


def test_lists_hold_one_project_or_all(store: Store, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    here, there = started(store, tmp_path), started(store, tmp_path / "other")
    assert [info.id for info in store.list(here.project_id)] == [here.id]
    assert [info.id for info in store.list()] == [there.id, here.id]


def test_fields_that_a_newer_version_wrote_survive(store: Store, tmp_path: Path) -> None:
    import json

    info = started(store, tmp_path)
    path = store.folder(info) / "session.json"
    path.write_text(json.dumps(read(path) | {"hologram": [1]}))
    store.rename(info, "new name")
    assert read(path)["hologram"] == [1]
    assert read(path)["name"] == "new name"


def test_a_rename_is_a_record(store: Store, tmp_path: Path) -> None:
    info = store.rename(started(store, tmp_path), "fresh")
    assert store.find("fresh", info.project_id).id == info.id
    (store.folder(info) / "session.json").unlink()
    assert store.find("fresh", info.project_id).name == "fresh"


def test_a_rename_that_the_disk_refuses_is_not_said_to_be_done(store: Store, tmp_path: Path) -> None:
    info = started(store, tmp_path)
    full = Store(store.root, disk=Failing("write", FAULTS["ENOSPC"], 1, forever=True))
    with pytest.raises(StoreError, match=r"was not renamed.*No space left"):
        full.rename(info, "fresh")
    assert store.find(info.id).name == ""


def test_a_deleted_session_is_fetched_back_by_name_or_beginning_of_its_id(store: Store, tmp_path: Path) -> None:
    infos = [started(store, tmp_path, name="mine"), started(store, tmp_path)]
    for info in infos:
        store.delete(info)
    assert store.restore("mine").id == infos[0].id
    assert store.restore(infos[1].id[:-1]).id == infos[1].id
    for info in infos:
        store.delete(info)
    with pytest.raises(InputError, match="fits 2 sessions"):
        store.restore(infos[0].id[:4])
    with pytest.raises(InputError, match="--trash"):
        store.restore("nothing")


def test_an_open_session_is_neither_renamed_nor_deleted_by_others(store: Store, tmp_path: Path) -> None:
    session = store.create(tmp_path)
    session.append(user("hello"))
    with pytest.raises(SessionBusy):
        store.rename(session.info, "mine")
    with pytest.raises(SessionBusy):
        store.delete(session.info)
    session.append(user("still here"))
    session.close()


def test_a_deleted_session_can_be_fetched_back(store: Store, tmp_path: Path) -> None:
    info = started(store, tmp_path)
    before = store.list()
    store.delete(info)
    assert store.list() == []
    assert [gone.id for gone in store.trashed()] == [info.id]
    with pytest.raises(InputError):
        store.find(info.id)
    assert store.restore(info.id).id == info.id
    assert store.list() == before
    with pytest.raises(InputError):
        store.restore(info.id)


def test_the_trash_is_emptied_by_age(store: Store, tmp_path: Path) -> None:
    info = started(store, tmp_path)
    store.delete(info)
    assert store.trash.empty(older_than=3600) == []
    assert store.trash.empty() == [info.id]
    with pytest.raises(InputError):
        store.restore(info.id)


def test_a_project_id_cannot_lead_out_of_the_store(store: Store) -> None:
    with pytest.raises(InputError):
        store.open("../..", "etc")


@pytest.mark.parametrize("name", ["na\x1b]0;T\x07", "a\u202eb", "two\nlines", "a\u200bb", "\x9b31m", "tag\U000e0041"])
def test_a_name_that_would_steer_a_terminal_is_refused_with_what_is_in_it(
    store: Store, tmp_path: Path, name: str
) -> None:
    info = started(store, tmp_path)
    with pytest.raises(InputError, match="cannot contain control or invisible characters"):
        store.rename(info, name)
    assert store.find(info.id).name == ""


@pytest.mark.parametrize("name", ["my own", "fix \U0001f469\u200d\U0001f4bb", "naïve 漢字", "مرحبا"])
def test_a_name_may_be_in_any_script(store: Store, tmp_path: Path, name: str) -> None:
    assert store.rename(started(store, tmp_path), f" {name} ").name == name


def test_a_name_leads_to_one_session(store: Store, tmp_path: Path) -> None:
    first, second = started(store, tmp_path, name="taken"), started(store, tmp_path)
    with pytest.raises(InputError, match=rf"{first.id} is already called 'taken'"):
        store.rename(second, " taken ")
    assert store.find("taken").id == first.id
    assert store.rename(first, "taken").name == "taken"
    assert store.rename(second, "free").name == "free"


def test_a_moved_session_belongs_to_its_new_folder(store: Store, tmp_path: Path) -> None:
    for name in ("old/src", "new/src", "other"):
        (tmp_path / name).mkdir(parents=True)
    info, inside = started(store, tmp_path / "old"), started(store, tmp_path / "old" / "src")
    before = sorted(path.name for path in store.folder(info).rglob("*"))
    moved = store.move(info, tmp_path / "new")
    assert (moved.directory, moved.project_id) == (str(tmp_path / "new"), store.project_id(tmp_path / "new"))
    assert store.list(moved.project_id) == [moved]
    assert sorted(path.name for path in store.folder(moved).rglob("*")) == before
    (store.folder(moved) / "session.json").unlink()
    assert store.find(info.id).directory == str(tmp_path / "new")
    assert store.move(inside, tmp_path / "other").directory == str(tmp_path / "other")
    assert store.move(moved, tmp_path / "new").directory == str(tmp_path / "new")
    session = store.open(moved.project_id, moved.id)
    with pytest.raises(SessionBusy):
        store.move(moved, tmp_path / "other")
    session.close()


def test_a_session_keeps_its_subfolder_when_its_repository_is_moved(store: Store, tmp_path: Path) -> None:
    (tmp_path / "old" / ".git").mkdir(parents=True)
    (tmp_path / "old" / "src").mkdir()
    info = started(store, tmp_path / "old" / "src")
    (tmp_path / "old").rename(tmp_path / "new")
    assert store.move(info, tmp_path / "new").directory == str(tmp_path / "new" / "src")


def test_a_move_that_the_disk_refuses_changes_nothing(store: Store, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    info = started(store, tmp_path)
    full = Store(store.root, disk=Failing("rename", FAULTS["EIO"], 1))
    with pytest.raises(StoreError, match="Can't move"):
        full.move(info, tmp_path / "new")
    assert store.find(info.id) == info


def test_a_session_may_have_an_id_that_was_made_elsewhere(store: Store, tmp_path: Path) -> None:
    given = "0b5f2c1e-9d55-4f0e-8f9c-2f4d9a1b7c11"
    session = store.create(tmp_path, session_id=given)
    session.append(user("hello"))
    session.close()
    assert store.find(given).id == given
    with pytest.raises(InputError, match="already"):
        store.create(tmp_path / "other", session_id=given)


@pytest.mark.parametrize(
    "given", ["short", "../../etc/passwd", "-p-option-like", "with space", "x" * 65, ".hidden-one"]
)
def test_what_is_no_id_is_refused(given: str, store: Store, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be a session's id"):
        store.create(tmp_path, session_id=given)
