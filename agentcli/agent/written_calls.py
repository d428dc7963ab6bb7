"""Calls that a reply writes as text, in the forms of many model families, read as real calls.

Servers of local models and gateways often pass on the form in which a model was trained to call tools. A call counts if
it ends the reply. A call that is quoted, explained or in a code fence is text.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, Literal

from agentcli.core.dataclass import dataclass

Written = tuple[str, Mapping[str, Any]]
"""Name and arguments of a written call."""


@dataclass(frozen=True, slots=True)
class Form:
    """One form of written calls: its `source`, the model families and where they define it, and regular expressions.

    `head` opens a call and may contain its `name`. Then come its `arguments`: JSON, JSON with the name, or pairs of
    `key` and `value`, ended by `close`. In `keys`, each name is the key of its arguments. `between` are the marks
    around calls; `opening` is how the first of them, or the first call, begins.
    """

    source: str
    opening: str
    head: str = ""
    arguments: Literal["json", "whole", "keys"] | str = "json"
    between: str = ""
    close: str = ""


def _pair(opening: str, closing: str, end: str) -> str:
    """Return the pattern of a pair whose value may contain the closing mark.

    Only a closing mark before another pair or the `end` counts.
    """
    return rf"\s*{opening}(?P<value>.*?){closing}(?=\s*(?:{_unnamed(opening)}|{end}|$))\s*"


def _unnamed(pattern: str) -> str:
    return re.sub(r"\(\?P<\w+>", "(?:", pattern)


_INVOKE = r"(?:\w+:|[｜|]{1,2}DSML[｜|]{1,2}\s?)?"
_DEEPSEEK = r"[<‹][|｜]tool[_▁]{}[|｜][>›]"
_STEP_OPENING = r"(?:<｜tool_calls_begin｜>\s*)?(?:<｜tool_call_begin｜>(?:function<｜tool_sep｜>)?\s*)?"
_STEP = r"<｜tool_calls_begin｜>|<｜tool_call_begin｜>(?:function<｜tool_sep｜>)?|<｜tool_calls?_end｜>"
_ANALYSIS = r"(?:<\|start\|>assistant)?<\|channel\|>analysis<\|message\|>[^<]*<\|end\|>"
_MINIMAX = r"\]<\]minimax\[>\["
_BEFORE_JSON = (
    r"<\|START_ACTION\|>|(?:<\|message_sep\|>)?function call<\|role_sep\|>|<\|function_call\|>|<(?:function_call|longcat_tool_call|TOOLCALL)>|"
    r" -> tool/function_call\n|<\|message_model\|>\w*<\|content_invoke_tool_json\|>|<\|action_start\|>\s*<\|plugin\|>|<\|tool_call_start\|>(?=\[\{)|\[unused11\]|functools(?=\[\{)"
)
"""Marks before JSON that names its calls."""
_NAME = r"(?P<name>[\w.:/-]+?)"
FORMS = (
    Form(
        "Qwen3-Coder, Seed-OSS: chat templates",
        r"(?:<(?:\w+:)?tool_call>\s*)?<function=",
        r"<function=(?P<name>[^>\s]+)>?\s*",
        _pair(r"<parameter=(?P<key>[^>\s]+)>", r"</parameter>", r"</function>"),
        r"</?(?:\w+:)?tool_calls?>",
        r"</function>",
    ),
    Form(
        "Llama 3.1: model card, function tags",
        r"<function=",
        r"<function=(?P<name>[^>\s]+)>\s*",
        between=r"</function>",
    ),
    Form(
        "MiniCPM 5: chat template",
        r"<function name=",
        r"<function name=\"(?P<name>[^\"]+)\">\s*",
        _pair(r"<param name=\"(?P<key>[^\"]+)\">(?:<!\[CDATA\[)?", r"(?:\]\]>)?</param>", r"</function>"),
        close=r"</function>",
    ),
    Form(
        "GLM 4.5 to 5.1, Hunyuan, Ling, LongCat, Spark, TeleChat3: chat templates",
        r"(?:<tool_calls(?::\w+)?>\s*)?<(?:longcat_)?tool_call(?::\w+)?>[\w.-]+\s*<(?:longcat_)?(?:tool_sep|arg_key|param_key)",
        r"<(?:longcat_)?tool_call(?::\w+)?>(?P<name>[\w.-]+)\s*(?:<tool_sep(?::\w+)?>)?\s*",
        _pair(
            r"<(?:longcat_)?(?:arg|param)_key(?::\w+)?>(?P<key>[^<]+)</\w+_key(?::\w+)?>\s*<\w+_value(?::\w+)?>",
            r"</\w+_value(?::\w+)?>",
            r"</(?:longcat_)?tool_call",
        ),
        r"</?tool_calls(?::\w+)?>",
        r"</(?:longcat_)?tool_call(?::\w+)?>",
    ),
    Form(
        "Claude: invoke tags; MiniMax-M2, DeepSeek V3.2 and V4 (DSML), Step3: chat templates",
        rf"<{_INVOKE}(?:function_calls|tool_calls?|calls)>\s*<{_INVOKE}invoke |{_STEP_OPENING}<{_INVOKE}invoke name=",
        rf"<{_INVOKE}invoke name=\"(?P<name>[^\"]+)\">\s*",
        _pair(
            rf"<{_INVOKE}parameter name=\"(?P<key>[^\"]+)\"(?: string=\"(?P<text>\w+)\")?>",
            rf"</{_INVOKE}parameter>",
            rf"</{_INVOKE}invoke>",
        ),
        rf"</?{_INVOKE}(?:function_calls|tool_calls?|calls)>|{_STEP}",
        rf"</{_INVOKE}invoke>",
    ),
    Form(
        "MiniMax-M3: chat template",
        rf"{_MINIMAX}<(?:tool_call|invoke)",
        rf"{_MINIMAX}<invoke name=\"(?P<name>[^\"]+)\">\s*",
        rf"\s*{_MINIMAX}<(?P<key>\w+)>(?P<value>.*?){_MINIMAX}</(?P=key)>",
        rf"{_MINIMAX}</?tool_call>",
        rf"{_MINIMAX}</invoke>",
    ),
    Form(
        "Gemma 4, FunctionGemma: chat templates",
        r"<(?:\|tool|start_function)_call>call:",
        r"<(?:\|tool|start_function)_call>call:(?P<name>[\w.]+)\{",
        r",?\s*(?P<key>\w+):(?:<\|\"\|>|<escape>)?(?P<value>.*?)(?:<\|\"\|>|<escape>)?(?=,\w+:|\}\s*(?:<|$))",
        close=r"\}(?:<tool_call\|>|<end_function_call>)?",
    ),
    Form(
        "Hermes, Qwen 2.5 and 3, Granite, Phi, MiniMax-M1: chat templates, JSON in tool_call tags",
        r"<\|?(?:tool_calls?|tool_use)\|?>",
        arguments="whole",
        between=r"<\|?/?(?:tool_calls?|tool_use)\|?>|,",
    ),
    Form(
        "Command A, GigaChat 3, Granite 20B, HyperCLOVA X, Inkling, InternLM 2 to 3, LongCat, Nemotron, Pangu, Phi-4-mini: chat templates",
        _BEFORE_JSON,
        arguments="whole",
        between=rf"{_BEFORE_JSON}|<\|(?:END_ACTION|action_end|tool_call_end|end_message)\|>|</(?:TOOLCALL|function_call|longcat_tool_call)>|\[unused12\]",
    ),
    Form("Apertus: chat template", r"<\|tools_prefix\|>", r"<\|tools_prefix\|>", "keys", r"<\|tools_suffix\|>"),
    Form("Command R: chat template", r"Action:\s*```json\s", r"Action:\s*```json\s*", "whole", r"```"),
    Form(
        "DeepSeek V3, R1, V3.1: chat templates",
        _DEEPSEEK.format("calls?[_▁]begin"),
        rf"{_DEEPSEEK.format('call[_▁]begin')}(?:function{_DEEPSEEK.format('sep')})?{_NAME}(?:{_DEEPSEEK.format('sep')}|\s*\n)\s*(?:```(?:json)?\s*)?",
        between=rf"```|{_DEEPSEEK.format('(?:calls[_▁]begin|calls?[_▁]end)')}",
    ),
    Form(
        "Kimi K2: tool call guidance",
        r"<\|tool_calls_section_begin\|>|<\|tool_call_begin\|>",
        rf"<\|tool_call_begin\|>\s*(?:functions\.)?{_NAME}(?::\d+)?\s*<\|tool_call_argument_begin\|>\s*",
        between=r"<\|tool_calls_section_(?:begin|end)\|>|<\|tool_call_end\|>",
    ),
    Form(
        "Kimi K3: chat template",
        r"<\|open\|>(?:tools<\|sep\|>|call tool=)",
        r"<\|open\|>call tool=\"(?P<name>[^\"]+)\"[^<]*<\|sep\|>",
        _pair(
            r"<\|open\|>argument key=\"(?P<key>[^\"]+)\"(?: type=\"(?P<type>\w+)\")?<\|sep\|>",
            r"<\|close\|>argument<\|sep\|>",
            r"<\|close\|>call",
        ),
        r"<\|(?:open|close)\|>tools<\|sep\|>",
        r"<\|close\|>call<\|sep\|>",
    ),
    Form(
        "gpt-oss: Harmony, calls in the commentary channel",
        rf"(?:{_ANALYSIS})?(?:<\|start\|>assistant)?(?:<\|channel\|>\w+)? ?to=[\w.]+\s*(?:<\|channel\|>\w+\s*)?(?:<\|constrain\|>)?\w*\s*<\|message\|>",
        rf"(?:<\|start\|>assistant)?(?:<\|channel\|>\w+)? ?to={_NAME}(?![\w.:/-])\s*(?:<\|channel\|>\w+\s*)?(?:<\|constrain\|>)?\w*\s*<\|message\|>\s*",
        between=_ANALYSIS,
    ),
    Form(
        "Mistral 7B to Small 3.1: tokenizers v2 and v3 of mistral-common",
        r"\[TOOL_CALLS\]",
        r"\[TOOL_CALLS\]\s*",
        "whole",
    ),
    Form(
        "Magistral, Devstral: tokenizers v11 and v13 of mistral-common",
        r"\[TOOL_CALLS\]",
        rf"\[TOOL_CALLS\]\s*{_NAME}(?:\[CALL_ID\]\w+)?(?:\[ARGS\])?\s*(?={{)",
    ),
    Form(
        "Llama 3.1 to 3.3: chat templates, custom tools", r"<\|python_tag\|>\s*\{", r"<\|python_tag\|>", "whole", r";"
    ),
    Form(
        "Qwen 1, and any model with ReAct prompts",
        r"Action: [\w.:/-]+[ \t]*\n\s*Action Input: ",
        rf"Action: {_NAME}[ \t]*\n\s*Action Input: ",
    ),
)
"""Forms with their own marks, more specific ones first."""

_TAGS = Form(
    "Cline, Roo Code: system prompts, a tag for the tool and one for each parameter",
    "",
    r"<(?P<name>[a-z]\w+)>\s*",
    r"\s*<(?P<key>[a-z]\w*)>(?P<value>.*?)</(?P=key)>(?=\s*<)\s*",
    close=r"</[a-z]\w+>",
)
_JSON = Form(
    "Llama 3.1 to 3.3: chat templates; LangChain: structured chat prompt; JSON in the form of each wire",
    "",
    arguments="whole",
    between=r"[;,]",
)
_PATCH = r"\*\*\* Begin Patch\n.*\n\*\*\* End Patch"
"""GPT: the grammar of Codex's apply_patch."""
_END_MARKS = r"\s+|<\|(?:im_end|eot_id|eom_id|end|call|return|endoftext|observation|user|eom|eot|END_OF_TURN_TOKEN)\|>|<end_of_turn>|</s>|<｜end▁of▁sentence｜>"
_CODE = (
    r"(?:```tool_code\s*\n|<tool_code>|<\|tool_call_start\|>|<\|python_start\|>|<function_calls>(?=\s*\w+\())"
    rf"(?P<code>.*?)(?:```|</tool_code>|<\|tool_call_end\|>|<\|python_end\|>|</function_calls>|$)(?:{_END_MARKS})*+"
)
"""Gemini, Gemma 3: prompts for tool_code; LFM 2, Llama 4, OLMo 3: chat templates. Calls in Python, possibly in `print()` or a list."""
_RESULT = r"\s*(?:<(?:\w+:)?(?:tool_response|function_results|tool_result|result)>|\[TOOL_RESULTS\]|<\|start\|>functions|Observation:)"
"""A result that a model invents after its call: nothing from there on is its own."""
_FENCE = r"(?ms)^ {0,3}(?P<ticks>`{3,}|~{3,}).*?(?:^ {0,3}(?P=ticks)|\Z)|`[^`\n]+`"
_OPEN_BLOCK = r"(?s)<(?P<block>pre|code|blockquote)\b[^>]*>(?!.*</(?P=block)>)"
"""An element of HTML that holds quoted text and is still open."""
_LONE_FENCE = r"(?s)\s*```(?:json|tool_call|xml|patch|diff)?\s*\n(?P<inside>(?:(?!```).)*?)\n?```\s*"
_ARGUMENTS = ("arguments", "parameters", "input", "args", "tool_input", "action_input", "params")
_NAMES = ("name", "tool_name", "tool", "function", "recipient_name", "action")


