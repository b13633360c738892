"""The carrier over NATS: pulls deliveries, renews them, and sends each reply until its receipt has come.

`docs/over-nats.md` says what goes over the wire. The connection has a thread of its own, so that work that blocks
never holds up a renewal. It asks for no stream and no consumer: the rights of a listener refuse that.
"""
from __future__ import annotations

import asyncio
import signal
import threading
from collections import deque
from typing import TYPE_CHECKING, Any

from . import documents
from .documents import LISTENER, Fail, Refused, count, describe_refusal
from .handlers import Registry
from .markup import Element, Malformed, read
from .messages import Held, is_status, load_client, status_of, wait_for_first
from .running import Misuse, OnRefused, Worker, check_protocol, leave, read_delivery, tell
from .service import Service
from .turn import Delivery, Waiting

if TYPE_CHECKING:
    from .messages import Message

PULL = b'{"batch":1,"expires":5000000000}'
PULL_SECONDS = 7.0  # How long the answer to a pull may take: its own 5 s, and the way.
ANSWER_SECONDS = 5.0
RENEW_SECONDS = 1.0
FRAME_BYTES = 1024  # Of a message, beside its document.
REMEMBERED = 1024  # Cancels that may overtake their delivery.
PATIENCE = 3.0


def choose_pause(tries: int) -> float:
    """The pause before the same document is sent again: short at first, then longer."""
    return min(5.0, 0.1 * float(1 << min(tries, 6)))


class Work:
    """The work on one delivery, which several messages may have brought."""

    def __init__(self, delivery: Delivery) -> None:
        self.delivery = delivery
        self.document: asyncio.Future[bytes | None] = asyncio.get_running_loop().create_future()
        self.is_free = asyncio.Event()


