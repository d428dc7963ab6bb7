"""One case for a table still shows every row that is wrong."""

from pathlib import Path

import pytest

from tests.tables import each_row

ROWS = [("1 + 1", 2), ("2 + 2", 5), ("3 + 3", 6), ("4 + 4", 9)]


def test_every_row_that_differs_is_named_with_what_was_expected_and_what_was_got() -> None:
    @each_row("sum, expected", ROWS)
    def checked(sum: str, expected: int) -> None:
        assert eval(sum) == expected, f"got {eval(sum)}"

    with pytest.raises(pytest.fail.Exception) as failed:
        checked()
    told = str(failed.value)
    assert told.startswith("2 of 4 rows differ:\nsum='2 + 2', expected=5\n    got 4")
    assert "\nsum='4 + 4', expected=9\n    got 8" in told
    assert "6" not in told


def test_a_row_that_should_raise_and_does_not_is_named_and_the_next_ones_run() -> None:
    @each_row("text", ["1", "x", "2"])
    def checked(text: str) -> None:
        with pytest.raises(ValueError, match="invalid"):
            int(text)

    with pytest.raises(pytest.fail.Exception, match=r"(?s)^2 of 3 rows differ:\ntext='1'.*\ntext='2'"):
        checked()


def test_an_error_says_in_which_row_it_came_up() -> None:
    @each_row("text", ["1", "x", "2"])
    def checked(text: str) -> None:
        int(text)

    with pytest.raises(ValueError, match="invalid") as failed:
        checked()
    assert failed.value.__notes__ == ["in row 2: {'text': 'x'}"]


def test_a_timeout_ends_the_test_and_not_only_its_row() -> None:
    seen = []

    @each_row("number", [1, 2])
    def checked(number: int) -> None:
        seen.append(number)
        pytest.fail("Timeout (>120.0s) from pytest-timeout.")

    with pytest.raises(pytest.fail.Exception, match="Timeout"):
        checked()
    assert seen == [1]


@each_row("name", ["a", "b"])
def test_each_row_has_a_folder_of_its_own_and_its_changes_are_undone(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not list(tmp_path.iterdir())
    (tmp_path / name).touch()
    assert not hasattr(pytest, "_marked_by_a_row")
    monkeypatch.setattr(pytest, "_marked_by_a_row", name, raising=False)
