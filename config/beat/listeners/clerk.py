"""Takes orders: has the stock set goods aside, and sends the courier off in a thread of its own.

When a request is refused, the clerk reads the mend out of the refusal and asks again. It does not know
the stock's rules; it can only read.
"""
import re
import sys
import xml.etree.ElementTree as ET

ENVELOPE, STAMP, LISTENER, CORE = (
    "{https://xml-pipeline.org/ns/envelope/v1}", "{urn:systole:stamp:v1}",
    "{urn:systole:listener:v1}", "{https://xml-pipeline.org/ns/core/v1}")
CLERK, STOCK, COURIER = ("{https://xml-pipeline.org/ns/%s/v1}" % name for name in ("clerk", "stock", "courier"))


def element(parent, name, text=None):
    child = ET.SubElement(parent, name)
    child.text = text
    return child


def start(order, reply):
    """The first turn: two things at once."""
    spawn = element(reply, CORE + "spawn-thread")
    spawn.set("suggested_sub_id", "delivery")
    ship = element(element(spawn, CORE + "initial-payload"), COURIER + "ship")
    element(ship, COURIER + "street", order.findtext(CLERK + "street"))
    reserve = element(reply, STOCK + "reserve")
    for name in ("item", "quantity"):
        element(reserve, STOCK + name, order.findtext(CLERK + name))
    return reserve


def mend(refused, refusal):
    """Puts what the refusal says to try in the place of what was refused."""
    name, text = re.search(r"<(?:\w+:)?(\w+)>([^<]*)</", refusal.findtext(CORE + "try")).groups()
    refused.find(STOCK + name).text = text
    return refused


def finish(answers, reply):
    """Everything that the invoice needs stands in the answers: after a restart there is nothing else."""
    reserved = answers.find(f".//{STOCK}reserved")
    shipped = answers.find(f".//{COURIER}shipped")
    if reserved is None or shipped is None:
        return False
    invoice = element(reply, CLERK + "invoice")
    for name in ("item", "quantity", "total"):
        element(invoice, CLERK + name, reserved.findtext(STOCK + name))
    element(invoice, CLERK + "delivery", shipped.findtext(COURIER + "parcel"))
    return True


asked = {}
for line in sys.stdin:
    message = ET.fromstring(line)
    meta, payload = message
    stamp = meta.find(STAMP + "stamp")
    call = (meta.findtext(ENVELOPE + "thread"), stamp.get("call"))
    reply = ET.Element(LISTENER + "reply", delivery=stamp.get("delivery"))
    try:
        if payload.tag == CLERK + "order":
            asked[call] = start(payload, reply)
        elif (refusal := payload.find(f".//{CORE}system-error")) is not None:
            reply.append(mend(asked[call], refusal))
        elif not finish(payload, reply):
            raise ValueError("goods or delivery are missing")
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        failure = element(reply, LISTENER + "failure", f"cannot go on: {error!r}")
        failure.set("code", "clerk-lost")
        failure.set("retry", "false")
    print(ET.tostring(reply, encoding="unicode"), flush=True)
