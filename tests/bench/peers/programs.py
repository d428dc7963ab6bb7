"""The table of programs: where each finds the endpoint, how it runs one prompt, and the call by which it reads a file.

Every one of them gets a home of its own, in which nothing but the settings written here stands.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentcli.core.message import ToolCall
from agentcli.providers.scripted.model import call
from tests.loopback.server import KEY, Loopback

UNBOXED = "--dangerously-bypass-approvals-and-sandbox"
"""Codex puts no sandbox up in a home below the folder of temporary files: there its commands would fail."""
MODELS = {
    "anthropic": "claude-sonnet-4-6",
    "google": "gemini-3.1-pro-preview",
    "openai": "gpt-5.4",
}
"""A model of each vendor that all of the programs know."""


@dataclass(frozen=True)
class Place:
    """The folders of one run, and the addresses of its endpoint."""

    home: Path
    server: Loopback

    @property
    def work(self) -> Path:
        """The folder that the program works in."""
        return self.home / "work"

    @property
    def temporary(self) -> Path:
        """Its folder of temporary files: some programs leave libraries of several megabytes behind there."""
        folder = self.home / ".tmp"
        folder.mkdir(exist_ok=True)
        return folder

    def write(self, name: str, value: Any) -> None:
        """Write a file of settings, as JSON unless it is text."""
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value if isinstance(value, str) else json.dumps(value))


def _nothing(_: Place) -> Mapping[str, str]:
    return {}


@dataclass(frozen=True)
class Peer:
    """A program: the wires it speaks, its arguments, and its call that reads a file.

    `settings` writes its files into the home and returns the variables that it needs besides the addresses and keys.
    """

    name: str
    wires: Sequence[str]
    once: Callable[[str, str], Sequence[str]]
    """The arguments of one prompt without a terminal, by wire and model."""
    session: Callable[[str, str], Sequence[str]]
    """The arguments of a session in a terminal, by wire and model."""
    reads: Callable[[Path, str], ToolCall]
    settings: Callable[[Place], Mapping[str, str]] = _nothing
    command: Sequence[str] = field(default_factory=tuple)

    @property
    def program(self) -> Sequence[str]:
        """The words that start it; empty where it is not installed."""
        found = shutil.which(self.name, path=search_path())
        return self.command or ((found,) if found else ())

    def env(self, place: Place) -> dict[str, str]:
        """Its environment: nothing of ours but PATH and the language."""
        kept = {name: os.environ[name] for name in ("LANG", "LC_ALL") if name in os.environ}
        homes = {
            f"XDG_{kind.upper()}_HOME": str(place.home / f".{kind}") for kind in ("config", "data", "state", "cache")
        }
        ours = {
            "PATH": search_path(),
            "HOME": str(place.home),
            "TMPDIR": str(place.temporary),
            "TERM": "xterm-256color",
        }
        return {**kept, **ours, **homes, **place.server.env, **self.settings(place)}


def search_path() -> str:
    """The folder of PEERS before those of PATH."""
    return os.pathsep.join(filter(None, (os.environ.get("PEERS", ""), os.environ.get("PATH", os.defpath))))


def _claude(place: Place) -> Mapping[str, str]:
    trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
    known = {"hasCompletedOnboarding": True, "projects": {str(place.work): trusted}}
    place.write(".claude.json", {**known, "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []}})
    return {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}


def _codex(place: Place) -> Mapping[str, str]:
    place.write(
        ".codex/config.toml",
        f'model_provider = "loopback"\ncheck_for_update_on_startup = false\n[analytics]\nenabled = false\n'
        f'[projects."{place.work}"]\ntrust_level = "trusted"\n'
        f'[model_providers.loopback]\nname = "loopback"\nbase_url = "{place.server.url}/v1"\n'
        'env_key = "OPENAI_API_KEY"\nwire_api = "responses"\n',
    )
    return {}


def _gemini(place: Place) -> Mapping[str, str]:
    security = {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}}
    quiet = {"privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False}}
    place.write(".gemini/settings.json", {"security": security, **quiet, "general": {"enableAutoUpdate": False}})
    return {}


def _opencode(place: Place) -> Mapping[str, str]:
    url = place.server.url
    bases = {"anthropic": f"{url}/v1", "google": f"{url}/v1beta", "openai": f"{url}/v1"}
    providers = {name: {"options": {"baseURL": base}} for name, base in bases.items()}
    place.write(".config/opencode/opencode.json", {"autoupdate": False, "share": "disabled", "provider": providers})
    return {
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    }


def _pi(place: Place) -> Mapping[str, str]:
    url = place.server.url
    bases = {"anthropic": url, "google": f"{url}/v1beta", "openai": f"{url}/v1"}
    place.write(".pi/agent/models.json", {"providers": {name: {"baseUrl": base} for name, base in bases.items()}})
    return {"PI_OFFLINE": "1"}


PEERS = (
    Peer(
        "agentcli",
        ("anthropic", "google"),
        lambda wire, model: ("-p", "go", "-m", f"{wire}/{model}", "--max-turns", "9999"),
        lambda wire, model: ("-m", f"{wire}/{model}"),
        lambda work, name: call("read", file_path=name),
        command=(sys.executable, "-m", "agentcli"),
    ),
    Peer(
        "claude",
        ("anthropic",),
        lambda wire, model: ("-p", "go", "--model", model),
        lambda wire, model: ("--model", model),
        lambda work, name: call("Read", file_path=str(work / name)),
        _claude,
    ),
    Peer(
        "codex",
        ("openai",),
        lambda wire, model: ("exec", "--skip-git-repo-check", UNBOXED, "-m", model, "go"),
        lambda wire, model: ("-m", model),
        lambda work, name: call("exec_command", cmd=f"cat {name}"),
        _codex,
    ),
    Peer(
        "gemini",
        ("google",),
        lambda wire, model: ("-p", "go", "-m", model),
        lambda wire, model: ("-m", model),
        lambda work, name: call("read_file", file_path=name),
        _gemini,
    ),
    Peer(
        "opencode",
        ("anthropic",),
        lambda wire, model: ("run", "-m", f"{wire}/{model}", "go"),
        lambda wire, model: ("-m", f"{wire}/{model}"),
        lambda work, name: call("read", filePath=str(work / name)),
        _opencode,
    ),
    Peer(
        "pi",
        ("anthropic", "google"),
        lambda wire, model: ("-p", "--model", f"{wire}/{model}", "go"),
        lambda wire, model: ("--model", f"{wire}/{model}"),
        lambda work, name: call("read", path=name),
        _pi,
    ),
)
