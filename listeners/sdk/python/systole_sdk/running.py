"""Running: hands deliveries to the author's functions, in threads or on a loop, and makes replies of what they do.

`run` chooses the carrier: NATS if `SYSTOLE_NATS` is set, else stdin. A carrier reads deliveries and sends documents.
"""
from __future__ import annotations

import os
import sys
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any, Callable, Generator

from . import __version__, documents
from .documents import CORE, Again, Cancelled, Fail, Refused, To
from .handlers import Handler, Registry, registry
from .markup import Element, Malformed
from .payload import Invalid, Payload, find_files, from_element
from .turn import AsyncTurn, Delivery, Turn, find_request, find_threads, store_files

if TYPE_CHECKING:
    from queue import SimpleQueue

OnRefused = Callable[[Refused], None]


class Misuse(Exception):
    """The program cannot run as it was started: why, and the fix."""


def tell(words: str) -> None:
    """Says something on stderr, which the organism keeps."""
    try:
        print(f"systole_sdk: {words}", file=sys.stderr, flush=True)
    except (OSError, ValueError):
        pass  # It is closed.


def _print(error: BaseException) -> None:
    import traceback
    try:
        traceback.print_exception(type(error), error, error.__traceback__)
    except Exception:
        pass  # The reply says it too.


def tell_refused(refused: Refused) -> None:
    """Says on stderr what the pump refused."""
    item = "" if refused.ordinal is None else f" item {refused.ordinal} of"
    tell(f"refused:{item} delivery {refused.delivery}: {refused.code}: {refused.words}")


