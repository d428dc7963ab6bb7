"""The innermost cause of a failure, in the system's words: libraries wrap it in errors that say less."""

from __future__ import annotations

import os

_ASYNCIO = "Connect call failed"
"""Asyncio's replacement for the system's words, before the address."""


def innermost(error: BaseException) -> BaseException:
    """Return the error that began a chain of errors; in a group, follow its first error."""
    while True:
        if isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        elif inner := error.__cause__ or error.__context__:
            error = inner
        else:
            return error


def in_words(error: BaseException) -> str:
    """Return the system's text of an error, such as `Connection refused`, without its number and its file."""
    text = (isinstance(error, OSError) and error.strerror) or str(error)
    if isinstance(error, OSError) and error.errno and text.startswith(_ASYNCIO):
        return os.strerror(error.errno)
    return text or type(error).__name__
