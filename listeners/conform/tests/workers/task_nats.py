"""The worker of task.py over NATS, with the plain client nats-py (and nkeys): it pulls, renews, replies until the receipt.

SYSTOLE_NATS, SYSTOLE_ORGANISM, SYSTOLE_LISTENER, SYSTOLE_KEY_FILE and SYSTOLE_SLOTS say where it works."""
import asyncio
import collections
import concurrent.futures
import json
import os
import signal
import sys
import time

import nats
import nats.errors

import task

ORGANISM = os.environ["SYSTOLE_ORGANISM"].replace(".", "_")
NAME = os.environ["SYSTOLE_LISTENER"].replace(".", "_")
SLOTS = int(os.environ.get("SYSTOLE_SLOTS", "4"))
NEXT = f"$JS.API.CONSUMER.MSG.NEXT.SYSTOLE_{ORGANISM}_BUS.{NAME}"
PULL = b'{"batch":1,"expires":5000000000}'
HANGING = 20      # How many more threads work may hold that was called back and goes on.


class Held:
    """A delivery in hand, as the functions of task.py see it: they run in a thread."""

    def __init__(self, worker, message):
        self.worker, self.message, self.place = worker, message, message.headers["Systole-Reply"]

    def send(self, document):
        self.document = document

    def tell(self, document):
        self.worker.run(self.worker.client.publish(f"o.{ORGANISM}.live.{NAME}", document.encode()))

    def note(self, turn, document):
        self.worker.run(self.worker.request(self.place, document.encode(), turn.cancelled))

    def wait_for(self, turn, number):
        answer = self.worker.run(self.worker.request(self.place, self.document.encode(), turn.cancelled))
        return task.parse(answer)


