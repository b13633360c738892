"""Judges requests to models by the types of the providers' own libraries: judge_bodies.py < LINES

Each line is JSON: {"form": "openai", "body": {...}}. A key that the library does not know counts as wrong, except in what
JSON Schema says. It prints a line for each request that is wrong, and ends with 1 if there is one.
"""
import functools
import importlib
import json
import pkgutil
import sys

import pydantic
import pydantic_core
import typing_extensions

# What local servers take besides, and what this library has no type for although its provider documents it.
BESIDES = {
    "openai": {"grammar", "structured_outputs", "ebnf", "chat_template_kwargs"},
    "anthropic": set(),
    "openai-responses": set(),
}


def refuse(_):
    raise ValueError("a type of answers")


NEVER = classmethod(lambda *_: pydantic_core.core_schema.no_info_plain_validator_function(refuse))


def refuse_unknown_keys(package):
    """Every type of a request there takes only its own keys, and what is the type of an answer is none of a request."""
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        module = importlib.import_module(found.name)
        for kind in vars(module).values():
            if typing_extensions.is_typeddict(kind) and kind.__module__.startswith(package.__name__):
                # A schema of JSON has keys of its own.
                is_open = any(word in kind.__name__ for word in ("JSONSchema", "InputSchema", "Parameters"))
                extra = "allow" if is_open else "forbid"
                kind.__pydantic_config__ = {"extra": extra, "arbitrary_types_allowed": True}
            elif isinstance(kind, type) and issubclass(kind, pydantic.BaseModel):
                kind.__get_pydantic_core_schema__ = NEVER


@functools.cache
def judge_of(form):
    if form == "openai":
        import openai.types.chat as types
        from openai.types.chat.completion_create_params import (
            CompletionCreateParamsNonStreaming, CompletionCreateParamsStreaming)
        whole, streamed = CompletionCreateParamsNonStreaming, CompletionCreateParamsStreaming
    elif form == "openai-responses":
        import openai.types.responses as types
        from openai.types.responses.response_create_params import (
            ResponseCreateParamsNonStreaming, ResponseCreateParamsStreaming)
        whole, streamed = ResponseCreateParamsNonStreaming, ResponseCreateParamsStreaming
    elif form == "anthropic":
        import anthropic.types as types
        from anthropic.types.message_create_params import (
            MessageCreateParamsNonStreaming, MessageCreateParamsStreaming)
        whole, streamed = MessageCreateParamsNonStreaming, MessageCreateParamsStreaming
    else:
        return None
    refuse_unknown_keys(types)
    return pydantic.TypeAdapter(whole), pydantic.TypeAdapter(streamed)


@functools.cache
def judge_of_gemini():
    from google.genai import types

    class Body(types._common.BaseModel):
        contents: list[types.Content]
        system_instruction: types.Content | None = None
        tools: list[types.Tool] | None = None
        tool_config: types.ToolConfig | None = None
        generation_config: types.GenerationConfig | None = None

    return Body


def judge(form, body):
    if form == "gemini":
        judge_of_gemini().model_validate(body)
    else:
        whole, streamed = judge_of(form)
        known = {key: value for key, value in body.items() if key not in BESIDES[form]}
        adapter = streamed if body.get("stream") else whole
        # What is no list may be any iterable in these types, which are judged when they are read.
        exhaust(adapter.validate_python(known))


def exhaust(value):
    if isinstance(value, dict):
        for inside in value.values():
            exhaust(inside)
    elif not isinstance(value, (str, bytes)) and hasattr(value, "__iter__"):
        for inside in value:
            exhaust(inside)


wrong, judged = 0, 0
for line in sys.stdin:
    asked = json.loads(line)
    try:
        # Ollama has no types of requests in its library.
        if asked["form"] != "ollama":
            judge(asked["form"], asked["body"])
            judged += 1
    except (pydantic.ValidationError, TypeError) as fault:
        wrong += 1
        print(asked["form"], str(fault)[:1500], json.dumps(asked["body"])[:600], sep="\n  ", flush=True)
print(f"judged {judged}, refused {wrong}")
sys.exit(1 if wrong else 0)