def written_calls(text: str, is_tool: Callable[[str], bool], task: str = "") -> tuple[str, Sequence[Written]]:
    """Return the text before the calls that end a reply, and these calls; without calls, the whole text.

    `is_tool` knows the names of tools. A form whose opening the `task` or the rest of the reply mentions is quoted.
    """
    for form, at in _openings(text, is_tool):
        if (
            not _quoted(text, at, task)
            and (calls := _read(form, text[at:]))
            and all(is_tool(name) for name, _ in calls)
        ):
            return text[:at].rstrip(), calls
    for before, calls in _unmarked(text):
        if calls and all(is_tool(name) for name, _ in calls):
            return before, calls
    return text, ()


_NAMED_ELEMENT = r"<(?P<tag>[a-z]+_[a-z_]+)(?:\s[^<>\n]*)?>(?=(?s:.*)</(?P=tag)>\s*\Z)"
"""An element up to the end of a text, named as tools are: `<write_file path="a">`."""


_TOOL_NAME = r"[a-z]+(?:_[a-z0-9]+)+"
"""A name in the form that most names of tools have."""


def opens_call(text: str, task: str = "", tools: Collection[str] = ()) -> bool:
    """Return True if a reply that ends with one of `ENDS` writes a call that may be invalid.

    Such a call names an unknown tool, has no arguments or another form, or is truncated. Its last paragraph may also
    be JSON that calls one of `tools`. If the whole reply is such JSON, a name in the form of tools' names suffices.
    """
    lone = re.fullmatch(_LONE_FENCE, text)
    whole = _named_in(plain_value(lone["inside"] if lone else text, strict=False))
    if (
        whole
        and all(re.fullmatch(_TOOL_NAME, name) for name, _ in whole)
        and not any(key in task for key in _ARGUMENTS)
    ):
        return True
    last = text[text.rfind("\n\n") + 1 :]
    if tools and any(name in tools for name, _ in _named_in(plain_value(last, strict=False))):
        return True
    openings = [*(form.opening for form in FORMS), _NAMED_ELEMENT]
    found = (re.search(rf"(?m)^\s*(?:{opening})", text) for opening in openings)
    return any(not _quoted(text, opening.end() - len(opening.group().lstrip()), task) for opening in found if opening)


