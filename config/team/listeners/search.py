"""Searches a few notes: one line of stdin is a message with <search>, one line of stdout its <found>."""
import sys
import xml.etree.ElementTree as ET

NOTES = (
    "The beat of a heart begins in the sinoatrial node, which no nerve has to tell.",
    "The node fires some 70 times a minute at rest; nerves make it faster or slower.",
    "Systole is the part of the beat in which the heart contracts.",
)
TEAM, ENVELOPE = "{https://xml-pipeline.org/ns/team/v1}", "{https://xml-pipeline.org/ns/envelope/v1}"
LISTENER, STAMP = "{urn:systole:listener:v1}", "{urn:systole:stamp:v1}"


def found(search):
    """The notes that hold every word of the query, as many as are wanted."""
    words = search.findtext(TEAM + "query").lower().split()
    limit = int(search.findtext(TEAM + "limit") or 3)
    notes = [note for note in NOTES if all(word in note.lower() for word in words)]
    return "\n".join(notes[:limit]) or "nothing"


for line in sys.stdin:
    message = ET.fromstring(line)
    if message.tag != ENVELOPE + "message":      # a <cancel>
        continue
    meta, search = message
    reply = ET.Element(LISTENER + "reply", delivery=meta.find(STAMP + "stamp").get("delivery"))
    ET.SubElement(reply, TEAM + "found").text = found(search)
    print(ET.tostring(reply, encoding="unicode").replace("\n", "&#10;"), flush=True)
