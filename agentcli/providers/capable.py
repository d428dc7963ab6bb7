"""A model that continues after a refusal.

It omits the part at fault, or the field that the endpoint does not know.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Set
from dataclasses import replace
from itertools import takewhile
from typing import Any, Protocol

from agentcli.core.errors import ModelError
from agentcli.core.event import Noticed
from agentcli.core.model import Model, ModelSpec, Request, RequestMessage, Stopped, StreamEvent, UsageSeen
from agentcli.core.streams import closing
from agentcli.providers.capabilities import TITLES, mentioned_in, reduced, stated_in, title
from agentcli.providers.endpoint_facts import EndpointMemory
from agentcli.providers.parts import (
    NamedPart,
    guesses,
    image_part,
    images_in,
    named_parts,
    oversized,
    too_many,
    unanswered,
    without_parts,
)
from agentcli.providers.provider import Wording

WINDOW_SECONDS = 2.0
"""Seconds for each question about a window."""
MOST_TRIES = 16
"""Maximum requests that are refused before an error is reported."""
LONGEST_REST = 31
"""Maximum requests that omit something before it is tried again."""
_REASON = 160
"""Characters of a refusal that a notice repeats."""
Blamed = str | NamedPart
"""A capability or a part that a refusal was about."""


class WireModel(Model, Protocol):
    """A model that can show the body of a request."""

    def wire(self, request: Request) -> Mapping[str, Any]:
        """Return the body to send for this request."""
        ...


class Blames:
    """Reasons of refusals in this process.

    A refusal concerns one request. A part refused again in the next one is omitted from the request after it. Later
    refusals omit it from three requests, seven and so on. It is tried again each time, because the model may have been
    updated or the image replaced.
    """

    def __init__(self) -> None:
        self._refused: dict[Blamed, tuple[int, int]] = {}
        self._answered: set[NamedPart] = set()
        self._last: RequestMessage | None = None
        self._fits: RequestMessage | None = None
        self._told: set[Blamed] = set()

    @property
    def proven(self) -> Set[NamedPart]:
        """The images that the endpoint has read."""
        return self._answered

    def oversized(self, request: Request) -> set[NamedPart]:
        """Return the images that are larger than the provider takes."""
        # Messages up to the last one of the request before have none if that had none.
        new = takewhile(lambda message: message is not self._fits, reversed(request.messages))
        found = oversized(new, request.model.kind)
        self._fits = None if found or not request.messages else request.messages[-1]
        return found

    def resting(self) -> set[Blamed]:
        """Return what the next request omits."""
        left = {blamed for blamed, (_, rest) in self._refused.items() if rest}
        self._refused.update({blamed: (self._refused[blamed][0], self._refused[blamed][1] - 1) for blamed in left})
        return left

    def answered(self, sent: Request, left: Set[Blamed], blamed: Set[Blamed]) -> Set[Blamed]:
        """Record an answered request, what it omitted, and what of that was refused.

        Return parts that were never blamed before.
        """
        # Messages up to the last one of the request before were answered with that.
        new = takewhile(lambda message: message is not self._last, reversed(sent.messages))
        self._answered |= {image_part(image) for message in new for image in images_in(message)}
        self._last = sent.messages[-1] if sent.messages and not left else None
        self._refused = {each: state for each, state in self._refused.items() if each in left}
        for each in blamed:
            times = self._refused.get(each, (0, 0))[0] + 1
            self._refused[each] = times, min(2 ** (times - 1) - 1, LONGEST_REST)
        untold = blamed - self._told
        self._told |= untold
        return untold

    def untold(self, parts: Set[NamedPart]) -> list[NamedPart]:
        """Return those of these parts that were not reported yet, and mark them as reported."""
        new = [part for part in parts if part not in self._told]
        self._told.update(new)
        return new


class Trial:
    """One request on its way through refusals: what it omits, and why."""

    def __init__(
        self, request: Request, lacking: Set[str], resting: Set[Blamed], oversized: Set[NamedPart] = frozenset()
    ) -> None:
        self.stated: set[str] = set()
        """Capabilities that a refusal states the endpoint does not accept."""
        self.blamed: set[Blamed] = set()
        """Capabilities that a refusal mentions, and parts that it identifies."""
        self.guess: set[NamedPart] = set()
        """Images omitted because a refusal is about one of them."""
        self.reason = ""
        """The first refusal, in the provider's words."""
        self._request, self._lacking, self._resting = request, lacking, resting
        self.oversized = oversized
        """Images that are larger than the provider takes."""
        self._tries = 0
        self._guesses: dict[str, Iterator[set[NamedPart]]] = {}

    @property
    def left(self) -> set[Blamed]:
        """Everything omitted, except for known limits of the endpoint."""
        return {*self._resting, *self.blamed, *self.guess, *self.oversized}

    def sent(self) -> Request:
        """Return the request as it is sent now."""
        left = self.left
        capabilities = {each for each in left if isinstance(each, str)}
        bare = without_parts(self._request, {each for each in left if isinstance(each, NamedPart)})
        return reduced(bare, self._lacking | self.stated | capabilities)

    def refused(
        self, error: ModelError, sent: Request, body: Any, fields: Mapping[str, Wording], proven: Set[NamedPart]
    ) -> bool:
        """Omit what this refusal is about; return False if that is nothing."""
        self._tries += 1
        self.reason = self.reason or error.answer
        if self._tries > MOST_TRIES:
            return False
        match error.cause:
            case "bad_request":
                return self._learns(error.answer, sent, body, fields) or self._without_images(
                    error.answer, proven, fields
                )
            case "too_large":
                return self._adds(named_parts(error.answer, sent, body)) or self._next("size", too_many(self._request))
            case "too_long":
                return self._next("size", too_many(self._request))
            case _:
                return False

    def _learns(self, answer: str, sent: Request, body: Any, fields: Mapping[str, Wording]) -> bool:
        if found := stated_in(answer, sent, fields) - self.stated:
            self.stated |= found
            return True
        return self._adds(named_parts(answer, sent, body))

    def _without_images(self, answer: str, proven: Set[NamedPart], fields: Mapping[str, Wording]) -> bool:
        from agentcli.providers.refusals import about_images

        if about_images(answer) and self._next("images", guesses(self._request, proven)):
            return True
        if self._adds(mentioned_in(answer, self.sent(), fields)):
            return True
        return self._next("unnamed", unanswered(self._request, proven))

    def _adds(self, found: Iterable[Blamed]) -> bool:
        new = {*found} - self.left
        self.blamed |= new
        return bool(new)

    def _next(self, kind: str, images: Iterator[set[NamedPart]]) -> bool:
        """Replace the guess by the next one that omits something else."""
        for guess in self._guesses.setdefault(kind, images):
            if not guess <= self.blamed | self._resting and guess != self.guess:
                self.guess = guess
                return True
        self.guess = set()
        return False


