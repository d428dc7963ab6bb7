"""Calls written as text, in the form of each family: run as the calls that they are, unless the reply only quotes them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentcli.agent.written_calls import written_calls
from agentcli.core.message import ToolCall
from agentcli.providers.scripted.model import say
from tests.agent.open_session import ended, messages, open_session, results, say_to

ARGUMENTS = {"file_path": "a.txt", "limit": 1}
JSON = json.dumps(ARGUMENTS)
NAMED = json.dumps({"name": "read", "arguments": ARGUMENTS})

FORMS = {
    "Hermes": f"<tool_call>\n{NAMED}\n</tool_call>",
    "Hermes, not closed": f"<tool_call>\n{NAMED}",
    "Granite": f"<|tool_call|>[{NAMED}]",
    "MiniMax-M1": f"<tool_calls>\n{NAMED}\n</tool_calls>",
    "GLM": "<tool_call>read\n<arg_key>file_path</arg_key>\n<arg_value>a.txt</arg_value>\n<arg_key>limit</arg_key>\n<arg_value>1</arg_value>\n</tool_call>",
    "Qwen3-Coder": "<tool_call>\n<function=read>\n<parameter=file_path>\na.txt\n</parameter>\n<parameter=limit>\n1\n</parameter>\n</function>\n</tool_call>",
    "Llama 3.1": f"<function=read>{JSON}</function>",
    "Llama 3": f'<|python_tag|>{{"name": "read", "parameters": {JSON}}}<|eom_id|>',
    "invoke": '<function_calls>\n<invoke name="read">\n<parameter name="file_path">a.txt</parameter>\n<parameter name="limit">1</parameter>\n</invoke>\n</function_calls>',
    "MiniMax-M2": '<minimax:tool_call>\n<invoke name="read">\n<parameter name="file_path">a.txt</parameter>\n<parameter name="limit">1</parameter>\n</invoke>\n</minimax:tool_call>',
    "DSML": '<｜DSML｜function_calls>\n<｜DSML｜invoke name="read">\n<｜DSML｜parameter name="file_path" string="true">a.txt</｜DSML｜parameter>\n<｜DSML｜parameter name="limit" string="false">1</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>',
    "DSML with double bars": '<｜｜DSML｜｜tool_calls>\n<｜｜DSML｜｜invoke name="read">\n<｜｜DSML｜｜parameter name="file_path" string="true">a.txt</｜｜DSML｜｜parameter>\n<｜｜DSML｜｜parameter name="limit" string="false">1</｜｜DSML｜｜parameter>\n</｜｜DSML｜｜invoke>\n</｜｜DSML｜｜tool_calls>',
    "DSML with plain bars": '<||DSML|| calls><||DSML|| invoke name="read"><||DSML|| parameter name="file_path" string="true">a.txt</||DSML|| parameter><||DSML|| parameter name="limit" string="false">1</||DSML|| parameter></||DSML|| invoke></||DSML|| calls>',
    "TeleChat3": "<tool_call>read<param_key>file_path</param_key><param_value>a.txt</param_value><param_key>limit</param_key><param_value>1</param_value></tool_call>",
    "DeepSeek V3": f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read\n```json\n{JSON}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "DeepSeek V3.1": f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>read<｜tool▁sep｜>{JSON}<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>",
    "Kimi K2": f"<|tool_calls_section_begin|><|tool_call_begin|>functions.read:0<|tool_call_argument_begin|>{JSON}<|tool_call_end|><|tool_calls_section_end|>",
    "Kimi K3": '<|open|>tools<|sep|><|open|>call tool="read" index="1"<|sep|><|open|>argument key="file_path" type="string"<|sep|>a.txt<|close|>argument<|sep|><|open|>argument key="limit" type="number"<|sep|>1<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>',
    "Harmony": f"<|channel|>commentary to=functions.read <|constrain|>json<|message|>{JSON}<|call|>",
    "Harmony, recipient first": f"<|start|>assistant to=functions.read<|channel|>commentary json<|message|>{JSON}",
    "Mistral": f"[TOOL_CALLS][{NAMED}]</s>",
    "Devstral": f"[TOOL_CALLS]read[ARGS]{JSON}",
    "tool_code": '```tool_code\nprint(default_api.read(file_path="a.txt", limit=1))\n```',
    "Cline": "<read_file>\n<path>a.txt</path>\n<limit>1</limit>\n</read_file>",
    "Harmony after its analysis": f"<|channel|>analysis<|message|>I read it.<|end|><|start|>assistant<|channel|>commentary to=functions.read<|message|>{JSON}<|call|>",
    "Mistral with a space": f"[TOOL_CALLS] [{NAMED}]",
    "Llama 4": '[read(file_path="a.txt", limit=1)]',
    "Llama 4 with marks": '<|python_start|>[read(file_path="a.txt", limit=1)]<|python_end|><|eot|>',
    "OLMo 3": '<function_calls>\nread(file_path="a.txt", limit=1)\n</function_calls>',
    "FunctionGemma": "<start_function_call>call:read{file_path:<escape>a.txt<escape>,limit:1}<end_function_call>",
    "Granite 20B": f"<function_call> {NAMED}",
    "Command R": f"Action: ```json\n[{json.dumps({'tool_name': 'read', 'parameters': ARGUMENTS})}]```",
    "Command A": f"<|START_ACTION|>[\n    {json.dumps({'tool_call_id': '0', 'tool_name': 'read', 'parameters': ARGUMENTS})}\n]<|END_ACTION|><|END_OF_TURN_TOKEN|>",
    "Nemotron": f"<TOOLCALL>[{NAMED}]</TOOLCALL>",
    "Phi-4-mini": f"functools[{NAMED}]",
    "InternLM": f"<|action_start|><|plugin|>\n{NAMED}<|action_end|>",
    "Pangu": f"<|tool_call_start|>[{NAMED}]<|tool_call_end|>",
    "GigaChat 3": f"function call<|role_sep|>\n{NAMED}",
    "HyperCLOVA X": f" -> tool/function_call\n[{NAMED}]<|im_end|>",
    "Inkling": f"<|message_model|>read<|content_invoke_tool_json|>{json.dumps({'name': 'read', 'args': ARGUMENTS})}<|end_message|>",
    "Apertus": f"<|tools_prefix|>[{json.dumps({'read': ARGUMENTS})}]<|tools_suffix|>",
    "Step3": '<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="read"><steptml:parameter name="file_path">a.txt</steptml:parameter><steptml:parameter name="limit">1</steptml:parameter></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>',
    "LongCat": "<longcat_tool_call>read\n<longcat_arg_key>file_path</longcat_arg_key>\n<longcat_arg_value>a.txt</longcat_arg_value>\n<longcat_arg_key>limit</longcat_arg_key>\n<longcat_arg_value>1</longcat_arg_value>\n</longcat_tool_call>",
    "LongCat, JSON": f"<longcat_tool_call>\n{NAMED}\n</longcat_tool_call>",
    "a lone fence": f"```json\n{NAMED}\n```",
    "bare JSON": NAMED,
    "JSON as on the wire": json.dumps({"tool_calls": [{"type": "function", "function": {"name": "read", "arguments": JSON}}]}),
}  # fmt: skip
WITH_PROSE = [name for name in FORMS if name not in ("Llama 4", "a lone fence", "bare JSON", "JSON as on the wire")]


def called(folder: Path, text: str, task: str = "go", mode: Any = "yolo") -> tuple[list[ToolCall], list[str], int]:
    """The calls of the first reply as they are kept, their results, and the number of requests."""
    (folder / "a.txt").write_text("one\ntwo\n")
    session = open_session(folder, [say(text), say("Done.")], mode=mode, attended=False)
    last = ended(say_to(session, task))
    session.close()
    reply = next(each for each in messages(session) if each.role == "assistant")
    return list(reply.calls), [result.output for result in results(session)], last.steps


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_a_call_written_as_text_is_run_and_kept_as_the_call_that_it_is(text: str, tmp_path: Path) -> None:
    calls, outputs, steps = called(tmp_path, text)
    assert [(call.name, dict(call.input)) for call in calls] == [("read", ARGUMENTS)]
    assert (outputs[0].startswith("one"), "two" in outputs[0].partition("[")[0], steps) == (True, False, 2)


@pytest.mark.parametrize("name", WITH_PROSE)
def test_what_a_reply_says_before_the_call_stays(name: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    session = open_session(tmp_path, [say(f"I look at `a.txt`.\n\n{FORMS[name]}"), say("Done.")], mode="yolo")
    say_to(session, "go")
    reply = messages(session)[1]
    assert (reply.text, [call.name for call in reply.calls], reply.stop) == ("I look at `a.txt`.", ["read"], "tool_use")


QUOTED = {
    "an indented block": lambda text: "\n".join(f"    {line}" for line in text.split("\n")),
    "a block quote": lambda text: "\n".join(f"> {line}" for line in text.split("\n")),
    "HTML": lambda text: f"<pre>\n{text}\n</pre>",
}


@pytest.mark.parametrize("name", WITH_PROSE)
@pytest.mark.parametrize("quote", QUOTED.values(), ids=QUOTED)
def test_a_call_in_a_block_of_quoted_text_is_text(name: str, quote: Callable[[str], str], tmp_path: Path) -> None:
    calls, _, steps = called(tmp_path, f"A call looks like this:\n\n{quote(FORMS[name])}")
    assert ([call.name for call in calls], steps) == ([], 1)


def test_several_calls_and_a_made_up_result_are_the_calls_alone(tmp_path: Path) -> None:
    text = f"{FORMS['Hermes']}\n{FORMS['Hermes']}\n<tool_response>\none\n</tool_response>\nIt says one."
    assert [call.name for call in called(tmp_path, text)[0]] == ["read", "read"]


def test_a_patch_or_a_tag_of_another_program_that_is_the_reply_is_a_call(tmp_path: Path) -> None:
    patch = "*** Begin Patch\n*** Add File: b.txt\n+new\n*** End Patch"
    assert [call.name for call in called(tmp_path, patch)[0]] == ["apply_patch"]
    assert (tmp_path / "b.txt").read_text() == "new\n"
    (command,), _, _ = called(tmp_path, "<execute_command>\n<command>touch c.txt</command>\n</execute_command>")
    assert (command.name, (tmp_path / "c.txt").exists()) == ("bash", True)


def test_a_file_with_tags_in_it_is_written_whole(tmp_path: Path) -> None:
    content = "<p>\n</parameter> is a tag\n</p>"
    text = f"<function=write>\n<parameter=file_path>\nx.html\n</parameter>\n<parameter=content>\n{content}\n</parameter>\n</function>"
    called(tmp_path, text)
    assert (tmp_path / "x.html").read_text() == content


QUOTES = {
    "in a fence": f"It writes:\n\n```\n{FORMS['Hermes']}\n```",
    "in a fence that is not closed": f"It writes:\n\n```\n{FORMS['Hermes']}",
    "in code": "It writes `<tool_call>` and JSON.",
    "in the middle": f"It writes this:\n\n{FORMS['Hermes']}\n\nThat is all there is to it.",
    "mentioned before": f"A `<tool_call>` has a name:\n\n{FORMS['Hermes']}",
    "JSON in an explanation": f"The request is:\n\n```json\n{NAMED}\n```\n\nThe name comes first.",
    "a fence after prose": f"A call looks like this:\n\n```json\n{NAMED}\n```",
    "JSON that is no call": '{"name": "read", "version": "1.0"}',
    "a list of names without calls": "<|tools_prefix|>1<|tools_suffix|>",
    "an unknown tool": '<tool_call>\n{"name": "launch", "arguments": {}}\n</tool_call>',
    "a parameter missing": '<tool_call>\n{"name": "read", "arguments": {"limit": 1}}\n</tool_call>',
    "HTML": "<details>\n<summary>More</summary>\n</details>",
    "a patch in a fence": "Apply this:\n\n```\n*** Begin Patch\n*** Add File: b.txt\n+x\n*** End Patch\n```",
}  # fmt: skip


@pytest.mark.parametrize("text", QUOTES.values(), ids=QUOTES)
def test_a_call_that_a_reply_only_quotes_is_text(text: str, tmp_path: Path) -> None:
    calls, outputs, _ = called(tmp_path, text)
    assert (calls, outputs) == ([], [])


def test_a_code_call_with_spaces_behind_it_is_read_in_no_time() -> None:
    text = f"```tool_code\nread(file_path='a.txt')\n```{' ' * 3_000}x"
    assert written_calls(text, lambda _: True) == (text, ())


def test_other_tags_in_the_task_do_not_make_a_call_a_quotation(tmp_path: Path) -> None:
    calls, _, _ = called(tmp_path, FORMS["Kimi K2"], "The <div> in page.html is to=wide <|now|>")
    assert [call.name for call in calls] == ["read"]


def test_an_answer_about_the_form_that_the_person_named_is_text(tmp_path: Path) -> None:
    assert called(tmp_path, FORMS["Hermes"], "What does <tool_call> look like for read?")[0] == []


def test_a_written_call_has_its_usual_permissions(tmp_path: Path) -> None:
    text = '<tool_call>\n{"name": "write", "arguments": {"file_path": "b.txt", "content": "x"}}\n</tool_call>'
    assert [call.name for call in called(tmp_path, text, mode="ask")[0]] == ["write"]
    assert not (tmp_path / "b.txt").exists()
