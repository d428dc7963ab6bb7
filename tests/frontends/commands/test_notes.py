"""Lines that a person keeps in instruction files, in a separate section."""

from __future__ import annotations

from agentcli.frontends.commands.notes import with_line
from tests.tables import each_row


@each_row(
    ("before", "after"),
    [
        ("", "## Notes\n\n- new\n"),
        ("# Project\n\nUse make.", "# Project\n\nUse make.\n\n## Notes\n\n- new\n"),
        ("## Notes\n\n- old\n", "## Notes\n\n- old\n- new\n"),
        ("## Notes\n- old\n\n## Build\nmake\n", "## Notes\n- old\n- new\n\n## Build\nmake\n"),
        ("## Notes\n", "## Notes\n\n- new\n"),
    ],
)
def test_a_line_goes_to_the_end_of_the_notes(before: str, after: str) -> None:
    assert with_line(before, "new") == after
