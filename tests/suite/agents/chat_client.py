"""A chat of the OpenAI client for Python: client.py URL TOKEN, then lines of JSON on stdin, one for each request.

A line has the question, and what the test changes: `stream`, `headers`, `model`, `extra` (further keys), `history`
(questions and answers of another client before), `forget` (so many of the newest messages are left out, as a chat window
does that asks again). Pieces of an answer and the whole of it are lines of JSON.
"""
import json
import sys

import openai

client = openai.OpenAI(base_url=sys.argv[1], api_key=sys.argv[2], max_retries=2, timeout=120)
history = []


def read_stream(stream):
    text, beside, finish, usage = "", "", None, None
    for chunk in stream:
        usage = chunk.usage or usage
        if not chunk.choices:
            continue
        choice = chunk.choices[0]
        text += choice.delta.content or ""
        aside = getattr(choice.delta, "reasoning_content", None) or ""
        beside += aside
        if aside:
            print(json.dumps({"aside": aside}), flush=True)
        finish = choice.finish_reason or finish
        if choice.delta.content:
            print(json.dumps({"piece": choice.delta.content}), flush=True)
    return text, beside, finish, usage


def ask(wanted):
    global history
    for question, answer in wanted.get("history", []):
        history += [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
    if wanted.get("forget"):
        history = history[: -wanted["forget"]]
    asked = history + [{"role": "user", "content": wanted["question"]}]
    raw = client.chat.completions.with_raw_response.create(
        model=wanted.get("model", "helper"),
        messages=asked,
        stream=wanted.get("stream", False),
        extra_headers=wanted.get("headers", {}),
        **wanted.get("extra", {}),
    )
    answer = raw.parse()
    if wanted.get("stream"):
        text, beside, finish, usage = read_stream(answer)
    else:
        choice = answer.choices[0]
        text, finish, usage = choice.message.content, choice.finish_reason, answer.usage
        beside = getattr(choice.message, "reasoning_content", None) or ""
    history = asked + [{"role": "assistant", "content": text}]
    thread, ignored = raw.headers.get("systole-thread"), raw.headers.get("systole-ignored")
    return {"text": text, "beside": beside, "finish": finish, "thread": thread, "ignored": ignored,
            "tokens": usage and usage.total_tokens}


for line in sys.stdin:
    wanted = json.loads(line)
    try:
        if wanted.get("models"):
            said = {"models": [model.id for model in client.models.list().data]}
        else:
            said = ask(wanted)
    except openai.APIStatusError as error:
        tries = error.request.headers.get("x-stainless-retry-count")
        said = {"error": type(error).__name__, "status": error.status_code, "body": error.body, "tries": tries}
    except openai.APIError as error:
        said = {"error": type(error).__name__, "body": error.body}
    print(json.dumps(said), flush=True)
