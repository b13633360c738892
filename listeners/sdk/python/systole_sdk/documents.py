"""The documents between a listener and the pump: what comes is read, and what goes out is written.

`docs/reference/elements.md` lists them. Nothing here waits or sends.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Union

from .markup import Element, clean, escape, quote, write
from .payload import Payload, to_element

if TYPE_CHECKING:
    Item = Union[Payload, Element, "To"]

ENVELOPE = "https://xml-pipeline.org/ns/envelope/v1"
CORE = "https://xml-pipeline.org/ns/core/v1"
STAMP = "urn:systole:stamp:v1"
LISTENER = "urn:systole:listener:v1"
PROTOCOL = "1"  # The digit of LISTENER.
REPLY_BYTES = 8 << 20
CODE_LENGTH = 128


class Fail(Exception):
    """Ends the turn as a failure: a code of your own, words for the caller, and whether to try again.

    With `outage`, one word for who is away, the call waits until that is over.
    """

    def __init__(self, code: str, words: object = "", *, retry: bool = False, outage: str | None = None) -> None:
        self.code = str(code)
        self.words = "" if words is None else str(words)
        self.retry = retry
        self.outage = None if outage is None else str(outage)
        super().__init__(f"{self.code}: {self.words}")


class Again(Exception):
    """Ends the turn and asks for another one, which shows the words."""

    def __init__(self, code: str, words: object = "") -> None:
        self.code = str(code)
        self.words = "" if words is None else str(words)
        super().__init__(f"{self.code}: {self.words}")


class Refused(Exception):
    """The pump refused a question, an entry, a notice, or a reply or one item of it."""

    def __init__(self, code: str, words: str, *, delivery: str = "", ordinal: int | None = None) -> None:
        super().__init__(f"{code}: {words}")
        self.code = code
        self.words = words
        self.delivery = delivery
        self.ordinal = ordinal  # The item of the reply, from 0; None if all of it is refused.


class Cancelled(BaseException):
    """The answer is no longer wanted. `turn` raises it, so that the work ends."""


class To:
    """An item for a peer by name, where several take its element."""

    __slots__ = ("peer", "payload")

    def __init__(self, peer: str, payload: Payload | Element) -> None:
        self.peer = peer
        self.payload = payload

    def __eq__(self, other: object) -> bool:
        return isinstance(other, To) and (self.peer, self.payload) == (other.peer, other.payload)

    def __repr__(self) -> str:
        return f"To({self.peer!r}, {self.payload!r})"


class Envelope:
    """A delivery as it came: the stamp, who sent it, in which thread, and the payload."""

    __slots__ = ("stamp", "sender", "thread", "payload", "delivery")

    def __init__(self, message: Element) -> None:
        meta = payload = None
        for part in message.content:
            if isinstance(part, str):
                continue
            if part.name == "meta" and part.ns == message.ns:
                meta = meta or part
            else:
                payload = payload or part
        stamp = None if meta is None else meta.find("stamp", STAMP)
        if meta is None or stamp is None or payload is None or not stamp.get("delivery"):
            raise ValueError("it has no stamp with a delivery, or no payload")
        self.stamp = stamp.attributes
        self.delivery = stamp.attributes["delivery"]
        sender, thread = meta.find("from"), meta.find("thread")
        self.sender = "" if sender is None else sender.text
        self.thread = "" if thread is None else thread.text
        self.payload = payload


def count(text: str | None, default: int = 0) -> int:
    """A count from an attribute of the pump."""
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 20 else default


def describe_refusal(answer: Element | None, delivery: str = "", ordinal: int | None = None) -> Refused | None:
    """The refusal directly inside an answer, a receipt or one item of it, if there is one."""
    error = None if answer is None else answer.find("system-error", CORE)
    if error is None:
        return None
    return Refused(error.get("code", "unknown"), error.get("message"), delivery=delivery, ordinal=ordinal)


def build_reply(delivery: str, items: list[Item]) -> bytes:
    """The reply with these items."""
    return _wrap(delivery, "".join([_write_item(item) for item in items]))


def _write_item(item: Item) -> str:
    if isinstance(item, To):
        inside = _write_payload(item.payload, ENVELOPE)
        return f'<message xmlns="{ENVELOPE}"><meta><to>{escape(item.peer)}</to></meta>{inside}</message>'
    return _write_payload(item, LISTENER)


def _write_payload(payload: Payload | Element, inside: str) -> str:
    if isinstance(payload, Element):
        return write(payload, inside)
    return write(to_element(payload), inside)


def build_failure(delivery: str, failure: Fail) -> bytes:
    """The reply that says why there is no answer."""
    more = ' retry="true"' if failure.retry else ""
    if failure.outage:
        more += f" outage={quote(clean(failure.outage))}"
    code = quote(clean(failure.code)[:CODE_LENGTH] or "listener.error")
    return _wrap(delivery, f"<failure code={code}{more}>{escape(clean(failure.words))}</failure>")


def build_again(delivery: str, again: Again) -> bytes:
    """The reply that asks for another turn."""
    code = quote(clean(again.code)[:CODE_LENGTH] or "listener.again")
    return _wrap(delivery, f"<again code={code}>{escape(clean(again.words))}</again>")


def _wrap(delivery: str, inside: str) -> bytes:
    return f'<reply xmlns="{LISTENER}" delivery={quote(delivery)}>{inside}</reply>'.encode()


def build_word(name: str, delivery: str, text: str, attributes: dict[str, str] | None = None, inner: str = "") -> bytes:
    """A document that a listener sends while it works: progress, a notice, a question, an entry."""
    said = "".join([f" {key}={quote(value)}" for key, value in (attributes or {}).items()])
    return f'<{name} xmlns="{LISTENER}" delivery={quote(delivery)}{said}>{inner or escape(text)}</{name}>'.encode()
