"""Counts a letter in a word: one line of stdin is a message with <count>, one line of stdout its <times>."""
import sys
import xml.etree.ElementTree as ET

ENVELOPE = "{https://xml-pipeline.org/ns/envelope/v1}"
LISTENER, STAMP = "{urn:systole:listener:v1}", "{urn:systole:stamp:v1}"

for line in sys.stdin:
    message = ET.fromstring(line)
    if message.tag != ENVELOPE + "message":      # a <cancel>
        continue
    meta, count = message
    ours = count.tag.removesuffix("count")       # the namespace of the payloads in organism.yaml
    times = count.findtext(ours + "word").lower().count(count.findtext(ours + "letter").lower())
    reply = ET.Element(LISTENER + "reply", delivery=meta.find(STAMP + "stamp").get("delivery"))
    ET.SubElement(reply, ours + "times").text = str(times)
    print(ET.tostring(reply, encoding="unicode"), flush=True)
