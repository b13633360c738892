# Written by `systole sdk python`: do not edit, write it again.
"""Payloads of https://xml-pipeline.org/ns/conform/v1."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from systole_sdk.payload import Payload, bind


@dataclass(frozen=True, kw_only=True)
class Task(Payload):
    """Work for a worker that is judged."""

    do: Literal["echo", "sleep", "fail", "again", "throw", "exit", "hang", "print", "stderr", "progress", "notice",
                "view", "blob", "once", "call", "many", "large", "bad", "silent"] | None = None
    n: int | None = None
    code: str | None = None
    text: str = ""


@dataclass(frozen=True, kw_only=True)
class Done(Payload):
    """What came of it."""

    key: str
    attempt: int
    turn: int
    n: int | None = None
    sender: str
    text: str = ""


@dataclass(frozen=True, kw_only=True)
class Remark(Payload):
    """A note of the work `many`, numbered from 0."""

    n: int
    text: str = ""


bind(
    {
        "namespace": "https://xml-pipeline.org/ns/conform/v1",
        "elements": {"task": "Task", "done": "Done", "remark": "Remark"},
        "classes": {
            "Task": {
                "element": "task",
                "attributes": [
                    {"name": "do", "field": "do", "type": {"simple": 0}},
                    {"name": "n", "field": "n", "type": {"simple": 1}},
                    {"name": "code", "field": "code", "type": {"string": 1}},
                ],
                "text": {"field": "text", "type": {"string": 1}},
            },
            "Done": {
                "element": "done",
                "attributes": [
                    {"name": "key", "field": "key", "type": {"string": 1}, "required": 1},
                    {"name": "attempt", "field": "attempt", "type": {"simple": 2}, "required": 1},
                    {"name": "turn", "field": "turn", "type": {"simple": 2}, "required": 1},
                    {"name": "n", "field": "n", "type": {"simple": 1}},
                    {"name": "sender", "field": "sender", "type": {"string": 1}, "required": 1},
                ],
                "text": {"field": "text", "type": {"string": 1}},
            },
            "Remark": {
                "element": "remark",
                "attributes": [{"name": "n", "field": "n", "type": {"simple": 1}, "required": 1}],
                "text": {"field": "text", "type": {"string": 1}},
            },
        },
        "simple": [
            {"base": "string", "values": ["echo", "sleep", "fail", "again", "throw", "exit", "hang", "print", "stderr",
                                          "progress", "notice", "view", "blob", "once", "call", "many", "large", "bad", "silent"]},
            {"base": "nonNegativeInteger"},
            {"base": "positiveInteger"},
        ],
    },
    Task, Done, Remark,
)
