"""A listener over NATS, with the plain client: answers an <ask> by what was asked. Arguments: the broker's address, the organism's name, its own, and the file of its key where it has one."""
import asyncio
import collections
import concurrent.futures
import os
import signal
import sys
import threading
import traceback
import xml.etree.ElementTree as ET

import nats
import nats.errors
import nats.micro

URL, ORGANISM, NAME, KEY = [*sys.argv[1:], None][:4]
MESSAGE = "{https://xml-pipeline.org/ns/envelope/v1}message"
TALK = "{https://xml-pipeline.org/ns/talk/v1}"
STAMP = "{urn:systole:stamp:v1}stamp"
LISTENER = "{urn:systole:listener:v1}"
AT_ONCE = 4      # How many deliveries it works on at a time.
LAST_TRIES = 5   # How often it still sends an answer that no organism takes, once it is to stop. Then it ends with 1.
HANGING = 20     # How many more threads work may hold that was called back and goes on. Then the worker ends with 1.


def answer(text, wanted):
    """The work itself, in a thread of its own. Long work asks wanted() now and then, and gives up once it is false."""
    return "You said: " + text


def reply(delivery, wanted=lambda: True):
    """The <reply> to a delivery."""
    asked = ET.fromstring(delivery).find(TALK + "ask")
    reply = ET.Element(LISTENER + "reply", delivery=delivery_of(delivery))
    ET.SubElement(reply, TALK + "answer").text = answer(asked.text or "", wanted)
    return ET.tostring(reply)


def delivery_of(delivery):
    """The name of a delivery, which everything that is sent about it carries."""
    return ET.fromstring(delivery).find(".//" + STAMP).get("delivery")


def failure(delivery, code, words):
    """The <reply> that says why there is no answer."""
    reply = ET.Element(LISTENER + "reply", delivery=delivery_of(delivery))
    ET.SubElement(reply, LISTENER + "failure", code=code).text = words
    return ET.tostring(reply)


def worked(delivery, wanted):
    """The <reply> to a delivery, or why there is none. Work that fails or calls sys.exit() ends this delivery alone."""
    try:
        return reply(delivery, wanted)
    except BaseException as error:
        traceback.print_exc()
        return failure(delivery, "worker.exception", repr(error))


async def renew(message):
    """Says every second that somebody is at work on it."""
    while True:
        await asyncio.sleep(1)
        try:
            await message.in_progress()
        except nats.errors.Error:      # The broker is away: it hears of it later.
            continue


async def handle(client, message, thread, stopping):
    """Sends the reply to a delivery once its thread has it, until it is on disk."""
    renewal = asyncio.create_task(renew(message))
    try:
        words = await asyncio.shield(thread)      # A cancel ends the wait. The thread goes on.
        if len(words) > client.max_payload:
            told = f"the answer has {len(words)} bytes, and the broker takes {client.max_payload}"
            words = failure(message.data, "worker.too-large", told)
        receipt, left = None, LAST_TRIES
        while receipt is None:      # No receipt, not on disk: the same again, which is one reply however often it comes.
            try:
                receipt = await client.request(message.headers["Systole-Reply"], words, timeout=5)
            except nats.errors.Error:
                left -= stopping.is_set()
                if left == 0:      # The organism is away. It gives the delivery out again.
                    raise
                await asyncio.sleep(1)
        taken = ET.fromstring(receipt.data)
        if taken.get("outcome") == "superseded":
            print("another answer was taken before this one", file=sys.stderr, flush=True)
        for error in taken.iter("{https://xml-pipeline.org/ns/core/v1}system-error"):
            print("refused:", error.get("code"), error.get("message"), file=sys.stderr, flush=True)
        await message.ack()
    finally:
        renewal.cancel()


async def serve(client, jobs, stopping):
    """Takes deliveries until it has to stop, and finishes them. `jobs` has what it works on."""
    name, organism = NAME.replace(".", "_"), ORGANISM
    await client.connect(URL, inbox_prefix=b"_INBOX_" + name.encode(), nkeys_seed=KEY, max_reconnect_attempts=-1)

    called_back = collections.deque(maxlen=1000)      # A cancel may overtake its delivery.

    async def call_back(message):
        delivery = ET.fromstring(message.data).get("delivery")
        called_back.append(delivery)
        for job, (named, stopped) in list(jobs.items()):
            if named == delivery:
                stopped.set()
                job.cancel()

    def end_job(job):
        error = None if job.cancelled() else job.exception()
        if error:
            traceback.print_exception(type(error), error, error.__traceback__)
        if not error or not stopping.is_set():
            del jobs[job]

    await client.subscribe(f"o.{organism}.cancel.{name}", cb=call_back)
    await nats.micro.add_service(client, name=name, version="1.0.0", metadata={"accepts": "ask", "returns": "answer"})
    work = await client.jetstream().pull_subscribe_bind(name, f"SYSTOLE_{organism}_BUS")
    loop, threads = asyncio.get_running_loop(), set()
    pool = concurrent.futures.ThreadPoolExecutor(AT_ONCE + HANGING)      # No work ever waits for a thread.
    while not stopping.is_set() and len(threads) < AT_ONCE + HANGING:
        if len(jobs) == AT_ONCE:
            await asyncio.wait(jobs, return_when=asyncio.FIRST_COMPLETED)
            continue
        try:
            [message] = await work.fetch(1, timeout=5)
        except nats.errors.TimeoutError:
            continue
        except nats.errors.Error:      # The organism has not run yet, or the broker gives none at the moment.
            await asyncio.sleep(1)
            continue
        if ET.fromstring(message.data).tag != MESSAGE:
            print("this organism speaks another protocol", file=sys.stderr, flush=True)
            os._exit(2)
        delivery, stopped = delivery_of(message.data), threading.Event()
        if delivery in called_back:
            continue
        thread = loop.run_in_executor(pool, worked, message.data, lambda stopped=stopped: not stopped.is_set())
        threads.add(thread)
        thread.add_done_callback(threads.discard)
        job = asyncio.create_task(handle(client, message, thread, stopping))
        jobs[job] = (delivery, stopped)
        job.add_done_callback(end_job)
    hangs = not stopping.is_set()
    if jobs:
        await asyncio.wait(jobs)
    await client.close()
    if hangs:
        print(f"{len(threads)} threads hang in work that was called back: start the worker again", file=sys.stderr, flush=True)
        os._exit(1)


async def main():
    client, jobs, stopping = nats.NATS(), {}, asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    serving = asyncio.create_task(serve(client, jobs, stopping))
    await asyncio.wait([serving, asyncio.create_task(stopping.wait())], return_when=asyncio.FIRST_COMPLETED)
    away = 0      # It finishes what it has, unless the broker is away for 5 seconds.
    while not serving.done() and away < 5 and (jobs or client.is_connected):
        await asyncio.wait([serving], timeout=1)
        away = 0 if client.is_connected else away + 1
    error = serving.exception() if serving.done() else None
    if error:
        traceback.print_exception(type(error), error, error.__traceback__)
    elif jobs:
        print("ended while the broker or the organism is away; open deliveries are not answered", file=sys.stderr, flush=True)
    os._exit(1 if jobs or error else 0)      # Work that was called back may still run in its thread.


asyncio.run(main())