class CapableModel:
    """A Model that repeats a refused request without the cause, reports it once, and remembers what the endpoint
    states.

    `fields` contains the wire format's names of capabilities, for `stated_in`.
    """

    def __init__(
        self,
        model: WireModel,
        fields: Mapping[str, Wording],
        memory: EndpointMemory,
        url: str = "",
        key: str | None = None,
        explained: Callable[[ModelError], ModelError] = lambda error: error,
        *,
        minimal: bool = False,
    ) -> None:
        """Wrap a model. `url` and `key` are empty unless a user's own server may state the window.

        `explained` turns the error of a refused key into one that names the key. With `minimal`, requests contain only
        fields that every server accepts. Then a capability that a refusal merely mentions is missing as well.
        """
        self._explained, self._minimal = explained, minimal
        self._model, self._fields, self._memory, self._url, self._key = model, fields, memory, url, key
        self._window = memory.known(model.spec.name, url).window
        self._lacking = self._look()
        """Capabilities known to be missing when the newest request was made."""
        self._blames = Blames()
        self._uncounted = self._asked = self._loaded = False

    def _look(self) -> Set[str]:
        """Return the capabilities known to be missing now: a person may forget them, and they expire.

        Each call asks the file system whether the file has changed.
        """
        return self._memory.known(self._model.spec.name, self._url).lacking

    @property
    def spec(self) -> ModelSpec:
        """Spec of the wrapped model, with the server's stated window if ours is a guess or larger."""
        spec, window = self._model.spec, self._window
        if spec.context_editing and "context_editing" in self._lacking:
            spec = replace(spec, context_editing=False)
        if spec.compacts_from and "compaction" in self._lacking:
            spec = replace(spec, compacts_from=0)
        if not window or (spec.known and window >= spec.window):
            return spec
        return replace(spec, window=window, max_output=min(spec.max_output, window // 2), window_stated=True)

    async def prepare(self) -> None:
        """Ask a user's own server, once, for the window of an unknown model."""
        if self._asked or self._window or not self._url or self._model.spec.known:
            return
        import asyncio

        from agentcli.providers.context_windows import stated_window

        self._asked = True
        window = await asyncio.to_thread(stated_window, self._url, self._model.spec.id, self._key, WINDOW_SECONDS)
        self._learn_window(window)

    async def _ask_loaded(self) -> None:
        """Ask a user's own server, once, for the window of the loaded model.

        It may be smaller than the model's own.
        """
        if self._loaded or not self._url or self._model.spec.known:
            return
        import asyncio

        from agentcli.providers.context_windows import loaded_window

        self._loaded = True
        window = await asyncio.to_thread(loaded_window, self._url, self._model.spec.id, self._key, WINDOW_SECONDS)
        if window != self._window:
            self._learn_window(window)

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        """Stream a reply like `Model.stream`. If a field or part is refused, send the same request without it."""
        self._lacking = self._look()
        trial = Trial(request, self._lacking, self._blames.resting(), self._blames.oversized(request))
        while True:
            started = counted = False
            sent = trial.sent()
            try:
                async with closing(self._model.stream(sent)) as steps:
                    async for step in steps:
                        if not started:
                            for notice in self._accepted(trial, sent):
                                yield notice
                        started, counted = True, counted or (isinstance(step, UsageSeen) and step.usage.total > 0)
                        if isinstance(step, Stopped) and not counted:
                            for notice in self._learn({"usage"}):
                                yield notice
                        yield step
                await self._ask_loaded()
                return
            except ModelError as error:
                if error.cause == "auth":
                    raise self._explained(error) from error
                if error.cause == "too_long":
                    self._learn_smaller(error.answer)
                if started or not self._continues(trial, error, sent):
                    raise

    def _continues(self, trial: Trial, error: ModelError, sent: Request) -> bool:
        if error.cause not in ("bad_request", "too_large", "too_long") or not error.answer:
            return False
        return trial.refused(error, sent, self._model.wire(sent), self._fields, self._blames.proven)

    async def count(self, request: Request) -> int | None:
        """Count tokens like `Model.count`. An endpoint without counting is not asked again."""
        self._lacking = self._look()
        if "counting" in self._lacking or self._uncounted:
            return None
        try:
            return await self._model.count(reduced(request, self._lacking))
        except ModelError:
            self._uncounted = True
            return None

    async def close(self) -> None:
        """Close the wrapped model, if it has anything open."""
        close = getattr(self._model, "close", None)
        if close is not None:
            await close()

    def _learn_smaller(self, answer: str) -> None:
        from agentcli.providers.context_windows import window_in

        window = window_in(answer)
        if window < self.spec.window:
            self._learn_window(window)

    def _learn_window(self, window: int) -> None:
        if window:
            self._window = window
            self._memory.learn(self.spec.name, self._url, window=window)

    def _accepted(self, trial: Trial, sent: Request) -> Iterator[Noticed]:
        """Draw conclusions from an answered request; yield a notice for each new one."""
        mentioned = {each for each in trial.blamed if isinstance(each, str)}
        proof = mentioned if self._minimal else set()
        yield from self._learn(trial.stated | proof | ({"counting"} if self._uncounted else set()))
        blamed = {*trial.blamed, *trial.guess} - proof
        reason = " ".join(trial.reason.split())[:_REASON].rstrip(" .")
        new = self._blames.answered(sent, trial.left, blamed)
        for part in self._blames.untold(trial.oversized):
            yield Noticed(f"{self.spec.name} takes no image as large as {part.title}: it was left out.")
        if new:
            what = _listed(sorted(title(each) if isinstance(each, str) else each.title for each in new))
            yield Noticed(f"{self.spec.name} refused a request with {what} ({reason}). It was sent again without.")

    def _learn(self, capabilities: Iterable[str]) -> Iterator[Noticed]:
        """Remember missing capabilities; yield a notice for each new one."""
        for capability in sorted(set(capabilities) - self._lacking):
            self._memory.learn(self.spec.name, self._url, lacking=[capability])
            self._lacking = self._look()
            how = TITLES[capability][1] if capability in TITLES else "tools are described without it"
            days = f"{self._memory.days:g} days"
            verb = "reports no" if capability == "usage" else "has no" if capability == "counting" else "does not take"
            yield Noticed(f"{self.spec.name} {verb} {title(capability)}: {how}. Remembered for {days}.")


_MOST_NAMED = 3
"""Maximum parts that a notice lists."""


def _listed(names: list[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
