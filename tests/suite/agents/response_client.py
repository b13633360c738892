"""Responses of the OpenAI client for Python: client.py URL TOKEN, then lines of JSON on stdin, one for each request.

A line names what to do: `create` (the keys of the request, and `headers`), `stream` (the same, in pieces), `get`, `watch`
(an id, and the number after which it goes on), `endure` (a stream that is asked for again until it has ended, under the
`key` of its message), `cancel`, `input`, `converse`, `items`. `leave` stops a stream after so many
events of text. What comes is a line of JSON; the events of a stream are a line each before it.
"""
import json
import sys
import time

import httpx2
import openai

client = openai.OpenAI(base_url=sys.argv[1], api_key=sys.argv[2], max_retries=2, timeout=120)


def describe(response):
    items = []
    for item in response.output:
        if item.type == "message":
            items.append(["message", item.content[0].text])
        elif item.type == "reasoning":
            items.append(["reasoning", item.content[0].text])
        elif item.type == "mcp_call":
            error = item.error and item.error.content[0]["text"]
            items.append(["call", item.server_label, item.name, item.arguments, item.output, error])
        elif item.type == "mcp_approval_request":
            items.append(["asks", item.id, item.server_label, item.name, item.arguments])
        else:
            items.append([item.type])
    said = {"id": response.id, "status": response.status, "text": response.output_text, "items": items}
    said["error"] = response.error and [response.error.code, response.error.message]
    said["conversation"] = response.conversation and response.conversation.id
    said["tokens"] = response.usage and response.usage.total_tokens
    return said


def watch(stream, leave):
    """Reads a stream. The texts are put together from what is on its way alone, by the ids of their messages."""
    texts, kinds, last, heard, final = {}, [], None, 0, None
    for event in stream:
        number = event.sequence_number
        assert last is None or number > last, f"{number} comes after {last}: {event}"
        last = number
        kinds.append(event.type)
        if event.type == "response.output_text.delta":
            texts[event.item_id] = texts.get(event.item_id, "") + event.delta
            heard += 1
        if event.type == "response.output_item.done" and event.item.type == "message":
            if event.item.status == "incomplete":
                texts.pop(event.item.id, None)
        item = getattr(event, "item", None)
        told = {"event": event.type, "number": number, "delta": getattr(event, "delta", None)}
        told["item"] = item.id if item else getattr(event, "item_id", None)
        told["status"] = getattr(item, "status", None)
        print(json.dumps(told), flush=True)
        if hasattr(event, "response"):
            final = event.response
        if leave and heard == leave:
            stream.close()
            break
    return {"texts": texts, "kinds": kinds, "number": last, "id": final and final.id,
            "final": final and describe(final)}


def endure(wanted, key):
    """Reads a stream to its end, however often it breaks off. The text is put together from what is on its way alone."""
    texts, id, number = {}, None, None
    for attempt in range(500):
        time.sleep(0.1 if attempt else 0)
        try:
            if id is None:
                headers = {"Idempotency-Key": key}
                asked = {"model": "helper", **wanted, "stream": True}
                stream = client.responses.create(**asked, extra_headers=headers)
            else:
                stream = client.responses.retrieve(id, stream=True, starting_after=number)
            for event in stream:
                number = event.sequence_number
                id = id or (hasattr(event, "response") and event.response.id) or None
                if event.type == "response.output_text.delta":
                    texts[event.item_id] = texts.get(event.item_id, "") + event.delta
                    print(json.dumps({"event": event.delta}), flush=True)
                if event.type == "response.output_item.done" and event.item.type == "message":
                    if event.item.status == "incomplete":
                        texts.pop(event.item.id, None)
                if event.type in ("response.completed", "response.incomplete", "response.failed"):
                    return {"texts": list(texts.values()), "final": describe(event.response)}
        except (openai.APIConnectionError, openai.InternalServerError, httpx2.TransportError):
            pass
        except openai.APIError as error:
            # What a stream says last, if it breaks off.
            if type(error) is not openai.APIError:
                raise
    raise RuntimeError("the stream has no end")


def work(wanted):
    if "endure" in wanted:
        return endure(wanted["endure"], wanted["key"])
    if "create" in wanted:
        raw = client.responses.with_raw_response.create(
            **{"model": "helper", **wanted["create"]}, extra_headers=wanted.get("headers", {})
        )
        thread, ignored = raw.headers.get("systole-thread"), raw.headers.get("systole-ignored")
        return {**describe(raw.parse()), "thread": thread, "ignored": ignored}
    if "stream" in wanted:
        stream = client.responses.create(**{"model": "helper", **wanted["stream"]}, stream=True)
        return watch(stream, wanted.get("leave"))
    if "watch" in wanted:
        id, number = wanted["watch"]
        after = {} if number is None else {"starting_after": number}
        return watch(client.responses.retrieve(id, stream=True, **after), wanted.get("leave"))
    if "whole" in wanted:
        # The helper of the library puts the events together itself, and refuses those that do not fit.
        with client.responses.stream(model="helper", **wanted["whole"]) as stream:
            for event in stream:
                pass
            return describe(stream.get_final_response())
    if "get" in wanted:
        return describe(client.responses.retrieve(wanted["get"]))
    if "cancel" in wanted:
        return describe(client.responses.cancel(wanted["cancel"]))
    if "input" in wanted:
        return [item.content[0].text for item in client.responses.input_items.list(wanted["input"]).data]
    if "converse" in wanted:
        return {"id": client.conversations.create().id}
    items = client.conversations.items.list(wanted["items"], order="asc")
    return [[item.role, item.content[0].text] for item in items]


for line in sys.stdin:
    try:
        said = {"said": work(json.loads(line))}
    except openai.APIStatusError as error:
        said = {"error": error.status_code, "body": error.body}
    except openai.APIError as error:
        said = {"error": type(error).__name__, "body": str(error)}
    print(json.dumps(said), flush=True)
