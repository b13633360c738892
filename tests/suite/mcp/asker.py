"""An MCP server of the revision 2026-07-28 whose tool asks a person first. It writes what it heard to `state/heard`."""
import json
import os
import sys

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "state")
SCHEMA = {"type": "object", "required": ["email"], "properties": {
    "email": {"type": "string", "minLength": 3}, "seats": {"type": "integer", "minimum": 1, "default": 1},
    "news": {"type": "boolean"}}}


def say(asked, value):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **value}) + "\n")
    sys.stdout.flush()


def heard(words):
    with open(os.path.join(HERE, "heard"), "a", encoding="utf-8") as file:
        file.write(words + "\n")


def text(asked, words):
    say(asked, {"result": {"resultType": "complete", "content": [{"type": "text", "text": words}]}})


def ask(asked, requests, state):
    say(asked, {"result": {"resultType": "input_required", "inputRequests": requests, "requestState": state}})


def book(asked):
    params = asked["params"]
    given = params.get("inputResponses")
    if not given:
        heard("offered " + json.dumps(params["_meta"]["io.modelcontextprotocol/clientCapabilities"]))
        ask(asked, {"who": {"method": "elicitation/create", "params": {
            "mode": "form", "message": "Who \u202e books?", "requestedSchema": SCHEMA}}}, "state-1")
        return
    heard(json.dumps([params.get("requestState"), given], sort_keys=True))
    who = given["who"]
    if who["action"] != "accept":
        text(asked, "not booked: " + who["action"])
    elif who["content"]["email"] == "again":
        ask(asked, {"who": {"method": "elicitation/create", "params": {
            "mode": "form", "message": "Once more", "requestedSchema": SCHEMA}}}, "state-2")
    else:
        text(asked, "booked for " + json.dumps(who["content"], sort_keys=True))


for line in sys.stdin:
    asked = json.loads(line)
    method = asked.get("method")
    if method == "server/discover":
        say(asked, {"result": {"resultType": "complete", "supportedVersions": ["2026-07-28"],
                               "capabilities": {"tools": {}}, "serverInfo": {"name": "asker", "version": "1"},
                               "ttlMs": 0, "cacheScope": "private"}})
    elif method == "tools/list":
        say(asked, {"result": {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", "tools": [
            {"name": "book", "description": "Books.", "inputSchema": {"type": "object"}},
            {"name": "think", "description": "Asks a model.", "inputSchema": {"type": "object"}},
            {"name": "draw", "description": "Draws.", "inputSchema": {"type": "object"}}]}})
    elif method == "tools/call" and asked["params"]["name"] == "think":
        ask(asked, {"m": {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 5}}}, "s")
    elif method == "tools/call" and asked["params"]["name"] == "draw":
        say(asked, {"result": {"resultType": "complete", "content": [
            {"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"}]}})
    elif method == "tools/call":
        book(asked)
    elif "id" in asked and method:
        say(asked, {"error": {"code": -32601, "message": "not here"}})
