"""The line of a server's last words that a person is told."""

from __future__ import annotations

from agentcli.features.mcp.logs import telling_line
from tests.tables import each_row

NPM = """npm error code E404
npm error 404 Not Found - GET https://registry.example/@nope%2fx
npm error 404
npm error 404 Note that you can also install from a
npm error A complete log of this run can be found in: /x.log
"""
NODE = """/x.js:1
throw new Error("no key")
^

Error: no key
    at x.js:1:7

Node.js v20.20.2
"""


@each_row(
    ("text", "line"),
    [
        ("", ""),
        ("\n \n", ""),
        ("starting\nbad config\n\n", "bad config"),
        ("Traceback\n  File x\nKeyError: 'URL'\n", "KeyError: 'URL'"),
        (NPM, "npm error 404 Not Found - GET https://registry.example/@nope%2fx"),
        (NODE, "Error: no key"),
        ("TypeError [ERR_X]: odd\n\nNode.js v22.1.0", "TypeError [ERR_X]: odd"),
        ("quiet\nNode.js v22.1.0", "Node.js v22.1.0"),
        ("x" * 300, "x" * 200),
    ],
)
def test_it_is_the_last_one_but_for_programs_that_end_with_something_else(text: str, line: str) -> None:
    assert telling_line(text) == line
