"""Expand short forms at the beginning of a prompt."""

from agentcli.extension import Decision, Prompt, on

SHORT = {"?quick": "Answer in one sentence:", "?why": "Explain the cause, not the cure:"}


@on("prompt")
def expand(prompt: Prompt) -> str | Decision | None:
    word, _, rest = prompt.text.partition(" ")
    if word in SHORT:
        return f"{SHORT[word]} {rest}"
    if "password:" in prompt.text:
        return prompt.block("It seems to contain a password.")
    return None
