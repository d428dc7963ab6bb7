"""Recognition of record files that are written as this program writes them, without parsing them."""

from __future__ import annotations

import re

from agentcli.sessions.exporting.redactor import search


def body_in_own_form(stored: str) -> str:
    """The text of a record file behind the fields that all records share; empty unless to encode the record again gives the very same text.

    A record that is refused may be in that form all the same, such as one with a number of many digits. That no object has a name
    twice is taken for granted: no encoder writes that.
    """
    head = _HEAD.match(stored)
    if head is None or any(repr(float(number)) != number for number in head.groups() if number):
        return ""
    body = stored[head.end() :]
    return body if search(_BODY, False)(body) else ""


_TEXT = r'"[^"\\]*"'
_HEAD = re.compile(
    rf'{{"schema":[0-9]+,"seq":[0-9]+,"id":{_TEXT},"time":'
    rf'(?:{_TEXT}|{{"start":([0-9]+\.[0-9]+),"end":([0-9]+\.[0-9]+),"recorded":{_TEXT}}}),"kind":{_TEXT},"prev":{_TEXT},'
)
_STRING = r'"(?:[^"\\\x00-\x1f]|\\["\\bfnrt]|\\u00(?:0[0-7bef]|1[0-9a-f]))*"'
_WHOLE = r"0|-?[1-9][0-9]{0,17}"
_FRACTION = r"-?(?:0\.(?:0|0{0,3}(?:[1-9]|[1-9][0-9]{0,13}[1-9]))|[1-9][0-9]{0,8}\.(?:0|[0-9]{0,5}[1-9]))"
"""With up to fifteen digits that count there is one way only to write a number: with more it may be a longer one of the same value."""
_BODY = rf"^(?:{_STRING}|(?:{_WHOLE}|{_FRACTION})[,\]}}]|[{{}}\[\],:]|true|false|null)*\n$"
