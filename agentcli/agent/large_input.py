"""Input that takes more than a quarter of the free window.

The person chooses to send it whole or as a file; without a person it becomes a file.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from agentcli.agent.ports import Prompt
from agentcli.agent.request_builder import RequestBuilder
from agentcli.agent.setup import Person
from agentcli.context.window import Size, oversize, reference, size_of
from agentcli.core.event import Event, Noticed
from agentcli.core.message import File, Part, Text, Usage
from agentcli.core.tasks import until_interrupted
from agentcli.core.text.words import plural
from agentcli.core.tool import Choice, Question

WHOLE, AS_FILE = "Send it whole", "Save it in a file"


class LargeInput:
    """Puts large parts of prompts into files of the session, each replaced by a reference."""

    def __init__(self, builder: RequestBuilder, person: Person) -> None:
        self._builder, self._person = builder, person
        self._files = 0

    async def fitted(self, prompt: Prompt, interrupt: asyncio.Event) -> tuple[Prompt, Sequence[Event]]:
        """Return the prompt to send, and the message for the person about it."""
        prompt = replace(prompt, parts=prompt.parts or (Text(prompt.text),))
        large = self._large(prompt)
        if large and await self._is_wanted_whole(sum(size.tokens for size in large.values()), interrupt):
            return prompt, ()
        return self._in_files(prompt, large)

    def in_files(self, prompt: Prompt) -> tuple[Prompt, Sequence[Event]]:
        """Return a prompt with its large parts in files, without asking: its turn is running already."""
        prompt = replace(prompt, parts=prompt.parts or (Text(prompt.text),))
        return self._in_files(prompt, self._large(prompt))

    def _large(self, prompt: Prompt) -> Mapping[int, Size]:
        """Return the sizes of parts that are too large, by their places."""
        texts = {place: part.text for place, part in enumerate(prompt.parts) if isinstance(part, Text | File)}
        large = oversize(texts, self._builder.window())
        return {place: size_of(texts[place], self._builder.counter) for place in large}

    async def _is_wanted_whole(self, tokens: int, interrupt: asyncio.Event) -> bool:
        from agentcli.core.costs import dollars

        window, spec = self._builder.window(), self._builder.spec
        free = window.usable - window.tokens
        if not self._person.attended or tokens > free:
            return False
        price = spec.cost(Usage(input=tokens))
        costs = f" and costs about {dollars(price)} in the first request, less in later ones" if price else ""
        question = Question(
            f"This input has about {tokens:,} tokens: it takes {tokens / free:.0%} of the free window{costs}.",
            "Large input",
            (
                Choice(WHOLE),
                Choice(AS_FILE, "the model sees the first and last lines, and reads the parts that it needs"),
            ),
        )
        answers = await until_interrupted(interrupt, self._person.ask([question]))
        return answers is not None and [*answers][:1] == [WHOLE]

    def _in_files(self, prompt: Prompt, large: Mapping[int, Size]) -> tuple[Prompt, Sequence[Event]]:
        parts: list[Part] = list(prompt.parts)
        told: list[Event] = []
        for place, size in large.items():
            part = parts[place]
            assert isinstance(part, Text | File)
            self._files += 1
            journal = self._builder.journal
            path = journal.keep_output(f"input-{journal.history.last_seq + 1}-{self._files}", part.text)
            text = reference(part.text, path, size, self._builder.settings)
            parts[place] = replace(part, text=text, sha256="") if isinstance(part, File) else replace(part, text=text)
            told.append(
                Noticed(
                    f"Input of {plural(size.lines, 'line')}, about {size.tokens:,} tokens, takes more than a quarter of the free window: it is saved in "
                    f"{path}. The model sees its first and last lines, and reads the parts that it needs."
                )
            )
        return replace(prompt, parts=tuple(parts)), told
