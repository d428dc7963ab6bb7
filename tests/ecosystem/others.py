"""Other coding agents, and ours, run once without a person against a loopback model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentcli.features.hooks.files import EVENTS
from agentcli.providers.scripted.model import Reply, say
from tests.loopback.server import Loopback

SECONDS = 120
MODEL, GEMINI = "claude-sonnet-4-5", "gemini-2.5-flash"
MESSAGES = ("messages", "contents", "input")


def observing(out: Path, more: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Hooks for every event that append their input to a file in `out`, and then do more."""
    more = more or {}
    return {
        "hooks": {
            event: [{"hooks": [{"type": "command", "command": f"(cat; echo) >> {out}/{event}; {more.get(event, '')}"}]}]
            for event in EVENTS
        }
    }


def observed(out: Path) -> dict[str, list[dict[str, Any]]]:
    """The inputs that the hooks of each event got."""
    return {
        file.name: [json.loads(line) for line in file.read_text().splitlines() if line]
        for file in sorted(out.iterdir())
    }


@dataclass
class Other:
    """A program in a home and a repository of its own; `bin_` holds those from npm, `requests` what it sent to the model."""

    base: Path
    bin_: Path
    name: str
    requests: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.out.mkdir(parents=True)
        (self.work / ".git").mkdir(parents=True)
        settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
        (self.base / "home/.gemini").mkdir(parents=True)
        (self.base / "home/.gemini/settings.json").write_text(json.dumps(settings))

    @property
    def work(self) -> Path:
        """The repository."""
        return self.base / "work"

    @property
    def out(self) -> Path:
        """The folder for what hooks get."""
        return self.base / "out"

    def observe(self, more: Mapping[str, str] | None = None) -> None:
        """Set hooks that write down what they get."""
        places = {"claude": self.work / ".claude/settings.json", "codex": self.base / "home/.codex/hooks.json"}
        file = places.get(self.name, self.base / "config/agentcli/hooks.json")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(observing(self.out, more)))

    def say(
        self, prompt: str, play: Callable[[Mapping[str, Any]], Reply], *more: str
    ) -> subprocess.CompletedProcess[str]:
        """Send a prompt; requests without tools, for titles and the like, are answered by the way."""

        def answer(asked: Any) -> Reply:
            request = json.loads(asked.body)
            if not request.get("tools"):
                return say("Title")
            self.requests.append(request)
            return play(request)

        with Loopback(answer, strict=False) as server:
            if self.name == "codex":
                self._configure_codex(server.url)
            command = self._command(prompt, more)
            env = self._environment(server.env)
            return subprocess.run(
                command,
                cwd=self.work,
                env=env,
                capture_output=True,
                text=True,
                timeout=SECONDS,
                stdin=subprocess.DEVNULL,
            )

    def _command(self, prompt: str, more: Sequence[str]) -> list[str]:
        match self.name:
            case "claude":
                bypass = ["--permission-mode", "bypassPermissions"]
                return [str(self.bin_ / "claude"), "-p", prompt, "--model", MODEL, *bypass, *more]
            case "gemini":
                return [str(self.bin_ / "gemini"), "-m", GEMINI, "--approval-mode", "yolo", "-p", prompt, *more]
            case "codex":
                bypass = ["--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox"]
                return [str(self.bin_ / "codex"), "exec", *bypass, "--skip-git-repo-check", *more, prompt]
            case "ours with gemini":
                own = ["-m", f"gemini/{GEMINI}", "--trust", "--mode", "yolo", "-p", prompt, *more]
            case _:
                own = ["-m", MODEL, "--trust", "--mode", "yolo", "-p", prompt, *more]
        return [sys.executable, "-m", "agentcli", *own]

    def _configure_codex(self, url: str) -> None:
        folder = self.base / "home/.codex"
        folder.mkdir(exist_ok=True)
        (folder / "config.toml").write_text(
            f'model = "gpt-5"\nmodel_provider = "loop"\n[model_providers.loop]\nname = "loop"\nbase_url = "{url}/v1"\n'
            'wire_api = "responses"\nenv_key = "OPENAI_API_KEY"\n'
        )

    def _environment(self, server: Mapping[str, str]) -> dict[str, str]:
        places = {f"XDG_{kind.upper()}_HOME": str(self.base / kind) for kind in ("config", "data", "state", "cache")}
        quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1", "IS_SANDBOX": "1"}
        own = {"HOME": str(self.base / "home"), "TERM": "xterm", "LANG": "C.UTF-8", "NO_COLOR": "1"}
        trusted = {"GEMINI_CLI_TRUST_WORKSPACE": "true", "PYTHONPATH": str(Path(__file__).parents[2])}
        return {"PATH": f"{self.bin_}:{os.environ['PATH']}", **own, **places, **quiet, **trusted, **server}


def user_texts(request: Mapping[str, Any]) -> list[str]:
    """The texts of the user's messages in a request to Claude or Gemini."""
    messages = next(request[name] for name in MESSAGES if name in request)
    found = []
    for message in (one for one in messages if one["role"] == "user"):
        parts = message.get("parts") or message["content"]
        parts = [{"text": parts}] if isinstance(parts, str) else parts
        found += [part["text"] for part in parts if "text" in part]
    return found
