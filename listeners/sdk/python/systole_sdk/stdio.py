"""The carrier over stdin and stdout: documents one a line, or each after its length; the first byte says which.

The two streams move to descriptors of their own, so that nothing else reads or writes them: `print` goes to stderr.
"""
from __future__ import annotations

import os
import signal
import threading
import time
from collections import deque
from queue import Empty, SimpleQueue
from typing import Any, Callable

from .documents import LISTENER, REPLY_BYTES, Fail, count, describe_refusal
from .handlers import Registry
from .markup import Element, Malformed, read
from .running import Misuse, Worker, leave, read_delivery, tell
from .turn import Delivery, Waiting

PORTION = 1 << 16
PATIENCE = 3.0  # Seconds after a cancel: the pump kills the program at 5.
LAST = 9.0  # Seconds after the end of stdin: the pump sends TERM at 5.
LAST_AFTER_TERM = 4.0  # Seconds after TERM: the pump kills the program at 5.
LENGTH_DIGITS = 20
QUICK = 0.0003  # Seconds of work; after work that took longer, another thread reads at once.
TICK = 0.001  # Seconds after which another thread reads if the work goes on.
IDLE_TICKS = 50  # After so many without work, the thread that watches sleeps until there is some.


class Pipe:
    """Stdin and stdout as a carrier."""

    def __init__(self, source: int, target: int) -> None:
        self._source = source
        self._target = target
        self._lock = threading.Lock()
        self._buffer = bytearray()
        self._scanned = 0
        self._has_lengths: bool | None = None
        self.on_ask: Callable[[], None] = lambda: None

    def send(self, delivery: Delivery, document: bytes) -> None:
        """Writes one document. It waits while the pump does not read."""
        framed = b"%d\n%b" % (len(document), document) if self._has_lengths else document + b"\n"
        with self._lock:
            written = os.write(self._target, framed)
            while written < len(framed):
                written += os.write(self._target, memoryview(framed)[written:])

    def ask(self, delivery: Delivery, document: bytes, waiting: Waiting) -> None:
        """Writes a question; the answer comes among the documents."""
        self.send(delivery, document)
        self.on_ask()

    def read_more(self) -> list[bytes] | None:
        """The documents that are there after one more read; None at the end."""
        portion = os.read(self._source, PORTION)
        if not portion:
            return None
        if self._has_lengths is None:
            start = portion.lstrip()[:1]
            if not start:
                return []
            self._has_lengths = start.isdigit()
        if not self._has_lengths and not self._buffer and portion.endswith(b"\n"):
            return [line for line in portion.split(b"\n") if line.strip()]
        self._buffer += portion
        return self._split_lengths() if self._has_lengths else self._split_lines()

    def _split_lines(self) -> list[bytes]:
        end = self._buffer.rfind(b"\n", self._scanned)
        if end < 0:
            self._scanned = len(self._buffer)
            return []
        whole = bytes(self._buffer[:end])
        del self._buffer[:end + 1]
        self._scanned = len(self._buffer)
        return [line for line in whole.split(b"\n") if line.strip()]

    def _split_lengths(self) -> list[bytes]:
        found: list[bytes] = []
        start = 0
        while (end := self._buffer.find(b"\n", start, start + LENGTH_DIGITS + 1)) >= 0:
            text = bytes(self._buffer[start:end]).strip()
            if text and not text.isdigit():
                raise Malformed(f"{text[:20]!r} is no length")
            size = int(text or b"0")
            if len(self._buffer) - end - 1 < size:
                break
            if size:
                found.append(bytes(self._buffer[end + 1:end + 1 + size]))
            start = end + 1 + size
        else:
            if len(self._buffer) - start > LENGTH_DIGITS:
                raise Malformed("no length is where one has to be")
        del self._buffer[:start]
        return found


