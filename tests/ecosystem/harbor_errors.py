"""How the adapter names ways of ending; runs in Harbor's Python: prints a JSON object, the ending to the error's class."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from types import SimpleNamespace

from agentcli.extras.harnesses.harbor import AgentCli

ENDINGS = {
    "1": {"exit_code": 1, "subtype": "failed", "error": "It broke."},
    "refused": {"exit_code": 1, "subtype": "refused", "error": "The model declined."},
    "no credit": {"exit_code": 1, "subtype": "failed", "error": "Your credit balance is too low."},
    "41": {"exit_code": 41, "subtype": "credentials", "error": "No key is set."},
    "42": {"exit_code": 42, "subtype": "input", "error": "No such file: connection refused"},
    "53": {"exit_code": 53, "subtype": "limit", "error": "The limit of $1 is reached."},
    "54": {"exit_code": 54, "subtype": "context", "error": "It does not fit."},
    "75 rate": {"exit_code": 75, "subtype": "transient", "error": "Rate limit (429)."},
    "75 network": {"exit_code": 75, "subtype": "transient", "error": "Can't connect."},
    "75": {"exit_code": 75, "subtype": "transient", "error": "Overloaded."},
}


def main() -> None:
    """Judge each of them, with output of a tool before it that means nothing."""
    noise = json.dumps({"type": "tool_result", "output": "rate limit; Connection refused; invalid_api_key"})
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        agent = AgentCli(logs_dir=Path(folder), model_name="gemini/gemini-3.8-flash")
        for name, ending in ENDINGS.items():
            text = {"type": "result", "text": "Connection refused", **ending}
            result = SimpleNamespace(
                return_code=ending["exit_code"], stdout=f"{noise}\n{json.dumps(text)}\n", stderr="agentcli: it ended"
            )
            found[name] = type(agent._classify_exec_error("agentcli", result)).__name__
        lost = SimpleNamespace(return_code=127, stdout="", stderr="curl: (6) Could not resolve host")
        found["no result"] = type(agent._classify_exec_error("uv", lost)).__name__
        found["model"] = agent._model
    print(json.dumps(found))


if __name__ == "__main__":
    main()
