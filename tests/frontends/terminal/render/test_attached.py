"""Attachments of a prompt, each with its readable size."""

from __future__ import annotations

from agentcli.core.message import GOES_ON, File, Image, Message, Text
from agentcli.frontends.terminal.render.attached import attached, user_message


def test_a_file_that_is_sent_in_part_says_so() -> None:
    message = Message("user", (File("text/plain", "a", "x" * 100 + GOES_ON), Text("look")))
    assert [each.size for each in attached(message)] == ["the first 100 characters"]


def test_a_pasted_image_has_the_label_that_it_had_in_the_input_box() -> None:
    one, two = (f"/home/me/a b/pictures/{each * 12}.png" for each in "ab")
    text = f'see @"{one}" and @"{two}", not @"{one}", @shot.png or @pictures/shot.png'
    (shown,) = user_message(text)
    assert shown.text == "see [Image #1] and [Image #2], not [Image #1], @shot.png or @pictures/shot.png"
    parts = tuple(Image("image/png", "", path) for path in ("shot.png", one, two))
    assert [each.path for each in attached(Message("user", (*parts, Text(text))))] == [
        "shot.png",
        "Image #1",
        "Image #2",
    ]