class Server:
    """Reads documents, works on deliveries, and ends when stdin does or TERM comes.

    The thread that read a delivery works on it, so that quick work costs no change of threads. Meanwhile one thread
    watches: it takes over the reading if the work goes on for a moment, if it asks the pump, or if the work before was
    slow. The main thread waits for signals and for the end.
    """

    def __init__(self, functions: Registry, pipe: Pipe, most: int | None) -> None:
        self._pipe = pipe
        self._pipe.on_ask = self._hand_over
        self._worker = Worker(functions, pipe.send, most, lambda: REPLY_BYTES)
        self._until: float | None = None
        self._is_stopping = False
        self._is_over = False
        self._signals, self._signalled = os.pipe()
        self._documents: deque[bytes] = deque()
        self._lock = threading.Lock()
        self._at_work: Delivery | None = None  # What the thread that reads works on at the moment.
        self._handed: SimpleQueue[Delivery | None] = SimpleQueue()  # Calls the thread that watches.
        self._watch = threading.Lock()
        self._watchers = 0  # Threads that watch, or wait for their turn to.
        self._is_asleep = False
        self._is_slow = False

    def _stop(self, *_: Any) -> None:
        if self._is_stopping:
            leave(1)
        self._is_stopping = True
        self._until = time.monotonic() + LAST_AFTER_TERM

    def serve(self) -> int:
        """Serves until the end; the exit code."""
        os.set_blocking(self._signalled, False)
        signal.set_wakeup_fd(self._signalled, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        self._start_watcher()
        threading.Thread(target=self._lead, daemon=True).start()
        while not self._is_over and not self._is_stopping:
            os.read(self._signals, PORTION)
        self._until = self._until or time.monotonic() + LAST
        is_done = self._worker.wait_until_empty(lambda: self._until or 0)
        if is_done and not self._worker.hung:
            return 0
        if not is_done:
            tell(f"ends with {len(self._worker.open)} deliveries open")
        leave(0 if is_done else 1)
        return 0

    def _lead(self) -> None:
        """Reads and works, and watches while another thread reads."""
        try:
            while (delivery := self._read_delivery()) is not None:
                if not self._work(delivery):
                    self._wait_for_lead()
        except Malformed as error:
            tell(f"cannot read the pump's documents: {error}")
            leave(1)
        finally:
            self._cut_off()
            self._is_over = True
            os.write(self._signalled, b"\0")

    def _work(self, delivery: Delivery) -> bool:
        """Works on a delivery; whether the reading is still this thread's own afterwards."""
        self._at_work = delivery
        if self._is_slow or self._is_asleep:
            self._is_asleep = False
            self._handed.put(delivery if self._is_slow else None)
        begun = time.monotonic()
        self._worker.work(delivery)
        self._is_slow = time.monotonic() - begun > QUICK
        with self._lock:
            leads = self._at_work is delivery
            if leads:
                self._at_work = None
            else:
                self._watchers += 1
        return leads

    def _hand_over(self) -> None:
        """Lets another thread read: this one waits for what is to be read."""
        at_work = self._at_work
        if at_work is not None:
            self._handed.put(at_work)

    def _wait_for_lead(self) -> None:
        """Watches until the thread that reads is held up by its work, and takes over the reading."""
        with self._watch:
            seen, idle = None, 0
            while True:
                self._is_asleep = idle > IDLE_TICKS
                try:
                    handed = self._handed.get(timeout=None if self._is_asleep and self._at_work is None else TICK)
                except Empty:
                    handed = seen
                seen = self._at_work
                idle = idle + 1 if seen is None else 0
                if seen is not None and seen is handed and self._takes_over(seen):
                    break

    def _takes_over(self, delivery: Delivery) -> bool:
        with self._lock:
            if self._at_work is not delivery:
                return False
            self._at_work = None
            self._watchers -= 1
            is_last = not self._watchers
        if is_last:
            self._start_watcher()
        return True

    def _start_watcher(self) -> None:
        def watch() -> None:
            self._wait_for_lead()
            self._lead()
        self._watchers += 1
        threading.Thread(target=watch, daemon=True).start()

    def _cut_off(self) -> None:
        """No answer comes any more: whatever waits for one fails."""
        for delivery in list(self._worker.open.values()):
            delivery.cut_off(Fail("listener.no-pump", "the organism ended before it answered", retry=True))

    def _read_delivery(self) -> Delivery | None:
        """The next delivery to work on; None at the end. Answers and cancels on the way reach their deliveries."""
        while True:
            while self._documents:
                try:
                    element = read(self._documents.popleft())
                except Malformed as error:
                    tell(f"skips what it cannot read: {error}")
                    continue
                delivery = self._take(element)
                if delivery is not None:
                    return delivery
            documents = self._pipe.read_more()
            if documents is None:
                return None
            self._documents.extend(documents)

    def _take(self, document: Element) -> Delivery | None:
        if document.ns == LISTENER and document.name == "answer":
            delivery = self._worker.open.get(document.get("delivery"))
            if delivery is not None:
                delivery.put_answer(count(document.get("id")), document)
        elif document.ns == LISTENER and document.name == "cancel":
            self._worker.cancel(document.get("delivery"), PATIENCE)
        elif document.ns == LISTENER and describe_refusal(document) is not None:
            tell(f"the pump refused a document: {describe_refusal(document)}")
        else:
            envelope = read_delivery(document)
            if envelope is not None and not self._is_stopping:
                delivery = Delivery(envelope, self._pipe)
                return delivery if self._worker.admit(delivery) else None
        return None


def serve_stdin(functions: Registry, most: int | None) -> int:
    """Serves over stdin and stdout; the exit code."""
    if os.isatty(0):
        raise Misuse("stdin is a terminal, and an organism has to start this program; "
                     "try: systole listener try NAME, with the listener's name in organism.yaml")
    source, target = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return Server(functions, Pipe(source, target), most).serve()
