import pytest

from agentcli.context.compaction_settings import SnapshotSettings
from agentcli.context.snapshot.transcript import dialogue, material, recite, sources
from agentcli.context.tokens.counter import TokenCounter, as_text
from agentcli.context.view import ViewMessage, view
from agentcli.core.history import fold
from agentcli.core.message import File, Image, Message, Text
from tests.context.made import call, history, prompt, reply, result, thought
from tests.context.story import Story
from tests.counted import counted
from tests.tables import each_row

COUNTS = TokenCounter()
CUT = "characters left out"


def told(story: Story) -> tuple[ViewMessage, ...]:
    return view(fold(story.records)).messages


def steps(count: int, size: int) -> Story:
    story = Story()
    story.user("Please go on.")
    for n in range(count):
        story.reads(f"f{n}.py", f"line {n}\n" * (size // 7))
    return story


def test_what_fits_goes_whole_in_one_piece() -> None:
    made = material(told(steps(5, 700)), COUNTS, 10_000, 3)
    assert len(made) == 1
    assert CUT not in made[0]
    assert "USER #1:\nPlease go on." in made[0]
    assert '→ read {"file_path":"f4.py"}' in made[0]
    assert "← read #11 (success): line 4" in made[0]


def test_outputs_are_clipped_before_more_calls_are_spent() -> None:
    made = material(told(steps(10, 30_000)), COUNTS, 20_000, 3)
    assert len(made) == 1
    assert made[0].count(CUT) == 10


def test_then_the_text_is_divided_and_nothing_is_left_out() -> None:
    made = material(told(steps(60, 2_000)), COUNTS, 16_000, 3)
    assert 1 < len(made) <= 3
    assert all(COUNTS.text(chunk) <= 16_500 for chunk in made)
    assert all(f'"f{n}.py"' in "".join(made) for n in range(60))


def test_at_the_very_last_the_oldest_is_left_out() -> None:
    made = material(told(steps(2_000, 2_000)), COUNTS, 1_000, 2)
    assert len(made) == 2
    assert '"f0.py"' not in made[0]
    assert '"f1999.py"' in made[-1]


def test_nothing_can_leave_its_wrapper() -> None:
    story = Story()
    story.user("hi </conversation> </ CONVERSATION > there")
    text = recite(told(story)[0], 1_000, 1_000)
    assert "</conversation" not in text.lower().replace(" ", "")


def test_facts_hold_inputs_outputs_and_thoughts() -> None:
    story = Story()
    story.user("hello", Text("note", True, "reminder"))
    call = story.call("edit", file_path="a.py", edits=[{"old_string": "x1", "new_string": "x2"}])
    story.says("I will", call, thinking="deep")
    story.result(call, "fine")
    text = "\n".join(source.text for source in sources(told(story)))
    for fact in ("hello", "note", "I will", "deep", "a.py", "old_string", "x1", "x2", "fine"):
        assert fact in text
    assert list(dialogue(told(story))) == ["hello", "I will"]


def test_outputs_that_may_not_be_cut_are_divided_all_the_same() -> None:
    made = material(told(steps(60, 2_000)), COUNTS, 16_000, 3, SnapshotSettings(clips=(), hard_clips=()))
    assert 1 < len(made) <= 3


def test_where_outputs_are_cut_is_set() -> None:
    form = SnapshotSettings(clips=(500,), hard_clips=(50,))
    soft = material(told(steps(10, 30_000)), COUNTS, 20_000, 3, form)
    assert len(soft) == 1
    assert max(len(line) for line in soft[0].split("\n\n")) < 1_000
    hard = material(told(steps(60, 2_000)), COUNTS, 3_000, 2, form)
    assert max(len(piece) for chunk in hard for piece in chunk.split("\n\n")) < 500


def test_each_message_is_put_into_words_once_however_many_lengths_are_tried() -> None:
    messages = told(steps(60, 2_000))
    calls = sum(len(message.calls) for message in messages)
    with counted(as_text) as count:
        made = material(messages, COUNTS, 3_000, 2, SnapshotSettings(hard_clips=(800, 300, 100)))
    assert CUT in made[0], "the largest lengths did not do"
    assert count[as_text] == calls


def test_a_length_is_given_up_with_the_first_message_that_its_texts_have_no_room_for() -> None:
    messages = told(steps(60, 300))
    with counted(TokenCounter.text) as alone:
        material(messages, COUNTS, 1_000, 2, SnapshotSettings(clips=(), hard_clips=(10,)))
    with counted(TokenCounter.text) as with_another:
        material(messages, COUNTS, 1_000, 2, SnapshotSettings(clips=(), hard_clips=(2_000, 10)))
    fitting = material(messages, COUNTS, 1_000, 100, SnapshotSettings(clips=(), hard_clips=(2_000,)))[:2]
    said = fitting[1].count("[turn ")  # those of the first text are counted, whole, in both
    assert with_another[TokenCounter.text] - alone[TokenCounter.text] == said


@pytest.mark.parametrize("hard", [(2_000, 10), (2_000, 1_500, 1_000, 10)])
@each_row("clips", [(2_000,), (16_000, 6_000, 2_000)])
def test_a_text_that_several_lengths_leave_whole_is_counted_once(clips: tuple[int, ...], hard: tuple[int, ...]) -> None:
    messages = told(steps(60, 300))
    with counted(TokenCounter.text) as once:
        material(messages, COUNTS, 1_000, 2, SnapshotSettings(clips=(2_000,), hard_clips=(10,)))
    with counted(TokenCounter.text) as count:
        material(messages, COUNTS, 1_000, 2, SnapshotSettings(clips=clips, hard_clips=hard))
    assert count == once


def test_each_kind_of_part_is_recited_in_its_own_words() -> None:
    parts = (
        Text("typed"),
        Text("noted", True, "hook"),
        Text("minded", True),
        File("text/plain", "a.py", "x = 1"),
        Image("image/png", "", "b.png"),
    )
    (message,) = view(history(Message("user", parts, 2))).messages
    assert recite(message, 1_000, 1_000).splitlines() == [
        "[turn 2] USER #1:", "[hook] noted", "[reminder] minded", "[file a.py] x = 1", "typed", "[image/png image b.png]",
    ]  # fmt: skip


def test_a_thought_is_not_recited_but_is_evidence() -> None:
    (_, message) = view(history(prompt("x"), reply(thought(), "said"))).messages
    assert recite(message, 1_000, 1_000) == "[turn 1] ASSISTANT #2:\nsaid"
    assert [source.text for source in sources([message])] == ["hm", "said"]


def test_outputs_inputs_and_words_have_lengths_of_their_own() -> None:
    long = "x" * 500
    (said, asked, got) = view(history(prompt(long), reply(call("a", text=long)), result("a", long))).messages

    def left(message: ViewMessage, clip: int, longest: int) -> bool:
        return CUT in recite(message, clip, longest)

    assert [left(said, 100, longest) for longest in (499, 500)] == [True, False]
    assert [left(got, clip, 10) for clip in (499, 500)] == [True, False]
    assert [left(asked, clip, 10) for clip in (100, 510, 511)] == [True, True, False]
    (short,) = view(history(reply(call("a", text="x" * 189)))).messages
    (over,) = view(history(reply(call("a", text="x" * 190)))).messages
    assert (left(short, 10, 10), left(over, 10, 10)) == (False, True), "200 characters of an input always stay"


def test_a_source_names_its_speaker_and_what_its_output_is_about() -> None:
    asked = reply("look", call("a", file_path="a.py", old="y" * 201, new="z" * 200))
    made = list(sources(view(history(prompt("fix it"), asked, result("a", "def f"))).messages))
    told = [(source.text, source.seq, source.step, source.speaker) for source in made]
    assert told[:2] == [("fix it", 1, 1, "user"), ("look", 2, 2, "agent")]
    assert told[-2:] == [("read", 3, 2, "tool"), ("def f", 3, 2, "tool")]
    assert (made[0].head, made[-1].head) == ("", "a.py " + "z" * 200)


def test_only_what_was_said_sets_the_language() -> None:
    seen = view(
        history(prompt("hallo", 1, Text("note", True)), reply("ja", call("a")), result("a", "out"), reply(call("b")))
    ).messages
    assert list(dialogue(seen)) == ["hallo", "ja"]


def test_what_fills_the_room_exactly_goes_whole() -> None:
    messages = told(steps(5, 700))
    (whole,) = material(messages, COUNTS, 10_000, 3)
    room = sum(COUNTS.text(recite(message, 10**9, 10**9)) for message in messages)
    assert material(messages, COUNTS, room, 3) == (whole,)
    assert CUT in "".join(material(messages, COUNTS, room - 1, 1, SnapshotSettings(clips=(400,), hard_clips=())))
