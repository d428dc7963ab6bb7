"""What generateContent refuses, in its own words."""

from __future__ import annotations

import base64
import json
from typing import Any

from agentcli.core.errors import InputError
from agentcli.core.model import ModelSpec
from agentcli.providers import catalog
from agentcli.providers.scripted.model import tokens_of
from tests.loopback import tool_schemas
from tests.loopback.plan import Asked
from tests.loopback.refusal import Refused
from tests.loopback.seals import Seals
from tests.loopback.unreadable import unreadable

TOP = {"contents", "systemInstruction", "tools", "toolConfig", "safetySettings", "generationConfig", "cachedContent"}
TOP |= {"model"}  # the field that the path fills: gateways send it as well
CONFIG = {"maxOutputTokens", "thinkingConfig", "temperature", "topP", "topK", "stopSequences", "candidateCount", "seed"}
DATA = ("text", "inlineData", "functionCall", "functionResponse", "fileData")
DUMMIES = (b"skip_thought_signature_validator", b"context_engineering_is_the_way_to_go")
MOST_BYTES = 20 * 1024 * 1024


def check(asked: Asked, seals: Seals, window: int | None) -> None:
    """Raises Refused where the real API would answer with an error."""
    if len(asked.body) > MOST_BYTES:
        raise Refused("Request payload size exceeds the limit: 20971520 bytes.", 413)
    if not (asked.headers.get("x-goog-api-key") or asked.headers.get("authorization")):
        raise Refused("Method doesn't allow unregistered callers (callers without established identity).", 403)
    body = asked.json
    if asked.model.startswith("gemini-") and asked.model not in {known.id for known in catalog.models()}:
        raise Refused(
            f"models/{asked.model} is not found for API version v1, or is not supported for generateContent.", 404
        )
    _top(body)
    _config(body.get("generationConfig") or {}, asked.model)
    _tools(body)
    _searches_alone(body)
    _contents(body["contents"])
    _pairing(body["contents"])
    if spec_of(asked.model).thinking == "level":
        _signatures(body["contents"], asked.model, seals)
    limit = window or spec_of(asked.model).window
    if (size := prompt_tokens(asked)) > limit:
        raise Refused(f"The input token count ({size}) exceeds the maximum number of tokens allowed ({limit}).")


def spec_of(model: str) -> ModelSpec:
    """What the catalog knows; a made-up model has the defaults."""
    try:
        return catalog.spec(f"google/{model}")
    except InputError:
        return ModelSpec("google", model, "google")


def prompt_tokens(asked: Asked) -> int:
    """The size of the prompt by the server's own count."""
    return sum(tokens for _, tokens in cache_blocks(asked.json))


def cache_blocks(body: dict[str, Any]) -> list[tuple[bytes, int]]:
    """The parts in cache order with their sizes."""
    found: list[Any] = [body.get("systemInstruction"), *(body.get("tools") or [])]
    for content in body["contents"]:
        found += ({"role": content["role"], **part} for part in content["parts"])
    texts = [json.dumps(part, ensure_ascii=False) for part in found if part]
    return [(text.encode("utf-8", "surrogatepass"), tokens_of(text)) for text in texts]


