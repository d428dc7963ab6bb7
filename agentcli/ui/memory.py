"""What was typed, over the end of the program: earlier prompts, and the draft that a crash would take."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agentcli.ui.drafts import Drafts
from agentcli.ui.history import KEPT, Typed, append_history, load_history


class Memory:
    """`folder` is where it lies; without one nothing outlives the program. Of the prompts `limit` are kept."""

    def __init__(self, folder: Path | None = None, limit: int = KEPT) -> None:
        self._file = folder / "history.jsonl" if folder else None
        self._drafts = Drafts(folder / "drafts") if folder else None
        self._limit = limit
        self._past = load_history(self._file, limit) if self._file else []

    @property
    def texts(self) -> Sequence[str]:
        """Earlier prompts of all sessions and projects, oldest first."""
        return [one.text for one in self._past]

    @property
    def newest_first(self) -> Sequence[Typed]:
        """The same the other way round, each once, with the folder that it was typed in last."""
        found: dict[str, Typed] = {}
        for one in reversed(self._past):
            found.setdefault(one.text, one)
        return list(found.values())

    def remember(self, text: str) -> None:
        """One more prompt, typed here."""
        self._add(Typed(text, str(Path.cwd())))

    def keep(self, draft: str, session: str) -> None:
        """What is being typed now, and in which session."""
        if self._drafts is not None:
            self._drafts.keep(draft if draft.strip() else "", session)

    def lost(self, session: str) -> tuple[str, bool]:
        """The draft of this session that a crash left, and whether one of another session is among the prompts now."""
        own, others = "", False
        for draft in self._drafts.lost() if self._drafts is not None else ():
            if draft.session == session and not own:
                own = draft.typed.text
            else:
                self._add(draft.typed)
                others = True
        return own, others

    def close(self) -> None:
        """No draft is left to come back."""
        if self._drafts is not None:
            self._drafts.close()

    def _add(self, typed: Typed) -> None:
        self._past.append(typed)
        if self._file is not None:
            append_history(self._file, typed, self._limit)
