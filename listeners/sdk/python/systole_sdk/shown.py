"""What a turn shows: the answers to the last items, and the messages of the view."""
from __future__ import annotations

from typing import Any, Generator

from .documents import Fail, count, describe_refusal
from .markup import Element
from .once import Question, Step
from .payload import Invalid, Payload, find_class, from_element


def read_payload(element: Element) -> Payload | Element:
    """A payload as an object of its class, or as it is if its module is not imported or is of another schema."""
    cls = find_class(element.ns, element.name)
    if cls is None:
        return element
    try:
        return from_element(cls, element)
    except Invalid:
        return element


class Answer:
    """The answer to one item of the last turn: its payload, from whom, or None for a note."""

    def __init__(self, item: Element) -> None:
        self.ordinal = count(item.attributes.get("ordinal"))
        self.sender: str | None = item.attributes.get("from")
        self.seq = count(item.attributes.get("seq"))
        self.element: Element | None = next(iter(item), None)
        self.payload: Payload | Element | None = None if self.element is None else read_payload(self.element)
        self.refusal = describe_refusal(item, ordinal=self.ordinal)  # What was wrong, if it is a refusal or failure.

    def __repr__(self) -> str:
        return f"Answer({self.ordinal}, {self.sender!r}, {self.payload!r})"


class Message:
    """One message of the view. `sort` is request, said, answer, inbox, thread, or words for a model's output."""

    def __init__(self, message: Element) -> None:
        get = message.attributes.get
        self.seq = count(get("seq"))
        self.sender: str | None = get("from")
        self.to: str | None = get("to")
        self.sort: str = "words" if message.name == "words" else get("sort", "")
        self.turn = count(get("turn"))
        self.ordinal: int | None = count(get("ordinal")) if get("ordinal") else None
        self.element: Element = message if self.sort == "words" else next(iter(message), message)

    @property
    def payload(self) -> Payload | Element:
        """The payload, as an object of its class if that is imported."""
        return read_payload(self.element)

    def __repr__(self) -> str:
        return f"Message({self.seq}, {self.sort!r}, {self.sender!r}, {self.payload!r})"


class View:
    """The messages of a call, the mark that every turn of it has, and the day on which its thread began."""

    def __init__(self, messages: tuple[Message, ...], mark: str, began: str) -> None:
        self.messages = messages
        self.mark = mark
        self.began = began


def read_view(from_seq: int, words: bool, items: bool) -> Generator[Step, Any, View]:
    """Reads all pages of the view."""
    more = (' words="true"' if words else "") + ("" if items else ' items="false"')
    messages: list[Message] = []
    start = str(from_seq)
    while True:
        answer: Element = yield Question(f'<view from-seq="{start}"{more}/>')
        page = answer.find("view")
        if page is None:
            raise Fail("listener.unanswered", "the pump did not answer the question <view>")
        messages += [Message(one) for one in page if one.ns == page.ns and one.name in ("message", "words")]
        start = page.get("next")
        if not start:
            return View(tuple(messages), page.get("mark"), page.get("began"))
        if not (start.isascii() and start.isdigit()):
            raise Fail("listener.unanswered", "the next page of the view has no number")
