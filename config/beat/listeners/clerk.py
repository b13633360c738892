"""Takes orders: tells the stock to set goods aside, sends the courier off in its own thread, and tells the till
to charge the customer. Its to-do list is in the log.

If a request is refused, the clerk reads the fix in the refusal and asks again. It does not know the
stock's rules. It marks a large sum as dangerous, so that a person must approve it.
"""
import re
import sys
import xml.etree.ElementTree as ET

ENVELOPE, STAMP, LISTENER, CORE = (
    "{https://xml-pipeline.org/ns/envelope/v1}", "{urn:systole:stamp:v1}",
    "{urn:systole:listener:v1}", "{https://xml-pipeline.org/ns/core/v1}")
CLERK, STOCK, COURIER, TILL = (
    "{https://xml-pipeline.org/ns/%s/v1}" % name for name in ("clerk", "stock", "courier", "till"))
LARGE = 100
STEPS = ("goods", "parcel", "payment")


def element(parent, name, text=None, **attributes):
    child = ET.SubElement(parent, name, attributes)
    child.text = text
    return child


def plan(reply, done):
    """Writes a to-do list. A newer list with the same condition replaces it."""
    todo = element(reply, CORE + "todo-until", condition="the order is settled")
    for step in STEPS:
        element(todo, CORE + "step", step, done=str(step in done).lower())


def start(desk, order, reply):
    """The first turn: two calls at once."""
    plan(reply, ())
    spawn = element(reply, CORE + "spawn-thread", suggested_sub_id="delivery")
    ship = element(element(spawn, CORE + "initial-payload"), COURIER + "ship")
    element(ship, COURIER + "street", order.findtext(CLERK + "street"))
    desk["asked"] = element(reply, STOCK + "reserve")
    for name in ("item", "quantity"):
        element(desk["asked"], STOCK + name, order.findtext(CLERK + name))


def repair(desk, refusal, reply):
    """Replaces the refused payload by what the refusal says to try."""
    name, text = re.search(r"<(?:\w+:)?(\w+)>([^<]*)</", refusal.findtext(CORE + "try")).groups()
    desk["asked"].find(STOCK + name).text = text
    reply.append(desk["asked"])


def charge(desk, reply):
    """The goods are there. A large sum waits for a person; a timer ends the silence."""
    total = int(desk["goods"].findtext(STOCK + "total"))
    bill = element(reply, TILL + "charge")
    element(bill, TILL + "total", str(total))
    if total > LARGE:
        bill.set("is_dangerous", "true")
        element(reply, CORE + "set-timer", "tell the customer that the till takes its time", after="1s")


def finish(desk, reply):
    """The answer. The pump questions a final with open steps once, then takes it."""
    invoice = element(reply, CLERK + "invoice")
    for name in ("item", "quantity", "total"):
        element(invoice, CLERK + name, desk["goods"].findtext(STOCK + name))
    element(invoice, CLERK + "delivery", desk["parcel"].findtext(COURIER + "parcel"))
    element(invoice, CLERK + "paid", str(desk["paid"]).lower())


def go_on(desk, answers, reply):
    """A later turn: reads what came and does what follows."""
    for name, tag in (("goods", STOCK + "reserved"), ("parcel", COURIER + "shipped")):
        found = answers.find(f".//{tag}")
        desk[name] = desk.get(name) if found is None else found
    refusal = answers.find(f"{CORE}item/{CORE}system-error")
    if answers.find(f".//{TILL}charged") is not None:
        desk["paid"] = True
    elif refusal is not None and desk["goods"] is not None:
        desk["paid"] = False
    elif refusal is not None:
        return repair(desk, refusal, reply)
    if desk["goods"] is None:
        raise ValueError("the goods are missing")
    if desk["parcel"] is None:
        element(reply, CORE + "await-threads", mode="all")
    elif "paid" in desk:
        plan(reply, STEPS if desk["paid"] else STEPS[:2])
        finish(desk, reply)
    else:
        plan(reply, STEPS[:2])
        charge(desk, reply)


desks = {}
for line in sys.stdin:
    message = ET.fromstring(line)
    if message.tag != ENVELOPE + "message":      # a <cancel>
        continue
    meta, payload = message
    stamp = meta.find(STAMP + "stamp")
    desk = desks.setdefault((meta.findtext(ENVELOPE + "thread"), stamp.get("call")), {})
    reply = ET.Element(LISTENER + "reply", delivery=stamp.get("delivery"))
    try:
        start(desk, payload, reply) if payload.tag == CLERK + "order" else go_on(desk, payload, reply)
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        reply[:] = []
        failure = element(reply, LISTENER + "failure", f"cannot go on: {error!r}", code="clerk-lost", retry="false")
    print(ET.tostring(reply, encoding="unicode"), flush=True)
