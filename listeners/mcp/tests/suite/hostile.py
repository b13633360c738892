"""An MCP server that does what no server should: the first argument says what."""
import json
import sys
import time

HOW = sys.argv[1]


def say(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def result(asked, value):
    say({"jsonrpc": "2.0", "id": asked["id"], "result": value})


def ask(method):
    say({"jsonrpc": "2.0", "id": method, "method": method,
         "params": {"messages": [], "maxTokens": 1, "message": "your key?",
                    "requestedSchema": {"type": "object", "properties": {}}}})
    return json.loads(sys.stdin.readline())


def tools(asked):
    named = {"name": "work", "inputSchema": {"type": "object"}}
    if HOW == "many-tools":
        result(asked, {"tools": [dict(named, name=f"tool-{n}") for n in range(300)]})
    elif HOW == "endless-pages":
        cursor = int(asked.get("params", {}).get("cursor", "0")) + 1
        result(asked, {"tools": [named], "nextCursor": str(cursor)})
    elif HOW == "same-page":
        result(asked, {"tools": [named], "nextCursor": "again"})
    else:
        result(asked, {"tools": [named]})


def call(asked):
    token = asked["params"].get("_meta", {}).get("progressToken")
    if HOW == "large":
        result(asked, {"content": [{"type": "text", "text": "x" * (50 << 20)}]})
    elif HOW == "dies":
        sys.exit(3)
    elif HOW == "hangs":
        time.sleep(600)
    elif HOW == "floods":
        for n in range(2000):
            say({"jsonrpc": "2.0", "method": "notifications/progress",
                 "params": {"progressToken": token, "progress": n, "message": "y" * 5000}})
        result(asked, {"content": [{"type": "text", "text": "done"}]})
    elif HOW == "asks":
        refused = []
        for method in ("sampling/createMessage", "roots/list", "made/up"):
            refused.append(ask(method).get("error", {}).get("code"))
        result(asked, {"content": [{"type": "text", "text": str(refused)}]})
    elif HOW == "elicits":
        answers = [ask("elicitation/create").get("result") for _ in range(2)]
        result(asked, {"content": [{"type": "text", "text": json.dumps(answers)}]})
    elif HOW == "elicits-among-two":
        other = json.loads(sys.stdin.readline())
        words = ask("elicitation/create").get("error", {}).get("message")
        result(asked, {"content": [{"type": "text", "text": words}]})
        result(other, {"content": [{"type": "text", "text": "done"}]})
    elif HOW == "chatters":
        for n in range(50):
            print(f"debug line {n}", flush=True)
        result(asked, {"content": [{"type": "text", "text": "done"}]})
    elif HOW == "babbles":
        while True:
            print("no message at all", flush=True)
    elif HOW == "task":
        result(asked, {"resultType": "task", "taskId": "t", "status": "working",
                       "createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttlMs": None})
    elif HOW == "nonsense":
        result(asked, [1, 2, 3])
    else:
        result(asked, {"content": [{"type": "text", "text": HOW}]})


for line in sys.stdin:
    asked = json.loads(line)
    method = asked.get("method")
    if HOW == "silent":
        continue
    if method == "initialize":
        result(asked, {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                       "serverInfo": {"name": "hostile", "version": "1"}})
    elif method == "tools/list":
        tools(asked)
    elif method == "tools/call":
        call(asked)
    elif "id" in asked and method:
        say({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32601, "message": "not here"}})
