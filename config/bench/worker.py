"""The tool of the benchmark as a Python worker over NATS, and its floor, which answers bare requests. Arguments: the
broker's address, "worker" or "bare", the bytes of an answer, how many it works on at once."""
import asyncio
import re
import sys

import nats
import nats.errors
import nats.js.errors

URL, WORK, BYTES, AT_ONCE = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
DELIVERY = re.compile(rb'delivery="([^"]*)"')
WORKED = b"<number>1</number><text>" + b"x" * BYTES + b"</text>"


def reply(delivery):
    return (b'<reply xmlns="urn:systole:listener:v1" delivery="' + DELIVERY.search(delivery)[1]
            + b'"><worked xmlns="https://xml-pipeline.org/ns/tool/v1">' + WORKED + b"</worked></reply>")


async def handle(client, message, free):
    await client.request(message.headers["Systole-Reply"], reply(message.data), timeout=30)
    await message.ack()
    free.release()


async def work(client):
    deliveries = await client.jetstream().pull_subscribe_bind("tool", "SYSTOLE_bench_BUS")
    free, running = asyncio.Semaphore(AT_ONCE), set()
    while True:
        await free.acquire()
        batch = 1
        while not free.locked():
            await free.acquire()
            batch += 1
        try:
            messages = await deliveries.fetch(batch, timeout=5)
        except nats.errors.TimeoutError:
            messages = []
        except nats.js.errors.APIError:      # The organism is not there yet.
            messages = []
            await asyncio.sleep(0.1)
        for message in messages:
            task = asyncio.create_task(handle(client, message, free))
            running.add(task)
            task.add_done_callback(running.discard)
        for _ in range(batch - len(messages)):
            free.release()


async def main():
    client = await nats.connect(URL)
    if WORK == "worker":
        print("ready 0", flush=True)
        await work(client)
    requests = await client.subscribe("bare")
    await client.flush()
    print("ready 0", flush=True)
    async for request in requests.messages:
        await request.respond(request.data)


asyncio.run(main())