class Worker:
    """Works on deliveries: as many at once as `most` says, each in a thread of its own or as a task."""

    def __init__(self, functions: Registry, reply: Callable[[Delivery, bytes], None], most: int | None,
                 reply_bytes: Callable[[], int], on_free: Callable[[Delivery], None] | None = None) -> None:
        from queue import SimpleQueue
        self.functions = functions
        self.most = most
        self.open: dict[str, Delivery] = {}
        self._reply = reply
        self._reply_bytes = reply_bytes
        self._on_free = on_free
        self._lock = threading.Lock()
        self._giving_up = threading.Lock()  # The last one that is given up ends the process: each before has its reply.
        self._changed: threading.Event | None = None
        self._queue: SimpleQueue[Delivery] = SimpleQueue()
        self._pending: deque[Delivery] = deque()
        self._idle = 0
        self._running = 0
        self.hung = 0  # Deliveries that are over, whose threads go on.
        self._loop: Any = None

    def take(self, delivery: Delivery) -> None:
        """Begins work on a delivery in another thread, or puts it behind those that are at work."""
        if self.admit(delivery):
            self._begin(delivery)

    def admit(self, delivery: Delivery) -> bool:
        """Whether the work on a delivery is to begin: not if it is known, or put behind those that are at work."""
        with self._lock:
            if delivery.id in self.open:
                return False
            self.open[delivery.id] = delivery
            begins = self.most is None or self._running < self.most
            if begins:
                self._running += 1
            else:
                self._pending.append(delivery)
            return begins

    def _begin(self, delivery: Delivery) -> None:
        with self._lock:
            is_idle = self._idle > 0
            self._idle -= is_idle
        if is_idle:
            self._queue.put(delivery)
        else:
            threading.Thread(target=self._serve, args=(delivery,), daemon=True).start()

    def _serve(self, delivery: Delivery) -> None:
        """A thread that works on one delivery after another."""
        while True:
            self.work(delivery)
            with self._lock:
                self._idle += 1
            delivery = self._queue.get()

    def work(self, delivery: Delivery | None) -> None:
        """Works on a delivery that was admitted, and on those whose turn it is then."""
        while delivery is not None:
            delivery = self._work(delivery)

    def _work(self, delivery: Delivery) -> Delivery | None:
        document: bytes | None = None
        turn = Turn(delivery)
        handler = None
        try:
            delivery.check()
            handler, request = turn._drive(self._prepare(turn))
            if not handler.is_async:
                result = handler.function(request, turn) if handler.takes_turn else handler.function(request)
                document = turn._drive(self._finish(delivery, result))
            else:
                self._begin_task(delivery, handler, request)
                return None
        except BaseException as error:
            document = self._describe(delivery, error, handler)
        return self._end(delivery, document)

    def _prepare(self, turn: Turn) -> Generator[Any, Any, tuple[Handler, Payload]]:
        element = yield from find_request(turn)
        handler = self.functions.find(element)
        if handler is None:
            if (element.ns, element.name) == (CORE, "answers"):
                raise Fail("listener.no-request", "answers came without a request")
            taken = ", ".join(f"<{name}>" for name in self.functions.name_elements())
            raise Fail("listener.unknown-element", f"<{element.name}> of {element.ns} is not taken; taken: {taken}")
        return handler, from_element(handler.cls, element)

    def _finish(self, delivery: Delivery, result: Any) -> Generator[Any, Any, bytes]:
        items = list(result) if isinstance(result, (list, tuple)) else [] if result is None else [result]
        for item in items:
            payload = item.payload if isinstance(item, To) else item
            if not isinstance(payload, (Payload, Element)):
                raise Fail("listener.error", f"the function returned {type(item).__name__}, which is no payload")
            if files := find_files(payload):
                yield from store_files(files)
        document = documents.build_reply(delivery.id, items)
        most = self._reply_bytes()
        if len(document) > most:
            raise Fail("reply.too-large", f"the reply has {len(document)} bytes, and {most} are the most; keep large "
                                          "data with turn.put_blob(data), and answer with its hash")
        return document

    def _describe(self, delivery: Delivery, error: BaseException, handler: Handler | None) -> bytes:
        """The reply in place of an answer. There is one, whatever the author's exception does."""
        try:
            if isinstance(error, Again):
                return documents.build_again(delivery.id, error)
            failure = error if isinstance(error, Fail) else self._name_failure(delivery, error, handler)
            return documents.build_failure(delivery.id, failure)
        except BaseException:
            failure = Fail("listener.error", f"{type(error).__name__}, which cannot be described")
            return documents.build_failure(delivery.id, failure)

    def _name_failure(self, delivery: Delivery, error: BaseException, handler: Handler | None) -> Fail:
        if delivery.fault is not None and (isinstance(error, Cancelled) or type(error).__name__ == "CancelledError"):
            return Fail("listener.cancelled", "called back")
        if isinstance(error, Invalid) and handler is None:
            return Fail(error.code, f"{error}; if the schema is newer than the class, try: systole sdk python")
        if isinstance(error, Refused):
            return Fail(error.code, error.words, retry=handler is not None and isinstance(error, handler.retry))
        _print(error)
        retry = handler is not None and isinstance(error, handler.retry)
        return Fail("listener.error", f"{type(error).__name__}: {error}"[:4000], retry=retry)

    def _end(self, delivery: Delivery, document: bytes) -> Delivery | None:
        """Replies; the delivery that waited for this place, if there is one."""
        if self._close(delivery, hangs=False):
            try:
                self._reply(delivery, document)
            except OSError:
                pass  # The pump is gone; the end of stdin ends the program.
            self._forget(delivery)
        with self._lock:
            following = self._pending.popleft() if self._pending else None
            self._running -= following is None
        if self._on_free is not None:
            self._on_free(delivery)
        return following

    def _end_task(self, delivery: Delivery, document: bytes) -> None:
        following = self._end(delivery, document)
        if following is not None:
            self._begin(following)

    def _close(self, delivery: Delivery, hangs: bool) -> bool:
        """Whether a delivery is still to be answered; from now on it is not."""
        with self._lock:
            if delivery.is_closed:
                self.hung -= not hangs
                return False
            delivery.is_closed = True
            self.hung += hangs
            return True

    def _forget(self, delivery: Delivery) -> None:
        with self._lock:
            if self.open.get(delivery.id) is delivery:
                del self.open[delivery.id]
        if self._changed is not None:
            self._changed.set()

    def _begin_task(self, delivery: Delivery, handler: Handler, request: Payload) -> None:
        import asyncio
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, daemon=True).start()

        async def work() -> None:
            turn = AsyncTurn(delivery)
            try:
                delivery.check()
                result = await (handler.function(request, turn) if handler.takes_turn else handler.function(request))
                document = await turn._drive(self._finish(delivery, result))
            except BaseException as error:
                document = self._describe(delivery, error, handler)
            find_threads().submit(self._end_task, delivery, document)

        future = asyncio.run_coroutine_threadsafe(work(), self._loop)
        delivery.on_end = lambda: self._loop.call_soon_threadsafe(future.cancel)
        if delivery.fault is not None:
            delivery.on_end()

    def cancel(self, delivery_id: str, patience: float) -> None:
        """Calls a delivery back. Work that does not end within the patience is given up, and its thread counts as hung."""
        delivery = self.open.get(delivery_id)
        if delivery is None or delivery.fault is not None:
            return
        delivery.cancel()
        with self._lock:
            was_pending = delivery in self._pending
            if was_pending:
                self._pending.remove(delivery)
        if was_pending:
            self._close(delivery, hangs=False)
            failure = documents.build_failure(delivery.id, Fail("listener.cancelled", "called back"))
            threading.Thread(target=self._reply, args=(delivery, failure), daemon=True).start()
            self._forget(delivery)
            return
        timer = threading.Timer(patience, self._give_up, (delivery,))
        timer.daemon = True
        timer.start()

    def _give_up(self, delivery: Delivery) -> None:
        with self._giving_up:
            if not self._close(delivery, hangs=True):
                return
            failure = Fail("listener.cancelled", "called back; the work on it does not end")
            self._reply(delivery, documents.build_failure(delivery.id, failure))
            self._forget(delivery)
            if self.most is not None and self.hung >= self.most:
                tell(f"all {self.most} places are taken by work that was called back and goes on")
                leave(1)

    def wait_until_empty(self, until: Callable[[], float]) -> bool:
        """Waits until nothing is open; False if the time, which may change, is over first."""
        changed = self._changed = threading.Event()
        while self.open:
            left = until() - time.monotonic()
            if left <= 0:
                return False
            changed.wait(min(left, 0.1))
            changed.clear()
        return True


