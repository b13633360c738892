"""Writes the client's methods and the types of their bodies from `schemas/openapi.json`.

    python3 make_client.py          writes systole_sdk/operations.py and systole_sdk/bodies.py
    python3 make_client.py --check  exits 1 if they are not what it would write
"""
from __future__ import annotations

import json
import keyword
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
OPENAPI = HERE.parents[2] / "schemas" / "openapi.json"
# Operations that are no method, each with its reason.
LEFT_OUT = {
    "sendMessage": "`ask`, `send` and `wait` send messages",
    "sendFile": "`ask` and `send` send the files of their payloads",
    "followLog": "`events` follows the log",
    "decide": "`approve`, `reject`, `amend` and `choose` decide, with the hash that was read",
    "mcp": "it is for hosts of models, which speak the Model Context Protocol",
    "sessionCode": "it is for signing in to the console in a browser",
}
HEAD = '"""{}\n\nWritten by `make_client.py` from `schemas/openapi.json`: do not edit, write it again.\n"""\n'


def is_class(fields: dict[str, str]) -> bool:
    """Whether the keys can be names of fields."""
    return all(key.isidentifier() and not keyword.iskeyword(key) for key in fields)


def snake(name: str) -> str:
    """A name of Python: threadWhy is thread_why."""
    name = re.sub(r"(?<=[a-z0-9])([A-Z])", lambda found: "_" + found.group().lower(), name).replace("-", "_")
    return name + "_" if keyword.iskeyword(name) else name


class Bodies:
    """The TypedDicts of the schemas."""

    def __init__(self, schemas: dict[str, Any]) -> None:
        self.schemas = schemas
        self.lines: list[str] = []
        self.done: set[str] = set()

    def write(self) -> str:
        """The whole module."""
        for name, schema in self.schemas.items():
            self.declare(name, schema)
        body = "\n".join(self.lines)
        return HEAD.format("The bodies of the HTTP door.") + "from __future__ import annotations\n\nfrom typing import Any, Literal, TypedDict, Union\n\n" + body + "\n"

    def declare(self, name: str, schema: dict[str, Any]) -> str:
        """Declares a type, once; its name."""
        if name in self.done:
            return name
        self.done.add(name)
        if "properties" not in schema:
            self.lines.append(f"{name} = {self.kind(schema, name, quoted=True)}")
            return name
        required = set(schema.get("required", ()))
        fields = {key: self.kind(value, name + key[:1].upper() + re.sub(r"\W|_", "", key[1:])) for key, value in schema["properties"].items()}
        must = {key: kind for key, kind in fields.items() if key in required}
        may = {key: kind for key, kind in fields.items() if key not in required}
        base = f"_{name}" if must and may else name
        if must or not may:
            self.put(base, must, "")
        if may and must and not is_class(may):
            self.put(f"_{name}May", may, ", total=False")
            self.put(name, {}, "", f"{base}, _{name}May")
        elif may:
            self.put(name, may, ", total=False", base if must else "")
        return name

    def put(self, name: str, fields: dict[str, str], more: str, base: str = "") -> None:
        """One TypedDict, as a class where its keys are names."""
        if is_class(fields):
            self.lines += ["", f"class {name}({base or 'TypedDict'}{more}):", *[f"    {key}: {kind}" for key, kind in fields.items()]]
            self.lines += ["    pass"] if not fields else []
            self.lines.append("")
        else:
            inside = ", ".join(f'"{key}": "{kind}"' for key, kind in fields.items())
            self.lines += ["", *wrap(f'{name} = TypedDict("{name}", {{{inside}}}{more})')]

    def kind(self, schema: dict[str, Any], name: str, quoted: bool = False) -> str:
        """A type in Python."""
        if "$ref" in schema:
            found = schema["$ref"].rsplit("/", 1)[1]
            return f'"{found}"' if quoted else found
        every = schema.get("anyOf") or schema.get("oneOf")
        if every:
            kinds = [self.kind(one, f"{name}{number}" if "properties" in one else name, quoted) for number, one in enumerate(every)]
            return f"Union[{', '.join(dict.fromkeys(kinds))}]" if quoted else " | ".join(dict.fromkeys(kinds))
        if "const" in schema:
            return f"Literal[{schema['const']!r}]".replace('"', "'")
        if "enum" in schema:
            return "Literal[" + ", ".join(repr(one) for one in schema["enum"]) + "]"
        if "properties" in schema:
            return self.declare(name, schema)
        given = schema.get("type", "object")
        kinds = [self.basic(one, schema, name, quoted) for one in (given if isinstance(given, list) else [given])]
        return f"Union[{', '.join(kinds)}]" if quoted and len(kinds) > 1 else " | ".join(kinds)

    def basic(self, given: str, schema: dict[str, Any], name: str, quoted: bool) -> str:
        """A type without alternatives."""
        if given == "array":
            return f"list[{self.kind(schema.get('items', {}), name, quoted)}]"
        if given == "object":
            more = schema.get("additionalProperties")
            return f"dict[str, {self.kind(more, name, quoted)}]" if isinstance(more, dict) and more else "dict[str, Any]"
        return {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}[given]