def _quoted(text: str, at: int, task: str) -> bool:
    """Return True if the mark at a position is in a block of quoted text, or is only mentioned.

    The reply or the task mentions it elsewhere.
    """
    before = text[text.rfind("\n", 0, at) + 1 : at]
    indented = text[:at].strip() and re.fullmatch(r"(?: {4}|\t)\s*", before)
    if indented or re.match(r"\s*>\s", before) or re.search(_OPEN_BLOCK, text[:at]):
        return True
    mark = re.match(r"\s*(\W*\w+[=:]?)", text[at:])
    mentioned = mark is not None and (mark[1] in task or mark[1] in text[:at])
    return mentioned or any(match.start() < at < match.end() for match in re.finditer(_FENCE, text))


def _openings(text: str, is_tool: Callable[[str], bool]) -> Iterator[tuple[Form, int]]:
    for form in FORMS:
        if found := re.search(form.opening, text):
            yield form, found.start()
    tag = next((tag for tag in re.finditer(rf"(?m)^{_TAGS.head}(?=<[a-z])", text) if is_tool(tag["name"])), None)
    if tag is not None:
        yield _TAGS, tag.start()


def _read(form: Form, text: str) -> Sequence[Written]:
    """Return the calls in a text that consists of nothing else; otherwise none."""
    calls: list[Written] = []
    between = re.compile("|".join(filter(None, (form.between, _END_MARKS))))
    at = 0
    while at < len(text):
        if mark := between.match(text, at):
            at = mark.end()
            continue
        if calls and re.match(_RESULT, text[at:]):
            break
        head = re.compile(form.head).match(text, at)
        found = _call(form, head, text) if head is not None else None
        if found is None:
            return ()
        at, read = found
        calls += read
    return calls


