"""Verbatim content that survives a compaction: the user's prompts, the pins, the model's newest answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain

from agentcli.context.inject import wrap
from agentcli.context.ledger.standing_rules import plain_lines, sentences, sets_rule
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.view import Block, View, ViewMessage
from agentcli.context.window import Window
from agentcli.core.message import File, Image, Text, Thinking, ToolCall, ToolResult
from agentcli.core.record import Compaction, VerbatimText
from agentcli.core.text.truncate import truncate_middle
from agentcli.core.tool import UNKNOWN

SKILL_TOKENS, SKILLS_TOKENS = 5_000, 25_000
"""Tokens of one skill's body, and of all of them, that a compaction carries."""


def verbatim_prompts(summarised: Sequence[ViewMessage], window: Window) -> tuple[VerbatimText, ...]:
    """Return the user's prompts in the summarised part and before it, verbatim and oldest first.

    All share one budget, `keep_user_tokens`, counted as a view shows them. The very first and the newest prompt always
    stay; long ones are cut in the middle. Newer prompts come before older ones. Those before the newest
    `whole_user_share` of the window keep their standing sentences. If there is room, the newer of them keep their
    beginning, too.
    """
    settings, usable, counter = window.settings, window.usable, window.counter
    budget = min(settings.keep_user_tokens, int(usable * settings.keep_user_share))
    longest = int(max(budget, _LEAST_BUDGET) * settings.keep_piece_share)
    every = [_cut(piece, counter, longest) for piece in _prompts(summarised, window.view)]
    chosen = {piece.seq: piece for piece in (*every[:1], *every[-1:])}
    budget -= carried_tokens(chosen.values(), counter)
    share = left = int(usable * settings.whole_user_share)
    older: list[VerbatimText] = []
    near: list[VerbatimText] = []
    for piece in reversed(every):
        if piece.seq in chosen:
            continue
        left -= (size := carried_tokens([piece], counter))
        if left >= 0 and size <= budget:
            chosen[piece.seq] = piece
            budget -= size
        else:
            older.append(piece)
            near += [piece] if left >= -share else []
    sizes: dict[int, int] = {}
    for short in chain(_standing_pieces(older, window), map(folded, near)):
        budget += sizes.get(short.seq, 0) - (size := carried_tokens([short], counter))
        if budget < 0:
            break
        chosen[short.seq], sizes[short.seq] = short, size
    return tuple(chosen[seq] for seq in sorted(chosen))


def _standing_pieces(newest_first: Iterable[VerbatimText], window: Window) -> Iterator[VerbatimText]:
    """Yield each prompt's standing sentences, except sentences that a newer prompt repeats with other numbers."""
    said: set[str] = set()
    edited = _Edited(window)
    for piece in newest_first:
        stays = []
        for sentence in _standing(piece.text.partition(_WHOLE)[0].replace(_CUT, "\n")):
            key = " ".join(_WORD.findall(sentence.casefold()))
            if key not in said and not edited.since(piece.seq, sentence):
                stays.append(sentence)
            said.add(key)
        if stays:
            yield _shortened(piece, stays)


class _Edited:
    """Files that were edited, found by the ends of their paths. A sentence that names one was a task, and is done."""

    def __init__(self, window: Window) -> None:
        self._window = window
        self._newest: dict[str, int] | None = None

    def since(self, seq: int, sentence: str) -> bool:
        """Return True if a file that the sentence names was edited after this record."""
        named = _PATH.findall(sentence)
        if named and self._newest is None:
            self._newest = {
                "/".join(parts[n:]): last
                for path, last in self._edits()
                for parts in (path.split("/"),)
                for n in range(len(parts))
            }
        return any((self._newest or {}).get(path.removeprefix("./"), 0) > seq for path in named)

    def _edits(self) -> Iterator[tuple[str, int]]:
        former, traits = former_compaction(self._window.view), self._window.traits
        facts = ((former.ledger if former else {}).get("files") or ())[-_FILES:]
        yield from ((fact["path"], fact["last"]) for fact in facts if fact.get("edits") or fact.get("deleted"))
        for message in self._window.view.messages:
            for call in message.calls if message.role == "assistant" else ():
                if traits.get(call.name, UNKNOWN).edits_files and (path := call.input.get("file_path")):
                    yield str(path), message.seq


def _prompts(summarised: Sequence[ViewMessage], view: View) -> Sequence[VerbatimText]:
    """Return the prompts carried by the former compaction, and the typed ones, without pinned ones, oldest first."""
    former = former_compaction(view)
    prompts = {piece.seq: piece for piece in (former.user_words if former else ())}
    typed = (piece for message in summarised for piece in typed_texts(message))
    prompts |= {piece.seq: piece for piece in typed if piece.seq not in view.pins}
    return [prompts[seq] for seq in sorted(prompts)]


