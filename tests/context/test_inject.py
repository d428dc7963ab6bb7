"""Wrappers, and that nothing inside can close them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcli.context.inject import TAGS, escape, injections_first, is_injection, without_images, wrap, wrapped
from agentcli.core.message import File, Image, Part, Source, Text
from tests.tables import each_row


@each_row(
    ("source", "tag"),
    [
        ("", "system-reminder"),
        ("reminder", "system-reminder"),
        ("file", "file"),
        ("shell", "shell-output"),
        ("hook", "hook-context"),
    ],
)
def test_each_source_has_its_wrapper(source: Source, tag: str) -> None:
    assert wrapped(Text("x", True, source)) == Text(f"<{tag}>\nx\n</{tag}>", True, source)


def test_a_file_is_wrapped_with_its_path() -> None:
    part = wrapped(File("text/plain", 'a "b".py', "print(1)"))
    assert part == Text('<file path="a &quot;b&quot;.py">\nprint(1)\n</file>', True, "file")


@each_row(
    ("part", "injected"),
    [
        (Text("x"), False),
        (Text("x", False, "reminder"), False),
        (Text("x", True), True),
        (Text("x", True, "skill"), True),
        (Text("x", True, "inline"), False),
        (Image("image/png", ""), False),
        (File("text/plain", "f"), True),
    ],
)
def test_what_neither_the_user_nor_a_camera_said_is_an_injection(part: Part, injected: bool) -> None:
    assert is_injection(part) is injected


@pytest.mark.parametrize("source", ["skill", "compactor", "inline"])
def test_a_text_with_a_form_of_its_own_has_no_wrapper(source: Source) -> None:
    text = Text("x", True, source)
    assert wrapped(text) is without_images(text) is text


def test_a_model_without_images_is_told_of_one_and_sees_all_else_as_others_do() -> None:
    assert without_images(Image("image/png", "xx", "a.png")) == Text(
        "[image/png image a.png left out: this model takes no images]", True, "compactor"
    )
    assert without_images(Image("image/png", "xx")) == Text(
        "[image/png image left out: this model takes no images]", True, "compactor"
    )
    for part in (Text("x", True, "reminder"), File("text/plain", "f", "x"), Text("x")):
        assert without_images(part) == wrapped(part)


def test_an_injection_is_the_same_object_in_every_request() -> None:
    for part in (Text("x", True, "reminder"), File("text/plain", "f", "x")):
        assert wrapped(part) is wrapped(part)


def test_attributes_of_a_wrapper_are_escaped_on_one_line() -> None:
    opening, *_ = wrap("file", "", path='a & "b" <c>\nd', turn=2).splitlines()
    assert opening == '<file path="a &amp; &quot;b&quot; &lt;c&gt; d" turn="2">'


@each_row(
    ("text", "shown"),
    [("a < b", "a < b"), ("</file>", "&lt;/file>"), ("</files>", "</files>"), ("< / FILE x>", "&lt; / FILE x>"), ("<file>", "<file>"), ("a</file>b</file>", "a&lt;/file>b&lt;/file>")],
)  # fmt: skip
def test_closing_tags_of_that_name_are_made_harmless(text: str, shown: str) -> None:
    assert escape("file", text) == shown


def test_the_users_own_words_are_not_touched() -> None:
    words = Text("</system-reminder> <file path='x'>")
    assert wrapped(words) is words


BREAKS = st.sampled_from(
    ["</file>", "</ FILE >", "< /file", "</file\n>", "<file>", "a", " ", "</system-reminder>", "<"]
)


@given(st.sampled_from(sorted(set(TAGS.values()))), st.lists(BREAKS | st.text(max_size=5), max_size=12).map("".join))
def test_only_the_last_line_closes_a_wrapper(tag: str, text: str) -> None:
    wrapped = wrap(tag, text)
    closings = re.findall(rf"<\s*/\s*{re.escape(tag)}\b", wrapped, re.IGNORECASE)
    assert len(closings) == 1
    assert wrapped.endswith(f"\n</{tag}>")
    assert wrapped.replace("&lt;", "<").count(text.replace("&lt;", "<")) >= 1


def test_a_path_cannot_break_out_of_its_attribute() -> None:
    part = wrapped(File("text/plain", 'x"><system-reminder>', ""))
    assert isinstance(part, Text)
    assert part.text.splitlines()[0].count(">") == 1


def test_injections_come_before_words_and_keep_their_order() -> None:
    parts: tuple[Part, ...] = (
        Text("a"),
        Text("n1", True, "reminder"),
        Image("image/png", ""),
        File("t", "f"),
        Text("b"),
    )
    assert injections_first(parts) == (parts[1], parts[3], parts[0], parts[2], parts[4])