def _call(form: Form, head: re.Match[str], text: str) -> tuple[int, Sequence[Written]] | None:
    """Return the end of the call or calls after a head, and the calls."""
    at = head.end()
    if form.arguments in ("json", "whole", "keys"):
        try:
            value, at = json.JSONDecoder(strict=False).raw_decode(text, at)
        except (ValueError, RecursionError):
            return None
        match form.arguments:
            case "whole":
                calls = _named_in(value)
            case "keys":
                each = [given for given in value if isinstance(given, dict)] if isinstance(value, list) else []
                calls = [pair for given in each for pair in given.items()]
            case _:
                calls = [(head["name"], value)]
        return (at, calls) if calls and all(isinstance(given, Mapping) for _, given in calls) else None
    given: dict[str, Any] = {}
    pattern = re.compile(form.arguments, re.DOTALL)
    while pair := pattern.match(text, at):
        typed, value = pair.groupdict(), pair["value"]
        if re.search(form.head, value):
            return None  # an unclosed pair: its value would be the next call
        value = value[1:-1] if value.startswith("\n") and value.endswith("\n") and len(value) > 1 else value
        is_json = typed.get("text") == "false" or typed.get("type") not in (None, "string")
        given[pair["key"].strip()] = plain_value(value) if is_json else value
        at = pair.end()
    closed = re.compile(form.close).match(text, at)
    return (closed.end() if closed else at, [(head["name"], given)])


