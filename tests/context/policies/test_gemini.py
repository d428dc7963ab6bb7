"""Gemini CLI's compression: the oldest 70 % by characters, up to a message of the user."""

from __future__ import annotations

import json

from agentcli.context.policies.gemini import split_point, under_pressure, weight
from tests.context.story import Story
from tests.context.test_policies import SETTINGS, planned, seen, talk
from tests.tables import each_row


def test_gemini_weighs_the_compact_json_in_utf_16_units() -> None:
    story = Story()
    story.user("hé漢🧪")
    message = seen(story).messages[0]
    assert weight(message) == len('{"role":"user","parts":[{"text":"hé漢🧪"}]}') + 1
    story.does("read", "out", file_path="a")
    call, result = seen(story).messages[1:]
    assert weight(call) == len(
        json.dumps(
            {
                "role": "model",
                "parts": [{"functionCall": {"id": "call_1", "name": "read", "args": {"file_path": "a"}}}],
            },
            separators=(",", ":"),
        )
    )
    assert weight(result) == len(
        json.dumps(
            {
                "role": "user",
                "parts": [{"functionResponse": {"id": "call_1", "name": "read", "response": {"output": "out"}}}],
            },
            separators=(",", ":"),
        )
    )


def test_gemini_splits_at_the_first_user_message_with_seventy_percent_before_it() -> None:
    story = talk(*[500] * 10)
    # Ten equal messages: before the 8th (the user's, index 8) stand 80 %, before index 6 only 60 %.
    assert split_point(seen(story).messages, 0.7) == 8
    assert planned("gemini", story).split == 9


def test_gemini_compares_with_at_least() -> None:
    messages = seen(talk(100, 99, 100, 99)).messages
    user, model = weight(messages[0]), weight(messages[1])
    assert (user, model) == (weight(messages[2]), weight(messages[3]))
    share = (user + model) / (2 * (user + model))
    assert split_point(messages, share) == 2
    assert split_point(messages, share + 0.001) == 4


def test_gemini_is_pressed_by_a_message_of_more_than_95_percent_of_what_is_left() -> None:
    assert under_pressure(96, 900, 1_000, SETTINGS.gemini)
    assert not under_pressure(95, 900, 1_000, SETTINGS.gemini)


@each_row(
    ("text", "length"),
    [("a🔥", 3), ("a\ud83d 漢", 9), ("\ud83d\udd25", 2), ("\x01\x7f\u2028", 8), ('"\\/', 5), ("\n\t\x1f", 10)],
)
def test_a_message_weighs_what_javascript_makes_of_it(text: str, length: int) -> None:
    """As `JSON.stringify` of Node 20 has it: half a pair is escaped, a whole one is two units, most other signs are one."""
    story = Story()
    story.user(text)
    assert weight(seen(story).messages[0]) == len('{"role":"user","parts":[{"text":""}]}') + length


def test_whole_numbers_weigh_what_javascript_makes_of_them() -> None:
    sizes = []
    for number in (1.0, 1, 1.5):
        story = Story()
        story.user("Go.")
        story.says("", story.call("wait", seconds=[number, {"n": True}]))
        sizes.append(weight(seen(story).messages[1]))
    assert sizes[0] == sizes[1] == sizes[2] - 2
