"""Judges what a server sent: lines of JSON on stdin, each {"type": a message of A2A, "json": what came}. The library of the
protocol's authors reads each of them, knows every field, and misses none that must be there."""
import json
import sys

from a2a.types import a2a_pb2
from a2a.utils.proto_utils import validate_proto_required_fields
from google.protobuf.json_format import ParseDict

for line in sys.stdin:
    told = json.loads(line)
    message = ParseDict(told["json"], getattr(a2a_pb2, told["type"])(), ignore_unknown_fields=False)
    if told["type"] != "ListTasksResponse":
        validate_proto_required_fields(message)
    else:
        for task in message.tasks:
            validate_proto_required_fields(task)
print("ok")