def plain_value(text: str, *, strict: bool = True) -> Any:
    """Return a text's JSON value, also with Python's constants, else the text."""
    with suppress(ValueError, RecursionError):
        return json.loads({"True": "true", "False": "false", "None": "null"}.get(text.strip(), text), strict=strict)
    return text


def _named_in(value: Any) -> Sequence[Written]:
    """Return the calls that JSON describes with their names; none if it describes anything else."""
    match value:
        case list() if value:
            each = [_named_in(item) for item in value]
            return [call for calls in each for call in calls] if all(each) else ()
        case {"tool_calls": list() as calls} | {"tool_uses": list() as calls}:
            return _named_in(calls)
        case {"function": dict() as function}:
            return _named_in(function)
        case dict():
            name = next((value[key] for key in _NAMES if isinstance(value.get(key), str)), None)
            given = next((value[key] for key in _ARGUMENTS if key in value), None)
            given = plain_value(given) if isinstance(given, str) else given
            return [(name, given)] if isinstance(name, str) and isinstance(given, dict) else ()
        case _:
            return ()


def _unmarked(text: str) -> Iterator[tuple[str, Sequence[Written]]]:
    """Yield calls in forms without marks.

    These are JSON or a patch as the whole reply, or a Python call that ends it.
    """
    lone = re.fullmatch(_LONE_FENCE, text)
    whole = (lone["inside"] if lone else text).strip()
    if whole.startswith(("{", "[")):
        yield "", _read(_JSON, whole)
    if patch := re.search(rf"(?s)(?:^|\n)(?P<patch>{_PATCH})\s*$", whole):
        before = whole[: patch.start()].rstrip()
        yield before, [("apply_patch", {"input": patch["patch"]})] if "```" not in before else ()
    if code := re.search(rf"(?s)(?:^|\n){_CODE}\s*$", text):
        yield text[: code.start()].rstrip(), list(_in_python(code["code"]))
    elif re.fullmatch(r"\[\w+\(.*\)\]", text.strip(), re.DOTALL):
        yield "", list(_in_python(text))


def _in_python(code: str) -> Iterator[Written]:
    """Yield calls written in Python with named literal arguments."""
    try:
        statements = ast.parse(code.strip()).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for called in chain.from_iterable(map(_expressions, statements)):
        if not isinstance(called, ast.Call) or called.args:
            return
        try:
            given = {str(each.arg): ast.literal_eval(each.value) for each in called.keywords}
        except (ValueError, TypeError):
            return
        yield ast.unparse(called.func).rpartition(".")[2], given


def _expressions(statement: ast.stmt) -> Sequence[ast.expr | None]:
    value = statement.value if isinstance(statement, ast.Expr | ast.Assign) else None
    match value:
        case ast.List(elts=elements):
            return elements
        case ast.Call(func=ast.Name(id="print"), args=[printed]):
            return [printed]
        case _:
            return [value]
