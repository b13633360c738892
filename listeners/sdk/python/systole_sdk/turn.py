"""What a function learns of its turn, and what it can say and ask while it works.

Each question is a generator of steps, written once: `Turn` waits for each step, `AsyncTurn` awaits it. Nothing here
knows a carrier; a `Delivery` hands documents to the one that it came by.
"""
from __future__ import annotations

import os
import threading
from functools import cache
from typing import TYPE_CHECKING, Any, Awaitable, Callable, Generator, TypeVar, Union

from . import documents
from .documents import CORE, Cancelled, Envelope, Fail, Refused, count
from .markup import Element, escape, quote
from .once import Call, Entry, Journal, Question, Step, read_entries, take_once
from .payload import File, Payload
from .shown import Answer, Message, View, read_payload, read_view
from .waiting import Waiting

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor
    from typing import Protocol

    class Carrier(Protocol):
        """Where the documents of a delivery go."""

        def send(self, delivery: Delivery, document: bytes) -> None: ...
        def ask(self, delivery: Delivery, document: bytes, waiting: Waiting) -> None: ...

R = TypeVar("R")
Steps = Generator[Step, Any, R]


class Delivery:
    """One delivery at work: what came, the questions that wait, and whether the answer is still wanted."""

    def __init__(self, envelope: Envelope, carrier: Carrier) -> None:
        self.envelope = envelope
        self.id = envelope.delivery
        self.carrier = carrier
        self.fault: Cancelled | None = None  # Set once the answer is no longer wanted.
        self.cut: Fail | None = None  # Set once no question is answered any more.
        self.on_end: Callable[[], None] | None = None  # Cancels the task of an async function.
        self.is_closed = False  # Answered, or given up.
        self.notes: Any = None  # What the carrier keeps with it.
        self._lock = threading.Lock()
        self._numbered = 0
        self._waiting: dict[int, Waiting] = {}

    def ask(self, step: Question | Journal) -> tuple[int, Waiting]:
        """Sends a question or an entry under the next number."""
        waiting = Waiting()
        with self._lock:
            self.check()
            if self.cut is not None:
                raise self.cut
            self._numbered += 1
            number = self._numbered
            self._waiting[number] = waiting
        attributes = {"id": str(number)}
        if isinstance(step, Journal):
            document = documents.build_word("journal", self.id, step.text, {**attributes, **step.attributes})
        else:
            document = documents.build_word("ask", self.id, "", attributes, step.inner)
        if len(document) > documents.REPLY_BYTES:
            raise Fail("listener.too-large", f"a question of {len(document)} bytes; the most is {documents.REPLY_BYTES}")
        self.carrier.ask(self, document, waiting)
        return number, waiting

    def put_answer(self, number: int, answer: Element | BaseException) -> None:
        """Gives an answer to the question that waits for it."""
        with self._lock:
            waiting = self._waiting.pop(number, None)
        if waiting:
            waiting.put(answer)

    def waits_for(self, waiting: Waiting) -> None:
        """Lets a cancel end what waits without a number."""
        with self._lock:
            self.check()
            self._waiting[-id(waiting)] = waiting

    def cancel(self) -> None:
        """The answer is no longer wanted: whatever waits ends."""
        self.fault = self.fault or Cancelled("called back")
        self._wake(self.fault)
        end = self.on_end
        if end:
            end()

    def cut_off(self, cut: Fail) -> None:
        """The pump answers no more: whatever waits for it fails."""
        self.cut = cut
        self._wake(cut)

    def _wake(self, fault: BaseException) -> None:
        with self._lock:
            every, self._waiting = list(self._waiting.values()), {}
        for waiting in every:
            waiting.put(fault)

    def check(self) -> None:
        """Raises `Cancelled` once the answer is no longer wanted."""
        if self.fault is not None:
            raise self.fault


class TurnFacts:
    """What is known of a turn without a question."""

    def __init__(self, delivery: Delivery) -> None:
        self._delivery = delivery
        self._entries: list[Entry] | None = None
        stamp = self._stamp = delivery.envelope.stamp
        self.number = count(stamp.get("turn"), 1)
        self.attempt = count(stamp.get("attempt"), 1)
        self.key: str = stamp.get("key", "")  # The same in every attempt: give it to services outside.
        self.thread = delivery.envelope.thread
        self.call: str = stamp.get("call", "")
        self.sender = delivery.envelope.sender
        self.deadline: str | None = stamp.get("deadline")  # None over NATS.
        self._shown: Element | None = delivery.envelope.payload
        if (self._shown.ns, self._shown.name) != (CORE, "answers"):
            self._shown = None

    @property
    def cancelled(self) -> bool:
        """Whether the answer is no longer wanted."""
        return self._delivery.fault is not None

    @property
    def wrap_up(self) -> str | None:
        """Why this is the last turn, if it is: only a final is taken from it."""
        return None if self._shown is None else self._shown.attributes.get("wrap-up")

    @property
    def answers(self) -> tuple[Answer, ...]:
        """The answers to the items of the last turn, in order. The first turn has none."""
        items = [] if self._shown is None else [one for one in self._shown if (one.ns, one.name) == (CORE, "item")]
        return tuple([Answer(item) for item in items])

    @property
    def inbox(self) -> tuple[Payload | Element, ...]:
        """What reached the call unasked: ends of children, timers, words of persons."""
        inbox = None if self._shown is None else self._shown.find("inbox")
        return () if inbox is None else tuple([read_payload(one) for one in inbox])

    def _once(self, name: str, request: object, call: Callable[[], Any], reserve: dict[str, str]) -> Steps[str]:
        if self._entries is None:
            self._entries = list((yield from self._read_journal()))
        return (yield from take_once(self._entries, name, request, call, reserve))

    def _read_journal(self) -> Steps[tuple[Entry, ...]]:
        return (yield from read_entries()) if count(self._stamp.get("journal")) else ()