class Broker:
    """The connection of one worker, and its slots."""

    def __init__(self, functions: Registry, settings: dict[str, str], slots: int, on_refused: OnRefused) -> None:
        self.organism, self.listener = settings["SYSTOLE_ORGANISM"], settings["SYSTOLE_LISTENER"]
        self.token = self.listener.replace(".", "_")
        self._settings = settings
        self._slots = slots
        self._on_refused = on_refused
        self._worker = Worker(functions, self._put_reply, slots, self._count_reply_bytes, self._set_free)
        self.service = Service(self.organism, self.token, functions)
        self._client: Any = None
        self._build_client, error = load_client(bool(settings.get("SYSTOLE_KEY_FILE")))
        self._errors: tuple[type[Exception], ...] = (error, asyncio.TimeoutError, OSError, Malformed)
        self._loop = asyncio.new_event_loop()
        self._connected = asyncio.Event()
        self._wakes: list[asyncio.Event] = []
        self._works: dict[str, Work] = {}
        self._called_back: deque[str] = deque(maxlen=REMEMBERED)
        self._told: set[str] = set()
        self._is_stopping = False
        self._connection = 0  # How often the connection was made.

    # What the worker and its turns say, in their own threads.

    def send(self, delivery: Delivery, document: bytes) -> None:
        """Sends progress, or a notice until it is stored."""
        self._check_size(document)
        if document.startswith(b"<progress"):
            asyncio.run_coroutine_threadsafe(self._publish(f"o.{self.organism}.live.{self.token}", document), self._loop)
            return
        waiting = Waiting()
        self.ask(delivery, document, waiting)
        delivery.waits_for(waiting)
        refused = describe_refusal(waiting.take(), delivery.id)
        if refused:
            self._on_refused(refused)

    def ask(self, delivery: Delivery, document: bytes, waiting: Waiting) -> None:
        """Sends a document until it is answered."""
        self._check_size(document)
        held: Held = delivery.notes

        async def ask() -> None:
            answer = await self._request(held, document, ("answer", "receipt"), delivery)
            if answer is not None:
                waiting.put(answer)

        asyncio.run_coroutine_threadsafe(ask(), self._loop)

    def _check_size(self, document: bytes) -> None:
        most = self._count_reply_bytes()
        if len(document) > most:
            raise Fail("listener.too-large", f"a document of {len(document)} bytes; the broker takes {most}")

    def _count_reply_bytes(self) -> int:
        return min(documents.REPLY_BYTES, max(FRAME_BYTES, int(self._client.max_payload) - FRAME_BYTES))

    def _put_reply(self, delivery: Delivery, document: bytes) -> None:
        if len(document) > self._count_reply_bytes():
            words = f"the reply has {len(document)} bytes, and {self._count_reply_bytes()} are the most"
            document = documents.build_failure(delivery.id, Fail("reply.too-large", words))
        self._loop.call_soon_threadsafe(self._settle, delivery, None if delivery.fault else document)

    def _set_free(self, delivery: Delivery) -> None:
        self._loop.call_soon_threadsafe(self._free, delivery)

    # All that follows runs on the connection's own loop.

    def _settle(self, delivery: Delivery, document: bytes | None) -> None:
        work = self._works.get(delivery.id)
        if work is not None and work.delivery is delivery and not work.document.done():
            work.document.set_result(document)

    def _free(self, delivery: Delivery) -> None:
        work = self._works.get(delivery.id)
        if work is not None and work.delivery is delivery:
            work.is_free.set()

    async def serve(self) -> None:
        """Serves until it is stopped, and every delivery has its receipt."""
        self._client = self._build_client()
        servers = [one.strip() for one in self._settings["SYSTOLE_NATS"].split(",")]
        key = {"nkeys_seed": self._settings["SYSTOLE_KEY_FILE"]} if self._settings.get("SYSTOLE_KEY_FILE") else {}
        await self._client.connect(
            servers, name=f"systole listener {self.listener}", inbox_prefix=f"_INBOX_{self.token}".encode(),
            max_reconnect_attempts=-1, reconnect_time_wait=1, connect_timeout=5, ping_interval=10,
            error_cb=self._tell_error, disconnected_cb=self._lose, reconnected_cb=self._find, **key)
        await self._client.subscribe(f"o.{self.organism}.cancel.{self.token}", cb=self._call_back)
        for subject, kind in self.service.list_subjects():
            await self._client.subscribe(subject, cb=self.service.build_callback(kind, self._publish))
        await self._find()
        await asyncio.gather(*[self._serve_slot() for _ in range(self._slots)])
        try:
            await self._client.flush(5)
        except self._errors:
            pass
        await self._client.close()

    async def _tell_error(self, error: Exception) -> None:
        words = str(error) or type(error).__name__
        if words not in self._told and len(self._told) < 100:
            self._told.add(words)
            tell(f"broker: {words}")

    async def _lose(self) -> None:
        self._connected.clear()

    async def _find(self) -> None:
        self._connected.set()
        self._connection += 1
        self._told.clear()
        for wake in self._wakes:
            wake.set()

    def stop(self) -> None:
        """Pulls nothing more."""
        self._is_stopping = True
        for wake in self._wakes:
            wake.set()
        for work in self._works.values():
            if work.document.done():
                work.is_free.set()  # The end waits for replies, and not for work that was called back.

    def name_open(self) -> list[str]:
        """The deliveries without a receipt."""
        return list(self._works)

    async def _publish(self, subject: str, data: bytes) -> None:
        """Publishes what nobody waits for: it is dropped while the broker is away."""
        if self._connected.is_set():
            try:
                await self._client.publish(subject, data)
            except self._errors:
                pass

    async def _serve_slot(self) -> None:
        """One slot: pulls a delivery when it is free, and works on it until the receipt."""
        loop = asyncio.get_running_loop()
        came: asyncio.Queue[Message | Held] = asyncio.Queue()
        wake = asyncio.Event()
        self._wakes.append(wake)

        async def take(message: Message) -> None:
            held = self._hold(message)
            if held is not None:
                came.put_nowait(held)
            elif is_status(message):
                came.put_nowait(message)

        inbox = self._client.new_inbox()
        await self._client.subscribe(inbox + ".*", cb=take)
        pull, pulled, until, connection, refused = "", 0, 0.0, 0, 0
        while pull or not self._is_stopping or not came.empty():
            if not pull and came.empty() and not self._connected.is_set():
                await self._pause(1, wake)
                continue
            if not pull and came.empty():
                pulled += 1
                pull, until, connection = f"{inbox}.{pulled}", loop.time() + PULL_SECONDS, self._connection
                subject = f"$JS.API.CONSUMER.MSG.NEXT.SYSTOLE_{self.organism}_BUS.{self.token}"
                await self._publish_pull(subject, pull)
            message = await wait_for_first(came, wake, until)
            if message is None:
                is_lost = loop.time() >= until or connection != self._connection
                pull = "" if is_lost else pull
            elif isinstance(message, Held):
                pull, refused = "", 0
                await self._work(message)
            elif message.subject == pull:
                pull = ""
                if status_of(message) in ("408", ""):
                    refused = 0
                else:
                    await self._tell_pause(message)
                    await self._pause(min(8.0, 2.0 ** refused), wake)
                    refused += 1

    async def _publish_pull(self, subject: str, inbox: str) -> None:
        try:
            await self._client.publish(subject, PULL, reply=inbox)
        except self._errors:
            pass  # It is sent again once its time is over, or the connection is back.

    async def _tell_pause(self, message: Message) -> None:
        words = (message.headers or {}).get("Description", "")
        if "MaxWaiting" not in words:
            await self._tell_error(Exception(f"nothing is handed out at the moment: {status_of(message)} {words}".strip()))

    async def _pause(self, seconds: float, wake: asyncio.Event) -> None:
        until = asyncio.get_running_loop().time() + seconds
        while not self._is_stopping and (left := until - asyncio.get_running_loop().time()) > 0:
            try:
                await asyncio.wait_for(wake.wait(), left)
                wake.clear()
            except asyncio.TimeoutError:
                return

    def _hold(self, message: Message) -> Held | None:
        """A message as a delivery, which is renewed from now on."""
        if is_status(message):
            return None
        headers = message.headers or {}
        try:
            check_protocol(headers.get("Systole-Protocol", documents.PROTOCOL))
        except Misuse as misuse:
            tell(str(misuse))
            leave(2)
        try:
            envelope = read_delivery(read(message.data))
        except Malformed as error:
            tell(f"skips what it cannot read: {error}")
            return None
        if envelope is None or "Systole-Reply" not in headers or not message.reply:
            return None
        held = Held(message, envelope)
        held.renewal = asyncio.create_task(self._renew(held))
        return held

    async def _renew(self, held: Held) -> None:
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            await self._publish(held.acknowledges, b"+WPI")

    async def _work(self, held: Held) -> None:
        """Works on a delivery, or waits for the work on it that another message began, and sends the reply."""
        name = held.envelope.delivery
        work = self._works.get(name)
        begins = work is None
        started = asyncio.get_running_loop().time()
        try:
            if name in self._called_back:
                return
            if work is None:
                delivery = Delivery(held.envelope, self)
                delivery.notes = held
                work = self._works[name] = Work(delivery)
                self._worker.take(delivery)
            document = await asyncio.shield(work.document)
            if document is not None:
                if begins:
                    self.service.count(document, asyncio.get_running_loop().time() - started)
                await self._send_reply(held, document)
        finally:
            if held.renewal is not None:
                held.renewal.cancel()
        if begins:
            if not self._is_stopping:
                await work.is_free.wait()
            self._works.pop(name, None)

    async def _send_reply(self, held: Held, document: bytes) -> None:
        receipt = await self._request(held, document, ("receipt",))
        await self._publish(held.acknowledges, b"+ACK")
        if receipt is None:
            return
        name = held.envelope.delivery
        found = [describe_refusal(receipt, name)]
        found += [describe_refusal(one, name, count(one.attributes.get("ordinal")))
                  for one in receipt if (one.ns, one.name) == (LISTENER, "refused")]
        if receipt.get("outcome") == "superseded":
            found.append(Refused("reply.superseded", "another reply to the delivery was taken before", delivery=name))
        for refused in filter(None, found):
            self.service.last_error = f"{refused.code}: {refused.words}"[:512]
            try:
                self._on_refused(refused)
            except Exception as error:
                tell(f"on_refused: {type(error).__name__}: {error}")

    async def _request(self, held: Held, document: bytes, names: tuple[str, ...],
                       delivery: Delivery | None = None) -> Element | None:
        """Sends the same bytes until they are answered; None once a cancel makes them needless."""
        tries = 0
        while delivery is None or delivery.fault is None:
            await self._connected.wait()
            try:
                answer = read((await self._client.request(held.replies, document, timeout=ANSWER_SECONDS)).data)
                if answer.ns == LISTENER and answer.name in names:
                    return answer
            except self._errors:
                pass  # Not known to be on disk.
            await asyncio.sleep(choose_pause(tries))
            tries += 1
        return None

    async def _call_back(self, message: Message) -> None:
        try:
            name = read(message.data).get("delivery")
        except Malformed:
            return
        self._called_back.append(name)
        work = self._works.get(name)
        if work is not None and not work.document.done():
            self._worker.cancel(name, PATIENCE)
            work.document.set_result(None)

    def run(self) -> None:
        """Runs the connection in its own thread."""
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self.serve())
        except Exception as error:
            tell(f"broker: {type(error).__name__}: {error}")
            leave(1)

    def stop_from_outside(self, grace: float) -> None:
        """Stops the worker, and ends the process if open work is not done in time."""
        if not self._connection:
            leave(0)

        def end() -> None:
            names = ", ".join(self.name_open()) or "none"
            tell(f"ends {grace:g} s after it was stopped; open deliveries: {names}")
            leave(1 if self._works else 0)
        timer = threading.Timer(grace, end)
        timer.daemon = True
        timer.start()
        self._loop.call_soon_threadsafe(self.stop)