def leave(code: int) -> None:
    """Ends the process, whatever its threads do."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            pass
    os._exit(code)


def check_start(functions: Registry, environment: dict[str, str]) -> None:
    """Whether the program can run as it was started."""
    spoken = environment.get("SYSTOLE_PROTOCOL", documents.PROTOCOL)
    check_protocol(spoken)
    if not functions.handlers:
        raise Misuse("no function is a listener; put @listener above one: @listener def weather(request: Weather)")
    if environment.get("SYSTOLE_MODE", "stay") == "once":
        raise Misuse("the listener has mode: once, and this program stays; take `mode: once` out of organism.yaml")


def check_protocol(spoken: str) -> None:
    """Whether this SDK speaks the protocol."""
    if spoken != documents.PROTOCOL:
        version = ".".join(__version__.split(".")[:2])
        raise Misuse(f"this organism speaks protocol {spoken}, systole-sdk {version} speaks {documents.PROTOCOL}; "
                     "try: systole sdk python")


def run(*, concurrency: int | None = None, grace: float = 30, on_refused: OnRefused = tell_refused) -> None:
    """Serves the functions that `@listener` marks, until the organism ends or the program is stopped.

    `concurrency` is how many deliveries are worked on at once, `grace` how many seconds work may take after TERM over
    NATS, and `on_refused` is called with what the pump refused.
    """
    environment = dict(os.environ)
    try:
        check_start(registry, environment)
        most = _read_slots(environment) if concurrency is None else concurrency
        if most is not None and not 1 <= most <= 256:
            raise Misuse(f"concurrency is {most}; it has to be from 1 to 256")
        if environment.get("SYSTOLE_NATS"):
            from .broker import serve_broker
            code = serve_broker(registry, environment, most or 1, grace, on_refused)
        else:
            from .stdio import serve_stdin
            code = serve_stdin(registry, most if concurrency else None)
    except Misuse as error:
        tell(str(error))
        code = 2
    if code:
        leave(code)


def _read_slots(environment: dict[str, str]) -> int | None:
    text = environment.get("SYSTOLE_SLOTS")
    if not text:
        return None
    if not (text.isascii() and text.isdigit()):
        raise Misuse(f"SYSTOLE_SLOTS: {text!r} is no number")
    return int(text)


def read_delivery(document: Element) -> documents.Envelope | None:
    """The envelope of a document; None, with a word, if it is none of this protocol."""
    if (document.ns, document.name) != (documents.ENVELOPE, "message"):
        tell(f"skips a document that this protocol does not have: <{document.name}> of {document.ns[:200]}")
        return None
    try:
        return documents.Envelope(document)
    except ValueError as error:
        tell(f"skips a delivery: {error}")
        return None


__all__ = ["Malformed", "Misuse", "Worker", "run"]