class Worker:
    def __init__(self):
        self.client, self.jobs, self.forgotten = nats.NATS(), {}, collections.deque(maxlen=1000)
        self.stopping, self.counts = asyncio.Event(), collections.Counter()
        self.pool = concurrent.futures.ThreadPoolExecutor(SLOTS + HANGING)
        self.threads = set()

    def run(self, work):
        """Runs something on the loop, for a thread."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()

    async def request(self, place, document, cancelled=None):
        """Sends the same bytes until an answer comes, with pauses that grow."""
        pause = 0.1
        while True:
            try:
                return (await self.client.request(place, document, timeout=5)).data
            except (nats.errors.Error, OSError):
                if cancelled is not None and cancelled.is_set():
                    raise task.Cancelled() from None
                await asyncio.sleep(pause)
                pause = min(pause * 2, 5)

    async def renew(self, message):
        while True:
            try:
                await self.client.publish(message.reply, b"+WPI")
            except (nats.errors.Error, OSError):      # The broker is away: it hears of it later.
                pass
            await asyncio.sleep(1)

    async def answer(self, message, turn):
        """Works on a delivery, replies until the receipt comes, and acknowledges."""
        renewal = asyncio.create_task(self.renew(message))
        try:
            work = self.loop.run_in_executor(self.pool, task.reply_to, turn, self.client.max_payload - 1024)
            self.threads.add(work)
            work.add_done_callback(self.threads.discard)
            reply = await asyncio.shield(work)
            await self.send_reply(message, turn, reply, renewal)
        finally:
            renewal.cancel()

    async def send_reply(self, message, turn, reply, renewal):
        receipt = task.parse(await self.request(turn.link.place, reply.encode()))
        for error in receipt.children:
            print("refused:", error.name, error.get("code", ""), file=sys.stderr, flush=True)
        await self.client.publish(message.reply, b"+ACK")

    async def called_back(self, message):
        root = task.parse(message.data)
        if (root.ns, root.name) != (task.LISTENER, "cancel"):
            return
        delivery = root.get("delivery")
        self.forgotten.append(delivery)
        for job, turn in list(self.jobs.items()):
            if turn.delivery == delivery:
                turn.cancelled.set()
                job.cancel()

    async def pull(self, inbox, came):
        """One delivery, or none for now."""
        made = self.made
        await self.client.publish(NEXT, PULL, reply=inbox)
        end = time.monotonic() + 7
        while time.monotonic() < end and self.made == made and not self.gives_up():
            try:
                message = await asyncio.wait_for(came.get(), 0.2)
            except asyncio.TimeoutError:
                continue
            status = (message.headers or {}).get("Status")
            if status is None:
                return message
            if status != "408":
                await asyncio.sleep(1)
            return None
        return None

    def gives_up(self):
        """Whether a pull that is on its way no longer counts: never, since the broker may answer it."""
        return False

    async def slot(self):
        """Pulls and works, one delivery at a time, until it is to stop."""
        came, inbox = asyncio.Queue(), f"_INBOX_{NAME}.{self.client._nuid.next().decode()}"
        await self.client.subscribe(inbox, cb=came.put)
        while not self.stopping.is_set() and len(self.threads) < SLOTS + HANGING:
            try:
                message = await self.pull(inbox, came)
            except (nats.errors.Error, OSError):
                await asyncio.sleep(1)
                continue
            if message is not None:
                await self.take(message)

    async def take(self, message):
        root = task.parse(message.data)
        if (root.ns, root.name) != (task.ENVELOPE, "message"):
            print(f"it does not know <{root.name}> of {root.ns}", file=sys.stderr, flush=True)
            return
        turn = task.Turn(Held(self, message), root)
        if turn.delivery in self.forgotten:
            return
        job = asyncio.create_task(self.answer(message, turn))
        self.jobs[job] = turn
        self.counts["requests"] += 1
        try:
            await job
        except asyncio.CancelledError:
            pass
        finally:
            del self.jobs[job]

    async def serve_service(self):
        """Answers the questions of NATS micro services."""
        base = {"name": NAME, "id": self.client._nuid.next().decode(), "version": "1.0.0", "metadata": {"organism": ORGANISM}}
        for verb, kind, more in (("PING", "ping", {}), ("INFO", "info", {"description": "tasks", "endpoints": []}), ("STATS", "stats", {"started": "2026-11-29T00:00:00Z", "endpoints": []})):
            said = json.dumps({"type": f"io.nats.micro.v1.{kind}_response", **base, **more}).encode()

            async def answer(message, said=said):
                await message.respond(said)

            for subject in (f"$SRV.{verb}", f"$SRV.{verb}.{NAME}", f"$SRV.{verb}.{NAME}.{base['id']}"):
                await self.client.subscribe(subject, cb=answer)

    async def connect(self):
        async def again():
            self.made += 1

        async def ignore(error):
            print("the connection:", repr(error), file=sys.stderr, flush=True)

        self.made = 0
        await self.client.connect(
            os.environ["SYSTOLE_NATS"], inbox_prefix=b"_INBOX_" + NAME.encode(), nkeys_seed=os.environ.get("SYSTOLE_KEY_FILE"),
            max_reconnect_attempts=-1, reconnect_time_wait=0.5, reconnected_cb=again, error_cb=ignore, allow_reconnect=True)

    async def main(self):
        self.loop = asyncio.get_running_loop()
        signals = []

        def stop():
            self.stopping.set()
            signals.append(time.monotonic())
            if len(signals) > 1:
                os._exit(1)

        for number in (signal.SIGTERM, signal.SIGINT):
            self.loop.add_signal_handler(number, stop)
        while True:
            try:
                await self.connect()
                break
            except (nats.errors.Error, OSError):
                await asyncio.sleep(0.5)
        await self.client.subscribe(f"o.{ORGANISM}.cancel.{NAME}", cb=self.called_back)
        await self.serve_service()
        slots = [asyncio.create_task(self.slot()) for _ in range(SLOTS)]
        all_slots = asyncio.gather(*slots)
        while not all_slots.done():
            await asyncio.wait([all_slots], timeout=0.2)
            if signals and time.monotonic() > signals[0] + 30:
                names = ", ".join(turn.delivery for turn in self.jobs.values())
                print(f"open after 30 s: {names}", file=sys.stderr, flush=True)
                os._exit(1)
        os._exit(0 if self.stopping.is_set() else 1)


if __name__ == "__main__":
    asyncio.run(Worker().main())
