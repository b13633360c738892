# Written by `systole sdk python`: do not edit, write it again.
"""Payloads of https://xml-pipeline.org/ns/talk/v1."""
from __future__ import annotations

from dataclasses import dataclass

from .payload import Part, Payload, bind


@dataclass(frozen=True, kw_only=True)
class Ask(Payload):
    """A question or any other message."""
    text: str


@dataclass(frozen=True, kw_only=True)
class AskWith(Payload):
    """A question about files, for a model that takes them."""
    question: str
    file: tuple[AskWithFile, ...]


@dataclass(frozen=True, kw_only=True)
class AskWithFile(Part):
    sha256: str
    """The hash under which the log keeps its bytes."""
    type: str
    """Its media type, such as image/png."""
    bytes_: int
    name: str | None = None
    """What its sender calls it."""


@dataclass(frozen=True, kw_only=True)
class Answer(Payload):
    """What is said to it."""
    text: str


TABLE: dict[str, object] = {
 "namespace": "https://xml-pipeline.org/ns/talk/v1",
 "elements": {"ask": "Ask", "ask-with": "AskWith", "answer": "Answer"},
 "classes": {
  "Ask": {"element": "ask", "text": {"field": "text", "type": {"simple": 0}}},
  "AskWith": {
   "element": "ask-with",
   "children": [
    {"name": "question", "field": "question", "type": {"simple": 0}},
    {"name": "file", "field": "file", "type": {"class": "AskWithFile"}, "max": 16},
   ],
  },
  "AskWithFile": {
   "attributes": [
    {"name": "sha256", "field": "sha256", "type": {"simple": 1}, "required": 1},
    {"name": "type", "field": "type", "type": {"simple": 0}, "required": 1},
    {"name": "bytes", "field": "bytes_", "type": {"simple": 2}, "required": 1},
    {"name": "name", "field": "name", "type": {"simple": 0}},
   ],
  },
  "Answer": {"element": "answer", "text": {"field": "text", "type": {"simple": 0}}},
 },
 "simple": [
  {"base": "string", "minLength": 1},
  {"base": "string", "patterns": [["[0-9a-f]{64}"]]},
  {"base": "long", "wide": 1},
 ],
}

bind(
    TABLE,
    Ask,
    AskWith,
    AskWithFile,
    Answer,
)