def serve_broker(functions: Registry, environment: dict[str, str], slots: int, grace: float, on_refused: OnRefused) -> int:
    """Serves over NATS; the exit code."""
    missing = [name for name in ("SYSTOLE_ORGANISM", "SYSTOLE_LISTENER") if not environment.get(name)]
    if missing:
        raise Misuse(f"SYSTOLE_NATS is set, and {' and '.join(missing)} not; set them to the names in organism.yaml")
    key = environment.get("SYSTOLE_KEY_FILE")
    if key:
        try:
            with open(key, encoding="ascii") as opened:
                if not opened.read().strip().startswith("SU"):
                    raise Misuse(f"SYSTOLE_KEY_FILE: {key} does not hold the seed of an nkey, a line that begins with SU")
        except (OSError, UnicodeDecodeError) as error:
            raise Misuse(f"SYSTOLE_KEY_FILE: the key of the listener cannot be read: {error}; "
                         "`systole permissions --nats-config` writes it") from None
    broker = Broker(functions, environment, slots, on_refused)
    thread = threading.Thread(target=broker.run, daemon=True)
    stops: list[int] = []

    def stop(number: int, _frame: object) -> None:
        stops.append(number)
        if len(stops) > 1:
            leave(1)
        broker.stop_from_outside(grace)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    thread.start()
    while thread.is_alive():
        thread.join(1)
    return 0
