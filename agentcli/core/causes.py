"""Innermost cause of a failure, in the system's own text: libraries wrap it in vaguer errors."""

from __future__ import annotations

import os

_ASYNCIO = "Connect call failed"
"""The text that asyncio puts before the address, in place of the system's."""


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
    """Return the system's text of an error, such as `Connection refused`, without its number and file."""
    text = (isinstance(error, OSError) and error.strerror) or str(error)
    if isinstance(error, OSError) and error.errno and text.startswith(_ASYNCIO):
        return os.strerror(error.errno)
    return text or type(error).__name__