def find_request(turn: TurnFacts) -> Steps[Element]:
    """The request of the call: what came in the first turn, else read from the view."""
    if turn._shown is None:
        return turn._delivery.envelope.payload
    view = yield from read_view(0, False, False)
    found = [message.element for message in view.messages if message.sort == "request"]
    if not found:
        raise Fail("listener.no-request", "the view of the call does not show its request")
    return found[-1]


def store_files(files: list[File]) -> Steps[None]:
    """Stores files that the organism does not have."""
    for file in files:
        if file.data is not None:
            yield from _put_blob(file.data)


def _put_blob(data: bytes) -> Steps[str]:
    try:
        inner = f"<put-blob>{escape(data.decode())}</put-blob>"
    except ValueError:
        inner = f'<put-blob encoding="hex">{data.hex()}</put-blob>'
    answer: Element = yield Question(inner)
    blob = answer.find("blob")
    if blob is None:
        raise Fail("listener.unanswered", "the pump did not say where it stored the bytes")
    return blob.get("hash")


def _read_pages(name: str, attributes: dict[str, str]) -> Steps[bytes]:
    said = "".join([f" {key}={quote(value)}" for key, value in attributes.items()])
    data, start = b"", ""
    while True:
        answer: Element = yield Question(f"<{name}{said}{start}/>")
        page = answer.find(name)
        if page is None:
            raise Fail("listener.unanswered", f"the pump did not answer the question <{name}>")
        data += bytes.fromhex(page.text) if page.get("encoding") == "hex" else page.text.encode()
        if not page.get("next"):
            return data
        start = f" from={quote(page.get('next'))}"


def _name_section(path: str | None) -> dict[str, str]:
    return {"path": path or "listeners." + os.environ.get("SYSTOLE_LISTENER", "")}


def _name_schema(name: str, element: str | None) -> dict[str, str]:
    return {"name": name, **({"element": element} if element else {})}


def check_answer(step: Question | Journal, number: int, answer: Element) -> Element | int:
    """The answer to a step: an entry's number, or what was asked for."""
    refused = documents.describe_refusal(answer)
    if refused:
        raise refused
    return number if isinstance(step, Journal) else answer


class Turn(TurnFacts):
    """One turn of a plain function. Every call ends with `Cancelled` once the answer is no longer wanted."""

    def progress(self, words: str) -> None:
        """Tells people who watch what is being done."""
        self._delivery.check()
        self._delivery.carrier.send(self._delivery, documents.build_word("progress", self._delivery.id, words))

    def notice(self, code: str, words: str) -> None:
        """Leaves a word that is recorded, and shown in the next turn."""
        _send_notice(self._delivery, code, words)

    def sleep(self, seconds: float) -> None:
        """Waits, and ends at once if the answer is no longer wanted."""
        ended = threading.Event()
        self._delivery.on_end = ended.set
        if self._delivery.fault is None:
            ended.wait(seconds)
        self._delivery.on_end = None
        self._delivery.check()

    def view(self, from_seq: int = 0, *, words: bool = False, items: bool = True) -> View:
        """Everything that was shown and said in this call."""
        return self._drive(read_view(from_seq, words, items))

    def blob(self, hash: str) -> bytes:
        """A stored document that the view names."""
        return self._drive(_read_pages("blob", {"hash": hash}))

    def put_blob(self, data: bytes) -> str:
        """Stores bytes and returns their hash once they are on disk."""
        return self._drive(_put_blob(data))

    def schema(self, name: str, element: str | None = None) -> str:
        """The schema of this listener or of a peer, as XSD."""
        return self._drive(_read_pages("schema", _name_schema(name, element))).decode()

    def configuration(self, path: str | None = None) -> str:
        """The listener's own section of the organism's file, as YAML."""
        return self._drive(_read_pages("configuration", _name_section(path))).decode()

    def journal(self) -> tuple[Entry, ...]:
        """What earlier attempts at this turn wrote down."""
        return self._drive(self._read_journal())

    def once(self, name: str, request: object, call: Callable[[], str], *, reserve_tokens: int | None = None,
             reserve_money: str | None = None) -> str:
        """Calls a service outside once: a later attempt gets the text that an earlier one got."""
        return self._drive(self._once(name, request, call, _name_reserve(reserve_tokens, reserve_money)))

    def _drive(self, steps: Steps[R]) -> R:
        value: Any = None
        fault: BaseException | None = None
        while True:
            try:
                step = steps.send(value) if fault is None else steps.throw(fault)
            except StopIteration as done:
                return done.value  # type: ignore[no-any-return]
            value = fault = None
            try:
                if isinstance(step, Call):
                    value = step.function()
                else:
                    number, waiting = self._delivery.ask(step)
                    value = check_answer(step, number, waiting.take())
            except BaseException as error:
                fault = error


