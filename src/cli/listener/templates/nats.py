"""@NAME@: takes <@ASK@>, answers with <@ANSWER@>, over NATS, with the client nats-py (and nkeys, where there are keys).
SYSTOLE_NATS, SYSTOLE_ORGANISM and SYSTOLE_LISTENER say where it works; SYSTOLE_KEY_FILE is the file with its key."""
import asyncio
import os
import signal
import sys
import xml.etree.ElementTree as ET

NS = "{@NS@}"
STAMP = "{urn:systole:stamp:v1}stamp"
LISTENER = "{urn:systole:listener:v1}"


def answer(text):
    """The work itself. It runs beside the connection, so it may take its time."""
    return "You said: " + text


def reply(delivery):
    """The <reply> to a delivery."""
    message = ET.fromstring(delivery)
    asked = message.find(NS + "@ASK@")
    reply = ET.Element(LISTENER + "reply", delivery=message.find(".//" + STAMP).get("delivery"))
    if asked is None:      # The <answers> of a later turn.
        ET.SubElement(reply, LISTENER + "failure", code="not-asked").text = "it takes <@ASK@> alone"
    else:
        said = ET.SubElement(reply, NS + "@ANSWER@")
        ET.SubElement(said, NS + "text").text = answer(asked.findtext(NS + "text"))
    return ET.tostring(reply)


async def renew(message):
    """Says every second that somebody is at work on it."""
    while True:
        await asyncio.sleep(1)
        await message.in_progress()


async def handle(client, message):
    """Works on a delivery until its reply is on disk."""
    import nats.errors
    renewal = asyncio.create_task(renew(message))
    try:
        words, receipt = await asyncio.to_thread(reply, message.data), None
        while receipt is None:      # No receipt, not on disk: the same again, which is one reply however often it comes.
            try:
                receipt = await client.request(message.headers["Systole-Reply"], words, timeout=5)
            except (nats.errors.TimeoutError, nats.errors.NoRespondersError):
                await asyncio.sleep(1)
        taken = ET.fromstring(receipt.data)
        if taken.get("outcome") == "superseded":
            print("another answer was taken before this one", file=sys.stderr, flush=True)
        for error in taken.iter("{https://xml-pipeline.org/ns/core/v1}system-error"):
            print("refused:", error.get("code"), error.get("message"), file=sys.stderr, flush=True)
        await message.ack()
    finally:
        renewal.cancel()


async def serve(client, stopping):
    """Takes deliveries until it is told to stop."""
    import nats.errors
    import nats.js.errors
    import nats.micro
    env = os.environ
    name = env["SYSTOLE_LISTENER"].replace(".", "_")
    await client.connect(env["SYSTOLE_NATS"], inbox_prefix=b"_INBOX_" + name.encode(), nkeys_seed=env.get("SYSTOLE_KEY_FILE"), max_reconnect_attempts=-1)
    await nats.micro.add_service(client, name=name, version="1.0.0", metadata={"accepts": "@ASK@", "returns": "@ANSWER@"})
    work = await client.jetstream().pull_subscribe_bind(name, "SYSTOLE_" + env["SYSTOLE_ORGANISM"] + "_BUS")
    while not stopping.is_set():
        try:
            [message] = await work.fetch(1, timeout=5)
        except nats.errors.TimeoutError:
            continue
        except nats.js.errors.APIError:      # The organism has not run yet, or the broker gives none at the moment.
            await asyncio.sleep(1)
            continue
        await handle(client, message)
    await client.close()


async def main():
    import nats
    client, stopping = nats.NATS(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    serving = asyncio.create_task(serve(client, stopping))
    await asyncio.wait([serving, asyncio.create_task(stopping.wait())], return_when=asyncio.FIRST_COMPLETED)
    away = 0
    while not serving.done() and away < 5:      # It finishes what it has, unless the broker is away for 5 seconds.
        await asyncio.wait([serving], timeout=1)
        away = 0 if client.is_connected else away + 1
    if not serving.done():
        print("ended while the broker is away; open deliveries are not answered", file=sys.stderr, flush=True)
        os._exit(1)
    await serving


if __name__ == "__main__":
    asyncio.run(main())
