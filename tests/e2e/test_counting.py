"""The token estimator is chosen by policy and displayed, and nothing is ever downloaded for it."""

from __future__ import annotations

import json
import shutil
import socket

import pytest

from agentcli.context.tokens.estimators import VOCABULARIES, vocabularies
from tests.e2e.program import Program

TIKTOKEN = ("--set", "context.estimator=tiktoken")
ON_DISK = vocabularies(VOCABULARIES)


def counted_by(program: Program, *more: str) -> str:
    shown: dict[str, str] = json.loads(program.run("context", "show", "--json", *more).out)
    return shown["estimator"]


def test_without_a_vocabulary_nothing_is_fetched_and_the_stand_in_is_named(program: Program) -> None:
    with socket.create_server(("127.0.0.1", 0)) as watched:
        watched.setblocking(False)
        proxy = f"http://127.0.0.1:{watched.getsockname()[1]}"
        program.more = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "https_proxy"), proxy)
        program.more |= {"TIKTOKEN_CACHE_DIR": str(program.base / "empty")}
        assert program.run("-p", "hello", "-m", "script:echo", *TIKTOKEN).out == "hello\n"
        assert counted_by(program, *TIKTOKEN) == "calibrated"
        shown = program.run("context", "show", *TIKTOKEN).out
        assert "Token counts: calibrated estimate. Used instead of tiktoken, which has no vocabulary on disk." in shown
        program.config('[context]\nestimator = "tiktoken"\n')
        [line] = [line for line in program.run("doctor").out.split("\n") if "token counting" in line]
        assert "calibrated instead of tiktoken" in line
        assert "not installed" in line
        with pytest.raises(BlockingIOError):
            watched.accept()


@pytest.mark.skipif(not ON_DISK, reason="no vocabulary of tiktoken is on disk here")
def test_a_vocabulary_in_our_cache_is_used_and_named(program: Program) -> None:
    folder, encoding = ON_DISK[0]
    ours = program.base / "cache" / "agentcli" / "tiktoken"
    ours.mkdir(parents=True)
    shutil.copy(folder / VOCABULARIES[encoding][0], ours)
    program.more = {"TIKTOKEN_CACHE_DIR": "", "HTTPS_PROXY": "http://127.0.0.1:9"}
    assert program.run("-p", "hello", "-m", "script:echo", *TIKTOKEN).out == "hello\n"
    assert (
        f"Token counts: tiktoken estimate. Its vocabulary is {encoding}."
        in program.run("context", "show", *TIKTOKEN).out
    )
    assert f"{encoding} in {ours}" in program.run("doctor").out
