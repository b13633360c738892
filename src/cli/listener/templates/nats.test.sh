#!/bin/sh
# Tries what @NAME@ answers, without a broker, and fails where its answer is another.
cd "$(dirname "$0")" || exit 1
python3 - <<'END'
import importlib.util
import sys

sys.dont_write_bytecode = True
spec = importlib.util.spec_from_file_location("listener", "@NAME@.py")
listener = importlib.util.module_from_spec(spec)
spec.loader.exec_module(listener)
said = listener.reply(
    b'<message xmlns="https://xml-pipeline.org/ns/envelope/v1"><meta>'
    b'<stamp xmlns="urn:systole:stamp:v1" delivery="d1"/></meta>'
    b'<@ASK@ xmlns="@NS@"><text>Who is there?</text></@ASK@></message>'
)
if b"You said: Who is there?" not in said or b'delivery="d1"' not in said:
    sys.exit("unexpected: " + said.decode())
print("ok")
END
