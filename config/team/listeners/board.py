"""Pins texts to the board, the folder `board`: one line of stdin is a message with <pin>, one line of stdout its <pinned>."""
import os
import sys
import xml.etree.ElementTree as ET

TEAM, ENVELOPE = "{https://xml-pipeline.org/ns/team/v1}", "{https://xml-pipeline.org/ns/envelope/v1}"
LISTENER, STAMP = "{urn:systole:listener:v1}", "{urn:systole:stamp:v1}"

for line in sys.stdin:
    message = ET.fromstring(line)
    if message.tag != ENVELOPE + "message":      # a <cancel>
        continue
    meta, pin = message
    stamp = meta.find(STAMP + "stamp")
    # Each attempt at the same work has the same key, so a second attempt pins nothing twice.
    name = os.path.join("board", stamp.get("key").replace("/", "-") + ".txt")
    os.makedirs("board", exist_ok=True)
    with open(name, "w", encoding="utf-8") as note:
        note.write(pin.findtext(TEAM + "text") + "\n")
    reply = ET.Element(LISTENER + "reply", delivery=stamp.get("delivery"))
    ET.SubElement(reply, TEAM + "pinned").text = name
    print(ET.tostring(reply, encoding="unicode"), flush=True)
