"""Runs the shell steps of a composite action as GitHub's runner does, with files of our own for its variables."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ACTION = Path(__file__).parents[2] / ".github" / "actions" / "agentcli"
_EXPRESSION = re.compile(r"\$\{\{\s*([\w.-]+)\s*\}\}")


def action() -> Mapping[str, Any]:
    """The definition of the action."""
    read: Mapping[str, Any] = yaml.safe_load((ACTION / "action.yml").read_text())
    return read


@dataclass
class Job:
    """A job that uses the action in `workspace`; `temp` is its RUNNER_TEMP. `outputs` are those of the steps, by their ids."""

    workspace: Path
    temp: Path
    env: Mapping[str, str]
    github: Mapping[str, str] = field(default_factory=dict)
    outputs: dict[str, dict[str, str]] = field(default_factory=dict)
    log: str = ""
    used: dict[str, Mapping[str, str]] = field(default_factory=dict)

    def run(self, **given: str) -> int:
        """Run all steps with these inputs; the exit code of the step that failed first, or 0."""
        definition = action()
        inputs = {name: str(spec["default"]) for name, spec in definition["inputs"].items()} | given
        code = 0
        for step in definition["runs"]["steps"]:
            if code and "always()" not in step.get("if", ""):
                continue
            if "steps.run.outputs.out" in step.get("if", "") and "out" not in self.outputs.get("run", {}):
                continue
            if "uses" in step:
                self.used[step["uses"]] = {name: self._filled(value, inputs) for name, value in step["with"].items()}
                continue
            code = self._shell(step, inputs) or code
        return code

    @property
    def results(self) -> Mapping[str, str]:
        """The outputs of the action."""
        return {name: self._filled(spec["value"], {}) for name, spec in action()["outputs"].items()}

    @property
    def summary(self) -> str:
        """The step summary."""
        return (self.temp / "summary").read_text()

    def _shell(self, step: Mapping[str, Any], inputs: Mapping[str, str]) -> int:
        output = self.temp / "output"
        output.write_text("")
        own = {name: self._filled(value, inputs) for name, value in step.get("env", {}).items()}
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.temp),
            "RUNNER_TEMP": str(self.temp),
            "GITHUB_ACTION_PATH": str(ACTION),
            "GITHUB_OUTPUT": str(output),
            "GITHUB_ENV": str(self.temp / "env"),
            "GITHUB_STEP_SUMMARY": str(self.temp / "summary"),
            "GITHUB_JOB": "review",
            "GITHUB_EVENT_NAME": "push",
            "GITHUB_REPOSITORY": "me/it",
            **self.github,
            **self.env,
            **own,
        }
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", self._filled(step["run"], inputs)]
        ran = subprocess.run(command, cwd=self.workspace, env=env, capture_output=True, text=True)
        self.log += f"{ran.stdout}{ran.stderr}"
        if "id" in step:
            self.outputs[step["id"]] = _outputs(output.read_text())
        return ran.returncode

    def _filled(self, text: str, inputs: Mapping[str, str]) -> str:
        def value(found: re.Match[str]) -> str:
            match found[1].split("."):
                case ["inputs", name]:
                    return inputs[name]
                case ["steps", id, "outputs", name]:
                    return self.outputs.get(id, {}).get(name, "")
                case ["github", name]:
                    return self.github.get(name, "")
            raise AssertionError(found[0])

        return _EXPRESSION.sub(value, text)


def _outputs(text: str) -> dict[str, str]:
    """The outputs in a file as GitHub reads it: NAME=VALUE, or NAME<<END and lines up to END."""
    found: dict[str, str] = {}
    lines = iter(text.splitlines())
    for line in lines:
        name, mark, rest = line.partition("<<") if "<<" in line.partition("=")[0] else line.partition("=")
        if mark == "=":
            found[name] = rest
            continue
        value = []
        for inner in lines:
            if inner == rest:
                break
            value.append(inner)
        found[name] = "\n".join(value)
    return found
