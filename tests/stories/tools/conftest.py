"""Each test has a folder of its own to work in, as tests of single tools."""

from tests.tools.conftest import call, ctx

__all__ = ["call", "ctx"]
