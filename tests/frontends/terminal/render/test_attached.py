"""Attachments of a prompt, each with its readable size."""

from __future__ import annotations

from pathlib import Path

from agentcli.core.message import GOES_ON, File, Image, Message, Text
from agentcli.frontends.terminal.input.attachments import Pastes
from agentcli.frontends.terminal.render.attached import attached, user_message


def test_a_file_that_is_sent_in_part_says_so() -> None:
    message = Message("user", (File("text/plain", "a", "x" * 100 + GOES_ON), Text("look")))
    assert [each.size for each in attached(message, {})] == ["the first 100 characters"]


def test_a_pasted_image_has_the_label_that_it_had_in_the_input_box() -> None:
    one, two = (f"/home/me/a b/pictures/{each * 12}.png" for each in "ab")
    text = f'see @"{one}" and @"{two}", not @"{one}", @shot.png or @pictures/shot.png'
    images: dict[str, int] = {}
    (shown,) = user_message(text, images)
    assert shown.text == "see [Image #1] and [Image #2], not [Image #1], @shot.png or @pictures/shot.png"
    parts = tuple(Image("image/png", "", path) for path in ("shot.png", one, two))
    assert [each.path for each in attached(Message("user", (*parts, Text(text))), images)] == [
        "shot.png",
        "Image #1",
        "Image #2",
    ]


def test_an_image_has_one_number_in_the_input_box_and_in_every_later_prompt() -> None:
    pastes = Pastes()
    one, two, unsent = (Path(f"/home/me/pictures/{each * 12}.png") for each in "abc")
    first, _, second = (f"see {pastes.picture(file)}" for file in (one, unsent, two))
    for draft in (first, second, first):
        (shown,) = user_message(pastes.unfold(draft), pastes.numbers)
        assert shown.text == draft
    assert (first, second) == ("see [Image #1]", "see [Image #3]")
