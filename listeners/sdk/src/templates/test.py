"""Tries what @NAME@ answers, without a broker and without an organism."""
import importlib.util
import sys
from pathlib import Path

from payloads.@MODULE@ import @ASK-CLASS@, @ANSWER-CLASS@

sys.dont_write_bytecode = True
spec = importlib.util.spec_from_file_location("listener", Path(__file__).with_name("@NAME@.py"))
assert spec and spec.loader
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)

reply = module.answer(@ASK-CLASS@(text="Who is there?"))
assert reply == @ANSWER-CLASS@(text="You said: Who is there?"), f"unexpected: {reply}"
print("ok")
