"""An MCP server over stdio: searches and reads the texts in library/. It needs nothing but Python, and writes nothing."""
import json
import os
import re
import sys

FOLDER, MOST_HITS, MOST_LINES = "library", 20, 200
TEXT = {"type": "string", "minLength": 1, "maxLength": 500}
TOOLS = [
    {"name": "search", "description": "Finds the lines that have the most words of a query.", "annotations": {"readOnlyHint": True},
     "inputSchema": {"type": "object", "required": ["query"], "properties": {"query": TEXT}}},
    {"name": "read", "description": "Shows a text, or 200 lines of it from one on.", "annotations": {"readOnlyHint": True},
     "inputSchema": {"type": "object", "required": ["file"], "properties": {"file": TEXT, "line": {"type": "integer", "minimum": 1}}}},
]


def texts():
    """Each text by its name, as lines. What is no text is left out."""
    found = {}
    for name in sorted(os.listdir(FOLDER)) if os.path.isdir(FOLDER) else []:
        path = os.path.join(FOLDER, name)
        if os.path.isfile(path) and not name.startswith("."):
            with open(path, encoding="utf-8", errors="replace") as file:
                found[name] = file.read().splitlines()
    return found


def search(query):
    words = set(re.findall(r"\w+", query.lower()))
    scored = [
        (len(words & set(re.findall(r"\w+", line.lower()))), f"{name}:{number}: {line}")
        for name, lines in texts().items()
        for number, line in enumerate(lines, 1)
    ]
    hits = [hit for score, hit in sorted(scored, key=lambda one: -one[0]) if score]
    return "\n".join(hits[:MOST_HITS]) or f"nothing found; the texts are: {', '.join(texts()) or 'none'}"


def read(file, line=1):
    found = texts()
    if file not in found:
        raise ValueError(f"there is no {file}; the texts are: {', '.join(found) or 'none'}")
    shown = found[file][line - 1:line - 1 + MOST_LINES]
    return "\n".join(f"{number}: {words}" for number, words in enumerate(shown, line)) or f"{file} ends before line {line}"


def answer(method, params):
    if method == "initialize":
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "library", "version": "1"}}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        try:
            text, failed = {"search": search, "read": read}[params["name"]](**params.get("arguments", {})), False
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
