"""The press of the soak's workload over NATS: the listener of listeners/echo-python as it stands, with this work in the
place of its own. Arguments: that listener's source, the book, then its own arguments. The book has a line before each
reply is sent, and one when its receipt has come and refuses nothing."""
import sys
import xml.etree.ElementTree as ET
from xml.sax.saxutils import escape

import nats

SOURCE, BOOK = sys.argv.pop(1), sys.argv.pop(1)
with open(SOURCE) as source:
    exec(source.read().replace("asyncio.run(main())", ""))
PRESS = "{https://xml-pipeline.org/ns/press/v1}"


def note(*words):
    # One write at the end of the file, so that no two of them mix.
    with open(BOOK, "ab", 0) as book:
        book.write((" ".join(words) + "\n").encode())


def reply(delivery, wanted=lambda: True):
    meta, asked = ET.fromstring(delivery)
    stamp = meta.find(STAMP)
    note("asked", NAME, stamp.get("key"), stamp.get("attempt"), stamp.get("delivery"))
    # The scripts of the workload look for elements without a prefix.
    parts = "".join(f"<{part}>{escape(asked.findtext(PRESS + part))}</{part}>" for part in ("token", "mark"))
    stamped = f'<stamped xmlns="{PRESS[1:-1]}">{parts}</stamped>'
    return f'<reply xmlns="{LISTENER[1:-1]}" delivery="{stamp.get("delivery")}">{stamped}</reply>'.encode()


async def connect_and_note(client, *given, connect=nats.NATS.connect, **named):
    await connect(client, *given, **named)
    request = client.request

    async def noted(subject, payload=b"", **named):
        answer = await request(subject, payload, **named)
        receipt = ET.fromstring(answer.data)
        if receipt.tag == LISTENER + "receipt" and len(receipt) == 0:
            note("kept", NAME, receipt.get("delivery"))
        return answer

    client.request = noted
    print("connected", file=sys.stderr, flush=True)


nats.NATS.connect = connect_and_note
asyncio.run(main())
