"""Connection to a client on stdin and stdout, from its beginning to its end."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from agentcli.frontends.acp.serve import take_descriptors


@contextmanager
def standard_streams() -> Iterator[tuple[int, int, int]]:
    """Pipes in place of stdin, stdout and stderr: the ends to write to, and to read from."""
    kept = [os.dup(number) for number in range(3)]
    (source, writing), (out, sink), (err, errors) = os.pipe(), os.pipe(), os.pipe()
    for descriptor in (out, err):
        os.set_blocking(descriptor, False)
    try:
        for number, end in enumerate((source, sink, errors)):
            os.dup2(end, number)
            os.close(end)
        yield writing, out, err
    finally:
        for number, former in enumerate(kept):
            os.dup2(former, number)
            os.close(former)


def test_what_writes_to_stdout_writes_to_stderr_and_the_protocol_has_its_own() -> None:
    with standard_streams() as (writing, out, err):
        source, sink = take_descriptors()
        os.write(writing, b"request")
        os.write(1, b"stray ")
        subprocess.run(["echo", "child"], check=True)
        os.write(sink, b"response")
        found = os.read(source, 99), os.read(0, 99), os.read(out, 99), os.read(err, 99)
    for descriptor in (source, sink, writing, out, err):
        os.close(descriptor)
    assert found == (b"request", b"", b"response", b"stray child\n")
