"""Asks a server of models through the libraries of the providers: read_answers.py URL

It prints what each library reads, whole and streamed: a line of JSON for each, with the text, the calls, and the usage.
"""
import json
import sys

URL = sys.argv[1]
TOOL = {"type": "object", "properties": {"query": {"type": "string"}}}
QUESTION = "Where is the login?"


def say(form, text, calls, usage):
    calls = [[name, arguments if isinstance(arguments, dict) else json.loads(arguments)] for name, arguments in calls]
    print(json.dumps({"form": form, "text": text, "calls": calls, "usage": usage}), flush=True)


def ask_openai():
    import openai
    client = openai.OpenAI(base_url=f"{URL}/v1", api_key="k", max_retries=0)
    asked = {"model": "m", "messages": [{"role": "user", "content": QUESTION}],
             "tools": [{"type": "function", "function": {"name": "search", "parameters": TOOL}}]}
    whole = client.chat.completions.create(**asked)
    message = whole.choices[0].message
    say("openai", message.content, [(one.function.name, one.function.arguments) for one in message.tool_calls],
        [whole.usage.prompt_tokens, whole.usage.completion_tokens])
    with client.chat.completions.stream(**asked, stream_options={"include_usage": True}) as stream:
        for _ in stream:
            pass
        streamed = stream.get_final_completion()
    message = streamed.choices[0].message
    say("openai", message.content, [(one.function.name, one.function.arguments) for one in message.tool_calls],
        [streamed.usage.prompt_tokens, streamed.usage.completion_tokens])


def ask_responses():
    import openai
    client = openai.OpenAI(base_url=f"{URL}/v1", api_key="k", max_retries=0)
    asked = {"model": "m", "input": QUESTION, "store": False,
             "tools": [{"type": "function", "name": "search", "parameters": TOOL, "strict": False}]}
    with client.responses.stream(**asked) as stream:
        for _ in stream:
            pass
        streamed = stream.get_final_response()
    for answer in (client.responses.create(**asked), streamed):
        calls = [(one.name, one.arguments) for one in answer.output if one.type == "function_call"]
        say("openai-responses", answer.output_text, calls, [answer.usage.input_tokens, answer.usage.output_tokens])


def ask_anthropic():
    import anthropic
    client = anthropic.Anthropic(base_url=URL, api_key="k", max_retries=0)
    asked = {"model": "m", "max_tokens": 100, "messages": [{"role": "user", "content": QUESTION}],
             "tools": [{"name": "search", "input_schema": TOOL}]}
    with client.messages.stream(**asked) as stream:
        streamed = stream.get_final_message()
    for answer in (client.messages.create(**asked), streamed):
        text = "".join(one.text for one in answer.content if one.type == "text")
        calls = [(one.name, one.input) for one in answer.content if one.type == "tool_use"]
        read = answer.usage.input_tokens + (answer.usage.cache_read_input_tokens or 0)
        say("anthropic", text, calls, [read, answer.usage.output_tokens])


def ask_gemini():
    from google import genai
    client = genai.Client(api_key="k", http_options={"base_url": URL, "api_version": "v1beta"})
    tools = [{"function_declarations": [{"name": "search", "parameters_json_schema": TOOL}]}]
    asked = {"model": "m", "contents": QUESTION, "config": {"tools": tools}}
    whole = client.models.generate_content(**asked)
    for pieces in ([whole], list(client.models.generate_content_stream(**asked))):
        parts = [part for piece in pieces for part in (piece.candidates[0].content.parts if piece.candidates else [])]
        text = "".join(part.text for part in parts if part.text and not part.thought)
        calls = [(part.function_call.name, part.function_call.args) for part in parts if part.function_call]
        usage = [piece.usage_metadata for piece in pieces if piece.usage_metadata][-1]
        written = usage.candidates_token_count + (usage.thoughts_token_count or 0)
        say("gemini", text, calls, [usage.prompt_token_count, written])


for ask in (ask_openai, ask_responses, ask_anthropic, ask_gemini):
    ask()