class AsyncTurn(TurnFacts):
    """One turn of an async function. The task is cancelled once the answer is no longer wanted."""

    async def progress(self, words: str) -> None:
        """Tells people who watch what is being done."""
        self._delivery.check()
        document = documents.build_word("progress", self._delivery.id, words)
        await _run_aside(lambda: self._delivery.carrier.send(self._delivery, document))

    async def notice(self, code: str, words: str) -> None:
        """Leaves a word that is recorded, and shown in the next turn."""
        await _run_aside(lambda: _send_notice(self._delivery, code, words))

    async def view(self, from_seq: int = 0, *, words: bool = False, items: bool = True) -> View:
        """Everything that was shown and said in this call."""
        return await self._drive(read_view(from_seq, words, items))

    async def blob(self, hash: str) -> bytes:
        """A stored document that the view names."""
        return await self._drive(_read_pages("blob", {"hash": hash}))

    async def put_blob(self, data: bytes) -> str:
        """Stores bytes and returns their hash once they are on disk."""
        return await self._drive(_put_blob(data))

    async def schema(self, name: str, element: str | None = None) -> str:
        """The schema of this listener or of a peer, as XSD."""
        return (await self._drive(_read_pages("schema", _name_schema(name, element)))).decode()

    async def configuration(self, path: str | None = None) -> str:
        """The listener's own section of the organism's file, as YAML."""
        return (await self._drive(_read_pages("configuration", _name_section(path)))).decode()

    async def journal(self) -> tuple[Entry, ...]:
        """What earlier attempts at this turn wrote down."""
        return await self._drive(self._read_journal())

    async def once(self, name: str, request: object, call: Callable[[], Union[str, Awaitable[str]]], *,
                   reserve_tokens: int | None = None, reserve_money: str | None = None) -> str:
        """Calls a service outside once: a later attempt gets the text that an earlier one got."""
        return await self._drive(self._once(name, request, call, _name_reserve(reserve_tokens, reserve_money)))

    async def _drive(self, steps: Steps[R]) -> R:
        import inspect
        value: Any = None
        fault: BaseException | None = None
        while True:
            try:
                step = steps.send(value) if fault is None else steps.throw(fault)
            except StopIteration as done:
                return done.value  # type: ignore[no-any-return]
            value = fault = None
            try:
                if isinstance(step, Call):
                    value = step.function()
                    if inspect.isawaitable(value):
                        value = await value
                else:
                    asked = step
                    number, waiting = await _run_aside(lambda: self._delivery.ask(asked))
                    value = check_answer(step, number, await _wait_for(waiting))
            except BaseException as error:
                fault = error


def _send_notice(delivery: Delivery, code: str, words: str) -> None:
    delivery.check()
    delivery.carrier.send(delivery, documents.build_word("notice", delivery.id, words, {"code": code}))


def _name_reserve(tokens: int | None, money: str | None) -> dict[str, str]:
    named = {"reserve-tokens": None if tokens is None else str(tokens), "reserve-money": money}
    return {name: value for name, value in named.items() if value is not None}


@cache
def find_threads() -> ThreadPoolExecutor:
    """The threads that send for async functions. Those of the loop are the author's."""
    from concurrent.futures import ThreadPoolExecutor
    return ThreadPoolExecutor(256, "systole")


async def _run_aside(function: Callable[[], R]) -> R:
    """Runs what may wait for a full pipe, or for a receipt, in a thread."""
    import asyncio
    return await asyncio.get_running_loop().run_in_executor(find_threads(), function)


async def _wait_for(waiting: Waiting) -> Element:
    import asyncio
    loop = asyncio.get_running_loop()
    came = asyncio.Event()
    waiting.call_then(lambda: _wake(loop, came.set))
    await came.wait()
    return waiting.take()


def _wake(loop: Any, function: Callable[[], None]) -> None:
    try:
        loop.call_soon_threadsafe(function)
    except RuntimeError:  # The loop ended with the program.
        pass


__all__ = ["Answer", "AsyncTurn", "Cancelled", "Delivery", "Message", "Refused", "Turn", "View", "Waiting"]