def folded(piece: VerbatimText) -> VerbatimText:
    """Return a prompt as its beginning and its standing sentences, verbatim; unchanged if that is not shorter.

    It names the record that contains all of it. Its rules are not repeated: a snapshot contains all of them.
    """
    if len(piece.text) <= _FOLDED or _WHOLE in piece.text:
        return piece
    line = _CUT.join(filter(None, (" ".join(line.split()) for line in piece.text.splitlines())))
    begins = line[:_FOLDED].rsplit(" ", 1)[0]
    stays = [said for said in _standing(piece.text) if said not in begins]
    # A standing sentence that would be cut is not part of the beginning.
    begins = line[: min((len(begins), *(line.find(said) for said in stays if said in line)))]
    short = _shortened(piece, [*filter(None, [begins.removesuffix(_CUT).rstrip(" …")]), *stays])
    return short if len(short.text) < len(piece.text) else piece


def _shortened(piece: VerbatimText, parts: Sequence[str]) -> VerbatimText:
    return replace(piece, text=_CUT.join((*parts, f"{_WHOLE}{piece.seq} holds all of it]")))


@lru_cache(4_096)
def _standing(text: str) -> Sequence[str]:
    """Return the sentences that ask nothing and name no symbol.

    They may apply to all work. Rules are omitted, as are pasted lines and lines of a document.
    """
    found = [" ".join(said.split()) for line in plain_lines(text) for said in sentences(line)]
    plain = [said for said in found if len(said) <= _FOLDED * 2 and not said.endswith(("?", "？", ":", "："))]
    nameless = (said for said in plain if _WORDED.search(said) and not _NAMED.search(_PATH.sub("it", said)))
    stays = [said for said in nameless if not sets_rule(said)]
    return tuple(dict.fromkeys(stays))[:_STANDING]


_STANDING = 4
"""Maximum standing sentences of one prompt: a prompt with more is a document."""
_WORDED = re.compile(r"\w+\W+\w+\W+\w+|[\u3040-\u9fff\uac00-\ud7af]{4}")
_PATH = re.compile(r"(?:[\w.@-]+/)+[\w.@-]*\w|\w[\w-]*\.[A-Za-z]\w*\b(?!\()")
_NAMED = re.compile(r"`|\w[\\_]\w|\w\(|[a-z][A-Z]|#\d|^\W|https?:")
"""Sign of a symbol, a record or a line of a list."""
_WORD = re.compile(r"[^\W\d]{2,}")
_FILES = 300
"""Newest files of a former ledger that are looked at."""
_LEAST_BUDGET = 400
"""Minimum budget, in tokens, of which the first and the newest prompt have their share."""
_FOLDED = 100
"""Characters kept of a prompt that is folded."""
_WHOLE, _CUT = "[record #", " … "


def carried_tokens(pieces: Iterable[VerbatimText], counter: TokenCounter) -> int:
    """Return the tokens of verbatim texts as a view shows them, each in its tags and its own block."""
    shown = [wrap("user_message", piece.text, turn=piece.turn) for piece in pieces]
    return sum(map(counter.text, shown)) + round(len(shown) * counter.rule.per_block)


def verbatim_pins(summarised: Sequence[ViewMessage], view: View) -> tuple[VerbatimText, ...]:
    """Return the pinned messages of the summarised part and of earlier parts, complete, oldest first, without unpinned
    ones.

    For an output that was cleared or summarised before it was pinned, the text is the output itself.
    """
    former = former_compaction(view)
    pinned = {piece.seq: piece for piece in (former.pins if former else ()) if piece.seq in view.pins}
    for message in summarised if view.pins else ():
        for seq in dict.fromkeys(block.seq for block in message.blocks if block.seq in view.pins):
            blocks = [block for block in message.blocks if block.seq == seq]
            pinned[seq] = VerbatimText(seq, message.turn, "\n".join(filter(None, map(_text_of, blocks))))
    return tuple(pinned[seq] for seq in sorted(pinned) if pinned[seq].text)


def verbatim_answer(summarised: Sequence[ViewMessage], window: Window) -> VerbatimText | None:
    """Return the model's newest answer if it is summarised now, or was before and no answer follows.

    A long answer keeps only its two ends. Return None if the answer stays in the view.
    """
    message = next((each for each in reversed(window.view.messages) if each.answer), None)
    if message is None:
        former = former_compaction(window.view)
        return former.answer if former else None
    if all(message.seq != each.seq for each in summarised):
        return None
    piece = VerbatimText(message.seq, message.turn, message.answer)
    longest = min(window.settings.keep_answer_tokens, int(window.usable * window.settings.keep_user_share))
    return _both_ends(piece, window.counter, longest, "too long to be kept beside a summary")


