"""An MCP server over stdio: keeps facts with their sources in notes.jsonl, one a line. It needs nothing but Python."""
import json
import os
import sys

FILE, MOST_NOTES = "notes.jsonl", 200
TEXT = {"type": "string", "minLength": 1, "maxLength": 2000}
TOOLS = [
    {"name": "keep", "description": "Keeps a fact with its source, such as a file and a line. A fact is kept once.",
     "inputSchema": {"type": "object", "required": ["fact", "source"], "properties": {"fact": TEXT, "source": TEXT}}},
    {"name": "kept", "description": "Lists the facts that have a word, or the last 200.", "annotations": {"readOnlyHint": True},
     "inputSchema": {"type": "object", "properties": {"word": TEXT}}},
]


def notes():
    if not os.path.exists(FILE):
        return []
    with open(FILE, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def keep(fact, source):
    known = [note["fact"] for note in notes()]
    if fact in known:
        return f"note {known.index(fact) + 1} has it already"
    with open(FILE, "a", encoding="utf-8") as file:
        file.write(json.dumps({"fact": fact, "source": source}, ensure_ascii=False) + "\n")
    return f"kept as note {len(known) + 1}"


def kept(word=""):
    shown = [f"{n}: {note['fact']} ({note['source']})" for n, note in enumerate(notes(), 1) if word.lower() in note["fact"].lower()]
    return "\n".join(shown[-MOST_NOTES:]) or "no note"


def answer(method, params):
    if method == "initialize":
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "notes", "version": "1"}}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        try:
            text, failed = {"keep": keep, "kept": kept}[params["name"]](**params.get("arguments", {})), False
        except KeyError:
            text, failed = f"there is no tool {params.get('name')}", True
        except (TypeError, ValueError, OSError) as error:
            text, failed = str(error), True
        return {"content": [{"type": "text", "text": text}], "isError": failed}
    return {} if method == "ping" else None


for message in map(json.loads, sys.stdin):
    if "id" in message and "method" in message:      # the rest are notifications
        result = answer(message["method"], message.get("params", {}))
        end = {"result": result} if result is not None else {"error": {"code": -32601, "message": "no such method"}}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **end}), flush=True)