def build_operations(paths: dict[str, Any], bodies: Bodies) -> str:
    """The module with the methods, once plain and once async."""
    plain: list[str] = []
    later: list[str] = []
    for path, methods in paths.items():
        for method, one in methods.items():
            if one["operationId"] not in LEFT_OUT:
                for lines, is_async in ((plain, False), (later, True)):
                    lines += build_method(path, method.upper(), one, bodies, is_async)
    reasons = "\n".join(textwrap.wrap("No methods: " + "; ".join(f"{name}: {reason}" for name, reason in LEFT_OUT.items()) + ".", 110, initial_indent="# ", subsequent_indent="# "))
    head = HEAD.format("The operations of the HTTP door, as methods of the clients.")
    start = "from __future__ import annotations\n\nfrom typing import TYPE_CHECKING, Any, cast\n\nif TYPE_CHECKING:\n    from typing import Literal\n\n    from . import bodies\n"
    call = "    {}def _call(self, method: str, path: str, query: dict[str, Any], body: Any = None, *, is_bytes: bool = False) -> Any:\n        raise NotImplementedError\n"
    return f"{head}{start}\n{reasons}\n\n\nclass Operations:\n    \"\"\"One method for each operation.\"\"\"\n\n{call.format('')}\n" + "\n".join(plain) + \
        f"\n\nclass AsyncOperations:\n    \"\"\"The same, to be awaited.\"\"\"\n\n{call.format('async ')}\n" + "\n".join(later)


def build_method(path: str, method: str, one: dict[str, Any], bodies: Bodies, is_async: bool) -> list[str]:
    """One method."""
    places = [given["name"] for given in one.get("parameters", ()) if given["in"] == "path"]
    query = [given for given in one.get("parameters", ()) if given["in"] == "query"]
    result = find_result(one, bodies)
    words = ["self", *[f"{snake(name)}: str" for name in places]]
    body = one.get("requestBody", {}).get("content", {}).get("application/json")
    if body:
        default = "" if one["requestBody"].get("required") else " | None = None"
        words.append(f"body: {qualify(bodies.kind(body['schema'], 'Body'), bodies)}{default}")
    if query:
        words += ["*", *[f"{snake(given['name'])}: {qualify(bodies.kind(given['schema'], 'Query'), bodies)} | None = None" for given in query]]
    filled = re.sub(r"\{(\w+)\}", lambda found: f"{{_place({snake(found.group(1))})}}", path)
    asked = "{" + ", ".join(f'"{given["name"]}": {snake(given["name"])}' for given in query) + "}"
    call = f"{'await ' if is_async else ''}self._call(\"{method}\", {'f' if places else ''}\"{filled}\", {asked}{', body' if body else ''}{', is_bytes=True' if result == 'bytes' else ''})"
    signature = wrap(f"    {'async ' if is_async else ''}def {snake(one['operationId'])}({', '.join(words)}) -> {result}:")
    return [*signature, f'        """{one["summary"].rstrip(".")}."""', *wrap(f'        return cast("{result}", {call})'), ""]


def find_result(one: dict[str, Any], bodies: Bodies) -> str:
    """The type of a method's result."""
    kinds: list[str] = []
    for status, response in one["responses"].items():
        for said in response.get("content", {}).values() if status.startswith("2") else ():
            schema = said["schema"]
            kinds.append("bytes" if schema.get("format") == "binary" else qualify(bodies.kind(schema, "Result"), bodies))
    return " | ".join(dict.fromkeys(kinds)) or "None"


def qualify(kind: str, bodies: Bodies) -> str:
    """A type as another module names it."""
    return re.sub(r"\b[A-Z]\w+", lambda found: f"bodies.{found.group()}" if found.group() in bodies.schemas else found.group(), kind)


def wrap(line: str) -> list[str]:
    """A long line as several, broken behind commas."""
    if len(line) <= 118:
        return [line]
    indent = " " * (len(line) - len(line.lstrip()) + 8)
    lines, words = [], line.split(", ")
    current = words[0]
    for word in words[1:]:
        if len(current) + len(word) > 114:
            lines.append(current + ",")
            current = indent + word
        else:
            current += ", " + word
    return [*lines, current]


def main() -> int:
    """Writes both modules, or compares them."""
    described = json.loads(OPENAPI.read_text())
    bodies = Bodies(described["components"]["schemas"])
    written = {"bodies.py": bodies.write()}
    written["operations.py"] = build_operations(described["paths"], bodies) + '\n\ndef _place(text: str) -> str:\n    from urllib.parse import quote\n    return quote(text, safe="")\n'
    stale = [name for name, text in written.items() if not (HERE / "systole_sdk" / name).exists() or (HERE / "systole_sdk" / name).read_text() != text]
    if "--check" in sys.argv[1:]:
        if stale:
            print(f"stale: {', '.join(stale)}; try: python3 make_client.py", file=sys.stderr)
        return 1 if stale else 0
    for name in stale:
        (HERE / "systole_sdk" / name).write_text(written[name])
    return 0


if __name__ == "__main__":
    sys.exit(main())
