"""The orders of a shop: one line of stdin is a message with <look-up>, <refund> or <large-refund>, one line of stdout its answer."""
import json
import os
import sys
import xml.etree.ElementTree as ET

ENVELOPE = "{https://xml-pipeline.org/ns/envelope/v1}"
LISTENER, STAMP = "{urn:systole:listener:v1}", "{urn:systole:stamp:v1}"
# What was paid. A real desk asks its database or its payment provider here.
ORDERS = {"1007": ("floor lamp", 80), "1008": ("reading lamp", 30), "1009": ("chandelier", 2400)}
FILE = "refunds.json"


def refunds():
    """The refunds so far, each under the key of the work that paid it."""
    return json.load(open(FILE, encoding="utf-8")) if os.path.exists(FILE) else {}


def answer(name, fields, key):
    """The answer's element, and its text or its fields."""
    order = fields["order"]
    if order not in ORDERS:
        return "problem", f"there is no order {order}"
    item, paid = ORDERS[order]
    done = refunds()
    back = sum(amount for other, amount in done.values() if other == order)
    if name == "look-up":
        return "order", {"item": item, "paid": paid, "refunded": back}
    # Each attempt at the same work has the same key, so a second attempt pays nothing twice.
    if key not in done:
        if back + int(fields["amount"]) > paid:
            return "problem", f"order {order}: {paid} was paid, and {back} of it is paid back already"
        with open(FILE + ".new", "w", encoding="utf-8") as file:
            json.dump({**done, key: [order, int(fields["amount"])]}, file)
        os.replace(FILE + ".new", FILE)
    return "refunded", {"order": order, "amount": fields["amount"]}


for line in sys.stdin:
    message = ET.fromstring(line)
    if message.tag != ENVELOPE + "message":      # a <cancel>
        continue
    meta, payload = message
    stamp = meta.find(STAMP + "stamp")
    ours, name = payload.tag[:payload.tag.index("}") + 1], payload.tag.split("}")[1]
    fields = {field.tag.split("}")[1]: field.text for field in payload}
    element, content = answer(name, fields, stamp.get("key"))
    reply = ET.Element(LISTENER + "reply", delivery=stamp.get("delivery"))
    result = ET.SubElement(reply, ours + element)
    if isinstance(content, str):
        result.text = content
    else:
        for field, value in content.items():
            ET.SubElement(result, ours + field).text = str(value)
    print(ET.tostring(reply, encoding="unicode"), flush=True)