def _top(body: dict[str, Any]) -> None:
    for name in set(body) - TOP:
        raise Refused(f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.')
    if not body.get("contents"):
        raise Refused("* GenerateContentRequest.contents: contents is not specified")


def _config(config: dict[str, Any], model: str) -> None:
    for name in set(config) - CONFIG:
        raise Refused(
            f"Invalid JSON payload received. Unknown name \"{name}\" at 'generation_config': Cannot find field."
        )
    most = spec_of(model).max_output
    asked = config.get("maxOutputTokens", 1)
    if not 1 <= asked <= most:
        raise Refused(
            f"Unable to submit request because it has a maxOutputTokens value of {asked} but the supported range is from 1 (inclusive) "
            f"to {most + 1} (exclusive)."
        )
    # The API takes both spellings of a field, and the SDK sends both.
    thinking = {name.replace("_", "").lower() for name in config.get("thinkingConfig") or {}}
    if {"thinkinglevel", "thinkingbudget"} <= thinking:
        raise Refused("You can only set only one of thinking budget and thinking level.")
    if "thinkinglevel" in thinking and spec_of(model).thinking == "budget":
        raise Refused("Thinking level is not supported for this model.")


def _tools(body: dict[str, Any]) -> None:
    for tool in body.get("tools") or []:
        for name in set(tool) - {"functionDeclarations", "googleSearch"}:
            raise Refused(f"Invalid JSON payload received. Unknown name \"{name}\" at 'tools[0]': Cannot find field.")
        for name in set(tool.get("googleSearch", ())) - {"excludeDomains", "timeRangeFilter", "searchTypes"}:
            raise Refused(f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.')
        for number, declared in enumerate(tool.get("functionDeclarations") or []):
            where = f"tools[0].function_declarations[{number}]"
            if "parameters" in declared and "parametersJsonSchema" in declared:
                raise Refused(
                    f"* GenerateContentRequest.{where}: only one of parameters and parameters_json_schema may be set"
                )
            for key in ("parameters", "parametersJsonSchema", "parameters_json_schema"):
                if key in declared and (why := tool_schemas.gemini(declared[key])):
                    raise Refused(f"* GenerateContentRequest.{where}.{why}")
            if not declared.get("name"):
                raise Refused(f"* GenerateContentRequest.{where}.name: [REQUIRED_FIELD_MISSING]")
            if (
                declared.get("parameters") == {"type": "OBJECT"}
                or declared.get("parameters", {}).get("properties") == {}
            ):
                raise Refused(
                    f"* GenerateContentRequest.{where}.parameters.properties: should be non-empty for OBJECT type"
                )


def _searches_alone(body: dict[str, Any]) -> None:
    kinds = {kind for tool in body.get("tools") or [] for kind in tool}
    together = (body.get("toolConfig") or {}).get("includeServerSideToolInvocations")
    if len(kinds) > 1 and not together:
        raise Refused(
            "Please enable tool_config.include_server_side_tool_invocations to use Built-in tools with Function calling."
        )


def _contents(contents: list[dict[str, Any]]) -> None:
    for index, content in enumerate(contents):
        if content.get("role") not in ("user", "model"):
            raise Refused("Please use a valid role: user, model.")
        if index and contents[index - 1]["role"] == content["role"]:
            raise Refused("Please ensure that multiturn requests alternate between user and model.")
        if not content.get("parts"):
            raise Refused(f"* GenerateContentRequest.contents[{index}].parts: contents.parts must not be empty.")
        for number, part in enumerate(content["parts"]):
            filled = [name for name in DATA if name in part]
            if len(filled) != 1 or (part.get("text") == "" and "thoughtSignature" not in part):
                raise Refused(
                    f"* GenerateContentRequest.contents[{index}].parts[{number}].data: required oneof field 'data' must have one "
                    "initialized field"
                )
            response = part.get("functionResponse", {})
            for each in (part, *(response.get("parts") or ())):
                if "inlineData" in each and unreadable(each["inlineData"]["data"]):
                    raise Refused(
                        "Unable to process input image. Please retry or report in "
                        "https://developers.generativeai.google/guide/troubleshooting"
                    )
    if contents[-1]["role"] != "user":
        raise Refused("Please ensure that multiturn requests end with a user role.")


def _pairing(contents: list[dict[str, Any]]) -> None:
    for index, content in enumerate(contents):
        calls = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
        answers = [part["functionResponse"] for part in content["parts"] if "functionResponse" in part]
        if calls and index == 0:
            raise Refused(
                "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
            )
        if answers and not (index and any("functionCall" in part for part in contents[index - 1]["parts"])):
            raise Refused("Please ensure that function response turn comes immediately after a function call turn.")
        if calls:
            _matched(calls, contents[index + 1]["parts"] if index + 1 < len(contents) else [])


def _matched(calls: list[dict[str, Any]], after: list[dict[str, Any]]) -> None:
    answers = [part["functionResponse"] for part in after if "functionResponse" in part]
    if len(answers) != len(calls):
        raise Refused(
            "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn."
        )
    for call, answer in zip(calls, answers, strict=True):
        if (call["name"], call.get("id")) != (answer.get("name"), answer.get("id")):
            raise Refused(
                "Please ensure that function response parts match the function call parts in name, id and order."
            )


def _signatures(contents: list[dict[str, Any]], model: str, seals: Seals) -> None:
    current = max(
        (index for index, content in enumerate(contents) if content["role"] == "user" and _is_prompt(content)),
        default=0,
    )
    for index, content in enumerate(contents):
        calls = [part for part in content["parts"] if "functionCall" in part]
        for number, part in enumerate(content["parts"]):
            seal = part.get("thoughtSignature")
            if seal is None and index > current and calls and part is calls[0]:
                raise Refused(
                    "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, "
                    "and missing thought_signature may lead to degraded model performance. Additional data, function call "
                    f"`default_api:{part['functionCall']['name']}` , position {number + 1}."
                )
            if seal is not None and not _is_known(seal, part, model, seals):
                raise Refused("Corrupted thought signature.")


def _is_prompt(content: dict[str, Any]) -> bool:
    return any("functionResponse" not in part for part in content["parts"])


def _is_known(seal: str, part: dict[str, Any], model: str, seals: Seals) -> bool:
    data = base64.urlsafe_b64decode(seal.replace("+", "-").replace("/", "_"))
    if data in DUMMIES:
        return True
    standard = base64.b64encode(data).decode()
    call = part.get("functionCall")
    content = [call["name"], call.get("args", {})] if call else part.get("text")
    issuer = seals.issuer(standard)
    return issuer is not None and (issuer != model or seals.is_good(standard, model, content, None))
