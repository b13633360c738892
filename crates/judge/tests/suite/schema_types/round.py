"""Reads payloads with generated classes and writes them again: a line of JSON comes in for each schema, one goes out."""
import contextlib
import importlib
import io
import json
import sys

from systole_sdk.payload import read, write

for line in sys.stdin:
    case = json.loads(line)
    cls = getattr(importlib.import_module(case["module"]), "Root")
    said = []
    for document in case["documents"]:
        try:
            with contextlib.redirect_stderr(io.StringIO()):
                payload = read(cls, document)
            written = write(payload)
            again = repr(read(cls, written)) == repr(payload)
            said.append({"written": written, "again": again})
        except ValueError as error:
            said.append({"refused": f"{type(error).__name__}: {error}"})
    print(json.dumps(said))
