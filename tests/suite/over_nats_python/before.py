"""A listener over NATS, with the plain client: answers an <ask> by what was asked. Arguments: the broker's address, the organism's name, its own, and the file of its key where it has one."""
import asyncio
import sys
import xml.etree.ElementTree as ET

import nats
import nats.errors
import nats.js.errors
import nats.micro

URL, ORGANISM, NAME, KEY = [*sys.argv[1:], None][:4]
TALK, ENVELOPE = "{https://xml-pipeline.org/ns/talk/v1}", "{https://xml-pipeline.org/ns/envelope/v1}"
LISTENER, STAMP = "{urn:systole:listener:v1}", "{urn:systole:stamp:v1}"


def reply(delivery):
    """The <reply> to a delivery: here is the place for work of your own."""
    meta, ask = ET.fromstring(delivery)
    reply = ET.Element(LISTENER + "reply", delivery=meta.find(STAMP + "stamp").get("delivery"))
    ET.SubElement(reply, TALK + "answer").text = "You said: " + (ask.text or "")
    return ET.tostring(reply)


async def main():
    client = await nats.connect(URL, inbox_prefix=b"_INBOX_" + NAME.encode(), nkeys_seed=KEY)
    await nats.micro.add_service(client, name=NAME, version="1.0.0", metadata={"accepts": "ask", "returns": "answer"})
    work = await client.jetstream().pull_subscribe_bind(NAME, f"SYSTOLE_{ORGANISM}_BUS")
    while True:
        try:
            [message] = await work.fetch(1, timeout=5)     # A broker that was started again has forgotten who pulls.
        except nats.errors.TimeoutError:
            continue
        except nats.js.errors.APIError:      # The organism has not run yet, or enough workers wait already.
            await asyncio.sleep(1)
            continue
        words, receipt = reply(message.data), None
        while receipt is None:      # No receipt, not on disk: the same again, which is one reply however often it comes.
            try:
                receipt = await client.request(message.headers["Systole-Reply"], words, timeout=5)
            except (nats.errors.TimeoutError, nats.errors.NoRespondersError):
                await message.in_progress()
        await message.ack()


asyncio.run(main())