def skills_in_use(summarised: Sequence[ViewMessage], window: Window) -> tuple[VerbatimText, ...]:
    """Return the newest body of each skill in the summarised part and before it, oldest first.

    A long body keeps only its beginning.
    """
    former = former_compaction(window.view)
    bodies = {skill_name(piece.text): piece for piece in (former.skills if former else ())}
    for message in summarised:
        for block in message.blocks if message.role == "user" else ():
            if text := skill_body(block):
                bodies.pop(skill_name(text), None)
                bodies[skill_name(text)] = VerbatimText(block.seq, message.turn, text)
    chosen: list[VerbatimText] = []
    left = min(SKILLS_TOKENS, int(window.usable * window.settings.keep_user_share))
    for piece in reversed(bodies.values()):
        short = _beginning(piece, window.counter, min(SKILL_TOKENS, left))
        left -= window.counter.text(short.text)
        if left < 0:
            break
        chosen.append(short)
    return tuple(sorted(chosen, key=lambda piece: piece.seq))


def skill_body(block: Block) -> str:
    """Return the body of the skill in a block, in its tags, or an empty text for any other block."""
    match block.original or block.part:
        case ToolResult(status="success", output=output, metadata=metadata) if metadata.get("skill"):
            return output
        case Text(text, synthetic=True, source="skill"):
            return text
        case Text(text, synthetic=True, source="compactor") if text.startswith("<skill "):
            return text
        case _:
            return ""


def skill_name(body: str) -> str:
    """Return the name in the opening tag of a skill's body."""
    return body.partition('name="')[2].partition('"')[0]


def former_compaction(view: View) -> Compaction | None:
    """Return the compaction that a view begins with."""
    body = view.compaction.body if view.compaction else None
    return body if isinstance(body, Compaction) else None


def pins_report(pins: Iterable[VerbatimText], counter: TokenCounter, most: int) -> str:
    """Return a warning with the largest pins if all together exceed `most` tokens, else an empty text."""
    sizes = {piece: counter.text(piece.text) for piece in pins}
    total = sum(sizes.values())
    if total <= most:
        return ""
    largest = sorted(sizes, key=lambda piece: -sizes[piece])[:3]
    named = ", ".join(f"message {piece.seq} ({sizes[piece]:,} tokens)" for piece in largest)
    return f"Pinned messages take {total:,} tokens; more than {most:,} is too much to work with. Unpin {named} with /pin remove."


def typed_texts(message: ViewMessage) -> Iterable[VerbatimText]:
    """Return the user's own words in a message, one piece for each record."""
    if message.role != "user" or not message.is_prompt:
        return ()
    own: dict[int, list[str]] = {}
    for block in message.blocks:
        if block.source == "user":
            own.setdefault(block.seq, []).append(_text_of(block))
    return (VerbatimText(seq, message.turn, "".join(pieces)) for seq, pieces in own.items() if any(pieces))


def _text_of(block: Block) -> str:
    match block.original or block.part:
        case Text(text):
            return text
        case Thinking():
            return ""
        case ToolResult(output=output):
            return output
        case ToolCall(_, name, given):
            return f"[called {name}: {', '.join(f'{key}={value!r}' for key, value in given.items())}]"
        case File(_, path, text):
            return f"[file {path}]\n{text}"
        case Image(mime, _, path):
            return f"[{mime} image {path}".rstrip() + "]"


def _beginning(piece: VerbatimText, counter: TokenCounter, most: int) -> VerbatimText:
    """Return the piece, cut to its first `most` tokens if it is longer."""
    tokens = counter.text(piece.text)
    if tokens <= most:
        return piece
    cut = piece.text[: int(len(piece.text) * max(most, 0) / tokens)]
    return replace(
        piece, text=f"{cut}\n[the rest of this skill was left out of the summary: load it again to see it]\n</skill>"
    )


def _cut(piece: VerbatimText, counter: TokenCounter, longest: int) -> VerbatimText:
    """Return a prompt; a long one as its two ends and its standing sentences between them."""
    cut = _both_ends(piece, counter, longest)
    between = [said for said in _standing(piece.text) if said not in cut.text] if cut is not piece else []
    return replace(cut, text="\n".join((cut.text, _CUT.join(between)))) if between else cut


def _both_ends(piece: VerbatimText, counter: TokenCounter, longest: int, why: str = "") -> VerbatimText:
    tokens = counter.text(piece.text)
    if tokens <= longest:
        return piece
    characters = int(len(piece.text) * longest / tokens)
    return replace(
        piece, text=truncate_middle(piece.text, characters, why or f'recall(id="{piece.seq}") shows all of it')
    )
